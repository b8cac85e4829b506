"""A learner with all that goes with it: vectorizer, label names, training counts."""

import hashlib
import logging
import time
import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from labelwood.auto import OBJECTIVES, Choice, choose_learner
from labelwood.core.caller import user_stacklevel
from labelwood.core.contract import (
    FittedAttributes,
    FittedEstimator,
    check_fitted_attributes,
)
from labelwood.core.estimator import LabelEstimator
from labelwood.core.params import OneOf, Real, check_parameter
from labelwood.core.sparse import make_csr
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, AnyArray
from labelwood.data.dataset import Dataset, check_texts
from labelwood.data.taxonomy import Taxonomy
from labelwood.data.text import TextVectorizer
from labelwood.errors import DataError, LabelwoodWarning, ParameterError
from labelwood.metrics.evaluate import Evaluation, evaluate
from labelwood.metrics.propensity import propensity
from labelwood.trees.rules.label_rules import LabelRules, RuleEffect, check_history

# Messages of what is about to be trained; the command line shows them.
_logger = logging.getLogger("labelwood.auto")
_UNKNOWN_SHARE = 0.5
"""Data of which less than this share of the named features is known to the model are refused."""
_MISSING_SHARE = 0.05
"""A warning counts the features of the model that the data lack, if they are more than this."""


