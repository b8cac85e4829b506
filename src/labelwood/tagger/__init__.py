"""The product's main class: vectorizer, learner, label names and threshold in one."""

from labelwood.tagger.choice import default_vectorizer
from labelwood.tagger.estimator import Tagger

__all__ = ["Tagger", "default_vectorizer"]
