import pytest

from labelwood import studies
from labelwood.experiments.best_arm import Bernoulli, Bounded, SubGaussian
from labelwood.studies.mab import coverage


def test_all_evidence_and_bounds_that_are_offered_are_measured():
    measured = {(type(one), one.bound, one.evidence) for one, _ in coverage.models().values()}
    for kind in (Bernoulli, Bounded, SubGaussian):
        bounds = ("lil",) if kind is SubGaussian else ("lil", "beta")
        assert {(kind, bound, "bounds") for bound in bounds} <= measured
        assert {(kind, bounds[-1], one) for one in ("betting", "mixture")} <= measured


@pytest.mark.slow
@pytest.mark.parametrize("part", ["p-value", "interval of an arm", "all intervals"])
def test_p_values_and_intervals_err_no_more_often_than_they_may(part):
    rows = studies.run("mab-coverage", only=part, jobs=1).rows
    if part != "interval of an arm":
        assert {row["rewards"] for row in rows} == set(coverage.models())
    for row in rows:
        error = (coverage.LEVEL * (1 - coverage.LEVEL) / row["runs"]) ** 0.5
        assert row["erred"] <= coverage.LEVEL + 3 * error
