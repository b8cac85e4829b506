"""One EM iteration of a Gaussian hidden Markov model against hmmlearn, and one large fit."""

import json
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.harness import DYNAMAX, SKIPPED, Figures, peak_mb

CLAIM = (
    "an EM iteration takes at most 1/10 (200,000 × 2, two states, diagonal) and 1/5 (50,000 × 10, "
    "eight states, full) of hmmlearn's default, 1/5 and 1/3 of its scaling; one thread each"
)

# name → rows, states, features, our covariance, hmmlearn's name of it
SIZES = {
    "200,000 × 2": (200_000, 2, 2, "diagonal", "diag"),
    "50,000 × 10": (50_000, 8, 10, "full", "full"),
}
_REPEATS = 3


def prepare(folder: Path) -> None:
    """Write the sequences and the start values of each size."""
    for number, (n, s, d, _, _) in enumerate(SIZES.values()):
        rng = np.random.default_rng(number)
        A = 0.9 * np.eye(s) + 0.1 / s
        A /= A.sum(axis=1, keepdims=True)
        means = 2 * rng.normal(size=(s, d))
        cumulative, u = np.cumsum(A, axis=1), rng.random(n)
        states = np.zeros(n, dtype=int)
        for t in range(1, n):
            states[t] = min(np.searchsorted(cumulative[states[t - 1]], u[t]), s - 1)
        X = means[states] + rng.normal(size=(n, d))
        np.savez(folder / f"{number}.npz", X=X, means=means + 0.5 * rng.normal(size=(s, d)))


def _iteration(run, n_iter: int) -> float:
    """Milliseconds of CPU of one iteration: a long fit less a short one, the least of a few."""

    def least(n: int) -> float:
        times = []
        for _ in range(_REPEATS):
            start = time.process_time()
            run(n)
            times.append(time.process_time() - start)
        return min(times)

    run(1)  # compiles
    return 1e3 * (least(n_iter + 1) - least(1)) / n_iter


def _measure(folder: Path, make, n_iter: int) -> Figures:
    from threadpoolctl import threadpool_limits

    figures: Figures = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a few iterations do not converge
        for number, (name, size) in enumerate(SIZES.items()):
            data = np.load(folder / f"{number}.npz")
            X, means = data["X"], data["means"]
            figures[f"ms {name}"] = _iteration(make(X, means, *size[1:]), n_iter)
    return {**figures, "peak MB": peak_mb()}


def ours(folder: Path) -> Figures:
    from labelwood import GaussianHMM

    def make(X, means, s, d, kind, _):
        covariances = np.ones((s, d)) if kind == "diagonal" else np.tile(np.eye(d), (s, 1, 1))

        def run(n: int) -> None:
            GaussianHMM(
                s, covariance=kind, n_init=1, max_iter=n, tol=0, start_init=np.full(s, 1 / s),
                transition_init=np.full((s, s), 1 / s), means_init=means,
                covariances_init=covariances,
            ).fit(X)  # fmt: skip

        return run

    return _measure(folder, make, 20)


def _hmmlearn(folder: Path, implementation: str) -> Figures:
    from hmmlearn.hmm import GaussianHMM

    def make(X, means, s, d, kind, theirs):
        covariances = np.ones((s, d)) if kind == "diagonal" else np.tile(np.eye(d), (s, 1, 1))

        def run(n: int) -> None:
            peer = GaussianHMM(
                s, theirs, init_params="", n_iter=n, tol=-np.inf, implementation=implementation
            )
            peer.startprob_, peer.transmat_ = np.full(s, 1 / s), np.full((s, s), 1 / s)
            peer.means_, peer.covars_ = means.copy(), covariances.copy()
            peer.fit(X)

        return run

    return _measure(folder, make, 4)


def hmmlearn_log(folder: Path) -> Figures:
    """Its default implementation."""
    return _hmmlearn(folder, "log")


def hmmlearn_scaling(folder: Path) -> Figures:
    return _hmmlearn(folder, "scaling")


def dynamax(folder: Path) -> Figures:
    """In double precision, as the others; `fit_em` compiles in every call, which cancels out."""
    # JAX reads this once, when it is imported.
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    try:
        import jax
        from dynamax.hidden_markov_model import DiagonalGaussianHMM, GaussianHMM
    except ImportError as error:
        sys.exit(f"{SKIPPED} {error}; `make bench` installs it into {DYNAMAX.parents[1].name}")
    jax.config.update("jax_enable_x64", True)

    def make(X, means, s, d, kind, _):
        peer = (DiagonalGaussianHMM if kind == "diagonal" else GaussianHMM)(s, d)
        rows = jax.numpy.asarray(X)
        params, properties = peer.initialize(emission_means=jax.numpy.asarray(means))

        def run(n: int) -> None:
            # JAX computes in the background: without waiting, a part would not be measured.
            jax.block_until_ready(peer.fit_em(params, properties, rows, num_iters=n, verbose=False))

        return run

    return _measure(folder, make, 30)


def large(folder: Path) -> Figures:
    """10,000,000 × 1 with two states: five iterations, for the memory."""
    from labelwood import GaussianHMM

    rng = np.random.default_rng(0)
    n = 10_000_000
    X = rng.normal(size=(n, 1))
    X[n // 2 :] += 2
    model = GaussianHMM(
        2, n_init=1, max_iter=5, tol=0, start_init=[0.5, 0.5],
        transition_init=[[0.9, 0.1], [0.1, 0.9]], means_init=[[-0.5], [2.5]],
        covariances_init=[[1.0], [1.0]],
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        model.fit(X)
        seconds = time.process_time() - start
    print(json.dumps({"means": model.means_.ravel().tolist()}), file=sys.stderr)
    return {"ms 10,000,000 × 1": 1e3 * seconds / 6, "peak MB": peak_mb()}


LEFT_OUT: dict[str, tuple[str, ...]] = {}
CONTESTANTS = {
    "labelwood": (ours, Path(sys.executable)),
    "hmmlearn, log": (hmmlearn_log, Path(sys.executable)),
    "hmmlearn, scaling": (hmmlearn_scaling, Path(sys.executable)),
    "dynamax": (dynamax, DYNAMAX),
    "labelwood, ten million rows": (large, Path(sys.executable)),
}
