import pytest

from labelwood import studies
from labelwood.studies.sbt.classes import CODE, LINEAR, PER_CLASS


@pytest.mark.slow  # ten trees
def test_the_quick_version_has_both_kinds_of_trees_and_a_linear_classifier():
    rows = studies.run("sbt-classes", only="digits", quick=True, jobs=1).rows
    assert [row["learner"] for row in rows] == [PER_CLASS, CODE, LINEAR]
    assert all(0 < row["error"] < 60 for row in rows)
    assert rows[0]["features"] <= 64 == rows[2]["features"]
    pytest.importorskip("matplotlib")
    from labelwood.studies._plot import svg

    image = svg(studies.find("sbt-classes").draw, rows).decode()
    assert f">{CODE}<" in image
