import numpy as np
import pytest

from labelwood import studies
from labelwood.studies._study import Options
from labelwood.studies.hrls import regret as hrls_regret
from labelwood.studies.hrls.regret import _rounded_up
from labelwood.taxonomy.bounds import regret_bound, sharper_regret_bound
from labelwood.taxonomy.simulator import TaxonomyModel

PARTS = ("chain", "star", "balanced")


@pytest.fixture(scope="module")
def result():
    return studies.run("hrls-regret", quick=True, jobs=1)


def rows_of(result, part):
    return [row for row in result.rows if row["taxonomy"] == part]


@pytest.mark.parametrize(
    ("part", "n", "depth"), [("chain", 3, 2), ("star", 7, 1), ("balanced", 7, 2)]
)
def test_the_vectors_of_the_model_stand_at_equal_angles(part, n, depth):
    model = hrls_regret.data_model(part)
    assert (len(model.taxonomy), model.taxonomy.depth.max()) == (n, depth)
    cosines = np.sum(model.vectors[1:] * model.vectors[:-1], axis=1)
    np.testing.assert_allclose(cosines, np.cos(np.pi / n))
    assert np.abs(model.instances(1_000, random_state=0) @ model.vectors.T).min() >= 0.15


@pytest.mark.parametrize("part", PARTS)
def test_there_is_a_row_for_each_time_and_for_the_start_of_each_bound(result, part):
    rows = rows_of(result, part)
    assert [row["t"] for row in rows[:3]] == [10, 20, 50]
    for row in rows[:3]:  # too early for the bounds
        assert row["sharper"] is None
        assert row["theorem 1"] is None
        assert row["±"] > 0
    process = hrls_regret.data_model(part).process(random_state=0)
    bounds = {"sharper": sharper_regret_bound, "theorem 1": regret_bound}
    for row, (name, bound) in zip(rows[3:], bounds.items(), strict=True):
        assert "regret" not in row  # too late to be measured quickly
        assert row[name] == bound(process, row["t"]).value < 1
        assert bound(process, int(row["t"] / 1.1)).vacuous


def test_times_are_rounded_up_to_two_digits():
    assert [_rounded_up(t) for t in (1, 10, 99, 100, 101, 1_272_443)] == [
        1, 10, 99, 100, 110, 1_300_000
    ]  # fmt: skip


def regret_by_definition(model, t, seed, n_runs, n_fresh):
    """Regret and share of other label sets of the predictor of Figure 2, by dense matrices."""
    found = []
    for run in np.random.SeedSequence(seed).spawn(n_runs):
        of_examples, of_fresh = run.spawn(2)
        X, Y = model.sample(49, random_state=of_examples)
        X, labels = X[: t - 1], Y.toarray()[: t - 1]
        fresh = model.instances(n_fresh, random_state=of_fresh)
        weights = []
        for i, j in enumerate(model.taxonomy.parent):
            own = labels[:, j] == 1 if j >= 0 else slice(None)
            S, v = X[own], 2 * labels[own, i] - 1
            weights.append(np.linalg.solve(np.eye(2) + S.T @ S, S.T @ v))
        unit = weights / np.linalg.norm(weights, axis=1, keepdims=True)
        predicted = TaxonomyModel(model.taxonomy, unit).predict(fresh)
        other = np.any(predicted.toarray() != model.predict(fresh).toarray(), axis=1)
        found.append((model.regret(fresh, predicted).mean(), other.mean()))
    return np.mean(found, axis=0)


@pytest.mark.parametrize("part", PARTS)
def test_the_regret_is_that_of_the_predictor_of_the_paper(result, part):
    model = hrls_regret.data_model(part)
    row = rows_of(result, part)[2]
    regret, other = regret_by_definition(model, 50, 0, n_runs=2, n_fresh=500)
    assert row["regret"] == pytest.approx(regret, abs=1e-3)
    assert row["other set"] == pytest.approx(other, abs=3e-3)


def test_learning_at_once_is_as_good_as_learning_on_line(result, monkeypatch):
    monkeypatch.setattr(hrls_regret, "MOST_ONLINE", 30)
    for row in hrls_regret.rows("balanced", Options(quick=True, jobs=1)):
        (other,) = [one for one in rows_of(result, "balanced") if one["t"] == row["t"]]
        assert row.get("regret") == pytest.approx(other.get("regret"), abs=1e-3)


@pytest.mark.parametrize("part", PARTS)
def test_regret_falls_and_lies_under_the_bounds_where_they_say_something(part, monkeypatch):
    monkeypatch.setattr(hrls_regret, "_QUICK", (4, 2_000, (20, 60, 10_000)))
    monkeypatch.setattr(hrls_regret, "LATE", 100)
    rows = [row for row in hrls_regret.rows(part, Options(quick=True)) if "regret" in row]
    first, second, start, last = rows
    assert [row["runs"] for row in rows] == [4, 4, 3, 3]
    assert first["other set"] > second["other set"] > last["other set"]
    assert first["regret"] > max(second["regret"], 0.005)
    for row in (start, last):
        assert row["regret"] <= row["other set"] + 1e-12
        assert row["other set"] <= row["sharper"] < 1


def test_the_plot_has_a_panel_for_each_taxonomy_and_names_the_curves(result):
    pytest.importorskip("matplotlib")
    from labelwood.studies._plot import svg

    image = svg(studies.find("hrls-regret").draw, result.rows).decode()
    for text in (*PARTS, "regret", "other set", "sharper", "theorem 1"):
        assert f">{text}<" in image
