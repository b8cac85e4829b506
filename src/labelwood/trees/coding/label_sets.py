"""The different label sets of the samples, and rare ones merged into frequent ones."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from labelwood.core.sparse import entry_rows, make_csr
from labelwood.core.types import CSR, PointerArray


class LabelSets(NamedTuple):
    """Different label sets, how many samples have each, and which set each sample has.

    Sets are sorted lexicographically, the most frequent labels first, so that neighbors share
    their frequent labels.
    """

    sets: CSR
    counts: PointerArray
    of_sample: PointerArray


def label_sets(Y: CSR) -> LabelSets:
    """The different label sets of the samples.

    Examples
    --------
    >>> Y = sp.csr_array([[1, 0, 1], [0, 0, 0], [0, 0, 1], [1, 0, 1]])
    >>> sets, counts, of_sample = label_sets(Y)
    >>> sets.toarray().astype(int).tolist(), counts.tolist(), of_sample.tolist()
    ([[0, 0, 0], [0, 0, 1], [1, 0, 1]], [1, 1, 2], [2, 0, 1, 2])
    """
    n, n_labels = Y.shape
    by_count = np.argsort(-np.bincount(Y.indices, minlength=n_labels), kind="stable")
    rank = np.empty(n_labels, dtype=np.int32)
    rank[by_count] = np.arange(n_labels, dtype=np.int32)
    ranked = make_csr(Y.indptr, rank[Y.indices], Y.data, Y.shape)
    ranked.sort_indices()
    # Big-endian bytes sort as the numbers do.
    text = ranked.indices.astype(">u4").tobytes()
    cuts = (4 * Y.indptr.astype(np.int64)).tolist()
    keys = [text[cuts[i] : cuts[i + 1]] for i in range(n)]
    distinct = sorted(set(keys))
    number = {key: i for i, key in enumerate(distinct)}
    of_sample = np.fromiter((number[key] for key in keys), dtype=np.int64, count=n)
    labels = by_count[np.frombuffer(b"".join(distinct), dtype=">u4").astype(np.int64)]
    indptr = np.cumsum([0, *(len(key) // 4 for key in distinct)])
    shape = (len(distinct), n_labels)
    sets = make_csr(indptr, labels, np.ones(labels.size, dtype=np.float32), shape)
    sets.sort_indices()
    return LabelSets(sets, np.bincount(of_sample, minlength=len(distinct)), of_sample)


def merge_rare(found: LabelSets, min_count: int) -> LabelSets:
    """Sets of fewer than `min_count` samples give their samples to the nearest frequent set.

    Nearest is the largest Jaccard index (labels in common over labels in either); among
    equals the set with more samples, then the first. A set that has no label in common with
    any frequent one stays.
    """
    frequent = np.flatnonzero(found.counts >= min_count)
    rare = np.flatnonzero(found.counts < min_count)
    frequent = frequent[np.argsort(-found.counts[frequent], kind="stable")]
    target = np.arange(found.counts.size)
    for start in range(0, rare.size, 1024):
        some = rare[start : start + 1024]
        merged, nearest = _nearest(found.sets[some], found.sets[frequent])
        target[some[merged]] = frequent[nearest]
    kept = np.flatnonzero(target == np.arange(target.size))
    number = np.zeros(target.size, dtype=np.int64)
    number[kept] = np.arange(kept.size)
    of_sample = number[target[found.of_sample]]
    return LabelSets(found.sets[kept], np.bincount(of_sample, minlength=kept.size), of_sample)


def _nearest(some: CSR, others: CSR) -> tuple[PointerArray, PointerArray]:
    """Which rows of `some` have a label in common with one of `others`, and their nearest."""
    common = sp.csr_array(some @ others.T)
    common.sort_indices()
    rows = entry_rows(common)
    sizes = np.diff(some.indptr)[rows] + np.diff(others.indptr)[common.indices]
    jaccard = common.data / (sizes - common.data)
    best = np.zeros(common.shape[0], dtype=jaccard.dtype)
    np.maximum.at(best, rows, jaccard)
    is_best = jaccard == best[rows]
    merged, first = np.unique(rows[is_best], return_index=True)
    return merged, common.indices[is_best][first].astype(np.int64)


def entropy(counts: PointerArray) -> float:
    """Entropy in bits of how the samples dense over the sets.

    Examples
    --------
    >>> entropy(np.array([3, 1, 3, 1])).__round__(4)
    1.8113
    """
    shares = counts / counts.sum()
    return float(-(shares * np.log2(shares)).sum()) + 0.0  # Adding 0.0 turns −0.0 into 0.0.
