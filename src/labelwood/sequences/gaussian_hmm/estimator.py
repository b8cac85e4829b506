"""GaussianHMM: a hidden Markov model with Gaussian observations."""

import warnings
from typing import Any, ClassVar, Self

import numpy as np

from labelwood.core.caller import user_stacklevel
from labelwood.core.contract import FittedAttributes
from labelwood.core.params import Constraints, Instance, OneOf, Real, check_parameters
from labelwood.core.types import DoubleArray, PointerArray
from labelwood.errors import LabelwoodWarning, ParameterError
from labelwood.sequences.engine import Chain, MarkovModel, Sequences, check_sequences
from labelwood.sequences.engine.model import arithmetic_in_words
from labelwood.sequences.engine.sequences import check_learnable
from labelwood.sequences.gaussian_hmm.emissions import Gaussian
from labelwood.sequences.gaussian_hmm.online import (
    OnlineStatistics,
    batch_statistics,
    maximized,
)
from labelwood.sequences.gaussian_hmm.starts import checked_parameters, start_of

_GIVEN = (Instance("ndarray", "list", "tuple"), None)
COVARIANCES = ("spherical", "diagonal", "tied", "full")


class GaussianHMM(MarkovModel):
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
        Given values in place of those of `init`; covariances below the floor are raised to it.
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
        States that the covariance floor holds up, or without data of a feature.
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
        **MarkovModel._constraints,
        "covariance": OneOf(*COVARIANCES),
        "init": OneOf("mixed", "kmeans", "random", "spectral"),
        "covariance_floor": Real(above=0, below=1),
        "start_init": _GIVEN,
        "transition_init": _GIVEN,
        "means_init": _GIVEN,
        "covariances_init": _GIVEN,
    }
    _fitted: ClassVar[FittedAttributes] = {
        **MarkovModel._fitted,
        "means_": (np.float64, ("states", "features")),
        "floor_": (np.float64, ("features",)),
        "online_": dict,
    }

    means_: DoubleArray
    covariances_: DoubleArray
    floor_: DoubleArray
    degenerate_states_: PointerArray
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

    def _check_data(self, data: Sequences) -> None:
        check_learnable(data, self.n_states)

    def _starts(self, data: Sequences) -> list[tuple[Chain, Gaussian]]:
        return [start_of(self, data, index, seed) for index, seed in enumerate(self._seeds())]

    def _set_emissions(self, emissions: Gaussian) -> None:
        self.means_, self.covariances_ = emissions.means, emissions.covariances
        self.floor_ = emissions.floor
        self.degenerate_states_ = np.flatnonzero(emissions.degenerate)

    def _fit_sequences(self, data: Sequences) -> None:
        super()._fit_sequences(data)
        # What partial_fit blends its batches into.
        self.online_ = batch_statistics(data, self._chain(), self._emissions())[0].to_dict()
        if self.degenerate_states_.size:
            warnings.warn(
                f"States {self.degenerate_states_.tolist()} have collapsed onto few samples, or "
                "have none of a feature: the covariance floor holds them up. Lower n_states, or "
                "raise covariance_floor.",
                LabelwoodWarning,
                stacklevel=user_stacklevel(),
            )

    def partial_fit(self, X: object, y: object = None, *, lengths: object = None) -> Self:
        """One step of EM on a batch of sequences, blended into what was learned before.

        A batch has the weight (its rows / all rows so far, its own among them)^0.6, which is
        t^−0.6 for the t-th of equal batches: early ones are forgotten and the estimate still
        settles (Cappé & Moulines 2009). The first call on an unfitted model is `fit`; what `fit`
        learned counts by its rows. Afterwards `log_likelihood_`, `log_likelihoods_`, `history_`,
        `steps_`, `n_iter_` and `certificate_`, which describe the end of a fit, are gone.
        """
        check_parameters(self, self._constraints)
        if not hasattr(self, "means_"):
            return self.fit(X, y, lengths=lengths)
        self._check_same_model()
        data = check_sequences(self, X, lengths)
        batch, n_log_space = batch_statistics(data, self._chain(), self._emissions())
        after = batch
        if hasattr(self, "online_"):  # parameters that were set by hand rest on no rows
            after = OnlineStatistics.from_dict(self.online_).blended(batch, self.means_)
        chain, emissions = maximized(
            after, self._chain(), self._emissions(), stationary=self.start == "stationary"
        )
        self._set_parameters(chain, emissions)
        self.online_ = after.to_dict()
        self.arithmetic_ = arithmetic_in_words(n_log_space, data.n_sequences)
        self._forget_fit()
        return self

    def _check_same_model(self) -> None:
        """Refuse to update a model whose parameters say another shape than was fitted."""
        kind = getattr(self, "online_", {}).get("covariance", self.covariance)
        fitted = {"n_states": self.start_.size, "covariance": kind}
        for name, before in fitted.items():
            now = getattr(self, name)
            if now != before:
                raise ParameterError(
                    f"{name}={now!r}, but the model was fitted with {name}={before!r}: partial_fit "
                    "cannot change that, fit can."
                )

    def _emissions(self) -> Gaussian:
        degenerate = np.zeros(self.start_.size, dtype=bool)
        return Gaussian(self.covariance, self.means_, self.covariances_, self.floor_, degenerate)

    @property
    def n_parameters_(self) -> int:
        """Free parameters of the model."""
        return self._n_chain_parameters() + self._emissions().n_parameters()

    def _draw(self, states: PointerArray, rng: np.random.Generator) -> DoubleArray:
        L = np.linalg.cholesky(self._emissions().full())
        noise = rng.standard_normal((states.size, self.means_.shape[1]))
        return np.asarray(self.means_[states] + np.einsum("trc,tc->tr", L[states], noise))

    def _check_fitted(self) -> None:
        super()._check_fitted()
        checked_parameters(self, self.start_, self.transition_, self.means_, self.covariances_)
