"""How the arms of the next round are chosen.

A policy chooses arms and nothing else. The stop, the p-value and the intervals are those of the
experiment, and hold for every policy, because their bounds hold for all counts at once.
"""

from labelwood.core.params import OneOf
from labelwood.errors import ParameterError
from labelwood.experiments.best_arm.rewards import RewardModel

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
