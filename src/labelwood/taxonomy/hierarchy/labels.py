"""Labels that stand in a forest: read by name, matched to its nodes, and checked against it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.core.labels import (
    EncodedLabels,
    encode_labels,
    indicator,
    is_label_lists,
    lists_to_indicator,
)
from labelwood.core.types import CSR, AnyArray
from labelwood.data.taxonomy import Taxonomy
from labelwood.errors import DataError


def first_labels(y: object, taxonomy: Taxonomy | None, classes: object) -> EncodedLabels:
    """Labels of the first examples, and of which labels there are.

    Lists of names with a taxonomy: its nodes. Else `classes`, where they are given, or what
    `encode_labels` finds.
    """
    if taxonomy is not None:
        y = _as_indicator(y)
        if classes is not None and set(map(str, np.asarray(classes))) != set(taxonomy.names):
            raise DataError("classes are not the nodes of the taxonomy; leave them out.")
    if taxonomy is not None and is_label_lists(y):
        names = np.asarray(taxonomy.names)
        return EncodedLabels(known_labels(y, names, True), names, True)
    if classes is None:
        return encode_labels(y)
    known = np.unique(np.asarray(classes))
    if is_label_lists(y):
        return EncodedLabels(known_labels(y, known, True), known, True)
    found = encode_labels(y)
    if not found.multilabel:
        return EncodedLabels(known_labels(y, known, False), known, False)
    if known.size != found.classes.size:
        raise DataError(f"Y has {found.classes.size} columns and classes {known.size} labels.")
    return found._replace(classes=np.asarray(classes))


def _as_indicator(y: object) -> object:
    """A dense column of zeros and ones is an indicator of one node, not a class per sample."""
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1 and y.dtype.kind in "biuf":
        return indicator(y)
    return y


def known_labels(y: object, classes: AnyArray, multilabel: bool) -> CSR:
    """Labels of further examples as an indicator over `classes`; others are refused."""
    if not multilabel:
        return _classes_as_labels(y, classes)
    if is_label_lists(y):
        lists: Any = y
        if classes.dtype.kind == "U":  # a node may be called by a number
            lists = [[str(name) for name in labels] for labels in lists]
        return lists_to_indicator(lists, classes.tolist())
    Y = indicator(y)
    if Y.shape[1] != classes.size:
        raise DataError(f"Y has {Y.shape[1]} columns; the model knows {classes.size} labels.")
    return Y


def _classes_as_labels(y: object, classes: AnyArray) -> CSR:
    found = encode_labels(y)
    if found.multilabel:
        raise DataError("The model was begun with one class for each sample, not with label sets.")
    names = found.classes[found.Y.indices].tolist()
    return lists_to_indicator([[name] for name in names], classes.tolist())


def forest_of(taxonomy: Taxonomy | None, classes: AnyArray, multilabel: bool) -> Taxonomy | None:
    """The taxonomy over exactly these labels: matched by name, or by column."""
    if taxonomy is None:
        return None
    if not multilabel:
        raise DataError(
            "With a taxonomy y must hold label sets (lists of names, or an indicator). "
            "Got one class for each sample."
        )
    if classes.dtype.kind == "U":
        return taxonomy.align(classes.tolist())
    numbers = [str(label) for label in classes.tolist()]
    if set(taxonomy.names) == set(numbers):  # in whatever order: they name the columns
        return taxonomy.align(numbers)
    if len(taxonomy) != classes.size:
        raise DataError(
            f"Y has {classes.size} columns and the taxonomy {len(taxonomy)} nodes; "
            "taxonomy.align(label_names), or Dataset.label_taxonomy, is that of the columns."
        )
    return taxonomy


def parents_of(forest: Taxonomy | None, n_labels: int) -> NDArray[np.int32]:
    """The parent of each label; −1 for a root, which without a taxonomy all are."""
    return np.full(n_labels, -1, dtype=np.int32) if forest is None else forest.parent.copy()


def closed_labels(Y: CSR, forest: Taxonomy | None, *, close: bool) -> CSR:
    """`Y`, in which every label must come with its parent, or with `close` gets it."""
    if forest is None:
        return Y
    if close:
        return forest.close(Y)
    try:
        forest.check(Y)
    except DataError as error:
        raise DataError(
            f"{error} close_labels=True does so in fit and partial_fit. (Columns of an indicator "
            "are matched to nodes by place; Dataset.label_taxonomy has the order of a data set's.)"
        ) from None
    return Y
