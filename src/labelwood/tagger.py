"""A learner with all that goes with it: vectoriser, label names, training counts."""

import hashlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from labelwood.auto import choose_learner
from labelwood.core.contract import FittedAttributes, check_fitted_attributes
from labelwood.core.estimator import LabelEstimator
from labelwood.core.sparse import make_csr
from labelwood.core.topk import TopK
from labelwood.core.types import CSR
from labelwood.data.dataset import Dataset
from labelwood.data.taxonomy import Taxonomy
from labelwood.data.text import TextVectorizer
from labelwood.errors import DataError, LabelwoodWarning
from labelwood.metrics.evaluate import Evaluation, evaluate
from labelwood.metrics.propensity import propensity


class Tagger(BaseEstimator):
    """From texts or features to label names: what the command line trains and saves.

    Parameters
    ----------
    estimator : a multi-label estimator of labelwood, or None
        Cloned, then fitted on the features. None takes what `auto.choose_learner`
        takes: one-vs-rest where it is affordable, else a label tree.
    vectorizer : TextVectorizer or None
        Used when the data are texts; None means the default one.

    Attributes
    ----------
    estimator_, vectorizer_ :
        The fitted parts; `vectorizer_` is None after a fit on features.
    label_names_ : array of str
    feature_names_ : array of str or None
        Names of the features, where the data set had them.
    label_counts_ : array
        Training samples of each label, from which propensities are estimated.
    n_samples_ : int
        Training samples.
    taxonomy_ : Taxonomy or None
        The forest of the labels, where the data set had one.
    data_hash_ : str
        SHA-256 of the training features (or texts) and labels.

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

    def __init__(self, estimator: Any = None, vectorizer: TextVectorizer | None = None) -> None:
        self.estimator = estimator
        self.vectorizer = vectorizer

    def fit(
        self, dataset: Dataset, *, choose: Callable[[CSR, CSR], LabelEstimator] | None = None
    ) -> Self:
        """Vectorise the texts, if that is what they are, and fit the estimator.

        `choose` makes an estimator from features and labels when there is none.
        """
        if dataset.Y.nnz == 0:
            raise DataError(
                f"No sample of {dataset.description or 'the data set'} has a label; "
                "is the column of the labels called something else?"
            )
        self.vectorizer_: TextVectorizer | None = None
        if dataset.X is None:
            vectorizer = TextVectorizer() if self.vectorizer is None else self.vectorizer
            self.vectorizer_ = clone(vectorizer)
            X = self.vectorizer_.fit_transform(dataset.texts or ())
            names = self.vectorizer_.get_feature_names_out()
        else:
            X, names = dataset.X, dataset.feature_names
        if self.estimator is None:
            estimator = (choose or _chosen)(X, dataset.Y)
        else:
            estimator = clone(self.estimator)
        self.estimator_ = estimator.fit(X, dataset.Y)
        self.feature_names_ = None if names is None else np.asarray(names, dtype=np.str_)
        self.label_names_ = np.asarray(_label_names(dataset), dtype=np.str_)
        counts = np.bincount(dataset.Y.indices, minlength=dataset.n_labels)
        self.label_counts_ = counts.astype(np.int64, copy=False)
        self.n_samples_ = len(dataset)
        self.taxonomy_ = dataset.taxonomy
        self.data_hash_ = _content_hash(dataset)
        return self

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
                f"the model was trained on {width} (a file that does not tell its width "
                f"is read with n_features={width})."
            )
        return X

    def predict_topk(self, data: Dataset | Sequence[str], k: int = 5, proba: bool = False) -> TopK:
        """The `k` best labels of each sample; `names()` of the answer gives their names.

        With `proba`, which needs an estimator with `calibrate=True`, scores are probabilities.
        """
        X = self.features(data)
        top = self.estimator_.predict_topk(X, k, proba=proba)
        return TopK(top.labels, top.scores, self.label_names_)

    def predict(self, data: Dataset | Sequence[str]) -> list[list[str]]:
        """The names of the labels that the estimator decides for."""
        X = self.features(data)
        Y = sp.csr_array(self.estimator_.predict(X))
        return [self.label_names_[row].tolist() for row in np.split(Y.indices, Y.indptr[1:-1])]

    def evaluate(self, dataset: Dataset, **options: Any) -> Evaluation:
        """Metrics on a labelled data set, with propensities from the training counts.

        Labels are matched by name. A label never seen in training stays in the truth,
        where it can only be missed (propensity-scored intervals take the labels as known
        beforehand, so they are a little too narrow then). With a taxonomy (the model's, or
        else the data set's) the hierarchical metrics are there too. `options` go to
        `metrics.evaluate`.
        """
        X = self.features(dataset)
        truth, names, unseen = self._matched_labels(dataset)
        k = max(options.get("ks", (1, 3, 5)))
        counts = np.concatenate([self.label_counts_, np.zeros(unseen, dtype=np.int64)])
        options.setdefault("propensity", propensity(counts, n_samples=self.n_samples_))
        taxonomy = dataset.taxonomy if self.taxonomy_ is None else self.taxonomy_
        if taxonomy is not None:
            options.setdefault("taxonomy", taxonomy.align(names, unknown="root"))
        decided = sp.csr_array(self.estimator_.predict(X))
        decided.resize(truth.shape)
        return evaluate(
            truth,
            self.estimator_.predict_topk(X, min(k, self.label_names_.size)),
            labels=decided,
            label_names=names,
            **options,
        )

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
        names = self.feature_names_
        if names is not None and len(names) != self.estimator_.n_features_in_:
            raise DataError("feature_names_ must name each feature")

    def _vectorize(self, texts: Sequence[str]) -> CSR:
        if self.vectorizer_ is None:
            raise DataError("The model was trained on features and the data are texts.")
        return self.vectorizer_.transform(texts)

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
            _tell_of_unseen(names[-unseen:], int(np.count_nonzero(used)))
        Y = dataset.Y
        matched = make_csr(Y.indptr, place[Y.indices], Y.data, (len(dataset), len(names)))
        matched.sort_indices()
        return matched, names, unseen


def _chosen(X: CSR, Y: CSR) -> LabelEstimator:
    from labelwood.linear.onevsrest import OneVsRestSVM
    from labelwood.trees.labeltree import LabelTreeClassifier

    kinds = (OneVsRestSVM, LabelTreeClassifier)
    learners: dict[str, Any] = {kind.__name__: kind for kind in kinds}
    estimator: LabelEstimator = learners[choose_learner(X, Y).learner](random_state=0)
    return estimator


def _label_names(dataset: Dataset) -> Sequence[str]:
    if dataset.label_names is not None:
        return dataset.label_names
    return [str(label) for label in range(dataset.n_labels)]


def _tell_of_unseen(unseen: list[str], n_used: int) -> None:
    if len(unseen) == n_used:
        raise DataError(
            f"The model knows none of the labels of the data ({unseen[0]!r}, …); "
            "are its label names needed to read them?"
        )
    warnings.warn(
        f"{len(unseen)} of {n_used} labels were never seen in training ({unseen[0]!r}, …); "
        "they can only be missed.",
        LabelwoodWarning,
        stacklevel=4,
    )


def _by_name(X: CSR, names: Sequence[str], wanted: np.ndarray) -> CSR:
    """Columns of `X` in the order of `wanted`; features unknown to the model are left out."""
    if len(names) == wanted.size and np.array_equal(np.asarray(names), wanted):
        return X
    place = {name: column for column, name in enumerate(wanted.tolist())}
    columns = np.array([place.get(name, -1) for name in names], dtype=np.int64)
    kept = columns >= 0
    if not kept.any():
        raise DataError(f"The model knows none of the features of the data ({names[0]!r}, …).")
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
