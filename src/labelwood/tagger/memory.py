"""Training samples that a Tagger keeps, so that it can learn more later."""

import warnings
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelwood.core.caller import user_stacklevel
from labelwood.core.labels import check_label_space
from labelwood.core.names import shown
from labelwood.core.random import seed_sequence
from labelwood.core.types import CSR, IndexArray
from labelwood.data.dataset import Dataset
from labelwood.errors import DataError, LabelwoodWarning


class NewLabels(NamedTuple):
    """Samples from which some labels are learned: `Y` has a column for each of `columns`."""

    X: CSR
    Y: CSR
    columns: IndexArray


def remembered(X: CSR, Y: CSR, size: bool | int) -> tuple[CSR, CSR]:
    """All samples, or `size` of them at random."""
    n = X.shape[0]
    if size is True or int(size) >= n:
        return X, Y
    rows = np.random.default_rng(seed_sequence(0)).choice(n, int(size), replace=False)
    rows.sort()
    return X[rows], Y[rows]


def widened(Y: CSR, n_labels: int) -> CSR:
    """The same labels beside some that no sample has."""
    wider = Y.copy()
    wider.resize((Y.shape[0], n_labels))
    return wider


def widened_counts(counts: NDArray[np.int64], n_labels: int) -> NDArray[np.int64]:
    """A copy of the counts of labels, with zeros for those that are new."""
    wider = np.zeros(n_labels, dtype=np.int64)
    wider[: counts.size] = counts
    return wider


def new_labels(X: CSR, Y: CSR, negatives: CSR | None, memory: tuple[CSR, CSR] | None) -> NewLabels:
    """Samples of the labels in Y, and others without them: given, remembered, or among X.

    `Y` is an indicator over all labels, the new ones included. Remembered samples have the
    labels that they had in training.
    """
    columns = np.unique(Y.indices)
    parts = [(X, Y[:, columns])]
    if negatives is not None:
        parts.append((negatives, sp.csr_array((negatives.shape[0], columns.size))))
    elif memory is not None:
        parts.append((memory[0], widened(memory[1], Y.shape[1])[:, columns]))
    everywhere = np.bincount(parts[0][1].indices, minlength=columns.size) == X.shape[0]
    if len(parts) == 1 and everywhere.any():
        raise DataError(
            "add_labels needs samples without the new label too: give negatives=[texts], or "
            "fit with Tagger(remember=True), which keeps the training samples."
        )
    features, targets = zip(*parts, strict=True)
    stacked = sp.csr_array(sp.vstack(targets, format="csr"), dtype=np.float32)
    return NewLabels(sp.csr_array(sp.vstack(features, format="csr")), stacked, columns)


def joined(old: tuple[CSR, CSR], X: CSR, Y: CSR) -> tuple[CSR, CSR]:
    """Old and new samples, over the labels of the new."""
    features = sp.csr_array(sp.vstack([old[0], X], format="csr"))
    labels = sp.csr_array(sp.vstack([widened(old[1], Y.shape[1]), Y], format="csr"))
    return features, labels


def require_labels(dataset: Dataset) -> Dataset:
    """The data set, unless no sample has a label."""
    if len(dataset) == 0:
        raise DataError(f"{dataset.description or 'The data set'} has no samples to learn from.")
    if dataset.Y.nnz == 0:
        raise DataError(
            f"No sample of {dataset.description or 'the data set'} has a label; "
            "is the column of the labels called something else?"
        )
    check_label_space(dataset.Y)
    return dataset


def warn_of_constant(dataset: Dataset) -> None:
    """Warn of one label that every sample has, where there is nothing to tell apart."""
    label = int(dataset.Y.indices[0])
    if dataset.Y.nnz != len(dataset) or (dataset.Y.indices != label).any():
        return
    name = str(label) if dataset.label_names is None else dataset.label_names[label]
    have = "All samples have" if len(dataset) > 1 else "The only sample has"
    warnings.warn(
        f"{have} the label {shown(name)} and no other, so the model predicts it for everything; "
        "give samples without it, or with other labels.",
        LabelwoodWarning,
        stacklevel=user_stacklevel(),
    )
