"""The symmetric two-state Gaussian hidden Markov model of Yang 2018, chapter 2."""

from labelwood.sequences.two_state_hmm.estimator import TwoStateGaussianHMM
from labelwood.sequences.two_state_hmm.model import Symmetric, SymmetricChain, baum_welch

__all__ = ["Symmetric", "SymmetricChain", "TwoStateGaussianHMM", "baum_welch"]
