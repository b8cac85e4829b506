"""The likeliest label set of fitted margins, against all label sets of a forest."""

import itertools

import numpy as np
import pytest

from labelwood import HierarchicalRLSClassifier, Taxonomy
from labelwood.errors import ParameterError
from labelwood.taxonomy.hierarchy.decisions import Forest

PARENT = np.array([-1, 0, 0, 1, -1, 4], dtype=np.int32)


def log_probability(labels: tuple[int, ...], p: np.ndarray) -> float:
    """Of a label set, −∞ where a label lacks its parent."""
    total = 0.0
    for node, above in enumerate(PARENT.tolist()):
        if above >= 0 and not labels[above]:
            if labels[node]:
                return -np.inf
            continue
        total += np.log(p[node] if labels[node] else 1 - p[node])
    return total


def test_it_is_the_best_of_all_label_sets() -> None:
    rng = np.random.default_rng(5)
    margins = rng.uniform(-0.95, 0.95, (60, 6)).astype(np.float32)
    found = Forest(PARENT).likeliest(margins)
    signs = Forest(PARENT).predicted(margins)
    for row, answer in zip(margins, found, strict=True):
        p = (1 + row.astype(float)) / 2
        best = max(itertools.product([0, 1], repeat=6), key=lambda one: log_probability(one, p))
        assert tuple(answer.astype(int)) == best
    assert np.any(found != signs)  # a parent that is unlikely can be made good by its children


def test_a_fitted_model_gives_it_on_request() -> None:
    tree = Taxonomy.from_edges([("a", "b"), ("a", "c")])
    X = np.eye(3)[[0, 1, 2] * 4]
    Y = np.array([[1, 1, 0], [1, 0, 1], [0, 0, 0]] * 4)
    model = HierarchicalRLSClassifier(tree).fit(X, Y)
    margins = X @ model.coef_.toarray().T
    found = model.set_params(assignment="likeliest").predict(X).toarray() > 0
    np.testing.assert_array_equal(found, Forest(tree.parent).likeliest(margins))
    with pytest.raises(ParameterError, match="confidence is for single labels"):
        model.set_params(confidence=0.9).predict(X)
    graph = Taxonomy.from_edges([("a", "c"), ("b", "c")], parents="any")
    other = HierarchicalRLSClassifier(graph, assignment="likeliest").fit(X, Y)
    with pytest.raises(ParameterError, match="several parents"):
        other.predict(X)
