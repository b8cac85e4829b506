"""Categories and missing values."""

import itertools

import numpy as np
import pandas as pd
import pytest

from labelwood import RuleTreeClassifier, RuleTreeRegressor
from labelwood.errors import DataError, LabelwoodWarning


def subset_losses(codes, y, loss):
    """The loss of every split of the categories into two subsets."""
    present = np.unique(codes)
    for size in range(1, present.size):
        for left in itertools.combinations(present, size):
            side = np.isin(codes, left)
            yield loss(y[side]) + loss(y[~side])


def gini(y):
    return y.size * y.mean() * (1 - y.mean())


def entropy(y):
    p = np.clip(y.mean(), 1e-300, 1 - 1e-16)
    return -y.size * (p * np.log(p) + (1 - p) * np.log1p(-p))


@pytest.mark.parametrize("n_categories", range(2, 9))
@pytest.mark.parametrize(("criterion", "loss"), [("gini", gini), ("log_loss", entropy)])
def test_subsets_for_two_classes_are_the_best_of_all(n_categories, criterion, loss):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, n_categories, 120)
        y = (rng.random(120) < rng.random(n_categories)[codes]).astype(int)
        model = RuleTreeClassifier(criterion=criterion, categorical_features=[0], max_depth=1)
        model.fit(codes[:, None], y)
        found = model._trees().losses[1:].sum()
        assert found == pytest.approx(min(subset_losses(codes, y, loss)), abs=1e-9)


def test_subsets_for_regression_are_the_best_of_all():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 7, 100)
    y = rng.standard_normal(7)[codes] + 0.3 * rng.standard_normal(100)
    model = RuleTreeRegressor(categorical_features="all", max_depth=1).fit(codes[:, None], y)
    best = min(subset_losses(codes, y, lambda part: part.size * part.var()))
    assert model._trees().losses[1:].sum() == pytest.approx(best)


def test_for_three_classes_the_best_order_by_a_class_is_found():
    codes = np.repeat(np.arange(4), 30)
    y = np.repeat([0, 1, 0, 2], 30)
    model = RuleTreeClassifier(categorical_features=[0], max_depth=1).fit(codes[:, None], y)
    left, _ = (
        frozenset(np.flatnonzero(model.apply(codes[:, None])[:, 0] == leaf)) for leaf in (1, 2)
    )
    assert {int(codes[row]) for row in left} in ({0, 2}, {1, 3})


def test_categories_that_training_has_not_seen_take_the_larger_side_with_a_warning():
    codes = np.array([0] * 10 + [1] * 20 + [3] * 5)[:, None]
    y = np.array([0] * 10 + [1] * 20 + [1] * 5)
    model = RuleTreeClassifier(categorical_features=[0]).fit(codes, y)
    with pytest.warns(LabelwoodWarning, match=r"1 values .*first: 40 in row 0, column 0"):
        assert model.predict([[40]]).tolist() == [1]
    with pytest.warns(LabelwoodWarning, match=r"first: 2 in row 0"):  # below the largest one
        assert model.predict([[2]]).tolist() == [1]
    with pytest.warns(LabelwoodWarning, match="rules with 'in' do not match them"):
        assert model.rules().predict([[40]]).tolist() == [1]


def test_new_categories_are_counted_over_all_rows_with_the_row_of_the_first():
    codes = np.array([[1.0], [2.0]] * 5)
    model = RuleTreeClassifier(categorical_features=[0]).fit(codes, [0, 1] * 5)
    many = np.tile(codes, (300, 1))
    many[2_500:2_503] = 7  # beyond the first block of rows
    with pytest.warns(LabelwoodWarning, match="3 values .*first: 7 in row 2500") as record:
        model.predict(many)
    assert len(record) == 1


def test_categories_beside_text_and_numbers():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 5, 200), rng.random(200) > 0.8, rng.standard_normal(200)])
    y = np.isin(X[:, 0], [1, 4]) | (X[:, 1] > 0)
    model = RuleTreeClassifier(categorical_features=[0], presence_features=[1]).fit(X, y)
    assert model.score(X, y) == 1
    assert set(model.selected_features_) == {0, 1}


NAN = np.nan
VALUES = np.array([[1.0], [2.0], [NAN], [NAN], [3.0], [4.0]])
CLASSES = np.array([0, 0, 1, 1, 0, 0])


def test_missing_as_a_value_of_its_own_is_split_from_the_rest():
    model = RuleTreeClassifier(missing="value").fit(VALUES, CLASSES)
    assert model.n_leaves_ == 2
    assert model.thresholds_[0] == np.inf
    assert not model.missing_left_[0]
    assert model.predict(VALUES).tolist() == CLASSES.tolist()
    assert [str(rule) for rule in model.rules().rule_list()] == [
        'x0 not missing -> "0"',
        'OTHERWISE -> "1"',
    ]


