"""Texts as sparse TF-IDF vectors."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.validation import check_is_fitted

from labelwood.core.params import Boolean, Constraints, Integer, Real, check_parameters
from labelwood.core.sparse import as_csr
from labelwood.core.types import CSR, AnyArray, FloatArray
from labelwood.errors import DataError


class TextVectorizer(TransformerMixin, BaseEstimator):
    """Turn texts into sparse TF-IDF vectors of length one.

    It is scikit-learn's `TfidfVectorizer` with the settings that suit tagging, and with
    a fitted state of plain lists and arrays that can be stored without pickle. A word is
    two or more letters, digits or underscores in a row.

    Parameters
    ----------
    min_df : int
        Words in fewer texts are left out. It is never lowered behind your back: texts
        so few that no word is left need ``min_df=1``.
    max_df : float
        Words in more than this share of the texts are left out.
    max_features : int or None
        Keep only this many of the words, the most frequent.
    ngrams : int
        Take also sequences of up to this many words.
    sublinear_tf : bool
        Count a word that occurs c times in a text as 1 + log c.
    lowercase : bool
        Whether a word in capitals is the same word.

    Attributes
    ----------
    vocabulary_ : list of str
        The word of each column.
    idf_ : float32 array
        The weight of each column.

    Examples
    --------
    >>> texts = ["the owl sleeps", "the cat sleeps", "an owl and a cat"]
    >>> vectorizer = TextVectorizer().fit(texts)
    >>> vectorizer.vocabulary_
    ['cat', 'owl', 'sleeps', 'the']
    >>> vectorizer.transform(["owl!"]).toarray().tolist()
    [[0.0, 1.0, 0.0, 0.0]]
    """

    _constraints: ClassVar[Constraints] = {
        "min_df": Integer(low=1),
        "max_df": Real(above=0, high=1),
        "max_features": (Integer(low=1), None),
        "ngrams": Integer(low=1, high=5),
        "sublinear_tf": Boolean(),
        "lowercase": Boolean(),
    }

    vocabulary_: list[str]
    idf_: FloatArray

    def __init__(
        self,
        *,
        min_df: int = 2,
        max_df: float = 1.0,
        max_features: int | None = None,
        ngrams: int = 1,
        sublinear_tf: bool = True,
        lowercase: bool = True,
    ) -> None:
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.ngrams = ngrams
        self.sublinear_tf = sublinear_tf
        self.lowercase = lowercase

    def fit(self, texts: Sequence[str], y: object = None) -> Self:
        """Learn the vocabulary and its weights; `y` is ignored."""
        self.fit_transform(texts)
        return self

    def fit_transform(self, texts: Sequence[str], y: object = None) -> CSR:
        """Learn the vocabulary and its weights, and turn the same texts into vectors."""
        check_parameters(self, self._constraints)
        checked = _check_texts(texts)
        tfidf = self._new_tfidf(
            min_df=self.min_df, max_df=float(self.max_df), max_features=self.max_features
        )
        try:
            X = tfidf.fit_transform(checked)
        except ValueError:  # scikit-learn's word for an empty vocabulary, in three sentences
            raise DataError(
                f"No word is left of {len(checked)} texts with min_df={self.min_df} and "
                f"max_df={self.max_df}; lower min_df, raise max_df, or check the texts."
            ) from None
        self.vocabulary_ = tfidf.get_feature_names_out().tolist()
        self.idf_ = tfidf.idf_
        self.__dict__.pop("_fitted_tfidf", None)
        return as_csr(X)

    def transform(self, texts: Sequence[str]) -> CSR:
        """The vectors of `texts`; words outside the vocabulary are left out."""
        check_is_fitted(self)
        checked = _check_texts(texts)
        if not checked:
            return csr_array((0, len(self.vocabulary_)), dtype=np.float32)
        return as_csr(self._fitted_tfidf.transform(checked))

    def get_feature_names_out(self, input_features: object = None) -> AnyArray:
        """The word of each column."""
        check_is_fitted(self)
        return np.asarray(self.vocabulary_, dtype=object)

    def _new_tfidf(self, **options: Any) -> TfidfVectorizer:
        return TfidfVectorizer(
            ngram_range=(1, self.ngrams),
            sublinear_tf=self.sublinear_tf,
            lowercase=self.lowercase,
            dtype=np.float32,
            **options,
        )

    @cached_property
    def _fitted_tfidf(self) -> TfidfVectorizer:
        """The vectoriser made again from the fitted attributes, which are all that is stored."""
        tfidf = self._new_tfidf(vocabulary=list(self.vocabulary_))
        tfidf.idf_ = self.idf_
        return tfidf

    def _check_fitted(self) -> None:
        """Refuse fitted attributes that do not belong together (after loading)."""
        words, idf = list(self.vocabulary_), self.idf_
        if not all(isinstance(word, str) for word in words) or len(set(words)) < len(words):
            raise DataError("vocabulary_ must be a list of different words")
        if not isinstance(idf, np.ndarray) or idf.shape != (len(words),) or idf.dtype != np.float32:
            raise DataError(f"idf_ must be an array of float32 and shape ({len(words)},)")
        if not np.all(np.isfinite(idf)):
            raise DataError("idf_ must be finite")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _check_texts(texts: object) -> list[str]:
    if isinstance(texts, (str, bytes)):
        raise DataError("A list of texts is expected, not one text; put it in a list: [text].")
    if not isinstance(texts, Iterable):
        raise DataError(f"A list of texts is expected. Got {type(texts).__name__}.")
    checked = list(texts)
    for i, text in enumerate(checked):
        if not isinstance(text, str):
            raise DataError(f"Text {i} must be a str. Got {type(text).__name__}.")
    return checked
