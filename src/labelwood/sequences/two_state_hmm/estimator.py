"""TwoStateGaussianHMM: the symmetric model of Yang 2018, chapter 2, with its certificate."""

import math
import warnings
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from labelwood.core.caller import user_stacklevel
from labelwood.core.contract import FittedAttributes
from labelwood.core.parallel import parallel
from labelwood.core.params import (
    N_JOBS,
    RANDOM_STATE,
    Constraints,
    Integer,
    Real,
    check_parameters,
)
from labelwood.core.random import seed_sequence
from labelwood.core.types import DoubleArray, PointerArray
from labelwood.errors import DataError
from labelwood.sequences.engine import Run, SequenceModel, certify, check_sequences
from labelwood.sequences.engine.em import LIMIT
from labelwood.sequences.engine.sequences import check_learnable
from labelwood.sequences.two_state_hmm.model import (
    Symmetric,
    SymmetricChain,
    baum_welch,
    distance,
)
from labelwood.sequences.two_state_hmm.starts import in_ball, moment_estimate

RADIUS = 0.25  # of the ball of starts, in lengths of μ (Yang 2018, Corollary 1)
_RATE = 1 / 32  # the constant c₂ of (2.31) as the proof has it


class TwoStateGaussianHMM(SequenceModel):
    """Two states with means μ and −μ, fitted by the Baum–Welch updates of Yang 2018, chapter 2.

    A hidden chain stays with probability ζ and changes its state with 1 − ζ (2.7);
    observations are N(μ, σ²I) or N(−μ, σ²I) (2.8), so centre the data first. The chain starts
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
    log_likelihood_, history_, steps_, n_iter_, stop_reason_, log_likelihoods_
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
        "mean_": (np.float64, ("features",)),
        "zeta_": float,
        "sigma_": float,
        "history_": (np.float64, (None,)),
        "steps_": (np.float64, (None,)),
        "stop_reason_": str,
        "certificate_json_": str,
    }

    mean_: DoubleArray
    zeta_: float
    sigma_: float
    history_: DoubleArray
    steps_: DoubleArray
    log_likelihood_: float
    log_likelihoods_: DoubleArray
    n_iter_: int
    stop_reason_: str

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

    def fit(self, X: object, y: object = None, *, lengths: object = None) -> Self:
        """Run the updates from every start and keep the end of largest likelihood.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
            Sequences one below the other; NaN for missing values.
        y : ignored
        lengths : list of int, optional
            Rows of each sequence.
        """
        check_parameters(self, self._constraints)
        data = check_sequences(self, X, lengths, reset=True)
        check_learnable(data, 2)
        center, variance = moment_estimate(data, self.sigma)
        radius = RADIUS * float(np.linalg.norm(center))
        starts = [
            in_ball(center, radius, np.random.default_rng(seed))
            for seed in seed_sequence(self.random_state).spawn(self.n_init)
        ]
        runs = parallel(
            lambda mean: baum_welch(
                data,
                mean,
                sigma=self.sigma,
                variance=variance,
                bound=self.b,
                max_iter=self.max_iter,
                step_tol=self.tol,
            ),
            starts,
            n_jobs=self.n_jobs,
            description="EM",
        )
        self._set_fit(runs, data.n_features / data.n_steps)
        if self.stop_reason_ == LIMIT:
            warnings.warn(
                f"EM ended at its limit of {self.max_iter} iterations with a step of "
                f"{self.steps_[-1]:.3g}; raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=user_stacklevel(),
            )
        return self

    def _set_fit(self, runs: list[Run[Symmetric]], d_over_n: float) -> None:
        best = max(runs, key=lambda run: run.log_likelihood)
        chain, emissions = best.chain, best.emissions
        assert isinstance(chain, SymmetricChain)
        mean = emissions.mean
        self.mean_ = mean if mean[np.argmax(np.abs(mean))] >= 0 else -mean
        self.zeta_, self.sigma_ = chain.zeta, math.sqrt(emissions.variance)
        self.history_, self.steps_ = best.history, best.steps
        self.log_likelihood_, self.n_iter_ = best.log_likelihood, best.n_iter
        self.log_likelihoods_ = np.array([run.log_likelihood for run in runs])
        self.stop_reason_ = best.stop_reason
        snr = float(mean @ mean) / emissions.variance
        extra = {
            "snr": snr,
            "radius": RADIUS * float(np.linalg.norm(mean)),
            "theory_factor": theory_factor(snr, self.b),
        }
        certificate = certify(runs, best, distance, math.sqrt(d_over_n), extra=extra)
        self.certificate_json_ = certificate.to_json()

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
