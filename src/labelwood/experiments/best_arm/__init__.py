"""Best-arm identification against a control, with always-valid p-values and intervals."""

from labelwood.experiments.best_arm._bound_kernels import evidence
from labelwood.experiments.best_arm._step_kernels import arm_at, choose, decide, levels, renew
from labelwood.experiments.best_arm.arms import ArmStatistics
from labelwood.experiments.best_arm.experiment import BestArmExperiment
from labelwood.experiments.best_arm.rewards import (
    DELTA,
    Bernoulli,
    Bounded,
    RewardModel,
    SubGaussian,
    shown,
)

__all__ = [
    "DELTA",
    "ArmStatistics",
    "Bernoulli",
    "BestArmExperiment",
    "Bounded",
    "RewardModel",
    "SubGaussian",
    "arm_at",
    "choose",
    "decide",
    "evidence",
    "levels",
    "renew",
    "shown",
]
