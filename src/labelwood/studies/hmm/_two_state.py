"""Data of the symmetric two-state model, and runs of Baum–Welch on them."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from labelwood.core.types import DoubleArray

DIMENSION, LENGTH, ZETA = 10, 1_000, 0.2  # of Figures 2.3 and 2.4: ρ_mix = |2ζ − 1| = 0.6


@dataclass(frozen=True, eq=False)
class Sample:
    """A sequence of the model with σ = 1, and the parameters it was drawn with."""

    X: "DoubleArray"
    states: Any
    mean: "DoubleArray"
    zeta: float

    @property
    def beta(self) -> float:
        """Half the log odds of staying."""
        return 0.5 * math.log(self.zeta / (1 - self.zeta))


def draw_sample(
    rng: "np.random.Generator", *, snr: float, n: int = LENGTH, d: int = DIMENSION,
    zeta: float = ZETA,
) -> Sample:  # fmt: skip
    """A sequence with η² = `snr`; the direction of μ is drawn uniformly."""
    import numpy as np

    direction = rng.standard_normal(d)
    mean = math.sqrt(snr) * direction / np.linalg.norm(direction)
    signs = np.cumprod(np.where(rng.random(n) < zeta, 1.0, -1.0))
    if rng.random() < 0.5:
        signs = -signs
    return Sample(signs[:, None] * mean + rng.standard_normal((n, d)), signs, mean, zeta)


def sequences(sample: Sample) -> Any:
    """The observations as the engine takes them."""
    from labelwood.sequences.engine import check_sequences
    from labelwood.sequences.two_state_hmm import TwoStateGaussianHMM

    return check_sequences(TwoStateGaussianHMM(), sample.X, None, reset=True)


def trace(sample: Sample, start: Any, iterations: int, bound: float = 0.99) -> list[Any]:
    """Every iterate (μ, β) of the updates (2.30) with σ = 1, ζ⁰ = ½ and a given μ⁰."""
    from labelwood.sequences.engine.em import e_step
    from labelwood.sequences.two_state_hmm import Symmetric, SymmetricChain

    data = sequences(sample)
    chain, emissions = SymmetricChain.of(0.5, bound), Symmetric(start, 1.0, known=True)
    iterates = [(emissions.mean, chain.beta)]
    for _ in range(iterations):
        found = e_step(data, chain, emissions)
        chain = chain.maximized(found.starts, found.pairs, stationary=True)
        emissions = emissions.maximized(emissions.statistics(data, found.gamma))
        iterates.append((emissions.mean, chain.beta))
    return iterates


def gap(mean: Any, other: Any) -> float:
    """‖μ − μ'‖ for the better of both signs: μ and −μ are one model."""
    import numpy as np

    return float(min(np.linalg.norm(mean - other), np.linalg.norm(mean + other)))


def step_lengths(iterates: list[Any]) -> Any:
    """How far each iteration moved (μ, β), in the norm (2.19)."""
    import numpy as np

    return np.array([gap(a[0], b[0]) + abs(a[1] - b[1]) for a, b in pairwise(iterates)])


def to_text(values: list[float]) -> str:
    """A trace as one cell of a row."""
    return " ".join(f"{value:.4e}" for value in values)


def from_text(text: Any) -> list[float]:
    """The way back, with zeros raised to what a logarithmic axis can show."""
    return [max(float(value), 1e-16) for value in text.split()]
