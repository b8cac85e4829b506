"""Which samples a model was trained on: a few hashes of them, kept to warn in an evaluation.

The smallest hashes of a set are a sample of it that every order and every division of the data
give alike (a bottom-k sketch; Cohen & Kaplan 2007). Of other samples, those with hashes in the
same range are known or not, and the share that is known estimates that of all.
"""

from collections.abc import Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from labelwood.core.names import count
from labelwood.core.types import CSR
from labelwood.data.dataset import Dataset
from labelwood.errors import DataError

KEPT = 4096
"""Hashes that a model keeps, 32 KB; up to so many different samples the overlap is exact."""
_SHARE = 0.05
"""Overlap tolerated beyond the duplicates within the training data: short texts repeat
legitimately, and an overlap of 5 % can raise a metric by at most 5 % of its distance to 100."""
_LEVEL = 0.01
"""How improbable an estimated share must be, if no more than that is known, for a warning."""
_BLOCK = 2**20  # non-zeros hashed at once

Hashes = NDArray[np.uint64]


class Sketch(NamedTuple):
    """The smallest different hashes, sorted, and the share of the samples that others repeat."""

    hashes: Hashes
    repeated: float


def sketch(hashes: Hashes) -> Sketch:
    """What a model keeps of the hashes of its training samples.

    Examples
    --------
    >>> kept = sketch(text_hashes(["an owl", "a cat", "an owl", "a dog"]))
    >>> kept.hashes.size, kept.repeated
    (3, 0.5)
    """
    different, counts = np.unique(hashes, return_counts=True)
    repeated = int(counts[counts > 1].sum())
    return Sketch(different[:KEPT].copy(), repeated / max(hashes.size, 1))


def merged(kept: Hashes, hashes: Hashes) -> Hashes:
    """The hashes to keep of all samples, from those kept of the old ones and all of the new."""
    return np.unique(np.concatenate([kept, hashes]))[:KEPT].copy()


def sample_hashes(tagger: Any, dataset: Dataset) -> Hashes:
    """Hashes of the samples as the learner sees them: of texts, or of features in its order.

    White space is that of the program that wrote a text, and makes no difference.
    """
    if tagger.vectorizer_ is None:
        return matrix_hashes(tagger.unscaled_features(dataset))
    return text_hashes([" ".join(text.split()) for text in dataset.texts or ()])


def text_hashes(texts: Sequence[str]) -> Hashes:
    """A hash of each text.

    Examples
    --------
    >>> hashes = text_hashes(["an owl", "a cat", "an owl"])
    >>> bool(hashes[0] == hashes[2]), bool(hashes[0] == hashes[1])
    (True, False)
    """
    encoded = (text.encode("utf-8", "surrogatepass") for text in texts)
    digests = b"".join(blake2b(one, digest_size=8).digest() for one in encoded)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def matrix_hashes(X: CSR) -> Hashes:
    """A hash of the indices and values of each row; stored zeros make no difference."""
    hashes = np.zeros(X.shape[0], dtype=np.uint64)
    indptr = X.indptr.astype(np.int64)
    # In blocks of rows, as the hashes of all non-zeros take more space than the matrix.
    cuts = np.searchsorted(indptr, np.arange(_BLOCK, int(indptr[-1]), _BLOCK))
    for first, last in pairwise(np.unique([0, *cuts.tolist(), X.shape[0]]).tolist()):
        start, end = indptr[first], indptr[last]
        values = np.ascontiguousarray(X.data[start:end], dtype=np.float32)
        keys = X.indices[start:end].astype(np.uint64) << np.uint64(32)
        entries = _mixed(keys | values.view(np.uint32))
        entries[values == 0] = 0
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(entries, dtype=np.uint64)])
        places = indptr[first : last + 1] - start
        hashes[first:last] = _mixed(sums[places[1:]] - sums[places[:-1]])
    return hashes


def _mixed(numbers: Hashes) -> Hashes:
    """Numbers spread over all 64 bits, as SplitMix64 does (Steele, Lea & Flood 2014)."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def overlap_remark(tagger: Any, dataset: Dataset) -> str | None:
    """How many samples the model was trained on, where more of them are known than by chance."""
    kept = vars(tagger).get("sample_hashes_")
    if kept is None:  # of a model that was saved before hashes were kept
        return None
    share = tagger.repeated_share_ + _SHARE
    n = _n_known(kept, sample_hashes(tagger, dataset), share)
    if tagger.vectorizer_ is not None:  # models were saved with hashes of texts as they stand
        n = max(n, _n_known(kept, text_hashes(dataset.texts or ()), share))
    if not n:
        return None
    return (
        f"{'' if kept.size < KEPT else 'about '}{n:,} of {count(len(dataset), 'sample')} "
        f"{'was' if n == 1 else 'were'} in the training data"
    )


def _n_known(kept: Hashes, hashes: Hashes, share: float) -> int:
    """How many of the samples are known, if that is more than a `share` of them; else 0."""
    is_whole = kept.size < KEPT
    compared = hashes if is_whole else hashes[hashes <= kept[-1]]
    # Copies of one sample are one piece of evidence.
    known = np.isin(np.unique(compared), kept)
    if not _is_much(int(known.sum()), known.size, share, is_whole):
        return 0
    return round(float(np.isin(compared, kept).mean()) * hashes.size)


def _is_much(n_known: int, n: int, share: float, is_whole: bool) -> bool:
    """Whether more than `share` is known of all samples; of `n` among them, if not `is_whole`."""
    if n_known == 0 or share >= 1:
        return False
    if is_whole:
        return n_known > share * n
    return bool(bdtrc(n_known - 1, n, share) < _LEVEL)  # P(n_known or more | share)


def check_sketch(hashes: object, repeated: object) -> None:
    """Refuse what is no sketch (after loading)."""
    is_sketch = (
        isinstance(hashes, np.ndarray)
        and hashes.dtype == np.uint64
        and hashes.ndim == 1
        and 0 < hashes.size <= KEPT
        and bool((hashes[1:] > hashes[:-1]).all())
    )
    if not is_sketch:
        raise DataError(f"sample_hashes_ must be at most {KEPT} ascending numbers of 64 bits")
    if not (isinstance(repeated, float) and 0 <= repeated <= 1):
        raise DataError("repeated_share_ must be a share between 0 and 1")
