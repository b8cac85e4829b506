"""What the bounds read off fitted trees and their samples: paths, margins, mistakes."""

from collections.abc import Collection, Set
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labelwood.core.labels import encode_labels, indicator, is_label_lists, lists_to_indicator
from labelwood.core.params import Real, check_parameter
from labelwood.core.sparse import make_csr, row_blocks, row_squares
from labelwood.core.types import CSR, AnyArray, DoubleArray, PointerArray
from labelwood.errors import DataError
from labelwood.trees.bounds.formulas import Leaf

if TYPE_CHECKING:
    from labelwood.trees.budgeted import BudgetedTreeClassifier
    from labelwood.trees.coding import CodingTree, CodingTreeClassifier

_FLOATS_AT_ONCE = 2**22


class Path(NamedTuple):
    """The decisions that lead to a leaf: their nodes, the side (±1) taken, and where the nodes
    below each of them end.
    """

    nodes: PointerArray
    sides: PointerArray
    ends: PointerArray


def path_to(right: PointerArray, leaf: int) -> Path:
    """The path to a leaf of a tree whose nodes stand in preorder, the positive side first.

    Examples
    --------
    >>> path_to(np.array([4, 3, -1, -1, -1]), 3)
    Path(nodes=array([0, 1]), sides=array([ 1, -1]), ends=array([5, 4]))
    """
    found = []
    node, end = 0, right.size
    while node != leaf:
        positive = leaf < right[node]
        found.append((node, 1 if positive else -1, end))
        node, end = (node + 1, int(right[node])) if positive else (int(right[node]), end)
    return Path(*np.array(found, dtype=np.int64).reshape(-1, 3).T)


