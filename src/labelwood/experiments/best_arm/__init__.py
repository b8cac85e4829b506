"""Best-arm identification against a control, with always-valid p-values and intervals."""

from labelwood.experiments.best_arm._kernels import (
    arm_at,
    choose,
    decide,
    evidence,
    levels,
    renew,
)
from labelwood.experiments.best_arm.always_valid import treatment_p_values
from labelwood.experiments.best_arm.arms import ArmStatistics
from labelwood.experiments.best_arm.experiment import BestArmExperiment, reason_of
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

__all__ = [
    "DELTA",
    "ArmStatistics",
    "Bernoulli",
    "BestArmExperiment",
    "Bounded",
    "RewardLike",
    "RewardModel",
    "SubGaussian",
    "arm_at",
    "as_reward_model",
    "choose",
    "decide",
    "evidence",
    "levels",
    "reason_of",
    "renew",
    "reward_model",
    "shown",
    "treatment_p_values",
]
