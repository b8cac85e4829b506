from itertools import product

import numpy as np
import pytest

from labelwood import studies
from labelwood.core.sparse import as_csr
from labelwood.studies._study import Options
from labelwood.studies.sbt._binary import Split
from labelwood.studies.sbt.features import C_GRID, L1_GRID, _of_planes, _sparse, _within
from studies.sbt.binary import linear_points, write_set

LEARNERS = ["SBT", "SBT of planes", "BAC", "FGM", "L1-SVM", "L1-logistic"]


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    for name in ("pcmac", "basehock"):
        write_set(folder, name, n=60, n_features=60)
    return studies.run("sbt-features", data=folder, quick=True, jobs=1)


def test_every_learner_has_a_row_for_each_budget_and_the_svm_one_with_all_features(result):
    found = [(row["learner"], row["budget"]) for row in result.rows if row["data"] == "basehock"]
    expected = [(learner, budget) for learner in LEARNERS for budget in (5, 15)]
    assert found == [*expected, ("linear SVM", None)]
    assert list(result.skipped) == ["madelon", "a9a", "rcv1"]
    assert [row["features"] for row in result.rows if row["learner"] == "linear SVM"] == [60, 60]


def test_published_errors_stand_below_those_of_the_same_data(result):
    published = [row for row in result.rows if "published" in row["learner"]]
    assert published == [
        {"data": "pcmac", "learner": "SBT, published", "error": 7.22},
        {"data": "pcmac", "learner": "linear SVM, published", "error": 7.47},
    ]


def test_no_decision_has_more_features_than_its_budget(result):
    for row in result.rows:
        if row["learner"] in ("BAC", "L1-SVM", "L1-logistic"):
            assert row["features"] <= row["budget"]
        elif row["learner"] in ("SBT", "SBT of planes"):
            assert row["features"] <= row["budget"] * (row["leaves"] - 1)


def test_trees_of_planes_differ_in_cost_and_scale_and_keep_to_the_budget():
    trees = _of_planes(33, Options())
    assert {(tree.C, tree.scale) for tree in trees} == set(product(C_GRID, (False, True)))
    assert {(tree.budget, tree.plane_size) for tree in trees} == {(33, 5)}
    assert {tree.plane_size for tree in _of_planes(3, Options())} == {1}


@pytest.mark.parametrize("learner", ["L1-SVM", "L1-logistic"])
def test_of_a_penalty_the_weakest_is_taken_that_keeps_within_the_budget(learner):
    X, y = linear_points(200, 20)
    split = Split(as_csr(X), y, as_csr(X), y)
    budgets = [1, 4]
    models = _within(_sparse(0)[learner], split, budgets)
    for budget, model in zip(budgets, models, strict=True):
        assert np.count_nonzero(model.coef_) <= budget
        weaker = _sparse(0)[learner].set_params(C=L1_GRID[L1_GRID.index(model.C) + 1]).fit(X, y)
        assert np.count_nonzero(weaker.coef_) > budget


def test_the_plot_names_the_learners_and_what_was_published(result):
    pytest.importorskip("matplotlib")
    from labelwood.studies._plot import svg

    image = svg(studies.find("sbt-features").draw, result.rows).decode()
    for text in ("pcmac", "basehock", *LEARNERS, "linear SVM", "SBT, published"):
        assert f">{text}<" in image


@pytest.mark.slow
@pytest.mark.shared
def test_it_runs_on_the_real_data(shared_data):
    result = studies.run("sbt-features", data=shared_data, only="basehock", quick=True)
    errors = {row["learner"]: row["error"] for row in result.rows}
    assert max(errors.values()) < 40
