"""Best-arm identification against a control, with always-valid p-values and intervals.

The bounds are inverted into p-values by `_kernels.log_inverse_p_value`, which `always_valid`
calls; tests of the difference between two arms are in `labelwood.experiments.evidence`.
"""

from labelwood.experiments.best_arm._kernels import (
    UNIFORM,
    arm_at,
    choose,
    decide,
    log_inverse_deltas,
    log_inverse_p_value,
    update_bounds,
)
from labelwood.experiments.best_arm.always_valid import (
    Intervals,
    RunningPValue,
    arm_p_value,
    intervals,
    least_differences,
    treatment_p_values,
)
from labelwood.experiments.best_arm.arms import ArmStatistics
from labelwood.experiments.best_arm.assignments import POLICY, check_policy, policy_number
from labelwood.experiments.best_arm.differences import difference_evidence, difference_interval
from labelwood.experiments.best_arm.experiment import BestArmExperiment
from labelwood.experiments.best_arm.rewards import (
    DELTA,
    Bernoulli,
    Bounded,
    RewardLike,
    RewardModel,
    SubGaussian,
    as_reward_model,
    reward_model,
    shown,
)
from labelwood.experiments.best_arm.state import reason_of

__all__ = [
    "DELTA",
    "POLICY",
    "UNIFORM",
    "ArmStatistics",
    "Bernoulli",
    "BestArmExperiment",
    "Bounded",
    "Intervals",
    "RewardLike",
    "RewardModel",
    "RunningPValue",
    "SubGaussian",
    "arm_at",
    "arm_p_value",
    "as_reward_model",
    "check_policy",
    "choose",
    "decide",
    "difference_evidence",
    "difference_interval",
    "intervals",
    "least_differences",
    "log_inverse_deltas",
    "log_inverse_p_value",
    "policy_number",
    "reason_of",
    "reward_model",
    "shown",
    "treatment_p_values",
    "update_bounds",
]
