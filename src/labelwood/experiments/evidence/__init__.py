"""Kernels of the evidence for a difference between two arms that may be looked at at any time."""

from labelwood.experiments.evidence._kernels import (
    BETTING,
    BOUNDS,
    EFFECT,
    HAS_RANGE,
    KIND_OF_BOUND,
    KIND_OF_EVIDENCE,
    LOW,
    MIXTURE,
    MOST_EVIDENCE,
    RATIO,
    SIGMA,
    SPAN,
    decide_by_evidence,
    experiment_evidence,
    log_evidence,
)

__all__ = [
    "BETTING",
    "BOUNDS",
    "EFFECT",
    "HAS_RANGE",
    "KIND_OF_BOUND",
    "KIND_OF_EVIDENCE",
    "LOW",
    "MIXTURE",
    "MOST_EVIDENCE",
    "RATIO",
    "SIGMA",
    "SPAN",
    "decide_by_evidence",
    "experiment_evidence",
    "log_evidence",
]
