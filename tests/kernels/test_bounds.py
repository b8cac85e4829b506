import math

import numpy as np
import pytest

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
