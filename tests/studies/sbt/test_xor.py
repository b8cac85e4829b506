import numpy as np
import pytest

from labelwood import studies
from labelwood.studies.sbt.xor import _deciding, xor


@pytest.fixture(scope="module")
def result():
    return studies.run("sbt-xor", quick=True, jobs=1)


@pytest.mark.parametrize(
    ("part", "low", "high"),
    [("original", 0, 1), ("centered", -0.5, 0.5), ("rescaled", -(3**0.5), 3**0.5)],
)
def test_two_normal_features_decide_by_their_signs_and_the_rest_is_uniform(part, low, high):
    split = xor(3_000, 1_000, 4, part, seed=1)
    X = np.vstack([split.X, split.X_test])
    y = np.append(split.y, split.y_test)
    assert split.X.shape == (3_000, 6)
    assert np.array_equal(y == 1, np.sign(X[:, 0]) == np.sign(X[:, 1]))
    np.testing.assert_allclose(X[:, :2].mean(axis=0), 0, atol=0.05)
    np.testing.assert_allclose(X[:, :2].std(axis=0), 1, atol=0.05)
    noise = X[:, 2:]
    assert low <= noise.min() < low + 0.01 * (high - low)
    assert high - 0.01 * (high - low) < noise.max() <= high
    np.testing.assert_allclose(noise.std(axis=0), (high - low) / 12**0.5, rtol=0.05)


def test_the_parts_differ_in_the_scale_of_the_noise_alone():
    original, rescaled = (xor(50, 10, 3, part, seed=0) for part in ("original", "rescaled"))
    assert np.array_equal(original.y, rescaled.y)
    stretched = (original.X[:, 2:] - 0.5) * 12**0.5
    np.testing.assert_allclose(rescaled.X[:, 2:], stretched, atol=1e-5)


def test_every_learner_has_a_row_for_each_number_of_noise_features(result):
    trees = ["SBT (B = 1)", "SBT (B = 3)", "SBT without pairs (B = 1)"]
    others = ["FGM", "linear SVM", "CART", "random forest"]
    expected = [("original", 10, learner) for learner in trees + others]
    for part in ("centered", "rescaled"):
        expected += [(part, 10, learner) for learner in trees]
    found = [(row["features"], row["noise"], row["learner"]) for row in result.rows]
    assert found == expected


def test_the_tree_finds_what_no_line_does_whatever_the_scale(result):
    for row in result.rows:
        if row["learner"].startswith("SBT (B"):
            assert row["error"] < 10
            assert row["deciding"] == 2
            assert row["pairs"] >= 1
        elif row["learner"].startswith("SBT without"):
            assert row["pairs"] == 0
        elif row["learner"] in ("linear SVM", "FGM"):
            assert row["error"] > 35


class Linear:
    def __init__(self, coef):
        self.coef_ = np.array([coef])


def test_deciding_counts_the_true_ones_among_the_two_features_used_most():
    assert _deciding(Linear([0, -3, 1, 2]), 4) == 1
    assert _deciding(Linear([5, -3, 1, 2]), 4) == 2
    assert _deciding(Linear([0, 0, 1, 2]), 4) == 0
    assert _deciding(Linear([0, 0, 0, 0]), 4) == 0


def test_the_plot_has_a_panel_for_each_scale_and_names_the_learners(result):
    pytest.importorskip("matplotlib")
    from labelwood.studies._plot import svg

    image = svg(studies.find("sbt-xor").draw, result.rows).decode()
    for text in ("original", "centered", "rescaled", "SBT without pairs (B = 1)", "random forest"):
        assert f">{text}<" in image
