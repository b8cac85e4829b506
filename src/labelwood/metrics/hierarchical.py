"""Metrics of label sets in a taxonomy, after closing both sides under ancestors."""

from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy.sparse as sp

from labelwood.core.classes import MAX_WEIGHT
from labelwood.core.params import OneOf, check_parameter
from labelwood.core.types import CSR, DoubleArray
from labelwood.errors import DataError
from labelwood.metrics._inputs import check_sets
from labelwood.metrics.intervals import PerSample
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


def h_loss(
    Y_true: object,
    Y_pred: object,
    taxonomy: "Taxonomy",
    *,
    costs: Literal["uniform", "normalized"] | DoubleArray = "uniform",
) -> float:
    """The cost of wrong labels below which no ancestor is wrong, the mean over samples.

    A wrong label is charged its cost unless one of its ancestors is wrong too, since nobody looks
    below a wrong label: the H-loss of Cesa-Bianchi, Gentile and Zaniboni, "Incremental
    Algorithms for Hierarchical Classification", JMLR 2006. Both sides are closed first.

    Parameters
    ----------
    Y_true, Y_pred : sparse matrices or arrays of shape (n, n_labels)
        Indicators.
    taxonomy : Taxonomy
    costs : {"uniform", "normalized"} or array of shape (n_labels,)
        1 for every label; or 1 shared by the roots and then the cost of each label shared by
        its children (of several parents the least share), so that the loss is at most 1; or
        what an error costs at each label.

    Examples
    --------
    >>> from labelwood.data.taxonomy import Taxonomy
    >>> tree = Taxonomy.from_edges([("animal", "cat"), ("animal", "dog")])
    >>> cat, dog, nothing = [[0, 1, 0]], [[0, 0, 1]], [[0, 0, 0]]
    >>> h_loss(cat, dog, tree), h_loss(cat, nothing, tree)
    (2.0, 1.0)
    >>> h_loss(cat, dog, tree, costs="normalized")
    1.0
    """
    return h_loss_per_sample(Y_true, Y_pred, taxonomy, costs).value


def h_loss_per_sample(
    Y_true: object, Y_pred: object, taxonomy: "Taxonomy", costs: object
) -> PerSample:
    """What each sample adds to `h_loss`."""
    sets = closed_sets(Y_true, Y_pred, taxonomy)
    weights = _label_costs(costs, taxonomy)
    wrong = sp.csr_array(abs(sets.true - sets.predicted))
    wrong.eliminate_zeros()
    below = sp.csr_array(wrong.multiply(wrong @ _descendants(taxonomy)))
    below.eliminate_zeros()
    below.data[:] = 1
    charged = (wrong - below) @ weights
    span = 1.0 if isinstance(costs, str) and costs == "normalized" else float(weights.sum())
    return PerSample.mean(np.asarray(charged, dtype=np.float64), span, (0.0, span))


def _label_costs(costs: object, taxonomy: "Taxonomy") -> DoubleArray:
    n = len(taxonomy)
    if isinstance(costs, str):
        check_parameter("h_loss", "costs", costs, OneOf("uniform", "normalized"))
        if costs == "uniform":
            return np.ones(n)
        values = np.full(n, np.inf)
        values[taxonomy.roots] = 1 / taxonomy.roots.size
        for node in taxonomy.order.tolist():
            children = taxonomy.children(node)
            share = values[node] / max(children.size, 1)
            values[children] = np.minimum(values[children], share)
        return values
    values = np.asarray(costs, dtype=np.float64)
    if values.shape != (n,) or not ((values >= 0) & (values <= MAX_WEIGHT)).all():
        raise DataError(f"costs must be a number from 0 to {MAX_WEIGHT:g} for each of {n} labels.")
    return values


def _descendants(taxonomy: "Taxonomy") -> CSR:
    """Row a has a one for each label below a."""
    parents = taxonomy.parent_sets.matrix()
    above = parents
    for _ in range(int(taxonomy.depth.max())):
        above = parents + parents @ above
        above.data[:] = 1
    return sp.csr_array(above.T)
