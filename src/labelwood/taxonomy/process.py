"""What the bounds of hierarchical least squares ask of the data."""

import numpy as np
from numpy.typing import ArrayLike

from labelwood.core.params import Integer, check_parameter
from labelwood.core.types import DoubleArray
from labelwood.errors import DataError

_ROUNDING = 1e-9


class Process:
    """What theorem 1 asks of the data: arrays with an entry for each node.

    `TaxonomyModel.process` estimates it for the data model.

    Parameters
    ----------
    n_features : int
        d, the dimension of the instances.
    depth : int array
        h_i, the number of ancestors.
    margin : float array
        γ_i: |u_i·x| is never less.
    eigenvalue : float array
        λ_i, the smallest eigenvalue of E[xxᵀ | the parent's label is positive].
    predicted : float array
        P(A_i): how often the true predictor (2) gives all ancestors of the node.
    observed : float array
        μ_i: how often the parent's label is positive, so that the node learns.

    Examples
    --------
    >>> process = Process(2, [0, 1], [0.5, 0.4], [0.5, 0.5], [1.0, 0.5], [1.0, 0.6])
    >>> process.margin
    array([0.5, 0.4])
    """

    def __init__(
        self,
        n_features: int,
        depth: ArrayLike,
        margin: ArrayLike,
        eigenvalue: ArrayLike,
        predicted: ArrayLike,
        observed: ArrayLike,
    ) -> None:
        check_parameter("Process", "n_features", n_features, Integer(low=1))
        self.n_features = n_features
        self.depth = _of_nodes("depth", depth, np.inf)
        self.margin = _of_nodes("margin", margin, 1)
        self.eigenvalue = _of_nodes("eigenvalue", eigenvalue, 1 / n_features)
        self.predicted = _of_nodes("predicted", predicted, 1)
        self.observed = _of_nodes("observed", observed, 1)
        sizes = {name: value.size for name, value in vars(self).items() if name != "n_features"}
        if len(set(sizes.values())) > 1:
            raise DataError(f"A Process needs an entry for each node. Got arrays of sizes {sizes}.")


def _of_nodes(name: str, values: ArrayLike, limit: float) -> DoubleArray:
    array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if array.ndim != 1 or not np.all((array >= 0) & (array <= limit + _ROUNDING)):
        raise DataError(
            f"The {name!r} of a Process must be an array of numbers in 0…{limit:.4g}. "
            f"Got {values!r}."
        )
    return np.minimum(array, limit)
