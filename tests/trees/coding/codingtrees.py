"""What the tests of both coding trees look at: their shape, and dense walks down them."""

import numpy as np


def rows_of(X, unit=True):
    """Dense rows, scaled to length one where they have any."""
    rows = X.toarray().astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1) if unit else rows


def margins(model, X):
    """Every decision of every row, as a dense matrix of rows and nodes."""
    weights = np.zeros((model.right_.size, model.n_features_in_))
    for node in range(model.right_.size):
        entries = slice(*model.weight_indptr_[node : node + 2])
        weights[node, model.features_[entries]] = model.weights_[entries]
    return rows_of(X, model.normalize) @ weights.T + model.intercepts_


def label_set(model, leaf):
    return frozenset(model.labels_[slice(*model.leaf_indptr_[leaf : leaf + 2])].tolist())


def shape(model, node=0):
    """The tree as nested pairs (positive child, negative child) of label sets."""
    if model.right_[node] < 0:
        return label_set(model, node)
    return shape(model, node + 1), shape(model, model.right_[node])


def code_lengths(tree, depth=0):
    """How many decisions lead to each label set of a nested tree."""
    if isinstance(tree, frozenset):
        return {tree: depth}
    return {**code_lengths(tree[0], depth + 1), **code_lengths(tree[1], depth + 1)}


def walk(model, X):
    """The leaf and the number of decisions of each row."""
    scores = margins(model, X)
    leaves, lengths = [], []
    for row in scores:
        node, length = 0, 0
        while model.right_[node] >= 0:
            node = node + 1 if row[node] > 0 else model.right_[node]
            length += 1
        leaves.append(node)
        lengths.append(length)
    return np.array(leaves), np.array(lengths)


def leaf_probabilities(model, X):
    """Chance of every leaf for every row: products along the ways."""
    probability = 1 / (1 + np.exp(-model.sharpness * margins(model, X)))
    reached = np.zeros_like(probability)
    reached[:, 0] = 1
    for node in np.flatnonzero(model.right_ >= 0):
        reached[:, node + 1] = reached[:, node] * probability[:, node]
        reached[:, model.right_[node]] = reached[:, node] * (1 - probability[:, node])
        reached[:, node] = 0
    return reached


def sets_of(Y):
    return [frozenset(np.flatnonzero(row).tolist()) for row in Y.toarray()]


def entropy(counts):
    shares = np.asarray(counts) / np.sum(counts)
    return float(-(shares * np.log2(shares)).sum())
