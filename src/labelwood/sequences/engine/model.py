"""What every hidden Markov model of the package can do: fit by restarts of EM, and infer."""

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from labelwood.core.caller import user_stacklevel
from labelwood.core.contract import (
    FittedAttributes,
    FittedEstimator,
    check_fitted_attributes,
)
from labelwood.core.params import (
    N_JOBS,
    RANDOM_STATE,
    Constraints,
    Integer,
    OneOf,
    Real,
    check_parameters,
)
from labelwood.core.random import seed_sequence
from labelwood.core.types import DoubleArray, PointerArray
from labelwood.errors import DataError
from labelwood.sequences.engine.certificate import (
    SAME_END,
    Certificate,
    certify,
    matched_distance,
)
from labelwood.sequences.engine.chain import Chain, checked_chain
from labelwood.sequences.engine.em import LIMIT, Emissions, Run, fit_restarts, maximize
from labelwood.sequences.engine.recursions import (
    filter_states,
    most_probable_path,
    sample_states,
    smooth,
)
from labelwood.sequences.engine.sequences import Sequences, check_sequences, whole_numbers

# What describes the end of a fit, and no longer holds after partial_fit.
_END_OF_FIT: FittedAttributes = {
    "history_": (np.float64, (None,)),
    "steps_": (np.float64, (None,)),
    "log_likelihood_": float,
    "log_likelihoods_": (np.float64, (None,)),
    "n_iter_": int,
    "certificate_json_": str,
}
ONLINE = "partial_fit"  # the stop reason after a batch


