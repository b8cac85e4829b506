"""Tail classifiers, and the re-ranking of another estimator's best labels by them."""

from labelwood.reranking.reranked import RerankedClassifier
from labelwood.reranking.tail import TailClassifier

__all__ = ["RerankedClassifier", "TailClassifier"]
