"""Kernel methods: ridge regression, graphs, and boosting with a stopping rule to compute."""
