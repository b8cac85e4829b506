"""Stand-ins for the real data sets of two classes, as files of a data folder."""

import io
import lzma

import numpy as np
from sklearn.datasets import dump_svmlight_file

from labelwood.studies.sbt._binary import FILES


def write_points(path, X, y):
    """Write svmlight text as the real sets come: features from 1, compressed."""
    text = io.BytesIO()
    dump_svmlight_file(X, y, text, zero_based=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(text.getvalue()))


def linear_points(n, n_features, seed=0, noise=0.2):
    """Points of which feature 0 tells the class, the more often the less noise there is."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, n_features)) + 0.1
    y = np.where(X[:, 0] + noise * rng.standard_normal(n) > 0.6, 1, -1)
    return X, y


def write_set(folder, name, n=120, n_features=30, noise=0.2):
    """A stand-in for one of the sets; returns what is in its files."""
    made = [linear_points(n, n_features, seed, noise) for seed in range(len(FILES[name]))]
    for file, (X, y) in zip(FILES[name], made, strict=True):
        write_points(folder / file, X, y)
    return made
