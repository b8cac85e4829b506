import numpy as np
import pytest

from labelwood.kernels.boosting.losses import Loss
from labelwood.studies.boosting import _simulation as lab


@pytest.fixture
def x():
    return np.sort(np.random.default_rng(0).random(30))


def test_products_by_cumulative_sums_are_those_of_the_kernel_matrix(x):
    v = np.random.default_rng(1).normal(size=(30, 3))
    K = 1 + np.minimum(x[:, None], x[None])
    np.testing.assert_allclose(lab.sobolev_product(x, v), K @ v)
    new = np.linspace(0, 1, 11)
    np.testing.assert_allclose(
        lab.sobolev_values(x, v, new), (1 + np.minimum(new[:, None], x[None])) @ v
    )


@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_paths_are_the_printed_update_stopped_by_each_rule(x, name):
    loss = lab.make_loss(name)
    Y = lab.draw_responses(x, name, 2, [0])
    K = (1 + np.minimum(x[:, None], x[None])) / 30
    f, total, errors, risks = np.zeros_like(Y), np.zeros_like(Y), [], []
    for t in range(40):
        f = f - 0.5 * K @ loss.gradient(Y, f)
        total += f
        errors.append(np.square(f - lab.target(x)[:, None]).mean(axis=0))
        risks.append(np.square(loss.residual(Y, total / (t + 1))).mean(axis=0))
        if t == 6:
            seventh = total / 7
    variance = np.array(risks)[11] + 1e-12
    found = lab.run_paths(x, Y, loss, 0.5, {"seven": np.array([7, 7])}, variance, 40)
    np.testing.assert_allclose(lab.sobolev_product(x, found["seven"].coefficients), seventh)
    assert found["gold"].times.tolist() == (np.argmin(errors, axis=0) + 1).tolist()
    first = [int(np.argmax(np.array(risks)[:, i] <= variance[i])) + 1 for i in range(2)]
    assert found["discrepancy"].times.tolist() == first


def test_responses_have_the_noise_of_the_figures():
    x = lab.design(20_000, False, 0)
    noise = lab.draw_responses(x, "squared", 1, [0])[:, 0] - lab.target(x)
    assert noise.var() == pytest.approx(0.5, rel=0.05)
    trials = lab.draw_responses(x, "logistic", 1, [0])
    assert set(np.unique(trials)) == {-5, -3, -1, 1, 3, 5}
    share = (trials[:, 0] + 5) / 10
    expected = 1 / (1 + np.exp(-lab.target(x)))
    assert share.mean() == pytest.approx(expected.mean(), abs=0.005)


def test_the_known_radius_gives_the_printed_time():
    x = lab.design(200, False, 0)
    known = lab.theory(x, lab.draw_responses(x, "squared", 2, [0]), Loss("squared"), lab.STEP)
    assert known.delta_squared == pytest.approx(0.01438, abs=1e-5)
    assert known.guaranteed == 8


def test_slopes_are_those_of_regression():
    assert lab.slope([1, 10, 100], [5.0, 0.5, 0.05]) == pytest.approx(-1)