class Tagger(FittedEstimator):
    """From texts or features to label names: what the command line trains and saves.

    Parameters
    ----------
    estimator : "auto", a multi-label estimator of labelwood, or a tuple of them
        Cloned, then fitted on the features. "auto" takes what `choose_learner` finds to be best
        on held-out training samples: one-vs-rest or label trees. A tuple of an `OneVsRestSVM`
        and a `LabelTreeClassifier` is such a choice between two with parameters of your own.
    vectorizer : TextVectorizer or None
        Used when the data are texts; None means `default_vectorizer()`.
    objective : "P@k", "PSP@k", "nDCG@k" or "micro-F1"
        What the choice maximizes; the first three are means over k = 1, 3 and 5.
    time_limit, memory_limit : float or None
        Seconds of training and bytes that the learner of the choice may take; see
        `choose_learner`.

    Attributes
    ----------
    estimator_, vectorizer_ :
        The fitted parts; `vectorizer_` is None after a fit on features.
    choice_ : Choice or None
        Expected costs and held-out quality of the candidates, and the reason for the one that
        was taken; None where the estimator was given.
    label_names_ : array of str
    feature_names_ : array of str or None
        Names of the features, where the data set had them; those of texts are with the
        vectorizer.
    label_counts_ : array
        Training samples of each label, from which propensities are estimated.
    n_samples_ : int
        Training samples.
    taxonomy_ : Taxonomy or None
        The forest of the labels, where the data set had one.
    closed_labels_ : bool
        Whether the estimator learned from label sets that hold all ancestors of their labels.
        `evaluate` then closes the truth in the same way.
    data_hash_ : str
        SHA-256 of the training features (or texts) and labels.
    rules_history_ : list of str
        Every version of a person's rules (`set_rules`), the latest last.

    Examples
    --------
    >>> from labelwood import OneVsRestSVM, Tagger
    >>> from labelwood.data import Dataset
    >>> texts = ["a cat on a mat", "a dog in a fog", "the cat and the dog"]
    >>> data = Dataset.from_lists(texts, [["cat"], ["dog"], ["cat", "dog"]])
    >>> tagger = Tagger(OneVsRestSVM(random_state=0), TextVectorizer(min_df=1)).fit(data)
    >>> tagger.predict_topk(["one more cat"], k=1).names()
    [['cat']]
    """

    def __init__(
        self,
        estimator: Any = "auto",
        vectorizer: TextVectorizer | None = None,
        *,
        objective: str = "P@k",
        time_limit: float | None = None,
        memory_limit: float | None = None,
    ) -> None:
        self.estimator = estimator
        self.vectorizer = vectorizer
        self.objective = objective
        self.time_limit = time_limit
        self.memory_limit = memory_limit

    def fit(self, dataset: Dataset) -> Self:
        """Vectorize the texts, if that is what they are, and fit the estimator."""
        if not isinstance(dataset, Dataset):
            raise DataError(
                f"fit takes a Dataset. Got {type(dataset).__name__}; "
                "Dataset.from_lists(texts, labels) makes one."
            )
        check_parameter("Tagger", "objective", self.objective, OneOf(*OBJECTIVES))
        for name in ("time_limit", "memory_limit"):
            check_parameter("Tagger", name, getattr(self, name), (Real(above=0), None))
        start = time.perf_counter()
        if dataset.Y.nnz == 0:
            raise DataError(
                f"No sample of {dataset.description or 'the data set'} has a label; "
                "is the column of the labels called something else?"
            )
        self.vectorizer_: TextVectorizer | None = None
        if dataset.X is None:
            vectorizer = default_vectorizer() if self.vectorizer is None else self.vectorizer
            self.vectorizer_ = clone(vectorizer)
            X = self.vectorizer_.fit_transform(dataset.texts or (), dataset.Y)
            names = None  # the vectorizer has them, in less space
        else:
            X, names = dataset.X, dataset.feature_names
        vectorized = time.perf_counter()
        estimator, self.auto_ = self._chosen_estimator(X, dataset.Y)
        chosen = time.perf_counter()
        self.estimator_ = estimator.fit(X, dataset.Y)
        self._seconds = {
            "text": vectorized - start,
            "choice": chosen - vectorized,
            "learner": time.perf_counter() - chosen,
        }
        self.feature_names_ = None if names is None else np.asarray(names, dtype=np.str_)
        self.label_names_ = np.asarray(_label_names(dataset), dtype=np.str_)
        counts = np.bincount(dataset.Y.indices, minlength=dataset.n_labels)
        self.label_counts_ = counts.astype(np.int64, copy=False)
        self.n_samples_ = len(dataset)
        self.taxonomy_ = dataset.taxonomy
        self.closed_labels_ = _learns_closed_labels(self.estimator_, dataset)
        self.data_hash_ = _content_hash(dataset)
        self.rules_history_: list[str] = []
        return self

    def _chosen_estimator(self, X: CSR, Y: CSR) -> tuple[Any, dict[str, Any] | None]:
        """A copy of the estimator to fit, and the record of the choice if there was one."""
        tables = [] if self.vectorizer_ is None else [self.vectorizer_.trial_table()]
        if not isinstance(self.estimator, (str, tuple)):
            estimator, record = clone(self.estimator), None
        else:
            candidates = _candidates(self.estimator)
            choice = choose_learner(
                X,
                Y,
                candidates=tuple(candidates.values()),
                objective=self.objective,
                time_limit=self.time_limit,
                memory_limit=self.memory_limit,
                random_state=next(iter(candidates.values())).random_state,
            )
            estimator = clone(candidates[choice.learner]).set_params(**choice.candidate.params)
            record = choice.to_dict()
            tables.append(str(choice))
        for table in filter(None, tables):
            _logger.info("%s", table)
        return estimator, record

    @property
    def choice_(self) -> Choice | None:
        """The choice of the learner, or None where the estimator was given."""
        check_is_fitted(self, "estimator_")
        record = vars(self).get("auto_")
        return None if record is None else Choice.from_dict(record)

    def without_evidence(self, data: Dataset | Sequence[str]) -> NDArray[np.bool_]:
        """Which samples hold no feature (of a text: no word) that the model knows.

        Their labels are predicted from nothing but the frequencies in training.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LabelwoodWarning)
            return np.diff(self.features(data).indptr) == 0

    @property
    def rules(self) -> LabelRules:
        """A person's rules for labels, applied after the estimator; see `set_rules`."""
        check_is_fitted(self, "estimator_")
        history: list[str] = getattr(self, "rules_history_", [])
        return LabelRules.from_text(history[-1]) if history else LabelRules()

    def set_rules(self, text: str) -> Self:
        """Take rules such as ``always earn if dividend & -loss``, in place of those there are.

        See `labelwood.trees.rules.label_rules` for what rules can be. Earlier versions stay in
        `rules_history_`.
        """
        check_is_fitted(self, "estimator_")
        rules = LabelRules.from_text(text)
        rules.check(self.label_names_, self.names_of_features())
        self.rules_history_ = [*getattr(self, "rules_history_", []), str(rules)]
        return self

    def names_of_features(self) -> AnyArray | None:
        """Names of the features, by which rules refer to them; None where there are none."""
        if self.vectorizer_ is not None:
            return np.asarray(self.vectorizer_.get_feature_names_out())
        return self.feature_names_

    def rule_effects(self, data: Dataset | Sequence[str]) -> list[list[RuleEffect]]:
        """The labels that rules add to what the estimator decides, or remove from it."""
        X = self.features(data)
        decided = sp.csr_array(self.estimator_.predict(X))
        return self.rules.decide(decided, X, self.label_names_, self.names_of_features())[1]

    def _decide(self, X: CSR) -> CSR:
        """Label sets of the estimator, after the rules."""
        decided = sp.csr_array(self.estimator_.predict(X))
        rules = self.rules
        if not len(rules):
            return decided
        return rules.decide(decided, X, self.label_names_, self.names_of_features())[0]

    def _rank(self, X: CSR, k: int, proba: bool = False) -> TopK:
        """The best labels of the estimator, after the rules."""
        rules = self.rules
        if not len(rules):
            return self._learner_topk(X, k, proba)
        top = self._learner_topk(X, k + rules.n_removable, proba)
        k = min(k, self.label_names_.size)
        return rules.rank(top, k, X, self.label_names_, self.names_of_features(), proba=proba)[0]

    def _learner_topk(self, X: CSR, k: int, proba: bool) -> TopK:
        """The best labels of the estimator; by their frequencies where nothing is known."""
        top = self.estimator_.predict_topk(X, k, proba=proba)
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

    def features(self, data: Dataset | Sequence[str]) -> CSR:
        """Features as the estimator was trained on, from texts or from a data set."""
        check_is_fitted(self, "estimator_")
        if not isinstance(data, Dataset):
            return self._vectorize(data)
        if data.X is None:
            return self._vectorize(data.texts or ())
        if self.vectorizer_ is not None:
            if data.texts is None:
                raise DataError("The model was trained on texts and the data are features.")
            return self._vectorize(data.texts)
        X = data.X
        if data.feature_names is not None and self.feature_names_ is not None:
            X = _by_name(X, data.feature_names, self.feature_names_)
        width = self.estimator_.n_features_in_
        if X.shape[1] != width:
            raise DataError(
                f"{data.description or 'The data set'} has {X.shape[1]} features; "
                f"the model was trained on {width} (a file that does not state its width "
                f"is read with n_features={width})."
            )
        return X

    def predict_topk(self, data: Dataset | Sequence[str], k: int = 5, proba: bool = False) -> TopK:
        """The `k` best labels of each sample; `names()` of the answer gives their names.

        With `proba`, which needs an estimator with `calibrate=True`, scores are probabilities.
        A text without any word that the model knows has those of the labels' frequencies in
        training, as nothing else is known about it.
        """
        X = self.features(data)
        return self._rank(X, k, proba)

    def predict(self, data: Dataset | Sequence[str]) -> list[list[str]]:
        """The names of the labels that the estimator decides for, after the rules."""
        Y = self._decide(self.features(data))
        return [self.label_names_[row].tolist() for row in np.split(Y.indices, Y.indptr[1:-1])]

    def evaluate(self, dataset: Dataset, **options: Any) -> Evaluation:
        """Metrics on a labelled data set, with propensities from the training counts.

        Labels are matched by name. A label never seen in training stays in the truth,
        where it can only be missed (propensity-scored intervals take the labels as known
        beforehand, so they are a little too narrow then). With a taxonomy (the model's, or
        else the data set's) the hierarchical metrics are there too, and if the estimator
        learned from label sets with all ancestors (`closed_labels_`), those of the truth are
        added to it, with a warning. `options` go to `metrics.evaluate`.
        """
        X = self.features(dataset)
        truth, names, unseen = self._matched_labels(dataset)
        k = max(options.get("ks", (1, 3, 5)))
        counts = np.concatenate([self.label_counts_, np.zeros(unseen, dtype=np.int64)])
        options.setdefault("propensity", propensity(counts, n_samples=self.n_samples_))
        taxonomy = dataset.taxonomy if self.taxonomy_ is None else self.taxonomy_
        if taxonomy is not None:
            forest = taxonomy.align(names, unknown="root")
            options.setdefault("taxonomy", forest)
            if self._trained_on_closed_labels():
                truth = _closed_truth(truth, forest)
        decided = self._decide(X)
        decided.resize(truth.shape)
        return evaluate(
            truth,
            self._rank(X, min(k, self.label_names_.size)),
            labels=decided,
            label_names=names,
            **options,
        )

    def _trained_on_closed_labels(self) -> bool:
        given = getattr(self.estimator_, "close_labels", False)  # of a model of format 1
        return bool(vars(self).get("closed_labels_", given))

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
        if not isinstance(vars(self).get("closed_labels_", False), bool):
            raise DataError("closed_labels_ must be True or False")
        self.choice_  # noqa: B018 - it refuses a record that is none
        check_history(getattr(self, "rules_history_", []))
        names = self.feature_names_
        if names is not None and len(names) != self.estimator_.n_features_in_:
            raise DataError("feature_names_ must name each feature")

    def _vectorize(self, texts: Sequence[str]) -> CSR:
        if self.vectorizer_ is None:
            raise DataError("The model was trained on features and the data are texts.")
        return self.vectorizer_.transform(check_texts(texts))  # it warns of unknown texts

    def _matched_labels(self, dataset: Dataset) -> tuple[CSR, list[str], int]:
        """The truth in the model's label order, unseen labels last.

        Labels of a data set without names are the model's, when there are as many.
        """
        known = {name: column for column, name in enumerate(self.label_names_.tolist())}
        names = list(known)
        place = np.empty(dataset.n_labels, dtype=np.int64)
        used = np.bincount(dataset.Y.indices, minlength=dataset.n_labels) > 0
        numbered = dataset.label_names is None and dataset.n_labels == len(names)
        for column, name in enumerate(list(names) if numbered else _label_names(dataset)):
            if name not in known and used[column]:
                known[name] = len(names)
                names.append(name)
            place[column] = known.get(name, -1)
        unseen = len(names) - self.label_names_.size
        if unseen:
            _warn_of_unseen(names[-unseen:], int(np.count_nonzero(used)))
        Y = dataset.Y
        matched = make_csr(Y.indptr, place[Y.indices], Y.data, (len(dataset), len(names)))
        matched.sort_indices()
        return matched, names, unseen


