"""What theory says of a fitted tree: its error on new samples, and how many decisions it takes.

The theorems are those of Liu and Tsang (JMLR 2017); `docs/research/tree_bounds.md` explains which
of them hold, and how they were mended where they do not.
"""

from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from labelwood.core.bound import Bound
from labelwood.core.params import Instance, Real, check_parameter
from labelwood.errors import DataError
from labelwood.trees.bounds import fitted_trees as read
from labelwood.trees.bounds.formulas import (
    counted_tree_terms,
    gaussian_complexity,
    path_terms,
    perceptron_tree_terms,
)

if TYPE_CHECKING:
    from labelwood.trees.budgeted import BudgetedTreeClassifier
    from labelwood.trees.coding import (
        AnnotationTreeClassifier,
        CodingTreeClassifier,
        PowersetTreeClassifier,
    )


def budgeted_tree_bound(
    model: "BudgetedTreeClassifier", X: object, y: object, delta: float = 0.05
) -> Bound:
    """The error of a budgeted tree on new samples, by the few features that its decisions read.

    This holds where theorem 5 of Liu & Tsang 2017 (`perceptron_tree_bound`) says nothing; its terms
    are derived in `labelwood.trees.bounds.formulas.counted_tree_terms`.

    Parameters
    ----------
    model : fitted BudgetedTreeClassifier
    X, y : the samples it was fitted on, or other ones
    delta : float
        The bound fails with at most this probability.

    Examples
    --------
    >>> from labelwood.trees.budgeted import BudgetedTreeClassifier
    >>> x = np.random.default_rng(0).standard_normal((10_000, 3))
    >>> y = x[:, 1] + 0.3 * x[:, 2] > 0
    >>> model = BudgetedTreeClassifier(1, max_depth=1, random_state=0).fit(x, y)
    >>> bound = budgeted_tree_bound(model, x, y)
    >>> bound.vacuous, 0.2 < bound.value < 0.3
    (False, True)
    """
    _check("budgeted_tree_bound", model, "BudgetedTreeClassifier", delta)
    leaves, wrong = read.budgeted_mistakes(model, X, y)
    budgets = np.diff(model.indptr_)[model.right_ >= 0]
    terms = counted_tree_terms(
        wrong.size,
        int(np.count_nonzero(wrong)),
        budgets,
        read.functions_of_decisions(model),
        model.n_features_in_,
        leaves.shape[1],
        delta,
    )
    return Bound(
        "error on new samples",
        terms,
        1.0,
        f"independent samples of one distribution; holds with probability {1 - delta:g}",
        "in place of Liu & Tsang 2017, theorem 5",
        {"samples": wrong.size, "inner nodes": budgets.size, "depth": model.depth_},
    )


def perceptron_tree_bound(
    model: "BudgetedTreeClassifier", X: object, y: object, delta: float = 0.05, c: float = 1.0
) -> Bound:
    """Theorem 5 of Liu & Tsang 2017 as it is stated; it is vacuous for every tree with a decision.

    With d ≥ 1 and M ≥ 2 leaves its last term alone is more than (3d + 1) M √(ln(6/δ)/2) > 7,
    for any number of samples. It is here for its other terms, which tell where a tree is
    weak; `budgeted_tree_bound` is a bound to use.

    Parameters
    ----------
    model : fitted BudgetedTreeClassifier of two classes
    X, y : the samples it was fitted on
    delta : float
    c : float
        A constant that the theorem leaves open.

    Notes
    -----
    The function of a node is the mean of its folds, with the constant feature 1 for the
    intercept, and its margin is 1 / ‖(w, b)‖. The right answer at a node is the one that the
    sample took, but at the last decision of a sample in a leaf of the other class.

    Examples
    --------
    >>> from labelwood.trees.budgeted import BudgetedTreeClassifier
    >>> x = np.random.default_rng(0).standard_normal((100, 3))
    >>> y = x[:, 1] + 0.3 * x[:, 2] > 0
    >>> model = BudgetedTreeClassifier(1, max_depth=1, random_state=0).fit(x, y)
    >>> bound = perceptron_tree_bound(model, x, y)
    >>> bound.vacuous, round(bound.terms["confidence"], 1)
    (True, 12.5)
    """
    _check("perceptron_tree_bound", model, "BudgetedTreeClassifier", delta)
    check_parameter("perceptron_tree_bound", "c", c, Real(above=0))
    if model.roots_.size > 1:
        raise DataError(f"Theorem 5 is about two classes. The model has {model.classes_.size}.")
    reached, wrong = read.budgeted_mistakes(model, X, y)
    leaves = read.perceptron_leaves(model, model._check_X(X), reached[:, 0], wrong)
    budget = int(np.diff(model.indptr_).max())
    complexity = gaussian_complexity(wrong.size, model.n_features_in_, budget)
    return Bound(
        "error on new samples",
        perceptron_tree_terms(leaves, wrong.size, model.depth_, complexity, delta, c),
        1.0,
        f"independent samples of one distribution, and the open constant c = {c:g}; "
        f"holds with probability {1 - delta:g}",
        "Liu & Tsang 2017, theorem 5",
        {"samples": wrong.size, "leaves": len(leaves), "depth": model.depth_},
        "the confidence term does not fall with the number of samples",
    )


