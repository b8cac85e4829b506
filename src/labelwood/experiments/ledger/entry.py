"""One line of the ledger: an experiment, its level, its p-value and what was decided."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from labelwood.core.params import Boolean, Constraint, Integer, Real
from labelwood.errors import DataError
from labelwood.experiments.best_arm import POLICY, RewardModel, reward_model, shown

_SHARE = Real(low=0, high=1)
_WEALTH = (Real(low=0), None)
_FIELDS: dict[str, tuple[Constraint | None, ...]] = {
    "number": (Integer(low=1),),
    "level": (_SHARE,),
    "wealth_before": _WEALTH,
    "wealth_after": _WEALTH,
    "p_value": (_SHARE,),
    "discovery": (Boolean(),),
    "winner": (Integer(low=0), None),
    "policy": (POLICY,),
    "control": (Integer(low=0),),
    "epsilon": (Real(low=0),),
    "max_samples": (Integer(low=1), None),
}
_OF_EACH_ARM: dict[str, tuple[Constraint | None, ...]] = {
    "n_samples": (Integer(low=0),),
    "totals": (Real(),),
    "estimates": (Real(), None),
}
_TEXTS = ("name", "reason")
_ENDS = ("stopped: control", "stopped: limit reached, undecided", "stopped: closed by hand")
_WINNER = "stopped: winner "
"""The reasons are the statuses that a closed experiment can have."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What the ledger keeps of an experiment.

    Attributes
    ----------
    number : int
        Its place in the sequence, from 1 on.
    name : str
        What its owner calls it.
    level : float
        α_j, at which it was run and tested.
    wealth_before, wealth_after : float or None
        What the procedure could spend before and after it; None for a procedure without limit.
    p_value : float
        The always-valid p-value when it was closed.
    discovery : bool
        Whether the control was rejected.
    winner : int or None
        The arm in whose favor.
    reason : str
        Why it ended: the status of the closed experiment.
    policy : str
        How arms were chosen, as `BestArmExperiment` calls it.
    control : int
        The control's arm.
    epsilon : float
        By how much the control had to be beaten.
    max_samples : int or None
        With how many outcomes it would have ended undecided.
    reward : dict
        What was assumed of the rewards, as `RewardModel.to_dict` has it.
    n_samples : tuple of int
        Number of outcomes of each arm.
    totals : tuple of float
        Sum of the rewards of each arm.
    estimates : tuple of float or None
        Mean reward of each arm; None without outcomes.
    """

    number: int
    name: str
    level: float
    wealth_before: float | None
    wealth_after: float | None
    p_value: float
    discovery: bool
    winner: int | None
    reason: str
    policy: str
    control: int
    epsilon: float
    max_samples: int | None
    reward: dict[str, Any]
    n_samples: tuple[int, ...]
    totals: tuple[float, ...]
    estimates: tuple[float | None, ...]

    def __post_init__(self) -> None:
        for name in _TEXTS:
            check_text(name, getattr(self, name))
        for name, allowed in _FIELDS.items():
            object.__setattr__(self, name, _plain(name, getattr(self, name), allowed))
        for name, allowed in _OF_EACH_ARM.items():
            values = getattr(self, name)
            values = values.tolist() if isinstance(values, np.ndarray) else values
            if not isinstance(values, Sequence) or isinstance(values, str):
                raise DataError(f"{name} must be a list. Got {shown(values)}.")
            plain = tuple(_plain(name, value, allowed) for value in values)
            object.__setattr__(self, name, plain)
        object.__setattr__(self, "reward", reward_model(self.reward).to_dict())
        self._check_arms()

    @property
    def model(self) -> RewardModel:
        """What was assumed of the rewards."""
        return reward_model(self.reward)

    def _check_arms(self) -> None:
        n_arms = len(self.n_samples)
        sizes = [len(getattr(self, name)) for name in _OF_EACH_ARM]
        if n_arms < 2 or sizes != [n_arms] * len(sizes):
            raise DataError(
                f"{', '.join(_OF_EACH_ARM)} must have a value for each of at least two arms. Got "
                f"{sizes} values."
            )
        for name in ("control", "winner"):
            arm = getattr(self, name)
            if arm is not None and arm >= n_arms:
                raise DataError(f"{name} {arm} does not exist; there are arms 0 to {n_arms - 1}")
        treatments = (arm for arm in range(n_arms) if arm != self.control)
        if self.reason not in (*_ENDS, *(f"{_WINNER}{arm}" for arm in treatments)):
            ends = ", ".join(map(repr, _ENDS))
            raise DataError(
                f"reason must be one of {ends} or '{_WINNER}…' with a treatment. "
                f"Got {shown(self.reason)}."
            )
        for arm, (n, estimate) in enumerate(zip(self.n_samples, self.estimates, strict=True)):
            if (n == 0) != (estimate is None):
                raise DataError(f"arm {arm} has {n} outcomes and the estimate {estimate}")

    @property
    def leaders(self) -> tuple[int, ...]:
        """The arms with the highest estimate; the control alone if it is one of them."""
        return leading_arms(self.estimates, self.control)

    @property
    def compared_p_value(self) -> float:
        """What was compared with the level."""
        return compared_p_value(self.p_value, self.leaders, self.control)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        values = asdict(self)
        return {**values, **{name: list(values[name]) for name in _OF_EACH_ARM}}

    @classmethod
    def from_dict(cls, values: object) -> "Entry":
        """The inverse of `to_dict`."""
        if not isinstance(values, Mapping):
            raise DataError(f"an entry has named values. Got {shown(values)}.")
        names = [field.name for field in fields(cls)]
        for name in names:
            if name not in values:
                raise DataError(f"{name} is missing")
        for name in values:
            if name not in names:
                raise DataError(f"{shown(name)} is unknown; an entry has {', '.join(names)}")
        return cls(**values)


def compared_p_value(p: float, leaders: tuple[int, ...], control: int) -> float:
    """P^j of Yang 2018, Procedure 1: `p`, but 1 where the control leads, which is then kept."""
    return 1.0 if leaders == (control,) else p


def read_json(text: str) -> Any:
    """Untrusted JSON; numbers of too many digits are refused like any other bad JSON."""
    return json.loads(text, parse_int=_whole_number)


def _whole_number(digits: str) -> int:
    if len(digits) > 18:
        raise ValueError(f"the number {digits[:18]}… is too large")
    return int(digits)


def leading_arms(estimates: Sequence[float | None], control: int) -> tuple[int, ...]:
    """The arms with the highest estimate; the control alone if it is one of them, or none has any.

    Examples
    --------
    >>> leading_arms([0.2, 0.5, 0.5], control=0), leading_arms([0.5, 0.5], control=0)
    ((1, 2), (0,))
    """
    highest = max((one for one in estimates if one is not None), default=math.inf)
    leaders = tuple(arm for arm, one in enumerate(estimates) if one == highest)
    return (control,) if control in leaders or not leaders else leaders


def check_text(name: str, value: object) -> None:
    """Refuse what is no text, or has half a character, which no file can hold."""
    if not isinstance(value, str):
        raise DataError(f"{name} must be text. Got {shown(value)}.")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise DataError(
            f"{name} has a lone surrogate, which UTF-8 cannot hold. Got {value!a}."
        ) from None


def _plain(name: str, value: Any, allowed: tuple[Constraint | None, ...]) -> Any:
    """`value` as a plain number, whatever its kind, for JSON; refused unless it is allowed."""
    for one in allowed:
        if one is None:
            if value is None:
                return None
        elif one.accepts(value):
            kind = {Integer: int, Real: float}.get(type(one))
            return value if kind is None else kind(value)
    words = " or ".join("nothing" if one is None else str(one) for one in allowed)
    raise DataError(f"{name} must be {words}. Got {shown(value)}.")
