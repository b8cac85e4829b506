"""Adaptive experiments: recording outcomes one by one, looking, and simulating many runs."""

import random
import sys
from pathlib import Path

from benchmarks.harness import THREADS, Figures, best_of

CLAIM = "a million outcomes a second are recorded one by one, and a look takes microseconds"

_N_ARMS = 10
_N_OUTCOMES = 1_000_000
_N_LOOKS = 20_000
_N_RUNS = 400


def prepare(folder: Path) -> None:
    """Nothing: rewards are drawn."""


def record(folder: Path) -> Figures:
    """Outcomes one by one into ten arms, without a look."""
    from labelwood.experiments import BestArmExperiment

    draw = random.Random(0)
    arms = [draw.randrange(_N_ARMS) for _ in range(_N_OUTCOMES)]
    rewards = [draw.randrange(2) for _ in range(_N_OUTCOMES)]

    def run():
        experiment = BestArmExperiment(_N_ARMS, 0.05)
        for arm, reward in zip(arms, rewards, strict=True):
            experiment.record(arm, reward)

    _, figures = best_of(3, run)
    return {"a second": _N_OUTCOMES / figures["seconds"], **figures}


def look(folder: Path) -> Figures:
    """An outcome and a look at ten arms, again and again."""
    from labelwood.experiments import BestArmExperiment

    def run():
        experiment = BestArmExperiment(_N_ARMS, 1e-9)
        for k in range(_N_LOOKS):
            experiment.record(k % _N_ARMS, k // _N_ARMS % 2)
            experiment.update()

    run()  # compiles, or reads the compiled kernels
    _, figures = best_of(3, run)
    return {"a second": _N_LOOKS / figures["seconds"], **figures}


def simulate(folder: Path) -> Figures:
    """Rewards drawn and decided upon in simulated experiments with ten arms."""
    from labelwood.experiments import Bernoulli, Setting
    from labelwood.experiments.simulation import simulate as simulate_runs

    means = [0.5] * (_N_ARMS - 1) + [0.6]
    setting = Setting(100_000, reward=Bernoulli(bound="beta"))

    def run():
        return simulate_runs(means, 0.05, setting, runs=_N_RUNS, random_state=0, n_jobs=THREADS)

    run()
    done, figures = best_of(3, run)
    return {"a second": int(done.n_samples.sum()) / figures["seconds"], **figures}


LEFT_OUT: dict[str, tuple[str, ...]] = {}
CONTESTANTS = {
    "record one by one": (record, Path(sys.executable)),
    "record and look": (look, Path(sys.executable)),
    "simulate": (simulate, Path(sys.executable)),
}