def powerset_length_bound(model: "PowersetTreeClassifier") -> Bound:
    """Mean decisions of a powerset tree: from H to below H + 1 (Liu & Tsang 2017, theorem 12).

    That of a Huffman code. H is the entropy in bits of how the training samples spread
    over the leaves. Vacuous where a code of ⌈log₂ leaves⌉ bits for each set is as good.

    Examples
    --------
    >>> from labelwood.trees.coding import PowersetTreeClassifier
    >>> model = PowersetTreeClassifier(random_state=0).fit(np.eye(4), ["a", "b", "c", "c"])
    >>> print(powerset_length_bound(model))
    mean decisions ≤ 2.5 (Liu & Tsang 2017, theorem 12)
      entropy         1.5
      one decision    1
      vacuous: 2 or less is known without it
      mean decisions  1.5
      leaves          3
      assumes samples that follow the code of their own label set
    """
    _check("powerset_length_bound", model, "PowersetTreeClassifier")
    return Bound(
        "mean decisions",
        {"entropy": model.entropy_, "one decision": 1.0},
        float(np.ceil(np.log2(model.n_leaves_))),
        "samples that follow the code of their own label set",
        "Liu & Tsang 2017, theorem 12",
        {"mean decisions": model.mean_decisions_, "leaves": model.n_leaves_},
    )


def annotation_length_bound(model: "AnnotationTreeClassifier") -> Bound:
    """Mean decisions of an annotation tree (Liu & Tsang 2017, theorem 13, which does not hold).

    The theorem claims H ≤ mean < H + 1. The first half is true of any binary tree. No bound
    by the entropy alone can replace the second: when nearly all samples have all of q labels, H
    is nearly 0 and the mean nearly q. What holds is that a label is asked for once at most,
    and each decision parts the leaves: mean ≤ min(q, leaves − 1), with q the labels that some
    but not all leaves have. `facts` has the claim, and H / mean, the bits that a decision tells.

    Examples
    --------
    >>> from labelwood.trees.coding import AnnotationTreeClassifier
    >>> Y = [[]] * 9 + [["a"], ["b"]]
    >>> print(annotation_length_bound(AnnotationTreeClassifier(random_state=0).fit(np.eye(11), Y)))
    mean decisions ≤ 2 (in place of Liu & Tsang 2017, theorem 13)
      labels to ask for  2
      vacuous: 2 or less is known without it
      mean decisions     1.909
      entropy            0.8659
      claimed limit      1.866
      bits a decision    0.4535
      the claim mean < H + 1 fails for this tree
      assumes samples that follow the code of their own label set
    """
    _check("annotation_length_bound", model, "AnnotationTreeClassifier")
    leaves_with = np.bincount(model.labels_, minlength=model.classes_.size)
    n_open = int(np.count_nonzero((leaves_with > 0) & (leaves_with < model.n_leaves_)))
    mean, entropy = model.mean_decisions_, model.entropy_
    holds = "holds" if mean < entropy + 1 else "fails"
    return Bound(
        "mean decisions",
        {"labels to ask for": float(min(n_open, model.n_leaves_ - 1))},
        float(model.n_leaves_ - 1),
        "samples that follow the code of their own label set",
        "in place of Liu & Tsang 2017, theorem 13",
        {
            "mean decisions": mean,
            "entropy": entropy,
            "claimed limit": entropy + 1,
            "bits a decision": entropy / mean if mean else 0.0,
        },
        f"the claim mean < H + 1 {holds} for this tree",
    )


