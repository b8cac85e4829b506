"""Adaptive experiments that may be watched at any time, one or many of them."""

from labelwood.experiments.analysis import analyze
from labelwood.experiments.best_arm import (
    ArmStatistics,
    Bernoulli,
    BestArmExperiment,
    Bounded,
    SubGaussian,
)
from labelwood.experiments.ledger import Ledger
from labelwood.experiments.online_fdr import AsynchronousFDR, online_fdr
from labelwood.experiments.overlapping import OverlappingExperiments
from labelwood.experiments.plan import fixed_horizon, plan
from labelwood.experiments.sequence import ExperimentSequence
from labelwood.experiments.simulation import Setting, simulate, simulate_sequence
from labelwood.experiments.stopping import stopping_bound

__all__ = [
    "ArmStatistics",
    "AsynchronousFDR",
    "Bernoulli",
    "BestArmExperiment",
    "Bounded",
    "ExperimentSequence",
    "Ledger",
    "OverlappingExperiments",
    "Setting",
    "SubGaussian",
    "analyze",
    "fixed_horizon",
    "online_fdr",
    "plan",
    "simulate",
    "simulate_sequence",
    "stopping_bound",
]