class SequenceModel(FittedEstimator):
    """Base of the hidden Markov models: a subclass gives starts, runs, chain and emissions."""

    _fitted: ClassVar[FittedAttributes] = {"stop_reason_": str, "arithmetic_": str}

    n_init: int
    max_iter: int
    random_state: Any
    n_jobs: int | None
    history_: DoubleArray
    steps_: DoubleArray
    log_likelihood_: float
    log_likelihoods_: DoubleArray
    n_iter_: int
    stop_reason_: str
    arithmetic_: str
    certificate_json_: str

    @abstractmethod
    def _check_data(self, data: Sequences) -> None:
        """Refuse data from which the model cannot be learned."""

    @abstractmethod
    def _starts(self, data: Sequences) -> list[tuple[Any, Any]]:
        """Chain and emissions that each run of EM starts from."""

    @abstractmethod
    def _run(self, data: Sequences, chain: Any, emissions: Any) -> Run[Any]:
        """EM from one start."""

    @abstractmethod
    def _set_parameters(self, chain: Any, emissions: Any) -> None:
        """The fitted attributes that hold the chain and the emissions."""

    @abstractmethod
    def _last_gain(self) -> str:
        """What the last iteration of a run that did not converge still gained, in words."""

    @abstractmethod
    def _chain(self) -> Chain:
        """The fitted chain."""

    @abstractmethod
    def _emissions(self) -> Emissions:
        """The fitted emissions."""

    @property
    @abstractmethod
    def n_parameters_(self) -> int:
        """Free parameters of the model."""

    @abstractmethod
    def _draw(self, states: PointerArray, rng: np.random.Generator) -> DoubleArray:
        """Observations given the states."""

    def fit(self, X: object, y: object = None, *, lengths: object = None) -> Self:
        """Fit by EM from every start and keep the end of largest likelihood.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
            Sequences one below the other; NaN for missing values.
        y : ignored
        lengths : list of int, optional
            Rows of each sequence; all rows are one sequence if it is left out.
        """
        check_parameters(self, self._constraints)
        self._fit_sequences(check_sequences(self, X, lengths, reset=True))
        return self

    def _fit_sequences(self, data: Sequences) -> None:
        self._check_data(data)
        runs = fit_restarts(
            data,
            self._starts(data),
            lambda chain, emissions: self._run(data, chain, emissions),
            n_jobs=self.n_jobs,
        )
        best = max(runs, key=lambda run: run.log_likelihood)
        self._set_parameters(best.chain, best.emissions)
        self.history_, self.steps_ = best.history, best.steps
        self.log_likelihood_, self.n_iter_ = best.log_likelihood, best.n_iter
        self.log_likelihoods_ = np.array([run.log_likelihood for run in runs])
        self.stop_reason_ = best.stop_reason
        self.arithmetic_ = arithmetic_in_words(best.n_log_space, data.n_sequences)
        self.certificate_json_ = self._certify(data, runs, best).to_json()
        if self.stop_reason_ == LIMIT:
            warnings.warn(
                f"EM ended at its limit of {self.max_iter} iterations with {self._last_gain()}; "
                "raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=user_stacklevel(),
            )

    def _certify(self, data: Sequences, runs: list[Run[Any]], best: Run[Any]) -> Certificate:
        precision = float(np.sqrt(data.n_features / data.n_observed))
        return certify(runs, best, matched_distance, precision, agreement=SAME_END * precision)

    def _seeds(self) -> list[np.random.SeedSequence]:
        """One for each start."""
        return seed_sequence(self.random_state).spawn(self.n_init)

    def _densities(self, X: object, lengths: object) -> tuple[Sequences, Any]:
        data = check_sequences(self, X, lengths)
        emissions = self._emissions()
        return data, lambda out: emissions.log_density(data, out)

    @property
    def certificate_(self) -> Certificate:
        """What the fit certifies."""
        check_is_fitted(self)
        if not hasattr(self, "certificate_json_"):
            raise AttributeError(
                "certificate_ describes the end of fit, and partial_fit has moved the parameters "
                "since"
            )
        return Certificate.from_json(self.certificate_json_)

    def _forget_fit(self) -> None:
        """Drop what described the end of fit, when a batch moves the parameters."""
        for name in _END_OF_FIT:
            if hasattr(self, name):
                delattr(self, name)
        self.stop_reason_ = ONLINE

    def predict(self, X: object, *, lengths: object = None) -> PointerArray:
        """The most probable sequence of states (Viterbi)."""
        return self.decode(X, lengths=lengths)[1]

    def decode(self, X: object, *, lengths: object = None) -> tuple[float, PointerArray]:
        """Viterbi: the joint log probability of the best states and the data, and the states."""
        data, fill = self._densities(X, lengths)
        path, log_probability = most_probable_path(fill, data.offsets, self._chain())
        return log_probability, path

    def predict_proba(self, X: object, *, lengths: object = None) -> DoubleArray:
        """Probability of each state at each row, given the whole sequence."""
        data, fill = self._densities(X, lengths)
        return smooth(fill, data.offsets, self._chain()).gamma

    def filter_proba(self, X: object, *, lengths: object = None) -> DoubleArray:
        """Probability of each state at each row, given the rows up to it."""
        data, fill = self._densities(X, lengths)
        return filter_states(fill, data.offsets, self._chain()).gamma

    def pair_posteriors(self, X: object, *, lengths: object = None) -> DoubleArray:
        """Expected number of transitions between each two states, given the data."""
        data, fill = self._densities(X, lengths)
        return smooth(fill, data.offsets, self._chain()).pairs

    def log_likelihood(self, X: object, *, lengths: object = None) -> float:
        """Log likelihood of all sequences together."""
        data, fill = self._densities(X, lengths)
        return filter_states(fill, data.offsets, self._chain()).log_likelihood

    def score(self, X: object, y: object = None, *, lengths: object = None) -> float:
        """Log likelihood a row."""
        data, fill = self._densities(X, lengths)
        return filter_states(fill, data.offsets, self._chain()).log_likelihood / data.n_steps

    def aic(self, X: object, *, lengths: object = None) -> float:
        """Akaike's information criterion; lower is better."""
        return 2 * self.n_parameters_ - 2 * self.log_likelihood(X, lengths=lengths)

    def bic(self, X: object, *, lengths: object = None) -> float:
        """Bayesian information criterion, by the number of rows that hold a value."""
        data, fill = self._densities(X, lengths)
        log_likelihood = filter_states(fill, data.offsets, self._chain()).log_likelihood
        return float(np.log(data.n_observed) * self.n_parameters_ - 2 * log_likelihood)

    def sample(
        self, n_samples: int | Sequence[int] | PointerArray = 1, *, random_state: Any = None
    ) -> tuple[DoubleArray, PointerArray]:
        """Draw a sequence (or one of each given length): observations and states."""
        check_is_fitted(self)
        lengths = whole_numbers([n_samples] if np.isscalar(n_samples) else n_samples)
        if lengths is None or (lengths < 1).any():
            raise DataError(f"n_samples must be whole numbers ≥ 1. Got {n_samples!r} instead.")
        rng = np.random.default_rng(seed_sequence(random_state))
        states = sample_states(self._chain(), lengths.tolist(), rng)
        return self._draw(states, rng), states

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if self.stop_reason_ != ONLINE:
            check_fitted_attributes(self, _END_OF_FIT, {})
            Certificate.from_json(self.certificate_json_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = False
        return tags


class MarkovModel(SequenceModel):
    """Base of the models with any number of states and any transitions between them."""

    _constraints: ClassVar[Constraints] = {
        "n_states": Integer(low=1, high=10_000),
        "start": OneOf("free", "stationary"),
        "n_init": Integer(low=1),
        "max_iter": Integer(low=1),
        "tol": Real(low=0),
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }
    _fitted: ClassVar[FittedAttributes] = {
        **SequenceModel._fitted,
        "start_": (np.float64, ("states",)),
        "transition_": (np.float64, ("states", "states")),
    }

    n_states: int
    start: str
    tol: float
    start_: DoubleArray
    transition_: DoubleArray

    @abstractmethod
    def _set_emissions(self, emissions: Any) -> None:
        """The fitted attributes that hold the emissions."""

    def _set_parameters(self, chain: Chain, emissions: Any) -> None:
        self.start_, self.transition_ = chain.start, chain.transition
        self._set_emissions(emissions)

    def _run(self, data: Sequences, chain: Chain, emissions: Any) -> Run[Any]:
        stationary = self.start == "stationary"
        if stationary:
            chain = Chain(chain.stationary(), chain.transition)
        return maximize(
            data, chain, emissions, stationary=stationary, max_iter=self.max_iter, tol=self.tol
        )

    def _last_gain(self) -> str:
        return f"a gain of {self.history_[-1] - self.history_[-2]:.3g} in log likelihood"

    def _chain(self) -> Chain:
        return Chain(self.start_, self.transition_)

    def _n_chain_parameters(self) -> int:
        check_is_fitted(self)
        s = self.start_.size
        return s * (s - 1) + (s - 1 if self.start == "free" else 0)

    def _sizes(self) -> dict[str, int]:
        return {"states": self.n_states}

    def _check_fitted(self) -> None:
        super()._check_fitted()
        checked_chain(self.start_, self.transition_, self.n_states)


def arithmetic_in_words(n_log_space: int, n_sequences: int) -> str:
    """How the recursions were computed.

    Examples
    --------
    >>> arithmetic_in_words(0, 3), arithmetic_in_words(1, 3)
    ('scaled', 'log space for 1 of 3 sequences')
    """
    return f"log space for {n_log_space} of {n_sequences} sequences" if n_log_space else "scaled"
