"""Kernel boosting, stopped early."""
