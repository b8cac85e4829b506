"""Decisions along a given hierarchy of labels."""