def default_vectorizer(**options: Any) -> TextVectorizer:
    """The vectorizer of `Tagger` and of `labelwood train`: its feature set is found by trial.

    Examples
    --------
    >>> default_vectorizer(n_jobs=2)
    TextVectorizer(features='auto', n_jobs=2, random_state=0)
    """
    return TextVectorizer(**{"features": "auto", "random_state": 0, **options})


def _candidates(given: str | tuple[Any, ...]) -> dict[str, Any]:
    """The estimators to choose from, by the names of their classes."""
    from labelwood.linear.onevsrest import OneVsRestSVM
    from labelwood.trees.labeltree import LabelTreeClassifier

    kinds = {kind.__name__: kind for kind in (OneVsRestSVM, LabelTreeClassifier)}
    if given == "auto":
        return {name: kind(C="auto", random_state=0) for name, kind in kinds.items()}
    named = {} if isinstance(given, str) else {type(one).__name__: one for one in given}
    if named.keys() != kinds.keys() or len(named) != len(given):
        raise ParameterError(
            "The 'estimator' parameter of Tagger must be 'auto', an estimator, or a tuple of one "
            f"{' and one '.join(kinds)}. Got {given!r} instead."
        )
    return named


def _learns_closed_labels(estimator: Any, dataset: Dataset) -> bool:
    """Whether the label sets that it was fitted on hold the ancestors of all their labels."""
    forest = dataset.label_taxonomy
    if forest is None or getattr(estimator, "close_labels", False):
        return forest is not None
    below = forest.parent[dataset.Y.indices] >= 0
    return bool(below.any()) and forest.is_closed(dataset.Y)


