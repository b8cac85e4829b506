"""Hidden Markov chains of any emissions: recursions, EM, restarts and what they certify.

An emission model (Gaussian, categorical, Poisson) gives log densities and turns posteriors into
new parameters; everything else is here, once.
"""

from labelwood.sequences.engine.certificate import (
    SAME_END,
    Certificate,
    certify,
    matched_distance,
    mixing,
)
from labelwood.sequences.engine.chain import Chain, random_chain, stationary_distribution
from labelwood.sequences.engine.em import LIMIT, Emissions, Run, fit_restarts, maximize
from labelwood.sequences.engine.model import MarkovModel, SequenceModel
from labelwood.sequences.engine.recursions import (
    Posteriors,
    filter_states,
    most_probable_path,
    sample_states,
    smooth,
)
from labelwood.sequences.engine.sequences import Sequences, check_sequences

__all__ = [
    "LIMIT",
    "SAME_END",
    "Certificate",
    "Chain",
    "Emissions",
    "MarkovModel",
    "Posteriors",
    "Run",
    "SequenceModel",
    "Sequences",
    "certify",
    "check_sequences",
    "filter_states",
    "fit_restarts",
    "matched_distance",
    "maximize",
    "mixing",
    "most_probable_path",
    "random_chain",
    "sample_states",
    "smooth",
    "stationary_distribution",
]
