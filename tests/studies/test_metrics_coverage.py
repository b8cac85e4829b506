import numpy as np
import pytest

from labelwood import studies
from labelwood.studies import metrics_coverage


@pytest.mark.parametrize(
    ("held", "expected"),
    [(0.95, "exact"), (0.999, "conservative"), (0.90, "too narrow"), (0.94, "exact")],
)
def test_the_verdict_allows_three_standard_errors(held, expected):
    assert metrics_coverage.verdict(held, 1000) == expected


def test_every_interval_that_is_reported_is_in_the_table():
    result = studies.run("metrics-coverage", only="small", quick=True)
    population = metrics_coverage.draw_population(0)
    reported = population.evaluate(np.arange(50), 10, 0)
    expected = {
        (kind, one.name)
        for one in reported.figures
        for kind in ("guaranteed", "bootstrap")
        if getattr(one, kind) is not None
    }
    assert {(row["interval"], row["figure"]) for row in result.rows} == expected
    assert len(expected) == 44


def test_guaranteed_intervals_hold_in_the_quick_version_already():
    rows = studies.run("metrics-coverage", quick=True).rows
    guaranteed = [row for row in rows if row["interval"] in ("guaranteed", "concentration")]
    assert len(guaranteed) == 2 * 22 + 2
    assert min(row["measured"] for row in guaranteed) >= 95


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_guaranteed_intervals_are_never_too_narrow_and_the_bootstrap_is_nearly_exact(seed):
    rows = studies.run("metrics-coverage", seed=seed).rows
    for row in rows:
        if row["interval"] == "bootstrap":
            least = 90.0 if row["n"] == 100 else 93.0
            assert row["measured"] >= least, row
        else:
            assert row["verdict"] != "too narrow", row