def _closed_truth(truth: CSR, forest: Taxonomy) -> CSR:
    closed = forest.close(truth)
    grown = int(np.count_nonzero(np.diff(closed.indptr) > np.diff(truth.indptr)))
    if grown:
        warnings.warn(
            f"{grown} of {truth.shape[0]} samples lack ancestors of their labels; these are added "
            "to the truth, as the model was trained on label sets that hold them.",
            LabelwoodWarning,
            stacklevel=user_stacklevel(),
        )
    return closed


def _label_names(dataset: Dataset) -> Sequence[str]:
    if dataset.label_names is not None:
        return dataset.label_names
    return [str(label) for label in range(dataset.n_labels)]


def _warn_of_unseen(unseen: list[str], n_used: int) -> None:
    if len(unseen) == n_used:
        raise DataError(
            f"The model knows none of the labels of the data ({unseen[0]!r}, …); "
            "are its label names needed to read them?"
        )
    warnings.warn(
        f"{len(unseen)} of {n_used} labels were never seen in training ({unseen[0]!r}, …); "
        "they can only be missed.",
        LabelwoodWarning,
        stacklevel=user_stacklevel(),
    )


def _by_name(X: CSR, names: Sequence[str], wanted: np.ndarray) -> CSR:
    """Columns of `X` in the order of `wanted`; features unknown to the model are left out."""
    if len(names) == wanted.size and np.array_equal(np.asarray(names), wanted):
        return X
    place = {name: column for column, name in enumerate(wanted.tolist())}
    columns = np.array([place.get(name, -1) for name in names], dtype=np.int64)
    kept = columns >= 0
    n_known, n_missing = int(kept.sum()), wanted.size - int(kept.sum())
    if n_known < _UNKNOWN_SHARE * len(names):
        stranger = names[int(np.argmin(kept))]
        raise DataError(
            f"The model knows {n_known} of the {len(names)} features of the data (not "
            f"{stranger!r}, …): fewer than {_UNKNOWN_SHARE:.0%} is taken for other data."
        )
    if n_missing > _MISSING_SHARE * wanted.size or n_known < len(names):
        missing = np.setdiff1d(wanted, np.asarray(names))[:1].tolist()
        warnings.warn(
            f"{n_missing} of {wanted.size} features of the model are not in the data"
            f"{f' ({missing[0]!r}, …)' if missing else ''} and count as 0; "
            f"{len(names) - n_known} of {len(names)} in the data are unknown to the model.",
            LabelwoodWarning,
            stacklevel=user_stacklevel(),
        )
    spread = sp.csr_array(
        (
            np.ones(int(kept.sum()), dtype=np.float32),
            (np.flatnonzero(kept), columns[kept]),
        ),
        shape=(len(names), wanted.size),
    )
    return sp.csr_array(X @ spread)


def _content_hash(dataset: Dataset) -> str:
    digest = hashlib.sha256()
    if dataset.X is None:
        for text in dataset.texts or ():
            digest.update(text.encode("utf-8", "surrogatepass"))
            digest.update(b"\0")
    for matrix in (dataset.X, dataset.Y):
        if matrix is not None:
            for part in (matrix.indptr.astype("<i8"), matrix.indices.astype("<i8"), matrix.data):
                digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()
