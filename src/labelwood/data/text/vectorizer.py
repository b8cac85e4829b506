"""Texts as sparse TF-IDF vectors."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from labelwood.core.contract import FittedEstimator
from labelwood.core.labels import encode_labels
from labelwood.core.params import (
    N_JOBS,
    RANDOM_STATE,
    Boolean,
    Constraints,
    Instance,
    Integer,
    OneOf,
    Real,
    check_parameters,
)
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import CSR, AnyArray, FloatArray, PointerArray
from labelwood.data.text._table_kernels import Bytes
from labelwood.data.text.auto import choose_features, trial_table
from labelwood.data.text.blocks import (
    FEATURE_SETS,
    Block,
    describe,
    field_weights,
    make_blocks,
)
from labelwood.data.text.documents import segments
from labelwood.data.text.fitting import fit_blocks
from labelwood.data.text.output import as_output, check_output
from labelwood.data.text.transforming import locate_terms, transform_rows
from labelwood.data.text.vocabulary import Terms, check_terms, index_blocks, terms_of_strings
from labelwood.data.text.weighting import as_matrix, warn_of_empty_rows
from labelwood.errors import DataError, LabelwoodWarning, ParameterError


# There is no output but a sparse matrix, which the wrapper for data frames only delays.
class _PairLength(Integer):
    """Whole numbers from 2 on; whoever gives 1, as to scikit-learn, wants another feature set."""

    def __str__(self) -> str:
        return f"{super().__str__()}, the words of a pair: for words alone give features='words'"


class TextVectorizer(TransformerMixin, FittedEstimator, auto_wrap_output_keys=None):
    """Turn texts into sparse TF-IDF vectors of length one.

    Words are two or more letters, digits or underscores in a row, lower-cased; with the default
    settings vocabulary and weights are those of scikit-learn's `TfidfVectorizer` with sublinear
    counts, found many times faster and in threads. Word pairs and the character n-grams within
    words can be added. The result does not depend on `n_jobs`.

    Parameters
    ----------
    features : {"words", "words+pairs", "words+chars", "words+pairs+chars", "chars", "auto"}
        What becomes a feature. Characters are n-grams of what stands between spaces, and of one
        space on either side, as scikit-learn's ``char_wb``: the answer to inflected words,
        typing errors, and languages that are written without spaces. Words and characters are
        two blocks, each scaled to length one before they are joined. ``"auto"`` tries the
        feature sets on a sample of the texts and their labels, and keeps words unless more
        pays; `trials_` then has the table.
    min_df : int or float
        Features in fewer texts are left out; below 1 it is a share of the texts. It is never
        lowered behind your back: texts so few that nothing is left need ``min_df=1``.
    max_df : float
        Features in more than this share of the texts are left out.
    max_features : int or None
        Keep only this many features of each block.
    selection : {"df", "chi2"}
        Which they are: those in most texts, or those with the largest χ² statistic with any
        label, which needs the labels in `fit`.
    ngrams : int
        Pairs are sequences of up to this many words, 2 or more; ``features="words"`` has none.
    min_chars, max_chars : int
        Lengths of the character n-grams. Lengths of 2 to 4 rank as well as 2 to 5, with four
        fifths of the non-zeros.
    min_length : int
        Shorter words are left out of the block of words.
    symbols : bool
        Whether each punctuation mark, symbol and emoji is a word.
    numbers : {"keep", "fold"}
        Fold makes every digit a 0, so that 1987 and 2024 are the same feature.
    accents : {"keep", "fold"}
        Fold takes the accents off letters, as scikit-learn's ``strip_accents="unicode"``.
    lowercase : bool
        Whether a word in capitals is the same word.
    sublinear_tf : bool
        Count a feature that occurs c times in a text as 1 + log c.
    use_idf : bool
        Whether features in fewer texts weigh more.
    char_weight : float
        Weight of the block of characters beside that of words.
    fields : dict of str to float, or None
        Texts are mappings with these fields, for example ``{"title": 2, "body": 1}``; each field
        of a text is scaled to length one and weighted. None for plain texts.
    separate_fields : bool
        Whether a word in the title is another feature than the same word in the body.
    max_candidates : int
        Bound on the different terms of a block that are counted at once. When there are more,
        the rarest are forgotten, with a warning.
    decode_error : {"strict", "replace"}
        For texts given as bytes: what is not UTF-8 is an error, or is taken as spaces.
    random_state : int, Generator or None
        For the sample of ``"auto"``.
    n_jobs : int or None
        Threads; None is one, -1 all cores.

    Attributes
    ----------
    features_ : str
        The feature set that is used.
    terms_, term_ptr_, block_ptr_ : arrays
        The features in compact form: column i is the UTF-8 bytes ``terms_[term_ptr_[i] :
        term_ptr_[i + 1]]``, and block b starts at column ``block_ptr_[b]``.
    idf_ : float32 array
        The weight of each column.
    trials_ : list of dict
        What ``"auto"`` tried: feature set, held-out precision, non-zeros per text, and whether it
        was taken; `trial_table` prints it.

    Examples
    --------
    >>> texts = ["the owl sleeps", "the cat sleeps", "an owl and a cat"]
    >>> vectorizer = TextVectorizer().fit(texts)
    >>> vectorizer.vocabulary_
    ['cat', 'owl', 'sleeps', 'the']
    >>> vectorizer.transform(["owl!"]).toarray().tolist()
    [[0.0, 1.0, 0.0, 0.0]]
    >>> TextVectorizer(features="words+pairs").fit(texts).describe_features()
    ['word: cat', 'word: owl', 'word: sleeps', 'word: the']
    """

    _constraints: ClassVar[Constraints] = {
        "features": OneOf(*FEATURE_SETS, "auto"),
        "min_df": (Integer(low=1), Real(above=0, below=1)),
        "max_df": Real(above=0, high=1),
        "max_features": (Integer(low=1), None),
        "selection": OneOf("df", "chi2"),
        "ngrams": _PairLength(low=2, high=5),
        "min_chars": Integer(low=1, high=20),
        "max_chars": Integer(low=1, high=20),
        "min_length": Integer(low=1, high=10_000),
        "symbols": Boolean(),
        "numbers": OneOf("keep", "fold"),
        "accents": OneOf("keep", "fold"),
        "lowercase": Boolean(),
        "sublinear_tf": Boolean(),
        "use_idf": Boolean(),
        "char_weight": Real(above=0),
        "fields": (Instance("dict"), None),
        "separate_fields": Boolean(),
        "max_candidates": Integer(low=2, high=2**31),
        "decode_error": OneOf("strict", "replace"),
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }

    features_: str
    terms_: Bytes
    term_ptr_: PointerArray
    block_ptr_: PointerArray
    idf_: FloatArray
    trials_: list[dict[str, Any]]

    def __init__(
        self,
        *,
        features: str = "words",
        min_df: float = 2,
        max_df: float = 1.0,
        max_features: int | None = None,
        selection: str = "df",
        ngrams: int = 2,
        min_chars: int = 2,
        max_chars: int = 4,
        min_length: int = 2,
        symbols: bool = False,
        numbers: str = "keep",
        accents: str = "keep",
        lowercase: bool = True,
        sublinear_tf: bool = True,
        use_idf: bool = True,
        char_weight: float = 1.0,
        fields: Mapping[str, float] | None = None,
        separate_fields: bool = False,
        max_candidates: int = 10_000_000,
        decode_error: str = "strict",
        random_state: object = None,
        n_jobs: int | None = None,
    ) -> None:
        self.features = features
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.selection = selection
        self.ngrams = ngrams
        self.min_chars = min_chars
        self.max_chars = max_chars
        self.min_length = min_length
        self.symbols = symbols
        self.numbers = numbers
        self.accents = accents
        self.lowercase = lowercase
        self.sublinear_tf = sublinear_tf
        self.use_idf = use_idf
        self.char_weight = char_weight
        self.fields = fields
        self.separate_fields = separate_fields
        self.max_candidates = max_candidates
        self.decode_error = decode_error
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, texts: Iterable[Any], y: object = None) -> Self:
        """Learn the vocabulary and its weights.

        `texts` may be any iterable, which is read once and piece by piece. `y` are labels, in
        any form that a learner takes, for ``features="auto"`` and ``selection="chi2"``.
        """
        self.fit_transform(texts, y)
        return self

    def fit_transform(self, texts: Iterable[Any], y: object = None) -> Any:
        """Learn the vocabulary and its weights, and turn the same texts into vectors."""
        check_parameters(self, self._constraints)
        if self.min_chars > self.max_chars:
            raise ParameterError(
                f"min_chars={self.min_chars} is above max_chars={self.max_chars}; swap them."
            )
        features = self.features
        # Targets that are not needed may be of any kind, as in a pipeline of regression.
        needed = features == "auto" or self.selection == "chi2"
        Y = encode_labels(y).Y if needed and y is not None else None
        trials: list[dict[str, Any]] = []
        if features == "auto":
            features, trials = choose_features(
                self._trial_matrix, texts, Y, self.random_state, self.n_jobs
            )
        blocks = make_blocks(self, features)
        fitted, rows = fit_blocks(self, blocks, features, texts, Y)
        self.features_, self.trials_ = features, trials
        self.terms_, self.term_ptr_, self.block_ptr_ = fitted.terms
        self.idf_ = fitted.idf
        return self._output(self._matrix(rows), texts)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Give vectors as a pandas table of sparse columns ("pandas"), or as CSR ("default")."""
        check_output(transform)
        self._table = transform == "pandas" if transform else vars(self).get("_table", False)
        return self

    def _output(self, matrix: CSR, texts: object) -> Any:
        wanted = vars(self).get("_table", False)
        return as_output(matrix, self.get_feature_names_out(), texts) if wanted else matrix

    def transform(self, texts: Iterable[Any]) -> Any:
        """The vectors of `texts`; what is not in the vocabulary is left out."""
        if "idf_" not in vars(self):  # quicker than to ask scikit-learn
            check_is_fitted(self)
        fields = field_weights(self.fields)
        matrix = self._matrix(
            transform_rows(
                segments(texts, tuple(fields), self.decode_error),
                self._blocks(),
                self._indexes(),
                self.idf_,
                fields,
                sublinear=self.sublinear_tf,
                n_jobs=self.n_jobs,
            )
        )
        return self._output(matrix, texts)

    def get_feature_names_out(self, input_features: object = None) -> AnyArray:
        """What the columns are called: the words, or as `describe_features` has it.

        The terms alone are not unique when there are several blocks.
        """
        check_is_fitted(self, "idf_")
        names = self.describe_features() if self.block_ptr_.size > 2 else self.vocabulary_
        return np.asarray(names, dtype=object)

    def describe_features(self, columns: Sequence[int] | None = None) -> list[str]:
        """Columns for people to read: "word: dividend", "pair: net income", "chars: -ing".

        A dash stands where the word goes on.
        """
        check_is_fitted(self, "idf_")
        n = self.idf_.size
        chosen = np.arange(n) if columns is None else np.asarray(columns, np.int64)
        if chosen.size and (chosen.min() < 0 or chosen.max() >= n):
            raise DataError(f"columns must be numbers in 0…{n - 1}.")
        blocks = self._blocks()
        which = np.searchsorted(self.block_ptr_, chosen, side="right") - 1
        terms = self._terms().strings(chosen.tolist())
        return [describe(term, blocks[b]) for term, b in zip(terms, which, strict=True)]

    def locate(self, text: str, field: str | None = None) -> list[tuple[int, int, int]]:
        """Where the features stand in a text: (column, start, end), in characters.

        `field` names the field that the text is of, where fields are separate.

        Examples
        --------
        >>> vectorizer = TextVectorizer(min_df=1).fit(["the owl sleeps"])
        >>> text = "Owl, the"
        >>> [(text[a:b], vectorizer.vocabulary_[i]) for i, a, b in vectorizer.locate(text)]
        [('Owl', 'owl'), ('the', 'the')]
        """
        check_is_fitted(self, "idf_")
        if not isinstance(text, str):
            raise DataError(f"A text must be a str. Got {type(text).__name__}.")
        blocks = self._blocks()
        if blocks[0].field is not None and field not in field_weights(self.fields):
            raise DataError(f"The fields are separate: field={field!r} is none of them.")
        found = locate_terms(text, blocks, self._indexes())
        which = np.searchsorted(self.block_ptr_, [one[0] for one in found], side="right") - 1
        return [
            one
            for one, b in zip(found, which.tolist(), strict=True)
            if blocks[b].field in (None, field)
        ]

    def trial_table(self) -> str:
        """What ``"auto"`` tried, as a table; empty when there was nothing to choose."""
        check_is_fitted(self, "idf_")
        return trial_table(self.trials_)

    @property
    def vocabulary_(self) -> list[str]:
        """The term of each column."""
        check_is_fitted(self, "idf_")
        return self._terms().strings(range(self.idf_.size))

    def _trial_matrix(self, features: str, texts: Sequence[Any]) -> CSR:
        """The matrix of a sample of the texts with another feature set."""
        trial = clone(self).set_params(features=features, selection="df", max_features=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LabelwoodWarning)
            return trial.fit_transform(texts)

    def _terms(self) -> Terms:
        return Terms(self.terms_, self.term_ptr_, self.block_ptr_)

    def _blocks(self) -> list[Block]:
        return make_blocks(self, self.features_)

    def _indexes(self) -> Any:
        """Tables of the terms, made at the first call; threads at worst make them twice."""
        cached = vars(self).get("_kept_index")
        if cached is None or cached[0] is not self.terms_:
            cached = (self.terms_, index_blocks(self._terms()))
            self._kept_index = cached
        return cached[1]

    def _matrix(self, rows: CSRArrays) -> CSR:
        if rows.indices.size == 0 or rows.indptr.size > 2:  # else one row, which is filled
            warn_of_empty_rows(rows.indptr)
        return as_matrix(rows, self.idf_.size)

    def _check_fitted(self) -> None:
        """Refuse fitted attributes that do not belong together (after loading)."""
        if self.features_ not in FEATURE_SETS:
            raise DataError(f"features_ must be one of {', '.join(FEATURE_SETS)}")
        for name in ("terms_", "term_ptr_", "block_ptr_"):
            if not isinstance(getattr(self, name, None), np.ndarray):
                raise DataError(f"{name} must be an array")
        check_terms(self._terms(), len(self._blocks()))
        n, idf = self.term_ptr_.size - 1, self.idf_
        if not isinstance(idf, np.ndarray) or idf.shape != (n,) or idf.dtype != np.float32:
            raise DataError(f"idf_ must be an array of float32 and shape ({n},)")
        if not np.all(np.isfinite(idf)):
            raise DataError("idf_ must be finite")

    @staticmethod
    def _from_older_version(params: dict[str, Any], fitted: dict[str, Any]) -> None:
        """Bring what earlier versions stored, a list of words, into today's form."""
        if "features" not in params and "ngrams" in params:
            params["features"] = "words" if params["ngrams"] == 1 else "words+pairs"
            params["ngrams"] = max(params["ngrams"], 2)
        if "vocabulary_" in fitted:
            words = list(fitted.pop("vocabulary_"))
            if not all(isinstance(word, str) for word in words) or len(set(words)) < len(words):
                raise DataError("vocabulary_ must be a list of different words")
            fitted["features_"], fitted["trials_"] = params["features"], []
            terms = terms_of_strings(words)
            fitted["terms_"], fitted["term_ptr_"], fitted["block_ptr_"] = terms

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
