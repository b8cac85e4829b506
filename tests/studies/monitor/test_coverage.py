import numpy as np
import pytest

from labelwood import studies
from labelwood.studies.monitor import coverage


def test_both_looks_hold_the_change_about_as_often_as_stated():
    result = studies.run("monitor-coverage", only="1 σ", quick=True, jobs=1)
    assert [row["interval"] for row in result.rows] == ["at the alarm", "60 steps later"]
    assert all(30 <= row["streams"] <= 40 and row["measured"] >= 80 for row in result.rows)
    assert "40 streams a shift" in str(result)


@pytest.mark.parametrize(
    ("n_held", "verdict"),
    [(900, "exact"), (915, "exact"), (940, "conservative"), (860, "too narrow")],
)
def test_a_verdict_is_by_three_standard_errors(n_held, verdict):
    row = coverage._row("1 σ", "at the alarm", np.arange(1000) < n_held, 3.0)
    assert row["verdict"] == verdict


@pytest.mark.slow
def test_the_interval_of_a_change_point_is_nowhere_too_narrow():
    rows = studies.run("monitor-coverage", jobs=1).rows
    assert len(rows) == 2 * len(coverage.SHIFTS)
    # A standard error is 0.7 points at most; 1.645 posterior deviations hold 86.0 %.
    assert min(row["measured"] for row in rows) > 88.5
