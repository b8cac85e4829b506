"""Experiments on simulated rewards, many runs at once."""

from labelwood.experiments.simulation.simulate import (
    MOST_SAMPLES,
    SequenceRuns,
    Setting,
    numbers,
    simulate,
    simulate_sequence,
)

__all__ = ["MOST_SAMPLES", "SequenceRuns", "Setting", "numbers", "simulate", "simulate_sequence"]
