"""Bounds on the error and the number of decisions of trees."""
