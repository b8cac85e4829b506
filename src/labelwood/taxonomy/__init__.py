"""Decisions along a given hierarchy of labels.

`hierarchical_rls` and `perceptron` are the learners, `hierarchy` is what they share, and `bounds`
has what is proved of their regret.
"""
