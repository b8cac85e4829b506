"""Experiments one after another under one error rate: Yang 2018, Procedures 1 and 2."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from labelwood.core.params import RANDOM_STATE, Integer, check_parameter
from labelwood.core.random import RandomState, seed_sequence
from labelwood.errors import DataError
from labelwood.experiments.best_arm import POLICY, BestArmExperiment, RewardLike, shown
from labelwood.experiments.decoding import reading
from labelwood.experiments.ledger import (
    Entry,
    Ledger,
    check_text,
    compared_p_value,
    leading_arms,
)


class ExperimentSequence:
    """All experiments ever run: each gets its level, and what it finds is kept in a ledger.

    `open` starts the next experiment at the level α_j that its predecessors left it; `close` takes
    its p-value as it is then, decides, and writes the entry. Since the p-value is always valid,
    the experiment may be closed at any time and for any reason that lies in its own outcomes.

    Parameters
    ----------
    alpha : float
        The error rate over all experiments, between 0 and 1.
    procedure : str
        How levels are given out: a name that `online_fdr` knows.
    policy : {"best_arm", "uniform", "lucb++", "lil_ucb"}
        Whether an experiment pulls the arms that matter (Algorithm 1) or all alike (A/B/n).
    options : mapping, optional
        The procedure's options.
    random_state : int, SeedSequence, Generator or None
        Seed of the order of assignments, different in each experiment.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> sequence = ExperimentSequence(0.1, "lord", random_state=0)
    >>> for best in (0.7, 0.2, 0.8):
    ...     experiment = sequence.open(3, max_samples=2000)
    ...     while not experiment.stopped:
    ...         for arm in experiment.next_arms():
    ...             experiment.record(arm, rng.random() < (0.2, 0.2, best)[arm])
    ...         experiment.update()
    ...     entry = sequence.close()
    ...     print(f"{entry.level:.4f} {entry.discovery} {entry.winner} {entry.reason}")
    0.0027 True 2 stopped: winner 2
    0.0053 False None stopped: limit reached, undecided
    0.0012 True 2 stopped: winner 2
    >>> bool(sequence.ledger.verify())
    True
    """

    def __init__(
        self,
        alpha: float,
        procedure: str = "lord",
        policy: str = "best_arm",
        *,
        options: Mapping[str, Any] | None = None,
        random_state: RandomState = None,
    ) -> None:
        check_parameter("ExperimentSequence", "policy", policy, POLICY)
        check_parameter("ExperimentSequence", "random_state", random_state, RANDOM_STATE)
        self.policy = policy
        self.ledger = Ledger(alpha, procedure, options)
        self._procedure = self.ledger.start()
        self._seed = int(seed_sequence(random_state).generate_state(1, np.uint64)[0])
        self._experiment: BestArmExperiment | None = None
        self._name = ""

    @property
    def current(self) -> BestArmExperiment | None:
        """The experiment that is open."""
        return self._experiment

    @property
    def wealth(self) -> float | None:
        """What may still be spent; None when the procedure has no limit."""
        return self._procedure.wealth

    @property
    def next_level(self) -> float:
        """The level of the experiment that is open, or else of the next one."""
        return self._procedure.next_level()

    def open(
        self,
        n_arms: int,
        *,
        name: str = "",
        epsilon: float = 0.0,
        reward: RewardLike = "bernoulli",
        max_samples: int | None = None,
        control: int = 0,
    ) -> BestArmExperiment:
        """Start the next experiment, at its level; the parameters are those of `BestArmExperiment`.

        One at a time: a level follows from the decisions before it.
        """
        number = len(self.ledger) + 1
        if self._experiment is not None:
            raise DataError(f"experiment {number} is open; close it before the next is opened")
        level = self._procedure.next_level()
        if level <= 0:
            raise DataError(
                f"experiment {number} would have level {level:g}, at which nothing can be found: "
                + self._why_nothing()
            )
        check_text("the name of an experiment", name)
        self._experiment = BestArmExperiment(
            n_arms,
            level,
            epsilon=epsilon,
            reward=reward,
            max_samples=max_samples,
            policy=self.policy,
            control=control,
            random_state=np.random.SeedSequence([self._seed, number]),
        )
        self._name = name
        return self._experiment

    def _why_nothing(self) -> str:
        if self.wealth:
            return (
                f"γ has ended with a wealth of {self.wealth:g} left, and nothing more will be "
                "found; start a sequence whose γ does not end"
            )
        return "the wealth is spent"

    def close(self) -> Entry:
        """End the open experiment, decide by its p-value, and write the ledger's next entry.

        The control is rejected if the p-value is at most the level, and never while the control
        itself has the highest mean (Procedure 1). The winner is then the arm for which there is
        evidence, `BestArmExperiment.evident_arm`, which need not be that of the highest mean.
        """
        experiment, number = self._experiment, len(self.ledger) + 1
        if experiment is None:
            so_far = f"the last one, {number - 1}, was closed" if number > 1 else "none was opened"
            raise DataError(f"no experiment is open to be closed: {so_far}")
        experiment.close()
        estimates = tuple(None if math.isnan(one) else one for one in experiment.estimates)
        leaders = leading_arms(estimates, experiment.control)
        p, evident = experiment.p_value, experiment.evident_arm
        winner = leaders[0] if evident is None else evident
        level, before = self._procedure.next_level(), self._procedure.wealth
        discovery = self._procedure.record(compared_p_value(p, leaders, experiment.control))
        entry = Entry(
            number=number,
            name=self._name,
            level=level,
            wealth_before=before,
            wealth_after=self._procedure.wealth,
            p_value=p,
            discovery=discovery,
            winner=winner if discovery else None,
            reason=experiment.status,
            policy=experiment.policy,
            control=experiment.control,
            epsilon=experiment.epsilon,
            max_samples=experiment.max_samples,
            reward=experiment.reward.to_dict(),
            n_samples=tuple(arm.count for arm in experiment.statistics),
            totals=tuple(arm.total for arm in experiment.statistics),
            estimates=estimates,
        )
        self.ledger.append(entry)
        self._experiment = None
        return entry

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON; the open experiment too."""
        experiment = self._experiment
        return {
            "ledger": self.ledger.to_dict(),
            "policy": self.policy,
            "seed": self._seed,
            "name": self._name,
            "open": None if experiment is None else experiment.to_dict(),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "ExperimentSequence":
        """The inverse of `to_dict`; a ledger that does not verify is refused."""
        with reading("sequence"):
            return cls._restored(content)

    @classmethod
    def _restored(cls, content: Mapping[str, Any]) -> "ExperimentSequence":
        _check_state(content)
        ledger = Ledger.from_dict(content["ledger"])
        found = ledger.verify()
        if not found:
            raise DataError(f"the ledger was changed: {found}")
        sequence = cls(ledger.alpha, ledger.procedure, content["policy"], options=ledger.options)
        sequence.ledger = ledger
        sequence._seed, sequence._name = content["seed"], content["name"]
        for entry in ledger.entries:
            sequence._procedure.next_level()
            sequence._procedure.record(entry.compared_p_value)
        if content["open"] is not None:
            sequence._reopen(BestArmExperiment.from_dict(content["open"]))
        return sequence

    def _reopen(self, experiment: BestArmExperiment) -> None:
        level = self._procedure.next_level()
        if not math.isclose(experiment.delta, level, rel_tol=1e-9):
            raise DataError(
                f"the open experiment has level {experiment.delta!r}, but {level!r} follows from "
                "the ledger"
            )
        if experiment.policy != self.policy:
            raise DataError(
                f"the open experiment has policy {experiment.policy}, the sequence {self.policy}"
            )
        self._experiment = experiment


def _check_state(content: object) -> None:
    names = ("ledger", "policy", "seed", "name", "open")
    if not isinstance(content, Mapping) or any(name not in content for name in names):
        raise DataError(f"a sequence of experiments has {', '.join(names)}. Got {shown(content)}.")
    if not Integer(low=0, high=2**64 - 1).accepts(content["seed"]):
        raise DataError(f"the seed of a sequence is an int ≥ 0. Got {shown(content['seed'])}.")
    check_text("the name of an experiment", content["name"])