def path_margins(
    tree: "CodingTree", rows: CSR, of_sample: PointerArray, leaf: int, radius: float
) -> tuple[DoubleArray, int]:
    """The margin of each decision on the path to a leaf, and how many decisions are wrong.

    `of_sample` is the leaf where each row belongs, −1 for none. Decisions have unit length
    together with their intercept. A margin is that of the worst sample below the node: 0 where
    one is on the wrong side, and `radius` where there is none.
    """
    path = path_to(tree.right, leaf)
    width = rows.shape[1]
    shape = (tree.right.size, width)
    weights = make_csr(tree.weight_indptr, tree.features, tree.weights, shape)[path.nodes]
    intercepts = tree.intercepts[path.nodes].astype(np.float64)
    norms = np.sqrt(row_squares(weights) + intercepts**2)
    margins, n_wrong = np.full(path.nodes.size, radius), 0
    for block in row_blocks(rows, _FLOATS_AT_ONCE // max(path.nodes.size, 1) + 1):
        leaves = of_sample[block, None]
        below = (path.nodes <= leaves) & (leaves < path.ends)
        positive = leaves < tree.right[path.nodes]
        scores = (rows[block].astype(np.float64) @ weights.T).toarray() + intercepts
        n_wrong += int(np.count_nonzero(below & ((scores > 0) != positive)))
        own = np.where(positive, scores, -scores) / np.where(norms > 0, norms, 1)
        margins = np.minimum(margins, np.where(below, own, np.inf).min(axis=0, initial=np.inf))
    return np.maximum(margins, 0), n_wrong


def leaf_of_set(tree: "CodingTree", n_labels: int) -> dict[bytes, int]:
    """The leaf of each label set (see `set_keys`)."""
    leaves = np.flatnonzero(tree.right < 0)
    return dict(zip(set_keys(tree.label_sets(leaves, n_labels)), leaves.tolist(), strict=True))


def set_keys(Y: CSR) -> list[bytes]:
    """The label set of each row, as bytes that are equal for equal sets."""
    Y.sort_indices()
    text = Y.indices.astype(np.uint32).tobytes()
    cuts = (4 * Y.indptr.astype(np.int64)).tolist()
    return [text[cuts[i] : cuts[i + 1]] for i in range(Y.shape[0])]


def known_labels(model: "CodingTreeClassifier", y: Any, n: int) -> CSR:
    """Labels of `n` samples in any accepted form, as an indicator over those of the model."""
    if not model.multilabel_:
        codes = known_classes(model.classes_, y)
        shape = (codes.size, model.classes_.size)
        Y = make_csr(np.arange(codes.size + 1), codes, np.ones(codes.size, np.float32), shape)
    elif is_label_lists(y):
        Y = lists_to_indicator(y, model.classes_.tolist())
    else:
        Y = indicator(y).copy()
    if Y.shape != (n, model.classes_.size):
        raise DataError(
            f"y must have {n} rows and {model.classes_.size} labels, as X and the model have. "
            f"Got {Y.shape}."
        )
    return Y


def one_label_set(model: "CodingTreeClassifier", label_set: Any) -> CSR:
    """A set of the model's labels, or one of its classes, as an indicator of one row."""
    classes = model.classes_.tolist()
    labels = _labels_of_set(label_set, len(classes)) if model.multilabel_ else [label_set]
    for label in labels:
        if not np.isscalar(label) or label not in classes:
            kind = "labels" if model.multilabel_ else "one class"
            raise DataError(
                f"label_set must be {kind} of the model, which does not know {label!r}."
            )
    return lists_to_indicator([labels], classes)


def _labels_of_set(label_set: Any, n_labels: int) -> list[Any]:
    if isinstance(label_set, (str, bytes)):
        raise DataError(f"label_set must be a list of labels. Give [{label_set!r}].")
    if not isinstance(label_set, Collection) or getattr(label_set, "ndim", 1) != 1:
        raise DataError(f"label_set must be a list of labels. Got {label_set!r}.")
    labels = label_set.tolist() if isinstance(label_set, np.ndarray) else list(label_set)
    could_be_row = n_labels == len(labels) > 1 and not isinstance(label_set, Set)
    if could_be_row and all(np.isscalar(one) and one in (0, 1) for one in labels):
        raise DataError(
            "label_set looks like a row of an indicator. Give its labels, numpy.flatnonzero(row); "
            "if 0 and 1 are meant as labels, a set, {0, 1}."
        )
    return labels


def known_classes(classes: AnyArray, y: Any) -> PointerArray:
    """The number of each sample's class."""
    Y, found, multilabel = encode_labels(y)
    if multilabel:
        raise DataError("y must hold one class for each sample. Got label sets instead.")
    places = np.minimum(np.searchsorted(classes, found), classes.size - 1)
    unknown = found[classes[places] != found]
    if unknown.size:
        raise DataError(f"y holds the class {unknown[0]}, which the model does not know.")
    return places[Y.indices].astype(np.int64)


def enclosing_radius(rows: CSR, radius: float | None, unit: bool) -> float:
    """√(R² + 1): the radius of a ball for the rows with a constant feature 1."""
    lengths = np.sqrt(row_squares(rows))
    longest = float(lengths.max(initial=0))
    if radius is None:
        return float(np.hypot(1 if unit else longest, 1))
    check_parameter("the bound", "radius", radius, Real(above=0))
    if longest > radius * (1 + 1e-6):
        raise DataError(
            f"Row {int(lengths.argmax())} of X has the length {longest:.4g}, beyond "
            f"radius={radius:.4g}; give the radius of a ball that holds all samples."
        )
    return float(np.hypot(radius, 1))


def budgeted_mistakes(
    model: "BudgetedTreeClassifier", X: object, y: object
) -> tuple[PointerArray, AnyArray]:
    """The leaf of each sample in each tree, and whether any of the trees is wrong about it."""
    leaves = model.apply(X)
    codes = known_classes(model.classes_, y)
    if codes.size != leaves.shape[0]:
        raise DataError(f"X has {leaves.shape[0]} rows and y has {codes.size}.")
    classes = np.arange(leaves.shape[1]) if leaves.shape[1] > 1 else np.array([1])
    return leaves, np.any((model.slopes_[leaves] > 0) != (codes[:, None] == classes), axis=1)


def functions_of_decisions(model: "BudgetedTreeClassifier") -> PointerArray:
    """How many linear functions each decision depends on: its folds, or one if they are equal.

    A vote of an even number of folds can be left to the mean of their functions, one more.
    """
    n_folds = model.weights_.shape[0]
    numbers = np.full(model.right_.size, n_folds + (n_folds % 2 == 0), dtype=np.int64)
    nodes = np.repeat(np.arange(model.right_.size), np.diff(model.indptr_))
    differ = np.bincount(nodes, np.ptp(model.weights_, axis=0), minlength=numbers.size)
    numbers[(differ == 0) & (np.ptp(model.intercepts_, axis=0) == 0)] = 1
    return numbers[model.right_ >= 0]


def perceptron_leaves(
    model: "BudgetedTreeClassifier", X: CSR, reached: PointerArray, wrong: AnyArray
) -> list[Leaf]:
    """The leaves of a single tree, with what theorem 5 asks of them."""
    weights, intercepts = model.weights_.mean(axis=0), model.intercepts_.mean(axis=0)
    shape = (model.right_.size, X.shape[1])
    functions = make_csr(model.indptr_, model.features_, weights, shape)
    reads = make_csr(model.indptr_, model.features_, np.ones_like(weights), shape)
    leaves = []
    for leaf in np.flatnonzero(model.right_ < 0).tolist():
        samples = np.flatnonzero(reached == leaf)
        path = path_to(model.right_, leaf)
        of_path, rows = functions[path.nodes], X[samples]
        scores = (of_path @ rows.T).toarray() + intercepts[path.nodes, None]
        scores *= path.sides[:, None]
        scores[-1:, wrong[samples]] *= -1
        norms = np.sqrt(row_squares(of_path) + intercepts[path.nodes] ** 2)
        squares = rows.multiply(rows).sum(axis=0, dtype=np.float64)  # of each column
        traces = reads[path.nodes] @ squares + samples.size
        leaves.append(Leaf(scores, norms, traces))
    return leaves
