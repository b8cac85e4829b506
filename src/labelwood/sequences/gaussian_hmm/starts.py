"""Where EM starts: given values, k-means, random samples, or the moments of triples (spectral)."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from labelwood.core.types import DoubleArray, PointerArray
from labelwood.errors import ParameterError
from labelwood.sequences.engine import Chain, Sequences, random_chain
from labelwood.sequences.engine.chain import as_numbers, checked_chain
from labelwood.sequences.gaussian_hmm.emissions import Gaussian
from labelwood.sequences.gaussian_hmm.spectral import spectral_start

_CLUSTERED = 100_000  # rows that k-means learns from; it assigns all of them
_MIXED = ("kmeans", "spectral", "random")


def start_of(
    model: Any, data: Sequences, index: int, seed: np.random.SeedSequence
) -> tuple[Chain, Gaussian]:
    """The start of restart number `index`: of the wanted kind, with given values in their place."""
    s, kind = model.n_states, model.covariance
    blank = blank_emissions(data, s, kind, model.covariance_floor)
    given = (model.transition_init, model.means_init, model.covariances_init)
    if any(one is None for one in given):
        rng = np.random.default_rng(seed)
        chain, emissions = starting_point(data, s, blank, start_kind(model.init, index), rng)
    else:
        chain, emissions = Chain(np.full(s, 1 / s), np.full((s, s), 1 / s)), blank
    pi, A, mu, sigma = (
        own if one is None else one
        for one, own in zip(
            (model.start_init, *given),
            (chain.start, chain.transition, emissions.means, emissions.covariances),
            strict=True,
        )
    )
    chain, mu, sigma = checked_parameters(model, pi, A, mu, sigma)
    # EM is a maximization above the floor: from a start below it the likelihood could fall.
    return chain, replace(emissions, means=mu, covariances=sigma).above_floor()


def start_kind(init: str, index: int) -> str:
    """What restart number `index` starts from; "mixed" takes the three kinds in turn.

    Examples
    --------
    >>> [start_kind("mixed", index) for index in range(4)]
    ['kmeans', 'spectral', 'random', 'kmeans']
    """
    return _MIXED[index % len(_MIXED)] if init == "mixed" else init


def starting_point(
    data: Sequences, n_states: int, blank: Gaussian, kind: str, rng: np.random.Generator
) -> tuple[Chain, Gaussian]:
    """Chain and emissions to start from; `blank` has the mean and variance of all data.

    A spectral start whose moments do not identify the states gives way to k-means.
    """
    if kind == "random":
        return _random_start(data, n_states, blank, rng)
    if kind == "spectral":
        m = min(max(3 * n_states, 8), data.n_steps)
        symbols = cluster(data, m, rng)
        found = spectral_start(symbols, data.offsets, n_states, rng)
        if found is not None:
            chain, responsibilities = found
            return chain, blank.maximized(blank.statistics(data, responsibilities[symbols]))
    labels = cluster(data, n_states, rng)
    responsibilities = np.eye(n_states)[labels]
    return (
        chain_of_labels(labels, data.offsets, n_states),
        blank.maximized(blank.statistics(data, responsibilities)),
    )


def cluster(data: Sequences, n_clusters: int, rng: np.random.Generator) -> PointerArray:
    """The cluster of each step by k-means on scaled features."""
    if n_clusters == 1:
        return np.zeros(data.n_steps, dtype=np.int64)
    rows = (data.imputed() - data.means) / np.sqrt(data.variances)
    learned = rows
    if rows.shape[0] > _CLUSTERED:
        learned = rows[np.sort(rng.choice(rows.shape[0], _CLUSTERED, replace=False))]
    means = KMeans(n_clusters, n_init=1, random_state=int(rng.integers(2**31)))
    # One thread: the sums of several would be rounded differently, and so would the start.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters
        return np.asarray(means.fit(learned).predict(rows), dtype=np.int64)


def chain_of_labels(labels: PointerArray, offsets: PointerArray, n_states: int) -> Chain:
    """The chain that a labeled sequence suggests, one step added to each count."""
    starts = np.bincount(labels[offsets[:-1]], minlength=n_states) + 1.0
    inside = np.ones(labels.size, dtype=bool)
    inside[offsets[:-1]] = False
    codes = labels[:-1][inside[1:]] * n_states + labels[1:][inside[1:]]
    pairs = np.bincount(codes, minlength=n_states**2).reshape(n_states, n_states) + 1.0
    return Chain(starts / starts.sum(), pairs / pairs.sum(axis=1, keepdims=True))


def _random_start(
    data: Sequences, n_states: int, blank: Gaussian, rng: np.random.Generator
) -> tuple[Chain, Gaussian]:
    """Random rows as means, the covariance of all data, a chain that tends to stay."""
    rows = rng.choice(data.n_steps, n_states, replace=False)
    means: DoubleArray = data.imputed()[rows]
    return random_chain(n_states, rng), replace(blank, means=means)


def blank_emissions(data: Sequences, n_states: int, kind: str, share: float) -> Gaussian:
    """Every state with the mean and the variances of all data."""
    means = np.tile(data.means, (n_states, 1))
    covariances = covariances_of(data.variances, n_states, kind)
    return Gaussian(
        kind, means, covariances, share * data.variances, np.zeros(n_states, dtype=bool)
    )


def covariances_of(variances: DoubleArray, n_states: int, kind: str) -> DoubleArray:
    """The same variances for all states, in the shape of the kind."""
    if kind == "spherical":
        return np.full(n_states, variances.mean())
    if kind == "diagonal":
        return np.tile(variances, (n_states, 1))
    if kind == "tied":
        return np.diag(variances)
    return np.tile(np.diag(variances), (n_states, 1, 1))


def checked_parameters(
    model: Any, start: object, transition: object, means: object, covariances: object
) -> tuple[Chain, DoubleArray, DoubleArray]:
    """Parameters of the right shapes, probabilities that are such, positive covariances."""
    s, d = model.n_states, model.n_features_in_
    chain = checked_chain(start, transition, s)
    mu = _checked_array("means", means, (s, d))
    shapes = {"spherical": (s,), "diagonal": (s, d), "tied": (d, d), "full": (s, d, d)}
    sigma = _checked_array("covariances", covariances, shapes[model.covariance])
    if model.covariance in ("spherical", "diagonal"):
        positive = bool((sigma > 0).all())
    else:
        symmetric = np.allclose(sigma, np.swapaxes(sigma, -1, -2), rtol=1e-6, atol=0)
        positive = symmetric and bool((np.linalg.eigvalsh(sigma) > 0).all())
    if not positive:
        raise ParameterError(f"{model.covariance} covariances must be positive definite.")
    return chain, mu, sigma


def _checked_array(name: str, values: object, shape: tuple[int, ...]) -> DoubleArray:
    array = as_numbers(values)
    if array is None or array.shape != shape or not np.isfinite(array).all():
        got = repr(values) if array is None else f"shape {array.shape}"
        raise ParameterError(f"{name} must be finite numbers of shape {shape}. Got {got} instead.")
    return array
