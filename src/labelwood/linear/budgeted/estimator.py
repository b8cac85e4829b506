"""One linear decision that reads few features: the budget-aware classifier."""

import warnings
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from labelwood.core.caller import user_stacklevel
from labelwood.core.classes import BinaryEstimator, balanced
from labelwood.core.columns import equal_columns
from labelwood.core.contract import FittedAttributes
from labelwood.core.params import Boolean, Constraints, Integer, Real
from labelwood.core.sparse import check_structure, make_csr
from labelwood.core.types import CSR, DoubleArray, IndexArray
from labelwood.errors import DataError
from labelwood.linear.budgeted.contract import (
    CLASS_WEIGHT,
    NOT_DIVIDED,
    NOT_DIVIDED_REMEDY,
    UNSOLVED_REMEDY,
    BudgetedEstimator,
)

if TYPE_CHECKING:
    from labelwood.linear.budgeted.cutting_planes import BudgetedDecisions


class BudgetedClassifier(BudgetedEstimator, BinaryEstimator):
    """A linear classifier of two classes that chooses its features (BAC).

    Planes, sets of few features, are added one by one: each holds the features that would
    lower the objective

        ½ (Σ_h ‖ω_h‖)² + C Σ_i c_i max(0, 1 − s_i (Σ_h ω_h·x_ih + b))²

    fastest, with ω_h the weights of plane h, s_i = ±1 the class of sample i and c_i its
    weight. Features should have comparable scales: those of larger values are chosen first.
    Values should be around 1: smaller ones need larger weights, for which a larger `C` has to
    pay. `scale` sees to both. Values are kept in single precision, seven digits.

    Parameters
    ----------
    budget : int
        Features in the classifier, at most.
    C : float
        Cost of an error.
    max_planes : int
        Limit of planes, and of turns of the local search. One plane is taken as it is.
    plane_size : int or None
        Features in a plane. All features of the planes are used, and planes are added until the
        next one is beyond the budget, or there are `max_planes`; weights of features in fewer
        planes are shrunk more. With None planes have `budget` features, and as many in all are
        chosen by a local search.
    scale : bool
        Whether features are brought to one standard deviation first, 1/√`budget`: then neither
        their units nor their number matter to the choice and to `C`. Weights are for the values
        as they came. Columns that do not vary are never chosen.
    class_weight : "balanced" or None
        Whether the classes cost the same in all, whatever their numbers of samples.
    fit_intercept : bool
        Whether b is fitted. It is not regularized.
    tol : float
        A plane, after the first, must lower the objective by this share.
    max_iter : int
        Limit of steps for each plane.

    Attributes
    ----------
    classes_ : array of shape (2,)
    coef_ : csr_array of shape (1, n_features)
    intercept_ : array of shape (1,)
    selected_features_ : array of int
        The features of non-zero weight, sorted; `selected_names_` are their names.
    planes_ : csr_array of shape (n_planes, n_features)
        The weights ω_h of each plane; a plane's features are its stored entries, zero where
        the plane fell out of the solution again. `coef_` is their sum, unless features were
        chosen to keep to the budget.
    objective_trace_ : array of shape (n_planes + 1,)
        Objective without a feature, and after each plane; it never rises.
    objective_ : float
        Objective of this classifier: the last of the trace, unless the features were chosen
        to keep to the budget. With `scale` objectives are those of the scaled features.
    lower_bound_ : float
        No choice of `plane_size` features has a lower objective, or of `budget` for None.
    margin_ : float
        Distance of the samples with decision ±1 from the boundary: 1/‖w‖.
    n_iter_ : int
        Steps made, for all planes.
    stop_reason_ : str
        Why no more planes were added, and whether the decision says the same of all samples.

    Examples
    --------
    >>> from labelwood import BudgetedClassifier
    >>> X = [[1, 0, 2], [0, 1, -2], [1, 1, 3], [0, 0, -3]]
    >>> model = BudgetedClassifier(budget=1).fit(X, ["yes", "no", "yes", "no"])
    >>> model.selected_features_.tolist(), model.predict([[0, 0, 1]]).tolist()
    ([2], ['yes'])
    """

    _constraints: ClassVar[Constraints] = {
        "budget": Integer(low=1),
        "C": Real(above=0),
        "max_planes": Integer(low=1),
        "plane_size": (Integer(low=1), None),
        "scale": Boolean(),
        "class_weight": CLASS_WEIGHT,
        "fit_intercept": Boolean(),
        "tol": Real(low=1e-6, below=1),
        "max_iter": Integer(low=1),
    }
    _fitted: ClassVar[FittedAttributes] = {
        "coef_": (np.float64, (1, "features")),
        "intercept_": (np.float64, (1,)),
        "planes_": (np.float64, (None, "features")),
        "objective_trace_": (np.float64, (None,)),
        "objective_": float,
        "lower_bound_": float,
        "margin_": float,
        "n_iter_": int,
        "stop_reason_": str,
    }

    coef_: CSR
    intercept_: DoubleArray
    planes_: CSR
    stop_reason_: str

    def __init__(
        self,
        budget: int = 10,
        *,
        C: float = 1.0,
        max_planes: int = 10,
        plane_size: int | None = None,
        scale: bool = False,
        class_weight: Literal["balanced"] | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int = 10_000,
    ) -> None:
        self.budget = budget
        self.C = C
        self.max_planes = max_planes
        self.plane_size = plane_size
        self.scale = scale
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Choose features and weights; `sample_weight` multiplies the cost of each sample."""
        from labelwood.linear.budgeted.cutting_planes import solve_budgeted

        matrix, codes, weights = self._begin_classes(X, y, sample_weight)
        scaled, scaling = matrix, None
        if self.scale:
            scaled, scaling = equal_columns(matrix, weights, int(self.budget))
        if self.class_weight is not None:
            weights = balanced(weights, codes == 1)
        solved = solve_budgeted(
            scaled,
            np.where(codes == 1, 1.0, -1.0),
            float(self.C) * weights,
            budget=int(self.budget),
            fit_intercept=bool(self.fit_intercept),
            plane_size=None if self.plane_size is None else int(self.plane_size),
            tol=float(self.tol),
            max_planes=int(self.max_planes),
            max_iter=int(self.max_iter),
        )
        if scaling is not None:
            solved = solved.unscaled(scaling)
        self._take(solved)
        if solved.features.size and _one_sided(matrix, weights, solved):
            self.stop_reason_ += f"; {NOT_DIVIDED}: {NOT_DIVIDED_REMEDY}"
        if not solved.converged:
            self.stop_reason_ = (
                f"iteration limit; {UNSOLVED_REMEDY}, or raise max_iter "
                f"(now {self.max_iter}) or tol"
            )
            warnings.warn(self.stop_reason_, ConvergenceWarning, stacklevel=user_stacklevel())
        return self

    def _take(self, solved: "BudgetedDecisions") -> None:
        width = self.n_features_in_
        self.coef_ = _rows([solved.features], [solved.coef[0]], width)
        self.planes_ = _rows(solved.planes, [w[0] for w in solved.plane_weights], width)
        self.intercept_ = solved.intercepts
        self.objective_trace_ = np.array(solved.objectives)
        self.objective_ = float(solved.objective)
        self.lower_bound_ = float(solved.bound)
        length = float(np.linalg.norm(solved.coef))
        self.margin_ = 1 / length if length else np.inf
        self.n_iter_ = int(solved.n_iter)
        self.stop_reason_ = solved.stop_reason

    @property
    def selected_features_(self) -> IndexArray:
        """The features of non-zero weight, sorted."""
        check_is_fitted(self)
        return self.coef_.indices.astype(np.uint32)

    def decision_function(self, X: object) -> DoubleArray:
        """w·x + b for each sample, positive for the second class."""
        from labelwood.linear.budgeted.cutting_planes import decide

        matrix = self._check_X(X)
        coef = self.coef_.data[None, :]
        return decide(matrix, self.selected_features_, coef, self.intercept_)[0]

    def _check_fitted(self) -> None:
        super()._check_fitted()
        for name in ("coef_", "planes_"):
            matrix: Any = getattr(self, name)
            if not sp.issparse(matrix) or matrix.format != "csr":
                raise DataError(f"{name} must be a sparse matrix")
            check_structure(matrix, name)
            if not np.isfinite(matrix.data).all():
                raise DataError(f"{name} holds a number that is not finite")
        if not np.isfinite(self.intercept_).all():
            raise DataError("intercept_ is not finite")


def _one_sided(X: CSR, weights: DoubleArray, solved: "BudgetedDecisions") -> bool:
    """Whether the decision says the same of all samples that have a weight."""
    from labelwood.linear.budgeted.cutting_planes import decide

    scores = decide(X, solved.features, solved.coef, solved.intercepts)[0]
    positive = scores[weights > 0] > 0
    return bool(positive.all() or not positive.any())


def _rows(features: list[IndexArray], values: list[DoubleArray], width: int) -> CSR:
    """A sparse matrix with these stored entries in its rows."""
    indptr = np.cumsum([0, *(row.size for row in features)])
    indices = np.concatenate([*features, np.empty(0, dtype=np.uint32)])
    data = np.concatenate([*values, np.empty(0)])
    return make_csr(indptr, indices.astype(np.int64), data, (len(features), width))
