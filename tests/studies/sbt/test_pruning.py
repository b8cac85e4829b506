import pytest

from labelwood import studies
from studies.sbt.binary import write_set


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    write_set(folder, "basehock", n=80, noise=1)
    write_set(folder, "a9a", n=80, noise=1)
    return studies.run("sbt-pruning", data=folder, quick=True, jobs=1).rows


def test_each_data_set_has_a_row_for_each_kind_of_pruning(rows):
    kinds = [
        "SBT without pruning",
        "SBT pruned as printed",
        "SBT pruned for any gain",
        "SBT pruned strictly",
        "SBT",
    ]
    expected = [(name, kind) for name in ("basehock", "a9a") for kind in kinds]
    assert [(row["data"], row["learner"]) for row in rows] == expected


def test_the_more_is_pruned_the_fewer_leaves_and_features_are_left(rows):
    for name in ("basehock", "a9a"):
        # Pruning as printed compares other figures, so it may leave more or less than the others.
        own = [row for row in rows if row["data"] == name and "printed" not in row["learner"]]
        for column in ("leaves", "features"):
            sizes = [row[column] for row in own[:3]]
            assert sizes == sorted(sizes, reverse=True)
        assert own[0]["leaves"] > own[2]["leaves"]
        assert own[0]["leaves"] > own[3]["leaves"]


def test_the_plot_shows_error_against_leaves(rows):
    pytest.importorskip("matplotlib")
    from labelwood.studies._plot import svg

    image = svg(studies.find("sbt-pruning").draw, rows).decode()
    for text in ("basehock", "a9a", "leaves", "error", "SBT without pruning"):
        assert f">{text}<" in image
