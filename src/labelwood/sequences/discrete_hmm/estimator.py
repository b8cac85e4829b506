"""CategoricalHMM and PoissonHMM: hidden Markov models of symbols and of counts."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from labelwood.core.contract import FittedAttributes
from labelwood.core.types import DoubleArray, PointerArray
from labelwood.errors import DataError
from labelwood.sequences.discrete_hmm.emissions import Categorical, Poisson
from labelwood.sequences.discrete_hmm.starts import random_blocks
from labelwood.sequences.engine import Chain, MarkovModel, Sequences, random_chain
from labelwood.sequences.engine.sequences import check_n_observed

_RATE_FLOOR = 1e-8  # of the mean count of a feature, below which no rate falls
_LARGEST_SYMBOL = 2**31 - 1


class _DiscreteHMM(MarkovModel):
    """What both models share: their parameters, and random starts."""

    def __init__(
        self,
        n_states: int = 2,
        *,
        start: str = "free",
        n_init: int = 4,
        max_iter: int = 500,
        tol: float = 1e-7,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_states = n_states
        self.start = start
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    @abstractmethod
    def _blank(self, data: Sequences) -> Any:
        """Emissions before any step: every state as all data."""

    @abstractmethod
    def _check_values(self, data: Sequences, *, reset: bool) -> None:
        """Refuse what is no symbol or count."""

    def _check_data(self, data: Sequences) -> None:
        self._check_values(data, reset=True)
        check_n_observed(data, self.n_states)

    def _starts(self, data: Sequences) -> list[tuple[Chain, Any]]:
        blank = self._blank(data)
        found = []
        for seed in self._seeds():
            rng = np.random.default_rng(seed)
            chain = random_chain(self.n_states, rng)
            responsibilities = random_blocks(data, self.n_states, rng)
            found.append((chain, blank.maximized(blank.statistics(data, responsibilities))))
        return found

    def _densities(self, X: object, lengths: object) -> tuple[Sequences, Any]:
        data, fill = super()._densities(X, lengths)
        self._check_values(data, reset=False)
        return data, fill

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        # scikit-learn's checks fit real numbers, which are neither symbols nor counts.
        tags.input_tags.two_d_array = False
        return tags


class CategoricalHMM(_DiscreteHMM):
    """Hidden Markov model of symbols, fitted by EM (Baum–Welch) with restarts.

    A row holds one symbol, a whole number from 0 on; NaN stands for a missing one.

    Parameters
    ----------
    n_states : int
        Number of hidden states.
    start : {"free", "stationary"}
        Whether the start probabilities are parameters of their own, or the stationary
        distribution of the transitions.
    n_init : int
        Number of random starts; the end of largest likelihood is kept.
    max_iter : int
        Limit of iterations of each start.
    tol : float
        EM stops when an iteration gains at most so much log likelihood a row.
    random_state : int, SeedSequence, Generator or None
    n_jobs : int or None
        Threads over starts; results do not depend on it.

    Attributes
    ----------
    start_, transition_ : arrays of shapes (n_states,) and (n_states, n_states)
    probabilities_ : array of shape (n_states, n_symbols)
        Of each symbol in each state.
    log_likelihood_, log_likelihoods_ : float, array of shape (n_init,)
        Of the training data, at the best end and at each.
    history_, steps_, n_iter_, stop_reason_, arithmetic_ : the best run
    certificate_ : Certificate

    Examples
    --------
    >>> from labelwood import CategoricalHMM
    >>> symbols = [[0], [0], [1], [0], [2], [2], [1], [2], [0], [0], [0], [2], [2], [2]] * 5
    >>> model = CategoricalHMM(n_states=2, random_state=0).fit(symbols)
    >>> sorted(model.probabilities_.argmax(axis=1).tolist())
    [0, 2]
    """

    _fitted: ClassVar[FittedAttributes] = {
        **_DiscreteHMM._fitted,
        "probabilities_": (np.float64, ("states", None)),
    }

    probabilities_: DoubleArray

    def _check_values(self, data: Sequences, *, reset: bool) -> None:
        if data.n_features != 1:
            raise DataError(f"CategoricalHMM takes one column of symbols. X has {data.n_features}.")
        _refuse(data, "symbols must be whole numbers from 0 on", _LARGEST_SYMBOL)
        if not reset and data.values.max() >= self.probabilities_.shape[1]:
            row = int(np.argmax(data.values[0] >= self.probabilities_.shape[1]))
            raise DataError(
                f"row {row} of X holds the symbol {data.values[0, row]:g}; the model was trained "
                f"on symbols 0 to {self.probabilities_.shape[1] - 1}"
            )

    def _blank(self, data: Sequences) -> Categorical:
        m = int(data.values.max()) + 1
        if m > max(1000, 10 * data.n_steps):
            raise DataError(
                f"the largest symbol is {m - 1:,} in {data.n_steps:,} rows: number the symbols "
                "from 0 on (numpy.unique with return_inverse=True does it)"
            )
        return Categorical(np.full((self.n_states, m), 1 / m))

    def _set_emissions(self, emissions: Categorical) -> None:
        self.probabilities_ = emissions.probabilities

    def _emissions(self) -> Categorical:
        return Categorical(self.probabilities_)

    @property
    def n_parameters_(self) -> int:
        """Free parameters of the model."""
        chain = self._n_chain_parameters()
        return chain + self.n_states * (self.probabilities_.shape[1] - 1)

    def _draw(self, states: PointerArray, rng: np.random.Generator) -> DoubleArray:
        cumulative = np.cumsum(self.probabilities_, axis=1)
        u = rng.random(states.size) * cumulative[states, -1]
        return np.asarray((cumulative[states] <= u[:, None]).sum(axis=1)[:, None], dtype=float)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        sums = self.probabilities_.sum(axis=1)
        if (self.probabilities_ < 0).any() or not np.allclose(sums, 1):
            raise DataError("probabilities_ must be probabilities of sum one")


class PoissonHMM(_DiscreteHMM):
    """Hidden Markov model of counts, fitted by EM (Baum–Welch) with restarts.

    A row holds one count or several, which are independent given the state; NaN stands for a
    missing one.

    Parameters
    ----------
    n_states : int
        Number of hidden states.
    start : {"free", "stationary"}
        Whether the start probabilities are parameters of their own, or the stationary
        distribution of the transitions.
    n_init : int
        Number of random starts; the end of largest likelihood is kept.
    max_iter : int
        Limit of iterations of each start.
    tol : float
        EM stops when an iteration gains at most so much log likelihood a row.
    random_state : int, SeedSequence, Generator or None
    n_jobs : int or None
        Threads over starts; results do not depend on it.

    Attributes
    ----------
    start_, transition_ : arrays of shapes (n_states,) and (n_states, n_states)
    rates_ : array of shape (n_states, n_features)
        Expected counts in each state.
    log_likelihood_, log_likelihoods_ : float, array of shape (n_init,)
        Of the training data, at the best end and at each.
    history_, steps_, n_iter_, stop_reason_, arithmetic_ : the best run
    certificate_ : Certificate

    Examples
    --------
    >>> import numpy as np
    >>> from labelwood import PoissonHMM
    >>> rates = np.repeat([2, 20, 2, 20], 30)
    >>> counts = np.random.default_rng(0).poisson(rates)[:, None]
    >>> model = PoissonHMM(n_states=2, random_state=0).fit(counts)
    >>> sorted(model.rates_.ravel().round().tolist())
    [2.0, 20.0]
    """

    _fitted: ClassVar[FittedAttributes] = {
        **_DiscreteHMM._fitted,
        "rates_": (np.float64, ("states", "features")),
        "floor_": (np.float64, ("features",)),
    }

    rates_: DoubleArray
    floor_: DoubleArray

    def _check_values(self, data: Sequences, *, reset: bool) -> None:
        _refuse(data, "counts must be whole numbers from 0 on", 2.0**53)
        zero = np.flatnonzero(data.values.max(axis=1) == 0)
        if reset and zero.size:
            raise DataError(f"all counts of column {zero[0]} are 0: drop it")

    def _blank(self, data: Sequences) -> Poisson:
        return Poisson(np.tile(data.means, (self.n_states, 1)), _RATE_FLOOR * data.means)

    def _set_emissions(self, emissions: Poisson) -> None:
        self.rates_, self.floor_ = emissions.rates, emissions.floor

    def _emissions(self) -> Poisson:
        return Poisson(self.rates_, self.floor_)

    @property
    def n_parameters_(self) -> int:
        """Free parameters of the model."""
        return self._n_chain_parameters() + int(self.rates_.size)

    def _draw(self, states: PointerArray, rng: np.random.Generator) -> DoubleArray:
        return np.asarray(rng.poisson(self.rates_[states]), dtype=np.float64)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if not (self.rates_ > 0).all() or not np.isfinite(self.rates_).all():
            raise DataError("rates_ must be positive and finite")


def _refuse(data: Sequences, rule: str, largest: float) -> None:
    """Refuse values that are negative, broken or too large, and name the first."""
    values = data.values
    wrong = (values < 0) | (values != np.floor(values)) | (values > largest)
    if wrong.any():
        column, row = np.argwhere(wrong)[0]
        raise DataError(f"{rule}; row {row}, column {column} of X holds {values[column, row]:g}")
