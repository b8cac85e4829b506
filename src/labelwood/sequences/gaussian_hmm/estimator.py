"""GaussianHMM: a hidden Markov model with Gaussian observations."""

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from labelwood.core.caller import user_stacklevel
from labelwood.core.contract import FittedAttributes
from labelwood.core.params import (
    N_JOBS,
    RANDOM_STATE,
    Constraints,
    Instance,
    Integer,
    OneOf,
    Real,
    check_parameters,
)
from labelwood.core.types import DoubleArray, PointerArray
from labelwood.errors import LabelwoodWarning
from labelwood.sequences.engine import Chain, SequenceModel, check_sequences
from labelwood.sequences.gaussian_hmm.emissions import Gaussian, Moments
from labelwood.sequences.gaussian_hmm.fitting import Fit, checked_parameters, fit_restarts
from labelwood.sequences.gaussian_hmm.online import OnlineStatistics, update

_GIVEN = (Instance("ndarray", "list", "tuple"), None)
COVARIANCES = ("spherical", "diagonal", "tied", "full")


class GaussianHMM(SequenceModel):
    """Hidden Markov model with Gaussian observations, fitted by EM (Baum–Welch) with restarts.

    Several sequences are given one below the other, with their `lengths`. NaN stands for a
    missing value, which is integrated out exactly: a row may lack some values or all of them.

    Parameters
    ----------
    n_states : int
        Number of hidden states.
    covariance : {"spherical", "diagonal", "tied", "full"}
        One variance for each state; one for each state and feature; one matrix for all states;
        one matrix for each state.
    start : {"free", "stationary"}
        Whether the start probabilities are parameters of their own (as in hmmlearn), or the
        stationary distribution of the transitions.
    init : {"mixed", "kmeans", "random", "spectral"}
        What EM starts from: clusters, random rows, the moments of triples, or these in turn.
    n_init : int
        Number of starts; the end of largest likelihood is kept.
    max_iter : int
        Limit of iterations of each start.
    tol : float
        EM stops when an iteration gains at most so much log likelihood a row.
    covariance_floor : float
        Least variance in any direction, as a share of the variance of the data.
    start_init, transition_init, means_init, covariances_init : array-like or None
        Given values in place of those of `init`.
    random_state : int, SeedSequence, Generator or None
        Seed of the starts.
    n_jobs : int or None
        Threads over starts; results do not depend on it.

    Attributes
    ----------
    start_, transition_ : arrays of shapes (n_states,) and (n_states, n_states)
        Probabilities; `transition_[i, j]` is that of going from i to j.
    means_ : array of shape (n_states, n_features)
    covariances_ : array
        Shape (n_states,), (n_states, n_features), (n_features, n_features) or
        (n_states, n_features, n_features), by `covariance`.
    log_likelihood_ : float
        Of the training data.
    history_, steps_ : arrays
        Log likelihood at the start and after each iteration of the best run; how far the
        parameters moved in each iteration.
    n_iter_, stop_reason_ : int, str
        Iterations of the best run, and whether it reached a plateau or only its limit.
    log_likelihoods_ : array of shape (n_init,)
        Where each start ended.
    degenerate_states_ : array
        States that the covariance floor holds up, or without data.
    arithmetic_ : str
        "scaled", or how many sequences needed log space.
    certificate_ : Certificate
        Mixing, measured contraction, agreement of the starts; `print` gives it in words.

    Examples
    --------
    >>> import numpy as np
    >>> from labelwood import GaussianHMM
    >>> rng = np.random.default_rng(0)
    >>> states = np.repeat([0, 1, 0, 1], 50)
    >>> X = rng.normal(np.where(states, 3.0, 0.0), 1.0).reshape(-1, 1)
    >>> model = GaussianHMM(n_states=2, random_state=0).fit(X)
    >>> sorted(model.means_.ravel().round(1).tolist())
    [0.0, 2.9]
    >>> model.stop_reason_
    'likelihood plateau'
    """

    _constraints: ClassVar[Constraints] = {
        "n_states": Integer(low=1, high=10_000),
        "covariance": OneOf(*COVARIANCES),
        "start": OneOf("free", "stationary"),
        "init": OneOf("mixed", "kmeans", "random", "spectral"),
        "n_init": Integer(low=1),
        "max_iter": Integer(low=1),
        "tol": Real(low=0),
        "covariance_floor": Real(above=0, below=1),
        "start_init": _GIVEN,
        "transition_init": _GIVEN,
        "means_init": _GIVEN,
        "covariances_init": _GIVEN,
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }
    _fitted: ClassVar[FittedAttributes] = {
        "start_": (np.float64, ("states",)),
        "transition_": (np.float64, ("states", "states")),
        "means_": (np.float64, ("states", "features")),
        "floor_": (np.float64, ("features",)),
        "history_": (np.float64, (None,)),
        "steps_": (np.float64, (None,)),
        "stop_reason_": str,
        "arithmetic_": str,
        "certificate_json_": str,
    }

    start_: DoubleArray
    transition_: DoubleArray
    means_: DoubleArray
    covariances_: DoubleArray
    floor_: DoubleArray
    history_: DoubleArray
    steps_: DoubleArray
    log_likelihood_: float
    log_likelihoods_: DoubleArray
    n_iter_: int
    stop_reason_: str
    degenerate_states_: PointerArray
    arithmetic_: str
    online_: dict[str, Any]

    def __init__(
        self,
        n_states: int = 2,
        *,
        covariance: str = "diagonal",
        start: str = "free",
        init: str = "mixed",
        n_init: int = 4,
        max_iter: int = 500,
        tol: float = 1e-7,
        covariance_floor: float = 1e-6,
        start_init: Any = None,
        transition_init: Any = None,
        means_init: Any = None,
        covariances_init: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_states = n_states
        self.covariance = covariance
        self.start = start
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.covariance_floor = covariance_floor
        self.start_init = start_init
        self.transition_init = transition_init
        self.means_init = means_init
        self.covariances_init = covariances_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: object, y: object = None, *, lengths: object = None) -> Self:
        """Fit by EM from every start and keep the best end.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
            Sequences one below the other; NaN for missing values.
        y : ignored
        lengths : list of int, optional
            Rows of each sequence; all rows are one sequence if it is left out.
        """
        check_parameters(self, self._constraints)
        data = check_sequences(self, X, lengths, reset=True)
        self._set_fit(fit_restarts(self, data))
        if self.stop_reason_ != "likelihood plateau":
            warnings.warn(
                f"EM ended at its limit of {self.max_iter} iterations with a gain of "
                f"{self.history_[-1] - self.history_[-2]:.3g} in log likelihood; raise max_iter "
                "or tol.",
                ConvergenceWarning,
                stacklevel=user_stacklevel(),
            )
        if self.degenerate_states_.size:
            warnings.warn(
                f"States {self.degenerate_states_.tolist()} have collapsed onto few samples: the "
                "covariance floor holds them up. Lower n_states, or raise covariance_floor.",
                LabelwoodWarning,
                stacklevel=user_stacklevel(),
            )
        return self

    def _set_fit(self, fit: Fit) -> None:
        best = fit.best
        self._set_parameters(best.chain, best.emissions)
        self.history_, self.steps_ = best.history, best.steps
        self.log_likelihood_ = best.log_likelihood
        self.log_likelihoods_ = np.array([run.log_likelihood for run in fit.runs])
        self.n_iter_, self.stop_reason_ = best.n_iter, best.stop_reason
        self.certificate_json_ = fit.certificate.to_json()
        self.arithmetic_ = "scaled"
        if best.n_log_space:
            self.arithmetic_ = f"log space for {best.n_log_space} of {fit.n_sequences} sequences"
        if hasattr(self, "online_"):
            del self.online_

    def _set_parameters(self, chain: Chain, emissions: Gaussian) -> None:
        self.start_, self.transition_ = chain.start, chain.transition
        self.means_, self.covariances_ = emissions.means, emissions.covariances
        self.floor_ = emissions.floor
        self.degenerate_states_ = np.flatnonzero(emissions.degenerate)

    def partial_fit(self, X: object, y: object = None, *, lengths: object = None) -> Self:
        """One step of EM on a batch of sequences, blended into what earlier batches taught.

        Batch number t (from 1) has the weight t^−0.6, so that early batches are forgotten and
        the estimate still settles (Cappé & Moulines 2009). The first call fits its batch with
        `fit`; later ones after a `fit` start from its parameters.
        """
        check_parameters(self, self._constraints)
        fresh = not hasattr(self, "means_")
        data = check_sequences(self, X, lengths, reset=fresh)
        if fresh:
            self._set_fit(fit_restarts(self, data))
        before = None
        if hasattr(self, "online_"):
            parts = dict(self.online_)
            before = OnlineStatistics(
                parts["n_batches"], parts["starts"], parts["pairs"], Moments(**parts["moments"])
            )
        after, chain, emissions = update(
            data, self._chain(), self._emissions(), before, stationary=self.start == "stationary"
        )
        self._set_parameters(chain, emissions)
        self.online_ = {
            "n_batches": after.n_batches,
            "starts": after.starts,
            "pairs": after.pairs,
            "moments": dict(vars(after.moments)),
        }
        return self

    def _chain(self) -> Chain:
        return Chain(self.start_, self.transition_)

    def _emissions(self) -> Gaussian:
        degenerate = np.zeros(self.n_states, dtype=bool)
        return Gaussian(self.covariance, self.means_, self.covariances_, self.floor_, degenerate)

    @property
    def n_parameters_(self) -> int:
        """Free parameters of the model."""
        check_is_fitted(self)
        s = self.n_states
        chain = s * (s - 1) + (s - 1 if self.start == "free" else 0)
        return chain + self._emissions().n_parameters()

    def _draw(self, states: PointerArray, rng: np.random.Generator) -> DoubleArray:
        L = np.linalg.cholesky(self._emissions().full())
        noise = rng.standard_normal((states.size, self.means_.shape[1]))
        return np.asarray(self.means_[states] + np.einsum("trc,tc->tr", L[states], noise))

    def _sizes(self) -> dict[str, int]:
        return {"states": self.n_states, "features": self.n_features_in_}

    def _check_fitted(self) -> None:
        super()._check_fitted()
        checked_parameters(self, self.start_, self.transition_, self.means_, self.covariances_)
