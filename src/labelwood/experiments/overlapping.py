"""Experiments that overlap under one error rate, as a service runs them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from labelwood.core.params import RANDOM_STATE, check_parameter
from labelwood.core.random import RandomState, seed_sequence
from labelwood.errors import DataError
from labelwood.experiments.best_arm import POLICY, BestArmExperiment
from labelwood.experiments.online_fdr import AsynchronousFDR


@dataclass(frozen=True)
class Closed:
    """What came of one experiment."""

    name: str
    level: float
    p_value: float
    discovery: bool
    winner: int | None
    reason: str
    n_samples: int


class OverlappingExperiments:
    """Several experiments open at once, with the false discovery rate of all controlled.

    Each is opened at the level that finished ones left it (`AsynchronousFDR`) and closed by its
    name whenever anybody likes. One that is never closed costs its own level and holds up nobody.
    Their subjects must be separate, or the outcomes of one tell something of another.

    Parameters
    ----------
    alpha : float
        The error rate over all experiments, between 0 and 1.
    procedure : {"lord", "saffron"}
    policy : {"best_arm", "uniform", "lucb++", "lil_ucb"}
    random_state : int, SeedSequence, Generator or None

    Examples
    --------
    >>> experiments = OverlappingExperiments(0.1, random_state=0)
    >>> button = experiments.open("button", 2)
    >>> price = experiments.open("price", 2)
    >>> price.record_counts({0: (2000, 200), 1: (2000, 320)})
    >>> experiments.close("price").discovery, list(experiments.running)
    (True, ['button'])
    >>> experiments.open("font", 2).delta > price.delta  # though the button is still on trial
    True
    """

    def __init__(
        self,
        alpha: float,
        procedure: str = "lord",
        policy: str = "best_arm",
        *,
        random_state: RandomState = None,
    ) -> None:
        check_parameter("OverlappingExperiments", "policy", policy, POLICY)
        check_parameter("OverlappingExperiments", "random_state", random_state, RANDOM_STATE)
        self.policy = policy
        self.procedure = AsynchronousFDR(alpha, procedure)
        self.closed: list[Closed] = []
        self.running: dict[str, BestArmExperiment] = {}
        """The experiments that are open, by name."""
        self._numbers: dict[str, int] = {}
        self._seed = int(seed_sequence(random_state).generate_state(1, np.uint64)[0])

    def open(
        self, name: str, n_arms: int, *, weight: float = 1.0, **parameters: Any
    ) -> BestArmExperiment:
        """Start an experiment at its level; `parameters` are those of `BestArmExperiment`.

        `weight` says, before anything is seen, how much the experiment matters.
        """
        if name in self.running:
            raise DataError(f"experiment {name!r} is open already; close it or choose another name")
        if self.procedure.wealth <= 0:
            raise DataError(f"experiment {name!r} cannot be opened: the wealth is spent")
        seed = np.random.SeedSequence([self._seed, self.procedure.n_started])
        # Parameters are checked before anything is paid.
        BestArmExperiment(n_arms, 0.5, policy=self.policy, **parameters)
        test = self.procedure.start(weight)
        if test.level <= 0:
            self.procedure.abandon(test.number)
            raise DataError(f"experiment {name!r} would have level 0: nothing can be found")
        experiment = BestArmExperiment(
            n_arms, min(test.level, 0.999), policy=self.policy, random_state=seed, **parameters
        )
        self.running[name], self._numbers[name] = experiment, test.number
        return experiment

    def close(self, name: str) -> Closed:
        """End an experiment and decide by its p-value."""
        if name not in self.running:
            known = ", ".join(map(repr, self.running)) or "none"
            raise DataError(f"experiment {name!r} is not open; open are {known}")
        experiment = self.running[name]
        experiment.close()
        number = self._numbers[name]
        level = self.procedure.running[number]
        discovery = self.procedure.finish(number, experiment.p_value)
        entry = Closed(
            name,
            level,
            experiment.p_value,
            discovery,
            experiment.evident_arm if discovery else None,
            experiment.status,
            experiment.n_samples,
        )
        del self.running[name], self._numbers[name]
        self.closed.append(entry)
        return entry
