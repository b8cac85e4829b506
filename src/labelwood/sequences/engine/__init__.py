"""Hidden Markov chains of any emissions: recursions, EM, restarts and what they certify.

An emission model (Gaussian, categorical, Poisson) gives log densities and turns posteriors into
new parameters; everything else is here, once.
"""

from labelwood.sequences.engine.certificate import Certificate, certify, mixing
from labelwood.sequences.engine.chain import Chain, stationary_distribution
from labelwood.sequences.engine.em import Emissions, Run, maximize
from labelwood.sequences.engine.model import SequenceModel
from labelwood.sequences.engine.recursions import (
    Posteriors,
    filter_states,
    most_probable_path,
    sample_states,
    smooth,
)
from labelwood.sequences.engine.sequences import Sequences, check_sequences

__all__ = [
    "Certificate",
    "Chain",
    "Emissions",
    "Posteriors",
    "Run",
    "SequenceModel",
    "Sequences",
    "certify",
    "check_sequences",
    "filter_states",
    "maximize",
    "mixing",
    "most_probable_path",
    "sample_states",
    "smooth",
    "stationary_distribution",
]
