"""Kernels of the evidence for a difference between two arms that may be looked at at any time."""

from labelwood.experiments.evidence._kernels import (
    BETTING,
    BOUNDS,
    MIXTURE,
    decide_by_evidence,
    experiment_evidence,
    log_evidence,
)

__all__ = [
    "BETTING",
    "BOUNDS",
    "MIXTURE",
    "decide_by_evidence",
    "experiment_evidence",
    "log_evidence",
]
