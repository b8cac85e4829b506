"""An experiment as plain values for JSON, and back, though a stranger may have written them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from labelwood.core import params
from labelwood.errors import DataError
from labelwood.experiments.best_arm.arms import Tally
from labelwood.experiments.best_arm.assignments import Assignments
from labelwood.experiments.best_arm.rewards import RewardModel, reward_model, shown
from labelwood.experiments.decoding import reading

if TYPE_CHECKING:
    from labelwood.experiments.best_arm.experiment import BestArmExperiment

UNDECIDED, CLOSED = -1, -2
"""How an experiment ended without an arm: at its limit, or by hand."""
_HOW = {UNDECIDED: "limit reached, undecided", CLOSED: "closed by hand"}
_FORMAT = 3


def state_of(experiment: "BestArmExperiment") -> dict[str, Any]:
    """All of its state."""
    return {
        "format": _FORMAT,
        **{name: getattr(experiment, name) for name in experiment._constraints},
        "reward": experiment.reward.to_dict(),
        "statistics": experiment._tally.to_list(),
        "late": experiment._late.to_list(),
        "assignments": experiment._assignments.to_dict(),
        "ended_with": experiment._ended_with,
        "updated_at": experiment._updated_at,
        "next_arms": list(experiment._next_arms),
        "evidence": experiment._evidence,
        "evident": experiment._evident,
        **({} if experiment.names is None else {"names": list(experiment.names)}),
    }


def restore(kind: "type[BestArmExperiment]", values: Mapping[str, Any]) -> "BestArmExperiment":
    """The experiment whose state it is; a `DataError` for whatever is wrong with it."""
    with reading("experiment"):
        if values.get("format") != _FORMAT:
            found = shown(values.get("format"))
            raise DataError(f"not an experiment of format {_FORMAT}: format {found}")
        n = len(values["statistics"])
        if n != values["n_arms"]:  # before memory is allocated for so many
            raise DataError(f"statistics of {shown(values['n_arms'])} arms are needed, got {n}")
        experiment = _restored(kind, values)
        _check_end(experiment)
        return experiment


def _restored(kind: "type[BestArmExperiment]", values: Mapping[str, Any]) -> "BestArmExperiment":
    parameters = {name: values[name] for name in kind._constraints}
    names = values.get("names")  # absent from experiments stored before arms had names
    experiment = kind(**{**parameters, "reward": reward_model(values["reward"]), "names": names})
    n_arms, model = experiment.n_arms, experiment.reward
    experiment._tally = Tally.from_list(values["statistics"], n_arms, model)
    experiment._late = Tally.from_list(values["late"], n_arms, model)
    experiment._n_samples = sum(experiment._tally.counts)
    experiment._assignments = Assignments.from_dict(values["assignments"], n_arms)
    state: params.Constraints = {
        "ended_with": (params.Integer(low=CLOSED, high=n_arms - 1), None),
        "updated_at": params.Integer(low=0, high=experiment._n_samples),
        "evidence": params.Real(low=0, high=700),
        "evident": (params.Integer(low=0, high=n_arms - 1), None),
    }
    for name, constraint in state.items():
        params.check_parameter(kind.__name__, name, values[name], constraint)
        setattr(experiment, f"_{name}", values[name])
    experiment._evidence = float(experiment._evidence)
    experiment._next_arms = _stored_arms(values["next_arms"], n_arms)
    return experiment


def _stored_arms(arms: object, n_arms: int) -> list[int]:
    known = params.Integer(low=0, high=n_arms - 1)
    if not isinstance(arms, list) or not all(known.accepts(arm) for arm in arms):
        raise DataError(f"next_arms must be a list of arms below {n_arms}. Got {shown(arms)}.")
    return [int(arm) for arm in arms]


def _check_end(experiment: "BestArmExperiment") -> None:
    """Refuse an end that the outcomes do not give, and find the arms that are next."""
    ended = experiment._ended_with
    if ended is None and experiment._updated_at != experiment._n_samples:
        if not experiment._next_arms:
            raise DataError("the stored experiment is running and has no arms to pull")
        return
    output, _, _, arms = experiment._apply_rule()
    full = experiment._n_samples >= experiment._limit
    follows = output if output >= 0 else UNDECIDED if full else None
    if ended != follows and not (ended == CLOSED and follows is None):
        raise DataError(f"the stored experiment ended with {ended}, but {follows} follows")
    experiment._next_arms = arms if ended is None else []


def status_of(ended_with: int, control: int) -> str:
    """How an experiment stopped, in words."""
    how = "control" if ended_with == control else f"winner {ended_with}"
    return f"stopped: {_HOW.get(ended_with, how)}"


def reason_of(
    counts: Sequence[int],
    totals: Sequence[float],
    delta: float,
    *,
    reward: RewardModel,
    epsilon: float,
    control: int,
    max_samples: int | None,
) -> str:
    """The status of a closed experiment, which follows from the outcomes that count.

    Examples
    --------
    >>> from labelwood.experiments.best_arm.rewards import Bernoulli
    >>> rule = {"reward": Bernoulli(), "epsilon": 0.0, "control": 0, "max_samples": None}
    >>> reason_of([800, 800], [200, 400], 0.05, **rule)
    'stopped: winner 1'
    >>> reason_of([8, 8], [2, 4], 0.05, **rule)
    'stopped: closed by hand'
    """
    from labelwood.experiments.best_arm._kernels import UNIFORM, apply_rule

    n, model = np.array(counts, np.float64), reward.for_kernels()
    output = int(apply_rule(n, np.array(totals), delta, epsilon, control, UNIFORM, 0.0, model)[0])
    if output >= 0:
        return status_of(output, control)
    full = max_samples is not None and sum(counts) >= max_samples
    return status_of(UNDECIDED if full else CLOSED, control)
