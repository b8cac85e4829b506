import math

import numpy as np
import pytest
from scipy.optimize import brentq

from labelwood import KernelRidgeClassifier
from labelwood.errors import DataError, ParameterError
from labelwood.kernels.bounds import (
    covering_bound,
    log_covering_number,
    rademacher_bound,
    ramp_loss,
)


def test_the_rademacher_bound_is_its_formula():
    margins = np.array([-1.0, 0.5, 2.0, 3.0])
    bound = rademacher_bound(margins, trace=3.6, radius=1.5, gamma=2.0, eta=0.1)
    assert bound.terms["on the training samples"] == pytest.approx((1 + 0.75) / 4)
    assert bound.terms["complexity of the ball"] == pytest.approx(2 * 1.5 * math.sqrt(3.6) / 8)
    assert bound.terms["confidence"] == pytest.approx(3 * math.sqrt(math.log(20) / 8))
    assert bound.vacuous


def test_a_grid_of_radii_is_paid_for():
    margins = np.ones(1000)
    fixed = rademacher_bound(margins, trace=1000.0, radius=2.0)
    grid = rademacher_bound(margins, trace=1000.0, radii=[0.5, 1, 2, 4], norm=1.3)
    assert grid.facts["radius"] == 2
    assert grid.terms["confidence"] == pytest.approx(3 * math.sqrt(math.log(160) / 2000))
    assert grid.value > fixed.value


def test_the_covering_bound_solves_its_equation():
    bound = covering_bound(np.ones(10**4), b=0.5, radius=1.0, gamma=1.0, eta=0.05)
    epsilon = bound.terms["deviation"]
    cover = log_covering_number(epsilon / 16, radius=1.0, b=0.5, n=2 * 10**4)
    assert math.log(4) + cover - 10**4 * epsilon**2 / 32 == pytest.approx(math.log(0.05), rel=1e-6)


@pytest.mark.parametrize(("radius", "gamma", "n"), [(0.02, 1.0, 50), (3.0, 0.5, 10**5)])
def test_the_covering_bound_is_the_root_of_what_the_lecture_writes(radius, gamma, n):
    def excess(epsilon):
        share = 0.5 * radius / (gamma * epsilon / 16)
        cover = 36 * share**2 * math.log(2 * math.ceil(4 * share + 2) * 2 * n + 1)
        return math.log(4) + cover - n * epsilon**2 / 32 - math.log(0.1)

    bound = covering_bound(np.ones(n), b=0.5, radius=radius, gamma=gamma, eta=0.1)
    assert bound.terms["deviation"] == pytest.approx(brentq(excess, 1e-3, 1e4), rel=1e-9)
    assert bound.trivial == 1


@pytest.mark.parametrize(("epsilon", "n"), [(0.7, 1), (3.0, 1), (0.2, 7)])
def test_the_covering_number_is_that_of_the_lecture(epsilon, n):
    share = 1.5 * 0.4 / epsilon
    expected = 36 * share**2 * math.log(2 * math.ceil(4 * share + 2) * n + 1)
    assert log_covering_number(epsilon, radius=1.5, b=0.4, n=n) == pytest.approx(expected)


def test_without_more_words_the_margin_is_one_and_the_confidence_95_per_cent():
    margins = np.array([0.25, 0.5, 2.0])
    assert ramp_loss(margins).tolist() == [0.75, 0.5, 0.0]
    for bound, size in ((rademacher_bound, {"trace": 3.0}), (covering_bound, {"b": 1.0})):
        plain = bound(margins, radius=1.0, **size)
        assert plain.terms == bound(margins, radius=1.0, gamma=1.0, eta=0.05, **size).terms
        assert plain.trivial == 1


def test_a_kernel_of_zeros_has_a_ball_without_complexity():
    assert rademacher_bound([1.0], trace=0.0, radius=1.0).terms["complexity of the ball"] == 0


def test_a_norm_may_exceed_the_radius_by_rounding_alone():
    assert rademacher_bound([1.0], trace=1.0, radius=1.0, norm=1 + 9e-10).facts["radius"] == 1
    with pytest.raises(DataError, match="outside the ball"):
        rademacher_bound([1.0], trace=1.0, radius=1.0, norm=1 + 1.2e-9)


def test_the_rademacher_bound_holds_in_simulations():
    rng = np.random.default_rng(0)
    bounds, errors = [], []
    for _ in range(20):
        X = rng.normal(size=(2300, 2)) / 2
        y = np.where(X[:, 0] + 0.1 * rng.normal(size=2300) > 0, 1, 0)
        model = KernelRidgeClassifier(alpha=0.03, kernel="linear").fit(X[:300], y[:300])
        f = model.decision_function(X) / 2
        margins, norm = np.where(y == 1, 1, -1) * f, float(model.norm_.max())
        trace = float(np.square(X[:300]).sum())
        bound = rademacher_bound(
            margins[:300], trace=trace, radii=[0.5, 1, 2, 4, 8], norm=norm, gamma=0.5
        )
        bounds.append(bound.value)
        errors.append(float(ramp_loss(margins[300:], 0.5).mean()))
    assert (np.array(errors) <= bounds).all()
    assert max(bounds) < 1.2


def test_only_bounded_lipschitz_losses_have_a_bound():
    with pytest.raises(ParameterError, match="do not hold for 'squared'"):
        rademacher_bound([1.0], trace=1.0, radius=1.0, loss="squared")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ParameterError, "either radius"),
        ({"radius": 1.0, "radii": [1.0]}, ParameterError, "either radius"),
        ({"radii": [1.0]}, ParameterError, "needs the norm"),
        ({"radii": [1.0], "norm": 2.0}, DataError, "No radius of the grid"),
        ({"radius": 1.0, "norm": 2.0}, DataError, "norm 2, outside the ball"),
        ({"radius": -1.0}, ParameterError, "'radius' parameter"),
        ({"radius": 1.0, "eta": 1.0}, ParameterError, "'eta' parameter"),
        ({"radius": 1.0, "gamma": 0.0}, ParameterError, "'gamma' parameter"),
    ],
)
def test_radius_and_confidence_are_checked(options, error, message):
    with pytest.raises(error, match=message):
        rademacher_bound([1.0, 2.0], trace=1.0, **options)


def test_margins_are_checked():
    with pytest.raises(DataError, match="finite numbers"):
        rademacher_bound([np.nan], trace=1.0, radius=1.0)
    for trace in (-1.0, np.nan):
        with pytest.raises(ParameterError, match="'trace' parameter"):
            rademacher_bound([1.0], trace=trace, radius=1.0)
    for b in (0.0, np.inf):
        with pytest.raises(ParameterError, match="'b' parameter"):
            covering_bound([1.0], b=b, radius=1.0)
