import pytest

from labelwood import studies
from labelwood.studies.sbt.seconds import PUBLISHED
from studies.sbt.binary import write_set

LEARNERS = ["SBT", "SBT, one strictness", "BAC", "FGM", "L1-SVM"]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    write_set(folder, "pcmac", n_features=40)
    return studies.run("sbt-seconds", data=folder, only="pcmac", quick=True, jobs=1).rows


def test_each_learner_has_a_row_for_each_budget_and_the_svm_one(rows):
    expected = [(learner, budget) for budget in (5, 10) for learner in LEARNERS]
    assert [(row["learner"], row.get("budget")) for row in rows] == [
        *expected,
        ("linear SVM", None),
    ]
    assert all(row["seconds"] >= 0 for row in rows)


def test_one_decision_and_l1_keep_within_the_budget_and_the_machine_need_not(rows):
    by_learner = {(row["learner"], row.get("budget")): row["features"] for row in rows}
    for budget in (5, 10):
        assert by_learner["BAC", budget] <= budget
        assert by_learner["L1-SVM", budget] <= budget
    assert by_learner["linear SVM", None] == 40


def test_published_seconds_are_those_of_table_6():
    assert [PUBLISHED["GBFS", n] for n in (100, 500, 900)] == [874.2, 5214.8, 8523.3]


def test_the_plot_shows_seconds_against_features(rows):
    pytest.importorskip("matplotlib")
    from labelwood.studies._plot import svg

    image = svg(studies.find("sbt-seconds").draw, rows).decode()
    for text in ("pcmac", "features", "seconds", *LEARNERS):
        assert f">{text}<" in image
