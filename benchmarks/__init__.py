"""Ratios against the peers, on the same data, in one run."""
