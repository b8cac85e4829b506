"""Hidden Markov models of symbols and of counts, by the same engine as the Gaussian one."""

from labelwood.sequences.discrete_hmm.estimator import CategoricalHMM, PoissonHMM

__all__ = ["CategoricalHMM", "PoissonHMM"]
