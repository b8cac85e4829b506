"""Theorems 4 and 16 and lemma 15 of Liu & Tsang 2017 against their formulas and against data."""

import math

import numpy as np
import pytest

from labelwood import BudgetedClassifier
from labelwood.errors import DataError, ParameterError
from labelwood.trees.bounds.linear_decisions import (
    budgeted_classifier_bound,
    fat_shattering_bound,
    path_dimension_bound,
    theorem_4_terms,
)


def test_theorem_4_is_the_formula_at_the_best_margin_of_the_grid() -> None:
    rng = np.random.default_rng(0)
    margins, squares = rng.normal(0.3, 0.2, 500), rng.uniform(0.5, 1, 500)
    terms, gamma = theorem_4_terms(margins, squares, 2, 9, 0.1)
    values = []
    R = math.sqrt(squares.max())
    for j in range(1, 21):
        g = R / 2**j
        log_choices = math.log(10 * math.comb(9, 2) * j * (j + 1))
        values.append(
            sum(max(g - one, 0) for one in margins) / (500 * g)
            + 4 * math.sqrt(squares.sum()) / (500 * g)
            + 3 * math.sqrt((math.log(2 / 0.1) + log_choices) / 1000)
        )
    assert sum(terms.values()) == pytest.approx(min(values), rel=1e-12)
    assert gamma == pytest.approx(R / 2 ** (1 + int(np.argmin(values))))


def test_the_bound_of_a_decision_holds_on_new_samples_and_uses_unit_weights() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12_000, 5))
    y = X[:, 2] + 0.3 * rng.normal(size=12_000) > 0
    model = BudgetedClassifier(1).fit(X[:6000], y[:6000])
    bound = budgeted_classifier_bound(model, X[:6000], y[:6000])
    error = np.mean(model.predict(X[6000:]) != y[6000:])
    assert error < bound.value
    assert not bound.vacuous
    assert error < bound.facts["counted"] < bound.value
    assert bound.facts["features read"] == 1
    n, k = 6000, 1
    counted = (
        bound.facts["training error"]
        + math.sqrt(2 / n * 2 * math.log(math.e * n / 2))
        + math.sqrt((math.log(1 / 0.05) + math.log(6 * math.comb(5, k))) / (2 * n))
    )
    assert bound.facts["counted"] == pytest.approx(counted, rel=1e-12)
    with pytest.raises(DataError, match="rows and y"):
        budgeted_classifier_bound(model, X, y[:5])
    with pytest.raises(ParameterError, match="'delta'"):
        budgeted_classifier_bound(model, X, y, delta=1.5)


def test_the_bound_of_a_decision_is_theorem_4_of_its_weights_of_norm_one() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    y = X[:, 1] - 0.5 * X[:, 3] + 0.4 > 0
    model = BudgetedClassifier(2).fit(X, y)
    bound = budgeted_classifier_bound(model, X, y)
    scores = model.decision_function(X)
    weights = np.linalg.lstsq(np.column_stack([X, np.ones(300)]), scores, rcond=None)[0]
    margins = np.where(y, 1, -1) * scores / np.linalg.norm(weights)
    squares = (X[:, [1, 3]].astype(float) ** 2).sum(axis=1) + 1
    terms, margin = theorem_4_terms(margins, squares, 2, 4, 0.05)
    assert bound.terms == pytest.approx(terms, rel=1e-4)
    assert bound.facts["margin"] == pytest.approx(margin, rel=1e-6)
    assert bound.assumes.endswith("probability 0.95")
    assert bound.trivial == path_dimension_bound([1.0], 9).trivial == 1


def test_theorem_16_is_the_smaller_of_its_two_halves() -> None:
    assert fat_shattering_bound(2.0, 0.5, 100) == 16
    assert fat_shattering_bound(2.0, 0.1, 10) == 11
    assert fat_shattering_bound(0.5, 0.25, 0) == 1
    for bad in ((0.0, 1.0, 1), (1.0, 0.0, 1), (1.0, 1.0, -1)):
        with pytest.raises(ParameterError, match="fat_shattering_bound"):
            fat_shattering_bound(*bad)


def test_lemma_15_is_its_formula() -> None:
    k, n, delta = np.array([3.0, 7.0]), 5000, 0.02
    log2 = math.log2
    expected = (
        sum(one * log2(4 * math.e * n / one) for one in k) * log2(8 * n) + log2(2**2 / delta)
    ) / n
    assert path_dimension_bound(k, n, delta).value == pytest.approx(expected, rel=1e-12)
    assert path_dimension_bound(k, n) == path_dimension_bound(k, n, 0.05)
    assert path_dimension_bound(k, 1).vacuous
    with pytest.raises(ParameterError, match="'n'"):
        path_dimension_bound(k, 0)
    with pytest.raises(ParameterError, match="'delta'"):
        path_dimension_bound(k, n, 1.5)
    with pytest.raises(DataError, match="positive numbers"):
        path_dimension_bound([0.0], 10)
