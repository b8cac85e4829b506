"""Metrics of label sets in a taxonomy, after closing both sides under ancestors."""

from typing import TYPE_CHECKING

from labelwood.errors import DataError
from labelwood.metrics._inputs import check_sets
from labelwood.metrics.label_sets import MatchedSets, matched_sets

if TYPE_CHECKING:
    from labelwood.data.taxonomy import Taxonomy


def closed_sets(Y_true: object, Y_pred: object, taxonomy: "Taxonomy") -> MatchedSets:
    """True and predicted labels with all their ancestors, matched."""
    true, predicted = check_sets(Y_true, Y_pred)
    if len(taxonomy.parent) != true.shape[1]:
        raise DataError(
            f"The taxonomy has {len(taxonomy.parent)} labels and Y_true has {true.shape[1]}."
        )
    return matched_sets(taxonomy.close(true), taxonomy.close(predicted))


def hierarchical_f1(Y_true: object, Y_pred: object, taxonomy: "Taxonomy") -> float:
    """Micro F1 of the label sets closed under ancestors (Kiritchenko et al. 2005).

    A wrong label costs less the more ancestors it shares with a true one.

    Examples
    --------
    >>> from labelwood.data.taxonomy import Taxonomy
    >>> tree = Taxonomy.from_edges([("animal", "cat"), ("animal", "dog")])
    >>> cat, dog = [[0, 1, 0]], [[0, 0, 1]]
    >>> hierarchical_f1(cat, dog, tree)
    0.5
    """
    return closed_sets(Y_true, Y_pred, taxonomy).f1_micro().value


def any_wrong_loss(Y_true: object, Y_pred: object, taxonomy: "Taxonomy") -> float:
    """The share of samples with at least one label of the taxonomy wrong.

    The loss P(∃i: ŷ_i ≠ V_i) whose regret theorem 1 of Cesa-Bianchi, Conconi and Gentile,
    "Regret Bounds for Hierarchical Classification with Linear-Threshold Functions", COLT
    2004, bounds. Multilabels are closed there by definition, so that it is the subset 0/1
    loss of the closed sets.

    Examples
    --------
    >>> from labelwood.data.taxonomy import Taxonomy
    >>> tree = Taxonomy.from_edges([("animal", "cat"), ("animal", "dog")])
    >>> any_wrong_loss([[1, 1, 0], [0, 1, 0]], [[0, 1, 0], [0, 0, 1]], tree)
    0.5
    """
    return closed_sets(Y_true, Y_pred, taxonomy).subset_loss().value
