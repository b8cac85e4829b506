"""Restarts of EM from given or found starts, in threads, and the best of them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from labelwood.core.memory import require_memory
from labelwood.core.parallel import parallel
from labelwood.core.random import seed_sequence
from labelwood.core.types import DoubleArray
from labelwood.errors import ParameterError
from labelwood.sequences.engine import Certificate, Chain, Run, Sequences, certify, maximize
from labelwood.sequences.engine.chain import checked_chain
from labelwood.sequences.engine.sequences import check_learnable
from labelwood.sequences.gaussian_hmm.emissions import Gaussian
from labelwood.sequences.gaussian_hmm.starts import start_kind, starting_point

_SAME_END = 0.05  # of the statistical precision, within which two starts count as one end


@dataclass(frozen=True, eq=False)
class Fit:
    """All runs, the best of them, and what they certify."""

    runs: list[Run[Gaussian]]
    best: Run[Gaussian]
    certificate: Certificate
    n_sequences: int


def fit_restarts(model: Any, data: Sequences) -> Fit:
    """Run EM from every start that the parameters of `model` ask for."""
    check_learnable(data, model.n_states)
    n_threads = min(model.n_init, max(model.n_jobs or 1, 1))
    require_memory(
        16 * data.n_steps * model.n_states * n_threads,
        f"EM with {model.n_states} states over {data.n_steps:,} rows",
        "lower n_jobs, or give the sequences to partial_fit in batches",
    )
    starts = [_start(model, data, index, seed) for index, seed in enumerate(_seeds(model))]
    runs = parallel(
        lambda start: maximize(
            data,
            *start,
            stationary=model.start == "stationary",
            max_iter=model.max_iter,
            tol=model.tol,
        ),
        starts,
        n_jobs=model.n_jobs,
        description="EM",
    )
    best = max(runs, key=lambda run: run.log_likelihood)
    precision = float(np.sqrt(data.n_features / data.n_steps))
    # Runs that stop on a plateau still differ in the digits that EM had not settled; far below the
    # statistical precision these differences mean nothing.
    certificate = certify(runs, best, distance, precision, agreement=_SAME_END * precision)
    return Fit(runs, best, certificate, data.n_sequences)


def distance(run: Run[Gaussian], other: Run[Gaussian]) -> float:
    """How far two ends are apart, once their states are matched by their means."""
    scale = np.sqrt(other.emissions.variances()).mean(axis=0)
    gaps = (run.emissions.means[:, None] - other.emissions.means[None]) / scale
    order = linear_sum_assignment((gaps**2).sum(axis=2).T)[1]
    return max(
        run.chain.permuted(order).distance(other.chain),
        run.emissions.permuted(order).distance(other.emissions),
    )


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
    array = np.array(values, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise ParameterError(
            f"{name} must be finite numbers of shape {shape}. Got shape {array.shape} instead."
        )
    return array


def _seeds(model: Any) -> list[np.random.SeedSequence]:
    return seed_sequence(model.random_state).spawn(model.n_init)


def _start(
    model: Any, data: Sequences, index: int, seed: np.random.SeedSequence
) -> tuple[Chain, Gaussian]:
    """A start of the wanted kind, with the given values in place of its own."""
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
    if model.start == "stationary":
        chain = Chain(chain.stationary(), chain.transition)
    return chain, replace(emissions, means=mu, covariances=sigma)
