"""Hidden Markov model with Gaussian observations."""

from labelwood.sequences.gaussian_hmm.emissions import Gaussian
from labelwood.sequences.gaussian_hmm.estimator import GaussianHMM

__all__ = ["Gaussian", "GaussianHMM"]
