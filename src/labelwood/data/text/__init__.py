"""Texts as sparse vectors: a tokenizer, a vocabulary and weights, at the speed of bytes."""

from labelwood.data.text.vectorizer import TextVectorizer as TextVectorizer

__all__ = ["TextVectorizer"]
