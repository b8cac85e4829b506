"""Every metric once more, sample by sample, in plain Python from its definition."""

import math

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from labelwood import TopK


def label_sets(Y: sp.csr_array) -> list[set[int]]:
    return [set(np.flatnonzero(row).tolist()) for row in Y.toarray()]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def dcg(gains: list[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def precision(true: list[set[int]], ranks: list[list[int]], k: int) -> float:
    return mean([len(set(r[:k]) & y) / k for y, r in zip(true, ranks, strict=True)])


def recall(true: list[set[int]], ranks: list[list[int]], k: int) -> float:
    pairs = zip(true, ranks, strict=True)
    return mean([len(set(r[:k]) & y) / len(y) if y else 0.0 for y, r in pairs])


def f1_at(true: list[set[int]], ranks: list[list[int]], k: int) -> float:
    values = []
    for y, r in zip(true, ranks, strict=True):
        p, q = precision([y], [r], k), recall([y], [r], k)
        values.append(2 * p * q / (p + q) if p + q else 0.0)
    return mean(values)


def ndcg(true: list[set[int]], ranks: list[list[int]], k: int) -> float:
    values = []
    for y, r in zip(true, ranks, strict=True):
        gains = [1.0 if label in y else 0.0 for label in r[:k]]
        values.append(dcg(gains) / dcg([1.0] * min(k, len(y))) if y else 0.0)
    return mean(values)


def psp(true: list[set[int]], ranks: list[list[int]], k: int, p: list[float]) -> float:
    top = bottom = 0.0
    for y, r in zip(true, ranks, strict=True):
        top += sum(1 / p[label] for label in r[:k] if label in y)
        bottom += sum(sorted((1 / p[label] for label in y), reverse=True)[:k])
    return top / bottom


def psndcg(true: list[set[int]], ranks: list[list[int]], k: int, p: list[float]) -> float:
    top = bottom = 0.0
    for y, r in zip(true, ranks, strict=True):
        if y:
            ideal = dcg([1.0] * min(k, len(y)))
            top += dcg([1 / p[label] if label in y else 0.0 for label in r[:k]]) / ideal
            bottom += dcg(sorted((1 / p[label] for label in y), reverse=True)[:k]) / ideal
    return top / bottom


@st.composite
def truths(draw: st.DrawFn, n_labels: int = 6) -> sp.csr_array:
    """Up to eight samples with at least one label among them."""
    n = draw(st.integers(1, 8))
    bits = draw(st.lists(st.booleans(), min_size=n * n_labels, max_size=n * n_labels))
    Y = np.array(bits, dtype=np.float32).reshape(n, n_labels)
    Y[0, draw(st.integers(0, n_labels - 1))] = 1
    return sp.csr_array(Y)


@st.composite
def rankings(draw: st.DrawFn, n: int, n_labels: int = 6) -> TopK:
    """Rows of one to all labels in any order, −1 at the end."""
    labels = np.full((n, n_labels), -1, dtype=np.int32)
    for row in labels:
        order = draw(st.permutations(range(n_labels)))
        length = draw(st.integers(0, n_labels))
        row[:length] = order[:length]
    scores = np.where(labels >= 0, -np.arange(n_labels), -np.inf)
    return TopK(labels, scores)


def propensities(n_labels: int = 6) -> st.SearchStrategy[list[float]]:
    return st.lists(st.floats(0.05, 1.0), min_size=n_labels, max_size=n_labels)
