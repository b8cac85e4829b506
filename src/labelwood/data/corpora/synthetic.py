"""Sparse multi-label data of any size, whose truth is known."""

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelwood.core.memory import require_memory
from labelwood.core.parallel import blocks, parallel
from labelwood.core.params import (
    N_JOBS,
    RANDOM_STATE,
    Boolean,
    Constraints,
    Integer,
    Real,
    check_parameter,
)
from labelwood.core.propensity import label_propensity
from labelwood.core.random import RandomState, seed_sequence
from labelwood.core.sparse import unit_rows
from labelwood.core.types import CSR, DoubleArray
from labelwood.data.dataset import Dataset

_WORDS_PER_LABEL = 12
_HEAD = 10.0  # ranks over which the power laws are still flat
_BLOCK = 8192  # rows of one random stream: another size makes other data
_BYTES_PER_DRAW = 40

_CONSTRAINTS: Constraints = {
    "n_samples": Integer(low=3),
    "n_features": Integer(low=1),
    "n_labels": Integer(low=1),
    "n_test": (Integer(low=0), None),
    "labels_per_sample": Real(low=1),
    "label_power": Real(low=0),
    "nonzeros_per_sample": Real(above=0),
    "signal": Real(low=0, high=1),
    "drop_labels": Boolean(),
    "a": Real(low=0),
    "b": Real(above=0),
    "random_state": RANDOM_STATE,
    "n_jobs": N_JOBS,
}


@dataclass(frozen=True)
class Synthetic:
    """Made-up data with its truth.

    Attributes
    ----------
    train, test : Dataset
        Samples with the labels that were observed.
    train_complete, test_complete : csr_array
        All labels that the samples really have.
    propensity : float64 array of shape (n_labels,)
        The probability with which a label that a sample has is observed; ones when no
        labels were dropped.
    """

    train: Dataset
    test: Dataset
    train_complete: CSR
    test_complete: CSR
    propensity: DoubleArray


