"""What a Tagger learns, and how its learner decides: parts, features and threshold."""

import logging
import time
import warnings
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from labelwood.auto import OBJECTIVES, Choice, choose_learner
from labelwood.core.calibration import MIN_SAMPLES, check_calibration, check_threshold
from labelwood.core.contract import (
    FittedAttributes,
    FittedEstimator,
    check_fitted_attributes,
)
from labelwood.core.estimator import LabelEstimator
from labelwood.core.frames import is_frame
from labelwood.core.keywords import NamedParameters
from labelwood.core.names import count
from labelwood.core.params import (
    Boolean,
    Constraints,
    Integer,
    OneOf,
    Real,
    check_parameter,
    check_parameters,
)
from labelwood.core.sparse import as_csr
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, AnyArray
from labelwood.data.dataset import Dataset
from labelwood.data.taxonomy import Taxonomy
from labelwood.data.text import TextVectorizer
from labelwood.errors import DataError, LabelwoodWarning, ParameterError
from labelwood.tagger import decisions, memory
from labelwood.tagger.choice import (
    candidates,
    default_vectorizer,
    require_instance,
    split_taxonomy,
    warn_of_foreign,
    weighted_candidate,
    with_numbered_weights,
)
from labelwood.tagger.comparison import compare, comparison_table
from labelwood.tagger.inputs import content_hash, feature_data, is_matrix, labeled_data, texts_of
from labelwood.tagger.names import features_by_name, label_names, warn_of_alike_labels
from labelwood.tagger.overlap import check_sketch, sample_hashes, sketch
from labelwood.tagger.scaling import Scaling, find_scaling
from labelwood.trees.rules.label_rules import check_history

# Messages of what is about to be trained; the command line shows them.
_logger = logging.getLogger("labelwood.auto")
_KNOTS = ("calibration_scores_", "calibration_probabilities_")


