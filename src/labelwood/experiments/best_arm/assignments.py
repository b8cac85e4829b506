"""The policies that choose the next arms, and arms that were handed out and have no outcome yet.

A policy chooses arms and nothing else. The stop, the p-value and the intervals are those of the
experiment, and hold for every policy, because their bounds hold for all counts at once.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from labelwood.core.params import Integer, OneOf
from labelwood.errors import DataError, ParameterError
from labelwood.experiments.best_arm.rewards import RewardModel, shown

POLICIES = ("best_arm", "uniform", "lucb++", "lil_ucb")
POLICY = OneOf(*POLICIES)
_BY_BOUNDS = POLICIES[2:]


def policy_number(name: str) -> int:
    """The number by which kernels know a policy."""
    return POLICIES.index(name)


def check_policy(owner: str, policy: str, reward: RewardModel) -> None:
    """Refuse a policy that goes by bounds where evidence for differences decides.

    That evidence is made for counts that stay equal, and without them the experiment may not end.
    """
    if policy in _BY_BOUNDS and reward.evidence != "bounds":
        raise ParameterError(
            f"The policy {policy!r} of {owner} goes by the bounds of each arm and needs "
            f"evidence='bounds'. Got evidence={reward.evidence!r}; with it, use 'best_arm' or "
            "'uniform'."
        )


class Assignment(NamedTuple):
    """A subject is to get `arm`; its outcome comes back under the number `id`."""

    id: int
    arm: int


Given: TypeAlias = int | Assignment | Iterable[int | Assignment]


class Assignments:
    """Numbers assignments from 0 on, and strikes off those whose outcome has come back.

    The arms of a round are handed out in random order, a new round once all are. The order
    follows from the seed and the number of the round, so no generator has to be kept.

    Examples
    --------
    >>> assignments = Assignments(seed=0)
    >>> handed = [assignments.hand_out([2, 5]) for _ in range(2)]
    >>> sorted(one.arm for one in handed), [one.id for one in handed]
    ([2, 5], [0, 1])
    >>> assignments.hand_in(handed[1].arm, 1)
    >>> list(assignments.pending)
    [0]
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.pending: dict[int, int] = {}
        """The arm of each assignment without outcome."""
        self.arms: set[int] = set()
        """The arms that were ever handed out."""
        self.n_handed_out = 0
        self._n_rounds = 0
        self._queue: list[int] = []

    def hand_out(self, arms: Sequence[int]) -> Assignment:
        """The next arm of the round; `arms` are the next round when this one is over."""
        if not self._queue:
            order = np.random.default_rng([self.seed, self._n_rounds])
            self._queue = [int(arm) for arm in order.permutation(list(arms))]
            self._n_rounds += 1
        assignment = Assignment(self.n_handed_out, self._queue.pop())
        self.pending[assignment.id] = assignment.arm
        self.arms.add(assignment.arm)
        self.n_handed_out += 1
        return assignment

    def hand_in(self, arm: int, assignment: Given, n: int = 1) -> None:
        """Strike off `n` assignments of `arm`: all of them, or none when one cannot be."""
        ids = self._open(assignment)
        if len(ids) != n:
            raise DataError(f"{n} outcomes came back for {len(ids)} assignments")
        for one in ids:
            if self.pending[one] != arm:
                raise DataError(f"assignment {one} is of arm {self.pending[one]}, not of {arm}")
        for one in ids:
            del self.pending[one]

    def forget(self, assignment: Given) -> None:
        """Strike off assignments whose outcome will never come: all of them, or none."""
        for one in self._open(assignment):
            del self.pending[one]

    def _open(self, assignment: Given) -> list[int]:
        """The numbers of assignments, each of which must wait for its outcome."""
        ids = []
        for one in _several(assignment):
            number = one.id if isinstance(one, Assignment) else one
            if not Integer(low=0, high=self.n_handed_out - 1).accepts(number):
                raise DataError(f"assignment {shown(number)} was never handed out")
            if number not in self.pending:
                raise DataError(
                    f"the outcome of assignment {number} has been handed in already, or given up"
                )
            if isinstance(one, Assignment) and one.arm != self.pending[number]:
                raise DataError(f"assignment {number} is of arm {self.pending[number]}: {one!r}")
            ids.append(int(number))
        if len(set(ids)) < len(ids):
            raise DataError(f"an assignment is handed in twice in one batch: {ids}")
        return ids

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "seed": self.seed,
            "pending": [[one, arm] for one, arm in self.pending.items()],
            "arms": sorted(self.arms),
            "n_handed_out": self.n_handed_out,
            "n_rounds": self._n_rounds,
            "queue": list(self._queue),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], n_arms: int) -> "Assignments":
        """The inverse of `to_dict`."""
        numbers = [values[name] for name in ("seed", "n_handed_out", "n_rounds")]
        pending, arms, queue = (list(values[name]) for name in ("pending", "arms", "queue"))
        if not all(Integer(low=0, high=2**64 - 1).accepts(one) for one in numbers):
            raise DataError(f"the stored assignments have no right numbers: {shown(numbers)}")
        assignments = cls(numbers[0])
        assignments.n_handed_out, assignments._n_rounds = numbers[1:]
        assignments.pending = dict(pending)
        assignments.arms = {*arms, *assignments.pending.values()}
        assignments._queue = queue
        known, handed = Integer(low=0, high=n_arms - 1), Integer(low=0, high=numbers[1] - 1)
        if not all(known.accepts(arm) for arm in (*assignments.arms, *queue)):
            raise DataError(f"the stored assignments have arms beyond the {n_arms} that there are")
        if not all(handed.accepts(one) for one in assignments.pending):
            raise DataError("the stored assignments wait for outcomes of some never handed out")
        if len(assignments.pending) < len(pending):
            raise DataError("the stored assignments wait for an outcome twice")
        return assignments


def _several(assignment: Given) -> list[Any]:
    if isinstance(assignment, np.ndarray):
        return list(assignment.ravel())
    if isinstance(assignment, Assignment | str) or not isinstance(assignment, Iterable):
        return [assignment]
    return list(assignment)
