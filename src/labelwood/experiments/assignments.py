"""Arms that have been handed out, and whose outcomes have yet to come back."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from labelwood.core.params import Integer
from labelwood.errors import DataError


class Assignment(NamedTuple):
    """A subject is to get `arm`; its outcome comes back under the number `id`."""

    id: int
    arm: int


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
        self.n_handed_out += 1
        return assignment

    def hand_in(self, arm: int, assignment: int | Sequence[int], n: int = 1) -> None:
        """Strike off `n` assignments of `arm`: all of them, or none when one cannot be."""
        ids = list(assignment) if isinstance(assignment, Sequence) else [assignment]
        if len(ids) != n:
            raise DataError(f"{n} outcomes came back for {len(ids)} assignments")
        for one in ids:
            if not Integer(low=0, high=self.n_handed_out - 1).accepts(one):
                raise DataError(f"assignment {one!r} was never handed out")
            if one not in self.pending:
                raise DataError(f"the outcome of assignment {one} has been handed in already")
            if self.pending[one] != arm:
                raise DataError(f"assignment {one} is of arm {self.pending[one]}, not of {arm}")
        if len(set(ids)) < len(ids):
            raise DataError(f"an assignment is handed in twice in one batch: {ids}")
        for one in ids:
            del self.pending[one]

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "seed": self.seed,
            "pending": [[one, arm] for one, arm in self.pending.items()],
            "n_handed_out": self.n_handed_out,
            "n_rounds": self._n_rounds,
            "queue": list(self._queue),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], n_arms: int) -> "Assignments":
        """The inverse of `to_dict`."""
        assignments = cls(int(values["seed"]))
        assignments.pending = {int(one): int(arm) for one, arm in values["pending"]}
        assignments.n_handed_out = int(values["n_handed_out"])
        assignments._n_rounds = int(values["n_rounds"])
        assignments._queue = [int(arm) for arm in values["queue"]]
        arms = {*assignments.pending.values(), *assignments._queue}
        if not arms <= set(range(n_arms)):
            raise DataError(f"the stored assignments have arms beyond the {n_arms} that there are")
        if any(not 0 <= one < assignments.n_handed_out for one in assignments.pending):
            raise DataError("the stored assignments wait for outcomes of some never handed out")
        return assignments