def synthetic(
    n_samples: int,
    n_features: int,
    n_labels: int,
    *,
    n_test: int | None = None,
    labels_per_sample: float = 4.0,
    label_power: float = 1.0,
    nonzeros_per_sample: float = 60.0,
    signal: float = 0.2,
    drop_labels: bool = False,
    a: float = 0.55,
    b: float = 1.5,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Synthetic:
    """Make sparse multi-label data with power-law label and word frequencies.

    Every label has a dozen typical words, drawn at random, so that labels share words.
    A sample draws its labels from a power law, and its words partly from the words of its
    labels and partly from a power law over all words. Features are the TF-IDF values of
    the words, in rows of length one. The cost follows the number of non-zeros.

    Parameters
    ----------
    n_samples, n_features, n_labels : int
        The size of the training part.
    n_test : int or None
        Samples of the test part; None for a quarter of `n_samples`.
    labels_per_sample, nonzeros_per_sample : float
        How many draws a sample makes on average; draws of the same label or word count
        once, so the means of the result are a little lower.
    label_power : float
        How steeply label frequencies fall: like (rank + 10)^−label_power.
    signal : float
        The share of words that come from the sample's labels.
    drop_labels : bool
        Whether to hide labels: one that a sample has is observed with the probability
        p = 1/(1 + C (N + b)^−a), where N is its number of training samples and
        C = (ln n_samples − 1)(b + 1)^a.
    a, b : float
        The parameters of that propensity.
    random_state : int, generator or None
        The seed: the same seed gives the same data for every `n_jobs`.
    n_jobs : int or None
        The number of threads.

    Examples
    --------
    >>> made = synthetic(1000, 500, 50, drop_labels=True)
    >>> made.train.X.shape, made.test.Y.shape
    ((1000, 500), (250, 50))
    >>> made.train.Y.nnz < made.train_complete.nnz
    True
    """
    for name, value in dict(locals()).items():
        check_parameter("synthetic", name, value, _CONSTRAINTS[name])
    n_test = n_samples // 4 if n_test is None else n_test
    n = n_samples + n_test
    require_memory(
        int(n * (nonzeros_per_sample + labels_per_sample) * _BYTES_PER_DRAW),
        f"synthetic data of {n:,} samples",
        "lower n_samples or nonzeros_per_sample",
    )
    model_seed, samples_seed, drop_seed = seed_sequence(random_state).spawn(3)
    model = _Model.draw(model_seed, n_features, n_labels)
    draw = partial(
        _draw_samples, model, labels_per_sample, label_power, nonzeros_per_sample, signal
    )
    ranges = blocks(n, _BLOCK)
    tasks = list(zip(ranges, samples_seed.spawn(len(ranges)), strict=True))
    counts, labels = zip(*parallel(draw, tasks, n_jobs=n_jobs), strict=True)
    X = _tfidf(sp.vstack(counts, format="csr"), n_samples)
    complete = sp.vstack(labels, format="csr")
    observed, propensity = complete, np.ones(n_labels)
    if drop_labels:
        frequency = np.bincount(complete[:n_samples].indices, minlength=n_labels)
        propensity = label_propensity(frequency, n_samples, a, b)
        observed = _drop(complete, propensity, drop_seed)
    return Synthetic(
        Dataset(X[:n_samples], observed[:n_samples], description="synthetic"),
        Dataset(X[n_samples:], observed[n_samples:], description="synthetic"),
        complete[:n_samples],
        complete[n_samples:],
        propensity,
    )


class _Model(NamedTuple):
    """What all samples have in common."""

    words: NDArray[np.int32]  # the typical words of each label, the most typical first
    label_of_rank: NDArray[np.int32]
    feature_of_rank: NDArray[np.int32]

    @classmethod
    def draw(cls, seed: np.random.SeedSequence, n_features: int, n_labels: int) -> "_Model":
        rng = np.random.default_rng(seed)
        return cls(
            rng.integers(n_features, size=(n_labels, _WORDS_PER_LABEL), dtype=np.int32),
            rng.permutation(n_labels).astype(np.int32),
            rng.permutation(n_features).astype(np.int32),
        )


def _draw_samples(
    model: _Model,
    labels_per_sample: float,
    label_power: float,
    nonzeros_per_sample: float,
    signal: float,
    task: tuple[range, np.random.SeedSequence],
) -> tuple[CSR, CSR]:
    """Word counts and labels of a block of samples."""
    rows, seed = task
    rng = np.random.default_rng(seed)
    n_labels, n_features = model.label_of_rank.size, model.feature_of_rank.size
    n_drawn = 1 + rng.poisson(labels_per_sample - 1, len(rows))
    starts = np.concatenate([[0], np.cumsum(n_drawn)])
    labels = model.label_of_rank[_ranks(rng.random(starts[-1]), n_labels, label_power)]

    ends = np.concatenate([[0], np.cumsum(rng.poisson(nonzeros_per_sample, len(rows)))])
    words = model.feature_of_rank[_ranks(rng.random(ends[-1]), n_features, 1.0)]
    telling = np.flatnonzero(rng.random(words.size) < signal)
    row = np.repeat(np.arange(len(rows)), np.diff(ends))[telling]
    label = labels[starts[row] + (rng.random(row.size) * n_drawn[row]).astype(np.int64)]
    # The square makes the first words of a label the most frequent.
    nth = (rng.random(row.size) ** 2 * _WORDS_PER_LABEL).astype(np.int64)
    words[telling] = model.words[label, nth]

    Y = _counted(labels, starts, n_labels)
    Y.data[:] = 1
    return _counted(words, ends, n_features), Y


def _ranks(uniform: DoubleArray, n: int, power: float) -> NDArray[np.int64]:
    """Ranks 0…n−1 with frequencies like (rank + head)^−power, from uniform numbers."""
    if math.isclose(power, 1, abs_tol=1e-6):
        place = _HEAD * (n / _HEAD + 1) ** uniform
    else:
        low, high = _HEAD ** (1 - power), (n + _HEAD) ** (1 - power)
        place = (low + uniform * (high - low)) ** (1 / (1 - power))
    return np.clip((place - _HEAD).astype(np.int64), 0, n - 1)


def _counted(columns: NDArray[np.int32], indptr: NDArray[np.int64], width: int) -> CSR:
    ones = np.ones(columns.size, dtype=np.float32)
    matrix = sp.csr_array((ones, columns, indptr), shape=(indptr.size - 1, width))
    matrix.sum_duplicates()
    return matrix


def _tfidf(counts: CSR, n_samples: int) -> CSR:
    """Counts as (1 + log count)(1 + log((1 + n)/(1 + df))), df being that of the first samples."""
    frequency = np.bincount(counts[:n_samples].indices, minlength=counts.shape[1])
    idf = 1 + np.log((1 + n_samples) / (1 + frequency)).astype(np.float32)
    np.log(counts.data, out=counts.data)
    counts.data += 1
    counts.data *= idf[counts.indices]
    return unit_rows(counts)


def _drop(Y: CSR, propensity: DoubleArray, seed: np.random.SeedSequence) -> CSR:
    """`Y` with every label kept by the probability of its propensity."""
    kept = np.random.default_rng(seed).random(Y.nnz) < propensity[Y.indices]
    indptr = np.concatenate([[0], np.cumsum(kept)])[Y.indptr]
    return sp.csr_array((Y.data[kept], Y.indices[kept], indptr), shape=Y.shape)