def powerset_error_bound(
    model: "PowersetTreeClassifier",
    X: object,
    y: object,
    label_set: object,
    delta: float = 0.05,
    *,
    radius: float | None = None,
) -> Bound:
    """How often a powerset tree is wrong about one label set (Liu & Tsang 2017, theorem 17).

    Wrong is a sample of the label set that ends elsewhere, or another that ends in its leaf.

    Parameters
    ----------
    model : fitted PowersetTreeClassifier
    X, y : the samples it was fitted on
    label_set : list, set or array of labels
        The class itself after a fit on one class for each sample.
    delta : float
        The bound fails with at most this probability.
    radius : float, optional
        Of a ball around 0 that holds all samples that could be drawn. 1 for a model that
        normalizes rows; else the longest row of X, which more samples could exceed.

    Notes
    -----
    Samples and decisions get a constant feature 1 for the intercept, which makes the radius
    √(R² + 1); margins are of decisions of unit length in that space. The theorem needs a path
    whose decisions make no mistake on these samples: else the bound is infinite. Only samples
    whose label set has a leaf count.

    Examples
    --------
    >>> from labelwood.trees.coding import PowersetTreeClassifier
    >>> X, y = np.tile(np.eye(2), (200, 1)), ["a", "b"] * 200
    >>> model = PowersetTreeClassifier(random_state=0).fit(X, y)
    >>> list(powerset_error_bound(model, X, y, "a").terms)
    ['margins', 'decisions', 'confidence']
    """
    _check("powerset_error_bound", model, "PowersetTreeClassifier", delta)
    return _path_bound(model, X, y, label_set, delta, radius, "17")


def annotation_error_bound(
    model: "AnnotationTreeClassifier",
    X: object,
    y: object,
    label_set: object,
    delta: float = 0.05,
    *,
    radius: float | None = None,
) -> Bound:
    """How often a decision on the path to one label set is wrong (Liu & Tsang 2017, theorem 18).

    Wrong is an answer about its label to a sample that all decisions above answered rightly.
    Parameters and notes are those of `powerset_error_bound`; the shape of the tree may depend on
    the samples as long as each has a leaf.

    Examples
    --------
    >>> from labelwood.trees.coding import AnnotationTreeClassifier
    >>> X, Y = np.tile(np.eye(2), (200, 1)), [["a"], ["b"]] * 200
    >>> model = AnnotationTreeClassifier(random_state=0).fit(X, Y)
    >>> bound = annotation_error_bound(model, X, Y, ["a"])
    >>> bound.vacuous, bound.facts["wrong decisions"]  # far too few samples
    (True, 0)
    """
    _check("annotation_error_bound", model, "AnnotationTreeClassifier", delta)
    return _path_bound(model, X, y, label_set, delta, radius, "18")


def _path_bound(
    model: "CodingTreeClassifier",
    X: object,
    y: object,
    label_set: object,
    delta: float,
    radius: float | None,
    theorem: str,
) -> Bound:
    rows = model._scaled(model._check_X(X))
    n = rows.shape[0]
    R = read.enclosing_radius(rows, radius, bool(model.normalize))
    tree = model._tree()
    leaves = read.leaf_of_set(tree, model.classes_.size)
    wanted = read.set_keys(read.one_label_set(model, label_set))[0]
    if wanted not in leaves:
        raise DataError(f"No leaf of the tree has the label set {label_set!r}.")
    own = [leaves.get(one, -1) for one in read.set_keys(read.known_labels(model, y, n))]
    of_sample = np.array(own, dtype=np.int64)
    margins, n_wrong = read.path_margins(tree, rows, of_sample, leaves[wanted], R)
    n_outside = int(np.count_nonzero(of_sample < 0))
    assumes = f"independent samples within {R:.4g} of 0, constant feature included; "
    if theorem == "17" or n_outside:
        assumes += "a shape of the tree that does not depend on them; "
    return Bound(
        "mistakes on the path" if theorem == "18" else "errors about the label set",
        path_terms(margins, R, n, delta),
        1.0,
        f"{assumes}holds with probability {1 - delta:g}",
        f"Liu & Tsang 2017, theorem {theorem}",
        {
            "samples": n,
            "samples without a leaf": n_outside,
            "wrong decisions": n_wrong,
            "smallest margin": float(margins.min(initial=R)),
        },
        "a decision errs on these samples: the theorem does not apply" if n_wrong else "",
    )


def _check(name: str, model: object, kind: str, delta: float = 0.5) -> None:
    check_parameter(name, "model", model, Instance(kind))
    check_parameter(name, "delta", delta, Real(above=0, below=1))
    check_is_fitted(model)