class BaseTagger(NamedParameters, FittedEstimator):
    """Vectorizer, learner and threshold; `RuledTagger` adds rules, `Tagger` what people call."""

    _constraints: ClassVar[Constraints] = {
        "threshold": (OneOf("auto"), Real(low=0, high=1), None),
        "scale": (OneOf("auto"), Boolean()),
        "remember": (Boolean(), Integer(low=1)),
        "objective": OneOf(*OBJECTIVES),
        "time_limit": (Real(above=0), None),
        "memory_limit": (Real(above=0), None),
    }

    def __init__(
        self,
        estimator: Any = "auto",
        vectorizer: Any = None,
        *,
        threshold: str | float | None = "auto",
        scale: str | bool = "auto",
        remember: bool | int = False,
        objective: str = "P@k",
        time_limit: float | None = None,
        memory_limit: float | None = None,
    ) -> None:
        self.estimator = estimator
        self.vectorizer = vectorizer
        self.threshold = threshold
        self.scale = scale
        self.remember = remember
        self.objective = objective
        self.time_limit = time_limit
        self.memory_limit = memory_limit

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of a part by names such as ``vectorizer__min_df``."""
        for name in params:
            part, nested, _ = name.partition("__")
            own = params.get(part, vars(self).get(part))
            if nested and part in ("estimator", "vectorizer") and not hasattr(own, "set_params"):
                example = f"{type(self).__name__}(OneVsRestSVM(), TextVectorizer())"
                raise ParameterError(
                    f"{name} is a parameter of the {part}, which is {own!r} here; give the parts, "
                    f"as in {example}."
                )
        return super().set_params(**params)

    def fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """Vectorize the texts, if that is what they are, and fit the estimator.

        Parameters
        ----------
        X : list, array or Series of texts, matrix or table of features, or Dataset
        y : labels of the samples, unless X is a Dataset
            Lists of names, one name for each sample, an indicator, or a table of zeros and ones.
        sample_weight : array of shape (n_samples,), optional
            For an estimator that takes weights; 2 counts a sample as two.
        """
        check_parameters(self, self._constraints)
        start = time.perf_counter()
        dataset = memory.require_labels(labeled_data(X, y))
        warn_of_alike_labels(label_names(dataset))
        memory.warn_of_constant(dataset)
        self.vectorizer_: Any = None
        if dataset.X is None:
            vectorizer = default_vectorizer() if self.vectorizer is None else self.vectorizer
            warn_of_foreign(require_instance("vectorizer", vectorizer))
            self.vectorizer_ = clone(vectorizer)
            features = as_csr(self.vectorizer_.fit_transform(dataset.texts or (), dataset.Y))
            names = None  # the vectorizer has them, in less space
        else:
            features, names = dataset.X, dataset.feature_names
        self._learn_scaling(features)
        vectorized = time.perf_counter()
        self.comparison_: list[dict[str, Any]] = []
        estimator, self.auto_ = self._chosen_estimator(
            self._scaled(features), dataset.Y, weighted=sample_weight is not None
        )
        estimator = with_numbered_weights(estimator, label_names(dataset))
        chosen = time.perf_counter()
        self._fit_estimator(estimator, features, dataset.Y, sample_weight)
        self._widen_beam()
        self._seconds = {
            "text": vectorized - start,
            "choice": chosen - vectorized,
            "learner": time.perf_counter() - chosen,
        }
        self.feature_names_ = None if names is None else np.asarray(names, dtype=np.str_)
        self.label_names_ = np.asarray(label_names(dataset), dtype=np.str_)
        self.taxonomy_ = dataset.taxonomy
        self.closed_labels_ = _learns_closed_labels(self.estimator_, dataset)
        self.data_hash_ = content_hash(dataset)
        self.sample_hashes_, self.repeated_share_ = sketch(sample_hashes(self, dataset))
        texts, labels = dataset.text_columns, dataset.label_columns
        self.text_columns_: list[str] | None = None if texts is None else list(texts)
        self.label_columns_: list[str] | None = None if labels is None else list(labels)
        self.label_separator_: str | None = dataset.label_separator
        self.rules_history_: list[str] = []
        return self

    def _learn_scaling(self, X: CSR) -> None:
        """Find how features that are measurements are standardized."""
        found = find_scaling(X) if self.vectorizer_ is None and self._scales() else None
        self.feature_offsets_ = None if found is None else found.offsets
        self.feature_scales_ = None if found is None else found.scales
        if found is not None:
            centered, all_of_them = f"{found.n_centered:,}", count(X.shape[1], "feature")
            _logger.info("%s of %s are measurements: standardized", centered, all_of_them)

    def _scales(self) -> bool:
        """Whether measurements are to be standardized: not for rules, in units that people know."""
        if self.scale == "auto":
            return not getattr(self.estimator, "_is_scale_invariant", False)
        return bool(self.scale)

    def _scaling(self) -> Scaling | None:
        """How features are scaled; a model of an earlier version has no scaling."""
        offsets: Any = vars(self).get("feature_offsets_")
        scales: Any = vars(self).get("feature_scales_")
        return None if offsets is None and scales is None else Scaling(offsets, scales)

    def _scaled(self, X: CSR) -> CSR:
        """The features as the estimator gets them."""
        scaling = self._scaling()
        return X if scaling is None else scaling.apply(X)

    def _chosen_estimator(
        self, X: CSR, Y: CSR, *, weighted: bool
    ) -> tuple[Any, dict[str, Any] | None]:
        """A copy of the estimator to fit, and the record of the choice if there was one."""
        trials = getattr(self.vectorizer_, "trials_", None)
        tables = [self.vectorizer_.trial_table()] if trials else []
        if not isinstance(self.estimator, (str, tuple)):
            estimator, record = clone(require_instance("estimator", self.estimator)), None
        elif weighted and self.estimator == "auto":
            estimator, record = weighted_candidate(), None
        else:
            given, along = split_taxonomy(self.estimator)
            # Labels can be added to the linear ones only, for which samples are remembered.
            learners = candidates(given, linear=bool(self.remember))
            if self._decides(Y):  # so that the expected costs are those of the fit that follows
                learners = {
                    name: clone(one).set_params(calibrate=True) for name, one in learners.items()
                }
            choice = choose_learner(
                X,
                Y,
                candidates=tuple(learners.values()),
                objective=self.objective,
                time_limit=self.time_limit,
                memory_limit=self.memory_limit,
                random_state=next(iter(learners.values())).random_state,
            )
            params = {k: v for k, v in choice.candidate.params.items() if k != "beam"}
            estimator = clone(learners[choice.learner]).set_params(**params)
            record = choice.to_dict()
            tables.append(f"{choice}{_of_labeled_samples(Y)}")
            if along is not None:
                # Neither kind is the better one on all taxonomies, so that a trial decides.
                both = {type(one).__name__: one for one in (along, estimator)}
                self.comparison_ = compare(both, X, Y)
                estimator = clone(both[self.comparison_[0]["learner"]])
                tables.append(comparison_table(self.comparison_))
        for table in tables:
            _logger.info("%s", table)
        return estimator, record

    def _decides(self, Y: CSR) -> bool:
        """Whether probabilities and a threshold are learned on held-out samples."""
        return self.threshold is not None and decisions.can_hold_out(Y)

    def _widen_beam(self) -> None:
        """Set the beam that was chosen: it is for prediction, and would triple the training."""
        choice = self.choice_
        params = {} if choice is None else choice.candidate.params
        if "beam" in params and "beam" in self.estimator_.get_params(deep=False):
            self.estimator_.set_params(beam=params["beam"])

    def _fit_estimator(self, estimator: Any, X: CSR, Y: CSR, sample_weight: object) -> None:
        """Fit, learn probabilities and the threshold on held-out samples, and keep samples."""
        weights: dict[str, Any] = {}
        if sample_weight is not None:
            if not has_fit_parameter(estimator, "sample_weight"):
                raise ParameterError(
                    f"{type(estimator).__name__} takes no sample_weight; OneVsRestSVM does."
                )
            weights["sample_weight"] = np.asarray(sample_weight, dtype=np.float64)
        scaled = self._scaled(X)
        decide = self._decides(Y)
        own = "calibrate" in estimator.get_params(deep=False)
        if decide and own:
            estimator.set_params(calibrate=True)
        self.estimator_ = estimator.fit(scaled, Y, **weights)
        threshold = vars(self.estimator_).get("f1_threshold_") if decide else None
        for name in _KNOTS:
            self.__dict__.pop(name, None)  # of an earlier fit
        if decide and not own:
            knots = decisions.learn_calibration(estimator, scaled, Y, weights)
            self.calibration_scores_, self.calibration_probabilities_, threshold = knots
        if decide and isinstance(self.threshold, (int, float)):
            threshold = float(self.threshold)
        self.threshold_: float | None = threshold
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        self.label_counts_ = counts.astype(np.int64, copy=False)
        self.n_samples_ = int(Y.shape[0])
        self.remembered_X_: CSR | None = None
        self.remembered_Y_: CSR | None = None
        if self.remember:
            self.remembered_X_, self.remembered_Y_ = memory.remembered(X, Y, self.remember)

    @property
    def classes_(self) -> AnyArray:
        """The names of the labels, in the order of the columns of `predict_proba`."""
        check_is_fitted(self, "estimator_")
        return self.label_names_

    @property
    def choice_(self) -> Choice | None:
        """The choice of the learner, or None where the estimator was given."""
        check_is_fitted(self, "estimator_")
        record = vars(self).get("auto_")
        return None if record is None else Choice.from_dict(record)

    def without_evidence(self, data: Any) -> NDArray[np.bool_]:
        """Which samples hold no feature (of a text: no word) that the model knows.

        Their labels are predicted from nothing but the frequencies in training.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LabelwoodWarning)
            return np.diff(self.unscaled_features(data).indptr) == 0

    def _sets(self, X: CSR, threshold: float | None, k: int | None, at_least_one: bool) -> CSR:
        n_labels = self.label_names_.size
        at = self._used_threshold(threshold, k)
        if at is not None:
            top = self._learner_topk(X, decisions.count_asked(k, n_labels), proba=True)
            return decisions.as_sets(decisions.cut(top, at, at_least_one=at_least_one), n_labels)
        if k is not None:
            return decisions.as_sets(self._learner_topk(X, k, proba=False), n_labels)
        if not X.shape[0]:
            return sp.csr_array((0, n_labels), dtype=np.float32)
        decided = sp.csr_array(self.estimator_.predict(self._scaled(X)))
        if not at_least_one:
            return decided
        return decisions.with_one(decided, self._learner_topk(X, 1, proba=False))

    def _used_threshold(self, given: float | None, k: int | None) -> float | None:
        """The threshold that is given, or else that of the fit; `k` alone asks for no threshold."""
        check_parameter("Tagger", "threshold", given, (Real(low=0, high=1), None))
        check_parameter("Tagger", "k", k, (Integer(low=1), None))
        if given is not None and not self.has_probabilities:
            raise DataError(
                f"A threshold is a probability, and this Tagger gives none: {self._remedy()}, or "
                "give k."
            )
        if given is not None or k is not None:
            return given
        return vars(self).get("threshold_")

    @property
    def has_probabilities(self) -> bool:
        """Whether the Tagger has learned how often its scores are right."""
        check_is_fitted(self, "estimator_")
        return any(all(name in vars(one) for name in _KNOTS) for one in (self, self.estimator_))

    def _remedy(self) -> str:
        """What to do for probabilities, where there are none."""
        if self.n_samples_ < MIN_SAMPLES:
            return f"fit it on {MIN_SAMPLES} samples or more, of which some are held out"
        return "fit it with threshold='auto'"

    def _learner_topk(self, X: CSR, k: int, proba: bool) -> TopK:
        """The best labels of the estimator; by their frequencies where nothing is known."""
        if not X.shape[0]:  # an empty batch, which estimators refuse, has an empty answer
            none = np.empty((0, min(k, self.label_names_.size)))
            return TopK(none.astype(np.int32), none.astype(np.float32), self.label_names_)
        scaled = self._scaled(X)
        if proba and _KNOTS[0] in vars(self):
            knots = (self.calibration_scores_, self.calibration_probabilities_)
            top = decisions.calibrated_topk(self.estimator_.predict_topk(scaled, k), knots)
        else:
            top = self.estimator_.predict_topk(scaled, k, proba=proba)
        labels, scores = top.labels, top.scores
        unknown = np.diff(X.indptr) == 0
        if proba and self.vectorizer_ is not None and unknown.any():
            prior = self.label_counts_ / self.n_samples_
            best = np.argsort(-prior, kind="stable")[: top.k]
            labels[unknown], scores[unknown] = best, prior[best]
        return TopK(labels, scores, self.label_names_)

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds that the last `fit` took for the texts and for the learner; not stored."""
        return dict(vars(self).get("_seconds", {}))

    def features(self, data: Any) -> CSR:
        """Features as the estimator was trained on, from texts, a table, or a data set."""
        return self._scaled(self.unscaled_features(data))

    def unscaled_features(self, data: Any) -> CSR:
        """The same in the units of the data, of which rules speak."""
        check_is_fitted(self, "estimator_")
        if not isinstance(data, Dataset):
            if self.vectorizer_ is not None:
                return self._vectorize(data)
            if not (is_frame(data) or is_matrix(data)):
                raise DataError("The model was trained on features and the data are texts.")
            data = feature_data(data)
        if data.X is None:
            return self._vectorize(data.texts or ())
        if self.vectorizer_ is not None:
            if data.texts is None:
                raise DataError("The model was trained on texts and the data are features.")
            return self._vectorize(data.texts)
        X = data.X
        if data.feature_names is not None and self.feature_names_ is not None:
            X = features_by_name(X, data.feature_names, self.feature_names_)
        width = self.estimator_.n_features_in_
        if X.shape[1] != width:
            raise DataError(
                f"{data.description or 'The data set'} has {X.shape[1]} features; "
                f"the model was trained on {width} (a file that does not state its width "
                f"is read with n_features={width})."
            )
        return X

    def _check_fitted(self) -> None:
        """Refuse parts that do not belong together (after loading)."""
        wanted: FittedAttributes = {
            "label_names_": np.ndarray,
            "label_counts_": (np.int64, ("labels",)),
            "n_samples_": int,
            "data_hash_": str,
        }
        check_fitted_attributes(self, {"estimator_": LabelEstimator}, {})
        check_fitted_attributes(self, wanted, {"labels": self.estimator_.classes_.size})
        names_fit = self.label_names_.shape == self.estimator_.classes_.shape
        if not names_fit or self.label_names_.dtype.kind != "U":
            raise DataError("label_names_ must name each label")
        for name, kind in (("vectorizer_", TextVectorizer), ("taxonomy_", Taxonomy)):
            if not isinstance(getattr(self, name), (kind, type(None))):
                raise DataError(f"{name} must be a {kind.__name__} or None")
        if vars(self).get("threshold_") is not None:
            check_threshold(self.threshold_)
        if any(name in vars(self) for name in _KNOTS):
            check_calibration(*(vars(self).get(name) for name in _KNOTS))
        if not isinstance(vars(self).get("closed_labels_", False), bool):
            raise DataError("closed_labels_ must be True or False")
        for name in ("text_columns_", "label_columns_"):
            columns = vars(self).get(name)
            listed = isinstance(columns, list) and all(isinstance(one, str) for one in columns)
            if columns is not None and not listed:
                raise DataError(f"{name} must be a list of column names or None")
        if not isinstance(vars(self).get("label_separator_"), str | None):
            raise DataError("label_separator_ must be a str or None")
        if "sample_hashes_" in vars(self):
            check_sketch(self.sample_hashes_, vars(self).get("repeated_share_"))
        self.choice_  # noqa: B018 - it refuses a record that is none
        check_history(getattr(self, "rules_history_", []))
        scaling = self._scaling()
        if scaling is not None:
            scaling.check(self.estimator_.n_features_in_)
        names = self.feature_names_
        if names is not None and len(names) != self.estimator_.n_features_in_:
            raise DataError("feature_names_ must name each feature")

    def _vectorize(self, data: Any) -> CSR:
        if self.vectorizer_ is None:
            raise DataError("The model was trained on features and the data are texts.")
        texts = texts_of(data, vars(self).get("text_columns_"))
        return as_csr(self.vectorizer_.transform(texts))  # it warns of unknown texts


def _of_labeled_samples(Y: CSR) -> str:
    """What a reader must know who compares held-out figures with those of an evaluation."""
    n_unlabeled = int(np.count_nonzero(np.diff(Y.indptr) == 0))
    if not n_unlabeled:
        return ""
    return (
        f"\n(of held-out samples that have labels; {n_unlabeled:,} of {Y.shape[0]:,} have none, "
        "which an evaluation counts as misses)"
    )


def _learns_closed_labels(estimator: Any, dataset: Dataset) -> bool:
    """Whether the label sets that it was fitted on hold the ancestors of all their labels."""
    forest = dataset.label_taxonomy
    if forest is None or getattr(estimator, "close_labels", False):
        return forest is not None
    below = forest.parent[dataset.Y.indices] >= 0
    return bool(below.any()) and forest.is_closed(dataset.Y)
