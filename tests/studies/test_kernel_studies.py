import pytest

from labelwood import studies

WITHOUT_DATA = ("boosting-overfit", "boosting-gaussian", "boosting-average", "ridge-and-stopping")


@pytest.mark.parametrize("name", WITHOUT_DATA)
def test_a_study_runs_and_draws(name):
    result = studies.run(name, quick=True, jobs=1)
    assert len(result.rows) > 1
    assert str(result).startswith(studies.find(name).title)
    pytest.importorskip("matplotlib")
    from labelwood.studies._plot import svg

    assert svg(studies.find(name).draw, result.rows).startswith(b"<?xml")


def test_stopping_has_every_rule_at_every_size_and_slopes():
    result = studies.run("boosting-stopping", quick=True, only="l2")
    rules = {row["rule"] for row in result.rows}
    assert {"gold", "(7n)^0.67", "guaranteed", "theory", "discrepancy", "cv"} <= rules
    for row in result.rows:
        if "n" in row and row["rule"] == "gold":
            assert row["times gold"] == 1
    assert sum("slope" in row for row in result.rows) == len(rules)


def test_landmarks_give_times_between_their_bounds():
    result = studies.run("boosting-nystrom", quick=True, only="sobolev")
    for row in result.rows[1:]:
        assert row["at least"] - 1 <= row["steps"] <= row["at most"]
    assert result.rows[-1]["ratio"] == pytest.approx(1, abs=0.1)


@pytest.mark.shared
def test_the_graph_beats_one_vs_rest_with_few_labels(shared_data):
    result = studies.run("graph-fewlabels", data=shared_data, quick=True, only="reuters", jobs=1)
    found = {row["learner"]: row["micro-F1"] for row in result.rows}
    assert found["graph"] > found["one-vs-rest"]
