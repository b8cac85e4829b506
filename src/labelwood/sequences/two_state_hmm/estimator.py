"""TwoStateGaussianHMM: the symmetric model of Yang 2018, chapter 2, with its certificate."""

import math
import warnings
from typing import Any, ClassVar

import numpy as np

from labelwood.core.caller import user_stacklevel
from labelwood.core.contract import FittedAttributes
from labelwood.core.params import N_JOBS, RANDOM_STATE, Constraints, Integer, Real
from labelwood.core.types import DoubleArray, PointerArray
from labelwood.errors import DataError, LabelwoodWarning
from labelwood.sequences.engine import Certificate, Run, SequenceModel, Sequences, certify
from labelwood.sequences.engine.sequences import check_learnable
from labelwood.sequences.two_state_hmm.model import (
    Symmetric,
    SymmetricChain,
    distance,
    run_updates,
    start_of,
)
from labelwood.sequences.two_state_hmm.starts import in_ball, moment_estimate

RADIUS = 0.25  # of the ball of starts, in lengths of μ (Yang 2018, Corollary 1)
_RATE = 1 / 32  # the constant c₂ of (2.31) as the proof has it


class TwoStateGaussianHMM(SequenceModel):
    """Two states with means μ and −μ, fitted by the Baum–Welch updates of Yang 2018, chapter 2.

    A hidden chain stays with probability ζ and changes its state with 1 − ζ (2.7);
    observations are N(μ, σ²I) or N(−μ, σ²I) (2.8), so center the data first. The chain starts
    in its stationary state; the updates are (2.30) with the n pairs (Z₀, Z₁) … (Zₙ₋₁, Zₙ), where
    Z₀ has no observation (2.6), and ζ is projected on (2.29).

    Parameters
    ----------
    b : float
        Bound of |2ζ − 1|, so that the chain mixes.
    sigma : float or None
        Known standard deviation of the noise; None estimates it.
    n_init : int
        Starts, drawn from the ball of radius ‖μ⁰‖/4 around a moment estimate μ⁰, with ζ = ½.
    max_iter : int
        Limit of iterations of each start.
    tol : float
        EM stops when ‖μ − μ'‖ + |β − β'| moves by no more than this in an iteration.
    random_state : int, SeedSequence, Generator or None
        Seed of the starts.
    n_jobs : int or None
        Threads over starts; results do not depend on it.

    Attributes
    ----------
    mean_ : array of shape (n_features,)
        μ. It and −μ are one model: its largest entry is made positive.
    zeta_, beta_, sigma_ : float
        Probability of staying, half of its log odds, and standard deviation of the noise.
    log_likelihood_, history_, steps_, n_iter_, stop_reason_, log_likelihoods_, arithmetic_
        As of `GaussianHMM`; `steps_` are in the norm (2.19).
    certificate_ : Certificate
        Signal-to-noise ratio, mixing constants, measured contraction and agreement of the
        starts; `print` gives it in words.

    Examples
    --------
    >>> import numpy as np
    >>> from labelwood import TwoStateGaussianHMM
    >>> rng = np.random.default_rng(0)
    >>> states = np.where(rng.random(1000) < 0.2, -1, 1).cumprod()
    >>> X = states[:, None] * [1.0, 0.5] + rng.normal(size=(1000, 2))
    >>> model = TwoStateGaussianHMM(random_state=0).fit(X)
    >>> print(f"{model.zeta_:.1f} {model.mean_.round(1).tolist()} {model.sigma_:.1f}")
    0.8 [1.0, 0.5] 1.0
    >>> print(model.certificate_)
    10 of 10 starts end within ... of each other; errors shrink by 0.60 a step ...
    """

    _constraints: ClassVar[Constraints] = {
        "b": Real(low=0, below=1),
        "sigma": (Real(above=0), None),
        "n_init": Integer(low=1),
        "max_iter": Integer(low=1),
        "tol": Real(above=0),
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }
    _fitted: ClassVar[FittedAttributes] = {
        **SequenceModel._fitted,
        "mean_": (np.float64, ("features",)),
        "zeta_": float,
        "sigma_": float,
    }

    mean_: DoubleArray
    zeta_: float
    sigma_: float

    def __init__(
        self,
        *,
        b: float = 0.99,
        sigma: float | None = None,
        n_init: int = 10,
        max_iter: int = 2000,
        tol: float = 1e-10,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.b = b
        self.sigma = sigma
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_data(self, data: Sequences) -> None:
        check_learnable(data, 2)

    def _starts(self, data: Sequences) -> list[tuple[SymmetricChain, Symmetric]]:
        center, variance = moment_estimate(data, self.sigma)
        radius = RADIUS * float(np.linalg.norm(center))
        return [
            start_of(
                data,
                in_ball(center, radius, np.random.default_rng(seed)),
                sigma=self.sigma,
                variance=variance,
                bound=self.b,
            )
            for seed in self._seeds()
        ]

    def _run(self, data: Sequences, chain: SymmetricChain, emissions: Symmetric) -> Run[Any]:
        return run_updates(data, chain, emissions, max_iter=self.max_iter, step_tol=self.tol)

    def _set_parameters(self, chain: SymmetricChain, emissions: Symmetric) -> None:
        mean = emissions.mean
        self.mean_ = mean if mean[np.argmax(np.abs(mean))] >= 0 else -mean
        self.zeta_, self.sigma_ = chain.zeta, math.sqrt(emissions.variance)

        if emissions.held_up:
            warnings.warn(
                "The data hold no noise beside the two states: a floor holds up sigma_ at "
                f"{self.sigma_:.3g}. Give sigma if you know it.",
                LabelwoodWarning,
                stacklevel=user_stacklevel(),
            )

    def _fit_sequences(self, data: Sequences) -> None:
        super()._fit_sequences(data)
        along = self.mean_ @ data.values  # what is missing is 0 there
        if not along.min() < 0 < along.max():
            warnings.warn(
                "All samples lie on one side of zero along mean_, so that one of the two states "
                "has none: center the data first.",
                LabelwoodWarning,
                stacklevel=user_stacklevel(),
            )

    def _last_gain(self) -> str:
        return f"a step of {self.steps_[-1]:.3g}"

    def _certify(self, data: Sequences, runs: list[Run[Any]], best: Run[Any]) -> Certificate:
        mean, variance = best.emissions.mean, best.emissions.variance
        snr = float(mean @ mean) / variance
        extra = {
            "snr": snr,
            "radius": RADIUS * float(np.linalg.norm(mean)),
            "theory_factor": theory_factor(snr, self.b),
        }
        precision = math.sqrt(data.n_features / data.n_observed)
        return certify(runs, best, distance, precision, extra=extra)

    @property
    def beta_(self) -> float:
        """Half the log odds of staying."""
        return self._chain().beta

    @property
    def n_parameters_(self) -> int:
        """Free parameters of the model."""
        return self._emissions().mean.size + 1 + (self.sigma is None)

    def _chain(self) -> SymmetricChain:
        return SymmetricChain.of(self.zeta_, self.b)

    def _emissions(self) -> Symmetric:
        return Symmetric(self.mean_, self.sigma_**2, known=True)

    def predict(self, X: object, *, lengths: object = None) -> PointerArray:
        """The most probable sequence of states (Viterbi): 1 for the mean μ, −1 for −μ."""
        return 1 - 2 * super().predict(X, lengths=lengths)

    def _draw(self, states: PointerArray, rng: np.random.Generator) -> DoubleArray:
        noise = self.sigma_ * rng.standard_normal((states.size, self.mean_.size))
        return np.asarray((1 - 2 * states)[:, None] * self.mean_ + noise)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if not (0 < self.zeta_ < 1 and self.sigma_ > 0 and np.isfinite(self.mean_).all()):
            raise DataError("zeta_ must lie in (0, 1), sigma_ above 0, and mean_ be finite")


def theory_factor(snr: float, b: float) -> float:
    """κ(η) of Yang 2018, eq. (2.31), with C₁ = 1 and the proof's c₂ = 1/32.

    Examples
    --------
    >>> round(theory_factor(1.5, 0.9), 1), theory_factor(600.0, 0.9) < 1
    (18.8, True)
    """
    return snr * (snr + 1) * math.exp(-_RATE * snr) / (1 - b**2)
