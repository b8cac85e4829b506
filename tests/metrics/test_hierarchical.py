import numpy as np
import pytest
from sklearn.metrics import f1_score, zero_one_loss

from builders import random_labels
from labelwood import metrics
from labelwood.data.taxonomy.taxonomy import Taxonomy
from labelwood.errors import DataError

#   0      4
#   ├─ 1   └─ 5
#   │  └─ 3
#   └─ 2
TREE = Taxonomy.from_edges([(0, 1), (0, 2), (1, 3), (4, 5)], names=list("abcdef"))


def closure(Y: np.ndarray) -> np.ndarray:
    closed = np.zeros(Y.shape, dtype=int)
    for row, label in np.argwhere(Y):
        while label >= 0:
            closed[row, label] = 1
            label = TREE.parent[label]
    return closed


def test_hierarchical_f1_by_hand() -> None:
    true = [[0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 1]]  # closed: 0 1 3 and 4 5
    predicted = [[0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 1, 0]]  # closed: 0 2 and 4; right: 0 and 4
    assert metrics.hierarchical_f1(true, predicted, TREE) == pytest.approx(2 * 2 / (5 + 3))


def test_a_label_set_that_only_lacks_ancestors_is_not_wrong() -> None:
    true = [[1, 1, 0, 1, 0, 0], [0, 0, 0, 0, 1, 1]]
    predicted = [[0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]]
    assert metrics.any_wrong_loss(true, predicted, TREE) == 0.5
    assert metrics.subset_loss(true, predicted) == 1


def test_both_agree_with_scikit_learn_on_closed_sets() -> None:
    true, predicted = random_labels(60, 6, seed=1), random_labels(60, 6, seed=2)
    closed_true, closed_predicted = closure(true.toarray()), closure(predicted.toarray())
    assert metrics.hierarchical_f1(true, predicted, TREE) == pytest.approx(
        f1_score(closed_true, closed_predicted, average="micro")
    )
    assert metrics.any_wrong_loss(true, predicted, TREE) == pytest.approx(
        zero_one_loss(closed_true, closed_predicted)
    )


def test_a_taxonomy_of_other_labels_is_refused() -> None:
    with pytest.raises(DataError, match="taxonomy has 6 labels and Y_true has 2"):
        metrics.hierarchical_f1([[1, 0]], [[1, 0]], TREE)


def h_loss_by_hand(true: np.ndarray, predicted: np.ndarray, costs: np.ndarray) -> float:
    total = 0.0
    for row, other in zip(closure(true), closure(predicted), strict=True):
        for label in range(6):
            above, clear = int(TREE.parent[label]), True
            while above >= 0:
                clear &= row[above] == other[above]
                above = int(TREE.parent[above])
            total += costs[label] * (row[label] != other[label] and clear)
    return total / len(true)


def test_the_h_loss_charges_wrong_labels_whose_ancestors_are_right() -> None:
    true, predicted = (random_labels(80, 6, seed=s).toarray() for s in (3, 4))
    costs = np.array([1.0, 2, 3, 4, 5, 6])
    for given, values in (
        ("uniform", np.ones(6)),
        ("normalized", np.array([1 / 2, 1 / 4, 1 / 4, 1 / 4, 1 / 2, 1 / 2])),
        (costs, costs),
    ):
        found = metrics.h_loss(true, predicted, TREE, costs=given)
        assert found == pytest.approx(h_loss_by_hand(true, predicted, values))
    with pytest.raises(DataError, match="for each of 6 labels"):
        metrics.h_loss(true, predicted, TREE, costs=[1.0])


def test_costs_whose_sums_would_overflow_are_refused() -> None:
    labels = random_labels(80, 6, seed=3).toarray()
    with pytest.raises(DataError, match=r"from 0 to 1e\+150 for each of 6 labels"):
        metrics.h_loss(labels, labels, TREE, costs=np.full(6, 1e308))
