"""A small forest, examples labeled along it, and the theory's formulas with dense matrices."""

import numpy as np
import scipy.sparse as sp

from labelwood import Taxonomy
from labelwood.core.sparse import unit_rows

FOREST = Taxonomy.from_edges(
    [("a", "a1"), ("a", "a2"), ("a1", "a1x"), ("a1", "a1y"), ("b", "b1")],
    names=["a1x", "a", "b", "a1", "a2", "a1y", "b1"],  # children before parents, too
)


def labeled_forest(n, d, seed=0, taxonomy=FOREST, noise=0.3):
    """Unit rows, and label sets drawn top-down by noisy linear decisions."""
    rng = np.random.default_rng(seed)
    X = unit_rows(sp.csr_array(rng.standard_normal((n, d)).astype(np.float32)))
    decisions = X @ rng.standard_normal((d, len(taxonomy)))
    positive = decisions + noise * rng.standard_normal(decisions.shape) > -0.3
    for node in taxonomy.order:
        if taxonomy.parent[node] >= 0:
            positive[:, node] &= positive[:, taxonomy.parent[node]]
    return X, sp.csr_array(positive.astype(np.float32))


def node_examples(X, Y, taxonomy, node, independent=False):
    """S (columns) and v of a node."""
    rows, labels = X.toarray().astype(np.float64), Y.toarray()
    parent = -1 if independent else taxonomy.parent[node]
    chosen = np.full(len(rows), True) if parent < 0 else labels[:, parent] > 0
    return rows[chosen].T, np.where(labels[chosen, node] > 0, 1.0, -1.0)


def dense_weights(X, Y, taxonomy, independent=False):
    """(I + SSᵀ)⁻¹ S v for each node; nothing for one that no example has."""
    weights = np.zeros((X.shape[1], len(taxonomy)))
    for node in range(len(taxonomy)):
        S, v = node_examples(X, Y, taxonomy, node, independent)
        if (v > 0).any():
            weights[:, node] = np.linalg.solve(np.eye(len(S)) + S @ S.T, S @ v)
    return weights


def seed_margin(S, v, x):
    """W_{i,t}ᵀ X_t of Figure 2: the current instance is among the examples, without a label."""
    A = np.eye(len(S)) + S @ S.T + np.outer(x, x)
    return np.linalg.solve(A, S @ v) @ x


def consistent(Y, taxonomy):
    """Whether every label comes with its parent, looked up one by one."""
    labels = Y.toarray() > 0
    return all(
        taxonomy.parent[node] < 0 or labels[row, taxonomy.parent[node]]
        for row, node in zip(*labels.nonzero(), strict=True)
    )


def on_line(model, X, Y, size=1):
    """The model after all examples, `size` at a time."""
    for start in range(0, X.shape[0], size):
        model.partial_fit(X[start : start + size], Y[start : start + size])
    return model


def state(model):
    """Everything that was learned, comparable byte by byte."""
    parts = {}
    for name, value in sorted(vars(model).items()):
        if name.endswith("_"):
            arrays = value if isinstance(value, list) else [value]
            parts[name] = [np.asarray(array).tobytes() for array in arrays]
    return parts
