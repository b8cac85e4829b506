"""Transduction on a graph of labeled and unlabeled samples."""
