"""Bounds for trees of rules: what a given size costs, and how complexity grows with depth."""

from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from labelwood.core.bound import Bound, Terms
from labelwood.core.params import Instance, Integer, Real, check_parameter
from labelwood.core.types import AnyArray
from labelwood.errors import DataError

if TYPE_CHECKING:
    from labelwood.trees.rules.decision_tree import RuleTreeClassifier


def depth_complexity(depth: int, n: int) -> float:
    """T/√n, to which the Rademacher complexity of trees of depth T is proportional.

    *Topics in Learning Theory*, lecture 8, gives no constant: the figure orders trees of
    different depths and sample sizes, and bounds nothing. `rule_tree_bound` is a bound.

    Examples
    --------
    >>> depth_complexity(5, 10_000)
    0.05
    """
    check_parameter("depth_complexity", "depth", depth, Integer(low=0))
    check_parameter("depth_complexity", "n", n, Integer(low=1))
    return float(depth / np.sqrt(n))


def rule_tree_terms(
    n: int,
    n_wrong: int,
    n_thresholds: int,
    n_fixed: int,
    n_features: int,
    n_classes: int,
    delta: float,
) -> Terms:
    """The terms of `rule_tree_bound`.

    Parameters
    ----------
    n, n_wrong : int
        Samples, and how many the tree gets wrong.
    n_thresholds, n_fixed : int
        Splits at thresholds chosen by the samples, and splits into present and absent.
    n_features, n_classes : int
    delta : float

    Notes
    -----
    Shape, features and labels given, the predictions on n samples are fixed by the sides of the
    samples at each threshold, of which there are n + 1: Π = (n + 1)^n_thresholds. By Massart's
    lemma and McDiarmid's inequality the error is at most

        training error + √(2 ln Π / n) + √(ln(1/δ') / 2n),

    and the union over shapes (a bit per node), kinds of splits (a bit each), features and labels
    adds the logarithm of their number to ln(1/δ). This is the counted bound of
    `labelwood.trees.bounds.formulas.counted_tree_terms` for splits of one feature.

    Examples
    --------
    >>> terms = rule_tree_terms(10_000, 500, 0, 9, 1_000, 2, 0.05)
    >>> {name: round(value, 3) for name, value in terms.items()}
    {'training error': 0.05, 'thresholds': 0.0, 'choices and confidence': 0.068}
    """
    n_splits = n_thresholds + n_fixed
    n_leaves = n_splits + 1
    choices = (
        (n_splits + n_leaves + n_splits) * np.log(2)
        + n_splits * np.log(n_features)
        + n_leaves * np.log(n_classes)
    )
    return {
        "training error": n_wrong / n,
        "thresholds": float(np.sqrt(2 * n_thresholds * np.log(n + 1) / n)),
        "choices and confidence": float(np.sqrt((choices + np.log(1 / delta)) / (2 * n))),
    }


def rule_tree_bound(
    model: "RuleTreeClassifier", X: object, y: object, delta: float = 0.05
) -> Bound:
    """The error of a rule tree on new samples, by its number of splits.

    Parameters
    ----------
    model : fitted RuleTreeClassifier of classes
        Without categorical features, and with `missing` "error" or "zero".
    X, y : the samples it was fitted on, or other ones
    delta : float
        The bound fails with at most this probability.

    Examples
    --------
    >>> from labelwood import RuleTreeClassifier
    >>> X = np.random.default_rng(0).integers(0, 2, (20_000, 10))
    >>> y = X[:, 3] | X[:, 7]
    >>> model = RuleTreeClassifier(presence_features="all").fit(X, y)
    >>> bound = rule_tree_bound(model, X, y)
    >>> bound.vacuous, bound.value < 0.03
    (False, True)
    """
    check_parameter("rule_tree_bound", "model", model, Instance("RuleTreeClassifier"))
    check_parameter("rule_tree_bound", "delta", delta, Real(above=0, below=1))
    check_is_fitted(model)
    if model.multilabel_ or model.categories_.size:
        raise DataError("rule_tree_bound needs a model of classes without categorical features.")
    if model.missing in ("value", "impute"):
        raise DataError(
            f"rule_tree_bound does not count the sides of missing values, nor values imputed from "
            f"the samples (missing={model.missing!r}); fit with missing='error' or 'zero'."
        )
    wrong = _wrong(model, X, y)
    trees = model._trees()
    inner = trees.right >= 0
    n_fixed = int(np.count_nonzero(inner & (trees.thresholds == 0)))
    n_thresholds = int(np.count_nonzero(inner)) - n_fixed
    terms = rule_tree_terms(
        wrong.size,
        int(np.count_nonzero(wrong)),
        n_thresholds,
        n_fixed,
        model.n_features_in_,
        max(int(model.classes_.size), 2),
        delta,
    )
    return Bound(
        "error on new samples",
        terms,
        1.0,
        f"independent samples of one distribution; holds with probability {1 - delta:g}",
        "counted trees; Massart's lemma, McDiarmid's inequality",
        {
            "samples": wrong.size,
            "leaves": n_thresholds + n_fixed + 1,
            "depth": model.depth_,
            "T/√n (∝ complexity)": depth_complexity(model.depth_, wrong.size),
        },
    )


def _wrong(model: "RuleTreeClassifier", X: object, y: object) -> AnyArray:
    """Which samples the model gets wrong."""
    predicted, truth = np.asarray(model.predict(X)), np.asarray(y)
    if truth.shape != predicted.shape:
        raise DataError(
            f"y must hold a class for each of the {predicted.size} rows of X. Got {truth.shape}."
        )
    unknown = ~np.isin(truth, model.classes_)
    if unknown.any():
        first = truth[unknown][0]
        raise DataError(f"y holds {first!r}, which is none of the model's classes.")
    return np.asarray(predicted != truth)
