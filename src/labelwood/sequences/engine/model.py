"""What every hidden Markov model of the package can do once it is fitted."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from labelwood.core.contract import FittedEstimator
from labelwood.core.random import seed_sequence
from labelwood.core.types import DoubleArray, PointerArray
from labelwood.errors import DataError
from labelwood.sequences.engine.certificate import Certificate
from labelwood.sequences.engine.chain import Chain
from labelwood.sequences.engine.em import Emissions
from labelwood.sequences.engine.recursions import (
    filter_states,
    most_probable_path,
    sample_states,
    smooth,
)
from labelwood.sequences.engine.sequences import Sequences, check_sequences


class SequenceModel(FittedEstimator):
    """Base of the hidden Markov models: a subclass gives its chain, emissions and `fit`."""

    certificate_json_: str

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

    def _densities(self, X: object, lengths: object) -> tuple[Sequences, Any]:
        data = check_sequences(self, X, lengths)
        emissions = self._emissions()
        return data, lambda out: emissions.log_density(data, out)

    @property
    def certificate_(self) -> Certificate:
        """What the fit certifies."""
        check_is_fitted(self)
        return Certificate.from_json(self.certificate_json_)

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
        n = data.n_steps if data.observed is None else int(data.observed.any(axis=0).sum())
        log_likelihood = filter_states(fill, data.offsets, self._chain()).log_likelihood
        return float(np.log(n) * self.n_parameters_ - 2 * log_likelihood)

    def sample(
        self, n_samples: int | Sequence[int] = 1, *, random_state: Any = None
    ) -> tuple[DoubleArray, PointerArray]:
        """Draw a sequence (or one of each given length): observations and states."""
        check_is_fitted(self)
        lengths = [n_samples] if isinstance(n_samples, (int, np.integer)) else list(n_samples)
        if not lengths or any(int(length) < 1 for length in lengths):
            raise DataError(f"n_samples must be ≥ 1. Got {n_samples!r} instead.")
        rng = np.random.default_rng(seed_sequence(random_state))
        states = sample_states(self._chain(), [int(length) for length in lengths], rng)
        return self._draw(states, rng), states

    def _check_fitted(self) -> None:
        super()._check_fitted()
        Certificate.from_json(self.certificate_json_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = False
        return tags
