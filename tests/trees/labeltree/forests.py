"""Random label trees in flat arrays, and a beam search that is slow and easy to read."""

import numpy as np

from labelwood.core.lanes import WIDTH
from labelwood.trees.labeltree.arrays import LabelForest
from labelwood.trees.labeltree.row_index import NO_DIRECTORY, NO_POSTINGS, Directory, Postings
from labelwood.trees.labeltree.row_index._lookup_kernels import feature_directory
from labelwood.trees.labeltree.row_index._posting_kernels import transpose_blocks


def random_forest(n_features, n_labels, *, n_trees=1, gaps=False, seed=0):
    """Trees of three or four levels, each with every label once; with `gaps`, in odd lanes too."""
    rng = np.random.default_rng(seed)
    nodes: list[tuple[bool, list[int]]] = []  # whether it is a leaf, and its children
    roots = []
    for _ in range(n_trees):
        roots.append(len(nodes))
        nodes.append((False, []))
        _grow(nodes, roots[-1], rng.permutation(n_labels), rng, depth=int(rng.integers(2, 4)))
    return _with_weights(roots, nodes, n_features, gaps, rng)


def _grow(nodes, node, labels, rng, depth):
    parts = np.array_split(labels, min(labels.size, int(rng.integers(2, 20 if depth == 2 else 5))))
    for part in parts:
        child = len(nodes)
        nodes[node][1].append(child)
        nodes.append((depth == 1, part.tolist() if depth == 1 else []))
        if depth > 1:
            _grow(nodes, child, part, rng, depth - 1)


def _with_weights(roots, nodes, n_features, gaps, rng):
    node_blocks, children = [0], []
    for _, targets in nodes:
        targets = list(targets)
        while gaps and rng.random() < 0.5:
            targets.insert(int(rng.integers(1, len(targets) + 1)), -1)
        targets += [-1] * (-len(targets) % WIDTH)
        children += targets
        node_blocks.append(node_blocks[-1] + len(targets) // WIDTH)
    n_blocks = node_blocks[-1]
    mask = rng.random((n_blocks, n_features, WIDTH)) < 0.2
    mask &= rng.random((n_blocks, n_features, 1)) < 0.6
    lanes = np.nonzero(mask)[2]
    used = mask.any(axis=2)
    return LabelForest(
        roots=np.array(roots, dtype=np.int64),
        node_blocks=np.array(node_blocks, dtype=np.int64),
        is_leaf=np.array([leaf for leaf, _ in nodes]),
        children=np.array(children, dtype=np.int32),
        intercepts=rng.normal(-0.5, 0.5, n_blocks * WIDTH).astype(np.float32),
        block_indptr=np.append(0, np.cumsum(used.sum(axis=1))),
        features=np.nonzero(used)[1].astype(np.uint32),
        entry_indptr=np.append(0, np.cumsum(mask.sum(axis=2)[used])),
        lanes=lanes.astype(np.uint8),
        weights=rng.normal(0, 1.5, lanes.size).astype(np.float32),
    )


def ways(forest, n_features):
    """What a search takes that goes by nodes, and what one takes that goes by rows."""
    directory = feature_directory(forest.block_indptr, forest.features, n_features)
    by_nodes = Directory(*directory), NO_POSTINGS
    return by_nodes, (NO_DIRECTORY, Postings(*transpose_blocks(forest, n_features)))


def dense_weights(forest, n_features):
    """The weights of each lane, as an array of shape (lanes, n_features)."""
    block = np.repeat(np.arange(forest.block_indptr.size - 1), np.diff(forest.block_indptr))
    row = np.repeat(np.arange(forest.features.size), np.diff(forest.entry_indptr))
    dense = np.zeros((forest.intercepts.size, n_features))
    dense[WIDTH * block[row] + forest.lanes, forest.features[row]] = forest.weights
    return dense


def hinge_log_scores(scores):
    """−max(0, 1 − s)², and a little less for the certain than for the very certain."""
    return -(np.maximum(0, 1 - scores) ** 2) - 0.01 / np.maximum(1, scores)


def log_scores(forest, X, *, logistic):
    """What every decision says of every row, as an array of shape (rows, lanes)."""
    scores = X.toarray().astype(np.float64) @ dense_weights(forest, X.shape[1]).T
    scores += forest.intercepts
    return -np.logaddexp(0, -scores) if logistic else hinge_log_scores(scores)


def slots(forest, node):
    """The lanes of a node that have a child."""
    lanes = range(WIDTH * forest.node_blocks[node], WIDTH * forest.node_blocks[node + 1])
    return [lane for lane in lanes if forest.children[lane] >= 0]


def label_decisions(forest, n_features):
    """Label → the weights and the intercept of its decision, in the last tree that has it."""
    dense = dense_weights(forest, n_features)
    lanes = [lane for leaf in np.flatnonzero(forest.is_leaf) for lane in slots(forest, leaf)]
    return {int(forest.children[lane]): (dense[lane], forest.intercepts[lane]) for lane in lanes}


def beam_search(forest, logs, root, beam, path_weight):
    """The labels that one row reaches in one tree, with their log scores."""
    standing, found = [(0.0, root)], {}
    while standing:
        candidates = []
        for path, node in standing:
            for lane in slots(forest, node):
                child = int(forest.children[lane])
                if forest.is_leaf[node]:
                    found[child] = logs[lane] + path_weight * path
                else:
                    candidates.append((logs[lane] + path, child))
        standing = sorted(candidates, key=lambda one: -one[0])[:beam]
    return found


def mean_scores(forest, X, n_labels, search):
    """Dense scores of all labels: the mean over the trees, zero where none reached the label."""
    logs = log_scores(forest, X, logistic=search.logistic)
    scores = np.zeros((X.shape[0], n_labels))
    for row, of_row in enumerate(logs):
        for root in forest.roots:
            found = beam_search(forest, of_row, root, search.beam, search.path_weight)
            for label, value in found.items():
                scores[row, label] += np.exp(value) / forest.roots.size
    return scores