def test_missing_as_a_value_goes_with_the_side_that_gains_most():
    X = np.array([[1.0], [2.0], [NAN], [5.0], [6.0], [NAN]])
    model = RuleTreeClassifier(missing="value", max_depth=1).fit(X, [0, 0, 1, 1, 1, 1])
    assert model.thresholds_[0] == 3.5
    assert not model.missing_left_[0]
    assert model.predict([[NAN]]).tolist() == [1]
    other = RuleTreeClassifier(missing="value", max_depth=1).fit(X, [0, 0, 0, 1, 1, 0])
    assert other.missing_left_[0]
    assert str(other.rules().rule_list()[0]) == 'x0 <= 3.5 or missing -> "0"'


def test_missing_as_zero():
    model = RuleTreeClassifier(missing="zero").fit(VALUES, CLASSES)
    assert model.thresholds_[0] == 0.5  # between the zeros and 1
    assert model.predict([[NAN], [0.2], [0.8]]).tolist() == [1, 1, 0]


def test_missing_imputed_by_the_mean_and_by_the_commonest_category():
    model = RuleTreeClassifier(missing="impute").fit(VALUES, CLASSES)
    assert model.imputed_.tolist() == [2.5]
    assert model.thresholds_[model.features_ >= 0].tolist() in ([2.25, 2.75], [2.75, 2.25])
    weighted = RuleTreeClassifier(missing="impute").fit(VALUES, CLASSES, [1, 1, 1, 1, 1, 5])
    assert weighted.imputed_.tolist() == [3.25]  # (1 + 2 + 3 + 5 · 4) / 8
    codes = np.array([[2.0], [2.0], [0.0], [NAN]])
    by_category = RuleTreeClassifier(missing="impute", categorical_features=[0])
    assert by_category.fit(codes, [1, 1, 0, 1]).imputed_.tolist() == [2.0]
    assert by_category.fit(codes, [1, 1, 0, 1], [1, 1, 3, 1]).imputed_.tolist() == [0.0]
    with pytest.raises(DataError, match=r"Categorical feature 0 must hold whole numbers .* Got -1"):
        by_category.fit(codes - 1, [1, 1, 0, 1])


def test_missing_in_a_category_is_one_more_category():
    codes = np.array([[0.0], [1.0], [NAN], [2.0]] * 5)
    y = np.array([0, 1, 1, 0] * 5)
    model = RuleTreeClassifier(missing="value", categorical_features=[0], max_depth=1)
    assert model.fit(codes, y).score(codes, y) == 1


def test_missing_values_of_many_outputs():
    X = np.array([[1.0], [2.0], [NAN], [5.0], [6.0], [NAN], [9.0]])
    y = np.array([0, 0, 2, 1, 1, 2, 1])
    model = RuleTreeClassifier(missing="value").fit(X, y)
    assert model.score(X, y) == 1
    log = RuleTreeClassifier(missing="value", criterion="log_loss").fit(X, y)
    assert log.score(X, y) == 1
    own = RuleTreeClassifier(missing="value", criterion=lambda p: p * (1 - p)).fit(X, y)
    assert own.score(X, y) == 1


def test_a_missing_value_that_training_did_not_meet_takes_the_larger_side():
    X = np.array([[1.0], [2.0], [3.0], [4.0], [5.0]])
    model = RuleTreeClassifier(missing="value").fit(X, [0, 1, 1, 1, 1])
    assert model.predict([[NAN]]).tolist() == [1]


def test_text_in_a_table_is_refused_with_its_column():
    frame = pd.DataFrame({"age": ["1", "2"], "city": ["Bonn", "Aachen"]})
    with pytest.raises(DataError, match=r"Column 'city' of X holds text \('Bonn'\)\. Encode"):
        RuleTreeClassifier().fit(frame, [0, 1])
    with pytest.raises(DataError, match=r"Column 1 of X holds text \('Bonn'\)"):
        RuleTreeClassifier().fit(frame.to_numpy(), [0, 1])


def test_missing_values_are_refused_by_default_with_their_place():
    with pytest.raises(DataError, match=r"X contains NaN \(row 2, column 0\).*another value of 'm"):
        RuleTreeClassifier().fit(VALUES, CLASSES)
    model = RuleTreeClassifier().fit(VALUES[:2], [0, 1])
    with pytest.raises(DataError, match="X contains NaN"):
        model.predict([[NAN]])
    with pytest.raises(DataError, match="X contains infinity"):
        RuleTreeClassifier(missing="value").fit([[np.inf], [1.0]], [0, 1])
