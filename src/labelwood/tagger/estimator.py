"""A learner with all that goes with it: vectorizer, label names, threshold, training counts."""

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from labelwood.core.caller import user_stacklevel
from labelwood.core.keywords import check_keywords
from labelwood.core.names import count
from labelwood.core.topk import TopK
from labelwood.core.types import CSR
from labelwood.data.dataset import Dataset
from labelwood.data.frames import frame_dataset, guess_columns, label_matrix
from labelwood.data.taxonomy import Taxonomy
from labelwood.errors import DataError, LabelwoodWarning, ParameterError
from labelwood.metrics.evaluate import Evaluation, evaluate
from labelwood.metrics.label_sets import f1_score
from labelwood.metrics.propensity import propensity
from labelwood.tagger import decisions, memory
from labelwood.tagger.inputs import labeled_data
from labelwood.tagger.names import matched_labels
from labelwood.tagger.overlap import Hashes, merged, sample_hashes
from labelwood.tagger.ruled import RuledTagger
from labelwood.tagger.tables import long_table, tag_table

_KNOTS = ("calibration_scores_", "calibration_probabilities_")


class Tagger(RuledTagger):
    """From texts or features to label names: what the command line trains and saves.

    Parameters
    ----------
    estimator : "auto", a multi-label estimator of labelwood, or a tuple of them
        Cloned, then fitted on the features. "auto" takes what `choose_learner` finds to be best
        on held-out training samples: one-vs-rest, label trees or, unless samples are remembered, a
        forest. A tuple of an `OneVsRestSVM`, a `LabelTreeClassifier` and maybe a
        `FastXMLClassifier` is such a choice between some with parameters of your own; with a
        learner along a taxonomy as last, it is compared with the one that was chosen. With
        weights of samples "auto" is an `OneVsRestSVM`, which takes them.
    vectorizer : TextVectorizer or None
        Used when the data are texts; None means `default_vectorizer()`. A vectorizer of
        scikit-learn serves too, but then `labelwood.save` cannot store the Tagger.
    threshold : "auto", float or None
        Labels of at least this probability are predicted. "auto" chooses it on held-out training
        samples, for the largest micro-F1. Both take a second training on four fifths of the
        samples, from which the Tagger also learns its probabilities. None leaves decisions to the
        estimator (a score above zero), as do fewer than ten samples.
    scale : "auto" or bool
        Whether features that are measurements (most values of most of their columns are not zero,
        and rows are not of unit length) are standardized: centered and divided by their standard
        deviation. "auto" does it for all learners but those whose rules name values. Texts, counts
        in few samples, and zeros and ones are left as they are.
    objective : "P@k", "PSP@k", "nDCG@k" or "micro-F1"
        What the choice maximizes; the first three are means over k = 1, 3 and 5.
    time_limit, memory_limit : float or None
        Seconds of training and bytes that the learner of the choice may take; see
        `choose_learner`.
    remember : bool or int
        Whether to keep the features and labels of the training samples, or so many of them drawn
        at random, for `add_labels` and `update`. They are saved with the model.

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
    feature_offsets_, feature_scales_ : array or None
        What is subtracted from each feature, and what it is divided by then, where they are
        standardized.
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
    sample_hashes_ : array of uint64
        The smallest hashes of the training samples, at most 4,096, by which `labelwood eval` finds
        samples that the model was trained on. Models that were saved before have none.
    repeated_share_ : float
        The share of the samples of `fit` of which there is a copy among them.
    rules_history_ : list of str
        Every version of a person's rules (`set_rules`), the latest last.
    comparison_ : list of dict
        Held-out figures of the learner along the taxonomy and of the flat one, the best first,
        where both were given.
    threshold_ : float or None
        The probability from which on labels are predicted; None where the estimator decides.
    text_columns_ : list of str or None
        The columns of the texts, after `from_frame` and after a fit on a file that names them.
    label_columns_ : list of str or None
        The columns of the labels, likewise.
    label_separator_ : str or None
        What separated labels in one cell, for later cells that leave it open; None for lists,
        and where no cell held several labels.

    Examples
    --------
    >>> from labelwood import OneVsRestSVM, Tagger, TextVectorizer
    >>> texts = ["a cat on a mat", "a dog in a fog", "the cat and the dog"]
    >>> tagger = Tagger(OneVsRestSVM(random_state=0), TextVectorizer(min_df=1))
    >>> tagger = tagger.fit(texts, [["cat"], ["dog"], ["cat", "dog"]])
    >>> tagger.predict_topk(["one more cat"], k=1).names()
    [['cat']]
    """

    @classmethod
    def from_frame(
        cls,
        frame: object,
        *,
        text: str | Sequence[str] | None = None,
        labels: str | Sequence[str] | None = None,
        label_separator: str | None = None,
        **params: Any,
    ) -> Self:
        """A Tagger fitted on columns of a table of pandas, polars or Arrow.

        `text` names the column of the texts, or several that are joined; `labels` the column of
        the labels, or the columns of zeros and ones (see `labelwood.data.frame_dataset`). Columns
        with usual names (``text``, ``body``; ``labels``, ``tags``…) need not be named. Other
        parameters are those of `Tagger`.

        Examples
        --------
        >>> import pyarrow
        >>> table = pyarrow.table({"title": ["a cat", "an owl"] * 9, "tags": ["pet", "bird"] * 9})
        >>> tagger = Tagger.from_frame(table, text="title", labels="tags")
        >>> tagger.predict_frame(table.slice(0, 1)).to_pydict()
        {'tags': [['pet']]}
        """
        check_keywords(
            f"{cls.__name__}.from_frame",
            params,
            ["text", "labels", "label_separator", *cls._get_param_names()],
        )
        texts, tags = guess_columns(frame, text, labels)
        dataset = frame_dataset(frame, text=texts, labels=tags, label_separator=label_separator)
        return cls(**params).fit(dataset)

    def add_labels(self, X: object, y: object, negatives: object = None) -> Self:
        """Learn new labels, or known ones again, and leave all others as they are.

        Parameters
        ----------
        X : texts or features of samples with the labels
        y : their labels, as in `fit`
            Only these are learned; of other labels that the samples have nothing is known.
        negatives : texts or features of samples without any of the labels, optional
            By default the samples that were remembered (see `remember`).

        Examples
        --------
        >>> texts, labels = ["a cat", "a dog", "an owl"] * 9, [["cat"], ["dog"], []] * 9
        >>> tagger = Tagger(remember=True).fit(texts, labels)
        >>> tagger.add_labels(["an owl"] * 5, [["bird"]] * 5).classes_.tolist()
        ['cat', 'dog', 'bird']
        """
        check_is_fitted(self, "estimator_")
        if not hasattr(self.estimator_, "add_labels"):
            raise ParameterError(
                f"{type(self.estimator_).__name__} cannot learn labels later; OneVsRestSVM and "
                "LabelTreeClassifier can, or use update."
            )
        features, Y, names, hashes = self._more_samples(X, y)
        others = None if negatives is None else self.unscaled_features(negatives)
        new = memory.new_labels(features, Y, others, self._memory())
        # Labels of the estimator are the columns of the label matrix, and new ones join at the end.
        self.estimator_.add_labels(self._scaled(new.X), new.Y, new.columns.tolist())
        self.label_names_ = np.asarray(names, dtype=np.str_)
        counts = memory.widened_counts(self.label_counts_, len(names))
        counts[new.columns] = np.bincount(new.Y.indices, minlength=new.columns.size)
        self.label_counts_ = counts
        self.n_samples_ += int(features.shape[0])
        if self._memory() is not None:
            self.remembered_X_, self.remembered_Y_ = memory.joined(self._memory(), features, Y)
        self._know(hashes)
        return self

    def update(self, X: object, y: object) -> Self:
        """Learn from more samples, with known labels or new ones, as if `fit` had had them all.

        It takes a Tagger with `remember=True`. Vectorizer and learner stay those of `fit`, and
        with them the value of C that was chosen; everything else is learned again.

        Examples
        --------
        >>> tagger = Tagger(remember=True).fit(["a cat", "a dog"] * 9, [["cat"], ["dog"]] * 9)
        >>> tagger.update(["a cat and a dog"], [["cat", "dog"]]).n_samples_
        19
        """
        check_is_fitted(self, "estimator_")
        remembered = self._memory()
        n_kept = 0 if remembered is None else remembered[0].shape[0]
        if remembered is None or n_kept < self.n_samples_:
            kept = f"kept {n_kept:,} of {self.n_samples_:,}" if n_kept else "not kept the"
            raise DataError(
                f"update learns from old and new samples together, and this Tagger has {kept} "
                "old ones: fit it with remember=True, or fit it on all samples."
            )
        features, Y, names, hashes = self._more_samples(X, y)
        estimator = clone(self.estimator_)
        if "C_" in vars(self.estimator_):
            power = vars(self.estimator_).get("frequency_power_", 0.0)
            estimator.set_params(C=self.estimator_.C_, frequency_power=power)
        self._fit_estimator(estimator, *memory.joined(remembered, features, Y), None)
        self.label_names_ = np.asarray(names, dtype=np.str_)
        self._know(hashes)
        return self

    def _labeled(self, X: object, y: object) -> Dataset:
        """Samples with their labels, whose cells are split as those of `fit` were."""
        return labeled_data(X, y, vars(self).get("label_separator_"))

    def indicator(self, y: object) -> CSR:
        """Labels in any of the forms that `fit` takes, as a matrix over `classes_`.

        Labels that the model does not know have columns behind them.

        Examples
        --------
        >>> texts, labels = ["a cat", "a dog", "both"] * 9, ["cat", "dog", "cat; dog"] * 9
        >>> Tagger().fit(texts, labels).indicator(["dog; cat", "owl"]).toarray().tolist()
        [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        """
        check_is_fitted(self, "estimator_")
        found = label_matrix(y, vars(self).get("label_separator_"))
        nothing: Any = sp.csr_array((found.Y.shape[0], 0), dtype=np.float32)
        dataset = Dataset(nothing, found.Y, label_names=found.names)
        return matched_labels(self.label_names_, dataset, may_be_new=True)[0]

    def _know(self, hashes: Hashes) -> None:
        """Keep hashes of new samples, unless those of the old ones are missing."""
        if "sample_hashes_" in vars(self):
            self.sample_hashes_ = merged(self.sample_hashes_, hashes)

    def _memory(self) -> Any:
        """Features and labels of the samples that were kept, or None."""
        kept = vars(self).get("remembered_X_")
        return None if kept is None else (kept, self.remembered_Y_)

    def _more_samples(self, X: object, y: object) -> tuple[CSR, CSR, list[str], Hashes]:
        """Features, labels over all labels with the new ones last, names of all, and hashes."""
        dataset = memory.require_labels(self._labeled(X, y))
        Y, names, _ = matched_labels(self.label_names_, dataset, may_be_new=True)
        return self.unscaled_features(dataset), Y, names, sample_hashes(self, dataset)

    def predict_topk(self, data: Any, k: int = 5, proba: bool = False) -> TopK:
        """The `k` best labels of each sample; `names()` of the answer gives their names.

        With `proba`, scores are probabilities. A text without any word that the model knows has
        those of the labels' frequencies in training, as nothing else is known about it.
        """
        if proba:
            self._require_probabilities()
        X = self.unscaled_features(data)
        return self._rank(X, k, proba)

    def predict(
        self,
        data: Any,
        *,
        threshold: float | None = None,
        k: int | None = None,
        at_least_one: bool = False,
    ) -> list[list[str]]:
        """The names of the labels that are predicted, after the rules, best first.

        By default these are the labels of at least the probability `threshold_`, at most 50. A
        `threshold` of your own takes its place; `k` alone gives the best `k` labels, whatever their
        probabilities; both together at most `k` labels above the threshold. With
        `at_least_one` a sample without such a label gets its best one. Where there is no threshold
        and no `k`, the estimator decides, and labels have the order of `classes_`.
        """
        return self._names(self.unscaled_features(data), threshold, k, at_least_one)

    def _names(
        self, X: CSR, threshold: float | None, k: int | None, at_least_one: bool
    ) -> list[list[str]]:
        ranked = self._ranked_sets(X, threshold, k, at_least_one)
        if ranked is not None:
            return [[str(one) for one in names] for names in ranked.names()]
        Y = self._decide(X, threshold, k, at_least_one)
        return decisions.names_of(Y, self.label_names_)

    def predict_proba(self, data: Any, k: int | None = None) -> CSR:
        """Probabilities of the `k` best labels (default: 50) of each sample, as CSR.

        Columns are those of `classes_`. A label that is not among the best has no entry, which
        does not mean that its probability is zero.
        """
        self._require_probabilities()
        n_labels = self.label_names_.size
        return self.predict_topk(data, decisions.count_asked(k, n_labels), proba=True).to_csr(
            n_labels
        )

    def _require_probabilities(self) -> None:
        if not self.has_probabilities:
            raise DataError(f"This Tagger gives no probabilities: {self._remedy()}.")

    def predict_frame(
        self,
        data: Any,
        *,
        long: bool = False,
        threshold: float | None = None,
        k: int | None = None,
        at_least_one: bool = False,
    ) -> Any:
        """Predicted labels as a table of the library that `data` come from.

        Parameters
        ----------
        data : table with the columns that the Tagger was fitted on, or texts
            The answer is a table of the same library, with the same index; pandas for texts.
        long : bool
            A row for each sample and tag, with its probability, in place of a column of lists.
        threshold, k, at_least_one :
            As in `predict`.
        """
        X = self.unscaled_features(data)
        if not long:
            return tag_table(data, self._names(X, threshold, k, at_least_one))
        top = self._tagged(X, threshold, k, at_least_one)
        return long_table(data, top, "probability" if self.has_probabilities else "score")

    def predict_tags(
        self,
        data: Any,
        *,
        threshold: float | None = None,
        k: int | None = None,
        at_least_one: bool = False,
    ) -> TopK:
        """The labels of `predict`, best first, with their probabilities (or scores)."""
        return self._tagged(self.unscaled_features(data), threshold, k, at_least_one)

    def _tagged(self, X: CSR, threshold: float | None, k: int | None, at_least_one: bool) -> TopK:
        """The label sets of `_decide` as a ranking."""
        proba = self.has_probabilities
        at = self._used_threshold(threshold, k)
        n_labels = self.label_names_.size
        ranked = self._rank(X, decisions.count_asked(k, n_labels), proba, threshold)
        if at is not None:
            return decisions.cut(ranked, at, at_least_one=at_least_one)
        if k is not None:
            return ranked
        return decisions.only(ranked, self._decide(X, at_least_one=at_least_one))

    def score(self, X: object, y: object = None) -> float:
        """Micro-F1 of the predicted labels: 2 · right / (predicted + true)."""
        dataset = self._labeled(X, y)
        truth, _, _ = matched_labels(self.label_names_, dataset)
        decided = self._decide(self.unscaled_features(dataset))
        decided.resize(truth.shape)
        return f1_score(truth, decided, "micro")

    def evaluate(self, dataset: Dataset, **options: Any) -> Evaluation:
        """Metrics on a labeled data set, with propensities from the training counts.

        Labels are matched by name. A label never seen in training stays in the truth,
        where it can only be missed (propensity-scored intervals take the labels as known
        beforehand, so they are a little too narrow then). With a taxonomy (the model's, or
        else the data set's) the hierarchical metrics are there too, and if the estimator
        learned from label sets with all ancestors (`closed_labels_`), those of the truth are
        added to it, with a warning. `options` go to `metrics.evaluate`.
        """
        X = self.unscaled_features(dataset)
        truth, names, unseen = matched_labels(self.label_names_, dataset)
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


def _closed_truth(truth: CSR, forest: Taxonomy) -> CSR:
    closed = forest.close(truth)
    grown = int(np.count_nonzero(np.diff(closed.indptr) > np.diff(truth.indptr)))
    if grown:
        warnings.warn(
            f"{grown:,} of {count(truth.shape[0], 'sample')} {'lacks' if grown == 1 else 'lack'} "
            "ancestors of their labels; these are added to the truth, as the model was trained on "
            "label sets that hold them.",
            LabelwoodWarning,
            stacklevel=user_stacklevel(),
        )
    return closed
