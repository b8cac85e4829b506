"""Corpora that can be made on any machine."""
