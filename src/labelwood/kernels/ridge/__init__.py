"""Kernel ridge regression in four representations."""
