"""The contract that every multi-label estimator of the package keeps."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from labelwood.core.calibration import (
    HeldOut,
    apply_calibration,
    best_threshold,
    check_calibration,
    check_threshold,
    fit_calibration,
    held_out_scores,
)
from labelwood.core.contract import (
    FittedEstimator,
    check_features,
    check_fitted_attributes,
)
from labelwood.core.frames import frame_matrix, frame_names, is_frame, is_numbered
from labelwood.core.labels import (
    check_label_space,
    encode_labels,
    indicator,
    is_label_lists,
    lists_to_indicator,
)
from labelwood.core.names import count, shown
from labelwood.core.params import Integer, check_parameter, check_parameters
from labelwood.core.sparse import entry_rows, unit_rows
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, AnyArray, DoubleArray, FloatArray, IndexArray
from labelwood.errors import DataError

_FEW_LABELS, _BEST_LABELS = 500, 20  # of which predict_proba gives all, or else the best
_CALIBRATION = ("calibration_scores_", "calibration_probabilities_")
_THRESHOLD = "f1_threshold_"


def _calibrates(estimator: object) -> bool:
    return bool(getattr(estimator, "calibrate", False))


class LabelEstimator(ClassifierMixin, FittedEstimator):
    """Base of the multi-label classifiers.

    A subclass declares `_constraints` (its parameters) and `_fitted` (its attributes),
    calls `_begin_fit` first in `fit`, and gives `_score` and, where it can do better than
    sort all scores, `_score_topk`. It gets `predict`, `predict_topk` and
    `decision_function`. If it has a parameter `calibrate`, its `fit` goes on with
    `_calibrate` when that is set, and it gets `predict_proba` too.

    When `fit` was given one class for each sample (a one-dimensional `y`), it behaves
    as an ordinary scikit-learn classifier: `predict` returns classes and
    `decision_function` a dense array.
    """

    _threshold: ClassVar[float] = 0.0
    _unscored: ClassVar[float] = 0.0  # stands for the score of a class that has none
    # Whether units of the features do not matter, as to rules that compare one with a value.
    _is_scale_invariant: ClassVar[bool] = False

    classes_: AnyArray
    multilabel_: bool
    n_features_in_: int
    calibration_scores_: DoubleArray
    calibration_probabilities_: DoubleArray
    f1_threshold_: float

    def _begin_fit(self, X: object, y: object) -> tuple[CSR, CSR]:
        """Check parameters and data; set the attributes that describe them."""
        check_parameters(self, self._constraints)
        for name in (*_CALIBRATION, _THRESHOLD):
            self.__dict__.pop(name, None)  # of an earlier fit
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        matrix = self._check_X(X, reset=True)
        Y, self.classes_, self.multilabel_ = encode_labels(y)
        check_label_space(Y)
        if Y.shape[0] != matrix.shape[0]:
            raise DataError(f"X has {matrix.shape[0]} rows and Y has {Y.shape[0]}.")
        return matrix, Y

    def _check_X(self, X: object, *, reset: bool = False) -> CSR:
        return check_features(self, X, reset=reset)

    def _scaled(self, X: CSR) -> CSR:
        """Rows of unit length if the parameter `normalize` says so."""
        return unit_rows(X) if getattr(self, "normalize", False) else X

    @abstractmethod
    def _score(self, X: CSR, above: float | None = None) -> CSR:
        """Scores of the labels that were scored; with `above`, only those greater."""

    def _score_topk(self, X: CSR, k: int) -> TopK:
        return TopK.from_csr(self._score(X), k)

    def _log_score(self, scores: FloatArray) -> FloatArray:
        """Scores on a scale on which they add up along trees and with a re-ranker."""
        return np.log(np.maximum(scores, np.finfo(np.float32).tiny), dtype=np.float32)

    def decision_function(self, X: object) -> Any:
        """Scores of the labels that were scored, as CSR of shape (n, n_labels).

        After a fit on one class for each sample: a dense array, of shape (n,) for two
        classes (positive means the second) and (n, n_classes) otherwise; a class that was
        not scored has less than any that was, or 0 where that is the least score.
        """
        scores = self._score(self._check_X(X))
        if self.multilabel_:
            return scores
        dense = np.full(scores.shape, self._unscored, dtype=scores.dtype)
        dense[entry_rows(scores), scores.indices] = scores.data
        return dense[:, 1] - dense[:, 0] if self.classes_.size == 2 else dense

    def predict_topk(self, X: object, k: int = 5, proba: bool = False) -> TopK:
        """The `k` best labels of each sample; fewer where fewer labels exist or were scored.

        With `proba`, which needs a fit with `calibrate=True`, their scores are probabilities.
        """
        check_parameter(type(self).__name__, "k", k, Integer(low=1))
        matrix = self._check_X(X)
        if proba:
            self._check_calibrated()
        top = self._score_topk(matrix, min(k, max(self.classes_.size, 1)))
        scores = top.scores
        if proba:
            scored = top.labels >= 0
            scores = np.full(scored.shape, -np.inf, dtype=np.float32)
            scores[scored] = self._probabilities(top.scores[scored])
        return TopK(top.labels, scores, self.classes_)

    @available_if(_calibrates)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: object, k: int | None = None) -> Any:
        """Probabilities that the `k` best labels of each sample are right, as CSR (n, n_labels).

        By default they are those of all labels that were scored if there are at most 500, and
        of the 20 best otherwise. A label that is not among them has no entry, which does not
        mean that its probability is zero. After a fit on one class for each sample: a dense
        array (n, n_classes) of all classes, whose rows sum to one.
        """
        check_is_fitted(self)
        if self.multilabel_:
            if k is None:
                n_labels = self.classes_.size
                k = max(n_labels, 1) if n_labels <= _FEW_LABELS else _BEST_LABELS
            return self.predict_topk(X, k, proba=True).to_csr(self.classes_.size)
        self._check_calibrated()
        scores = self._score(self._check_X(X))
        probabilities = np.full(scores.shape, 1e-9)  # of a class that was not scored
        probabilities[entry_rows(scores), scores.indices] = self._probabilities(scores.data)
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def _calibrate(
        self, X: CSR, Y: CSR, sample_weight: DoubleArray | None = None, **params: object
    ) -> None:
        """Learn how often a score is right, from samples that a second fit has not seen.

        The same samples tell from which probability on labels are best predicted (micro-F1).
        """
        model = clone(self).set_params(calibrate=False, **params)
        self._learn_probabilities(
            held_out_scores(model, X, Y, getattr(model, "random_state", None), sample_weight)
        )

    def _learn_probabilities(self, held_out: HeldOut) -> None:
        knots = fit_calibration(held_out.scores, held_out.hits)
        self.calibration_scores_, self.calibration_probabilities_ = knots
        probabilities = self._probabilities(held_out.scores)
        self.f1_threshold_ = best_threshold(probabilities, held_out.hits, held_out.n_true)

    def _check_calibrated(self) -> None:
        if not all(name in vars(self) for name in _CALIBRATION):
            why = " was fitted without calibrate=True and" if hasattr(self, "calibrate") else ""
            raise DataError(f"This {type(self).__name__}{why} gives no probabilities.")

    def _probabilities(self, scores: AnyArray) -> DoubleArray:
        return apply_calibration(scores, self.calibration_scores_, self.calibration_probabilities_)

    def predict(self, X: object) -> Any:
        """The labels scored above the threshold, as a CSR indicator.

        After a fit on one class for each sample: the best class of each sample.
        """
        check_is_fitted(self)
        if not self.multilabel_:
            scores = self.decision_function(X)
            best = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
            return self.classes_[np.asarray(best, dtype=np.intp)]
        scores = self._score(self._check_X(X), above=self._threshold)
        scores.data[:] = 1
        return scores

    def score(self, X: object, y: object) -> float:
        """Share of the samples whose predicted labels are all right and complete."""
        if is_label_lists(y):
            y = lists_to_indicator(y, self.classes_.tolist())  # type: ignore[arg-type]
        elif is_frame(y) and self.multilabel_:
            y = frame_matrix(y, self._known_columns(y))
        return float(super().score(X, y))

    def _known_columns(self, table: object) -> list[str]:
        """The columns of a table of labels in the order of `classes_`, where both have names."""
        classes, names = self.classes_.tolist(), frame_names(table)
        if is_numbered(table) and len(names) != len(classes):
            raise DataError(
                f"The labels are {count(len(names), 'column')}, which have no names, and the model "
                f"has {count(len(classes), 'label')}: give a column for each, or name them."
            )
        if self.classes_.dtype.kind != "U" or is_numbered(table):
            return names
        if set(names) != set(classes):
            odd = sorted(set(names) ^ set(classes))[0]
            where = "in the data" if odd in classes else "known to the model"
            raise DataError(
                f"The columns of the labels must be those of training: {shown(odd)} is not {where}."
            )
        return classes

    def _check_new_columns(self, Y: object, labels: Sequence[object], n: int) -> CSR:
        """Y as an indicator whose columns are `labels`, which can stand beside those known."""
        if not self.multilabel_:
            raise DataError("New labels need a model of label sets, not of one class per sample.")
        kind = np.str_ if self.classes_.dtype.kind == "U" else np.integer
        names = np.asarray(labels)
        if isinstance(labels, str) or (names.ndim == 1 and np.unique(names).size < names.size):
            raise DataError("labels must be a list of different labels.")
        if names.size and (names.ndim != 1 or not np.issubdtype(names.dtype, kind)):
            raise DataError(
                f"labels must be of the kind of the labels known, such as "
                f"{self.classes_[:1].tolist()}. Got {labels!r}."
            )
        if is_label_lists(Y) and any(isinstance(one, str) for row in Y for one in row):  # type: ignore[attr-defined]
            columns = lists_to_indicator(Y, list(labels))  # type: ignore[arg-type]
        else:
            columns = indicator(np.asarray(Y) if isinstance(Y, list) else Y)
        if columns.shape != (n, len(labels)):
            raise DataError(
                f"Y must have {n} rows and a column for each of {len(labels)} labels. "
                f"Got {columns.shape}."
            )
        everywhere = np.bincount(columns.indices, minlength=len(labels)) == n
        if n and everywhere.any():
            label = names.tolist()[int(everywhere.argmax())]
            raise DataError(
                f"All {n} samples have the new label {label!r}, which would then be predicted "
                "everywhere: give samples without it as well."
            )
        return columns

    def _place_labels(self, labels: Sequence[object]) -> IndexArray:
        """Where `labels` are in `classes_`, at the end of which new ones join."""
        known = {name: column for column, name in enumerate(self.classes_.tolist())}
        new = [name for name in labels if name not in known]
        known.update({name: len(known) + i for i, name in enumerate(new)})
        if new:
            self.classes_ = np.concatenate([self.classes_, np.asarray(new)])
        return np.array([known[name] for name in labels], dtype=np.uint32)

    def _common_sizes(self) -> dict[str, int]:
        return super()._common_sizes() | {"labels": self.classes_.size}

    def _check_fitted(self) -> None:
        """Refuse fitted attributes that would send a kernel out of bounds (after loading)."""
        if not isinstance(getattr(self, "classes_", None), np.ndarray) or self.classes_.ndim != 1:
            raise DataError("classes_ must be a list of labels")
        check_fitted_attributes(self, {"multilabel_": bool}, {})
        super()._check_fitted()
        if any(name in vars(self) for name in _CALIBRATION):
            check_calibration(*(getattr(self, name, None) for name in _CALIBRATION))
        check_threshold(vars(self).get(_THRESHOLD, 0.5))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags
