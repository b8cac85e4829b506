import math

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

import labelwood
from labelwood import TwoStateGaussianHMM
from labelwood.errors import DataError, LabelwoodWarning, ParameterError
from labelwood.sequences.engine import check_sequences
from labelwood.sequences.two_state_hmm import SymmetricChain, baum_welch
from labelwood.sequences.two_state_hmm.estimator import theory_factor
from labelwood.sequences.two_state_hmm.starts import in_ball, moment_estimate
from sequences.brute_force import enumerate_paths, gaussian_log_density, with_gaps


def simulated(n=1000, d=10, snr=1.5, zeta=0.2, seed=0, sigma=1.0):
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=d)
    mean *= math.sqrt(snr) * sigma / np.linalg.norm(mean)
    stay = rng.random(n) < zeta
    z = np.cumprod(np.where(stay, 1, -1))
    return z[:, None] * mean + sigma * rng.normal(size=(n, d)), z, mean


def log_likelihood(X, mean, zeta, sigma):
    """The forward recursion, written out."""
    log_b = np.array(
        [-((X - sign * mean) ** 2).sum(axis=1) / (2 * sigma**2) for sign in (1, -1)]
    ).T - X.shape[1] * math.log(sigma * math.sqrt(2 * math.pi))
    A = np.array([[zeta, 1 - zeta], [1 - zeta, zeta]])
    alpha, total = np.array([0.5, 0.5]), 0.0
    for t, row in enumerate(log_b):
        alpha = (alpha if t == 0 else alpha @ A) * np.exp(row - row.max())
        total += math.log(alpha.sum()) + row.max()
        alpha /= alpha.sum()
    return total


@pytest.mark.parametrize("sigma", [1.0, None])
def test_its_fixed_point_maximises_the_likelihood(sigma):
    X, _, mean = simulated(60, 2, snr=2.0)
    model = TwoStateGaussianHMM(sigma=sigma, random_state=0).fit(X)

    def objective(theta):
        scale = 1.0 if sigma else math.exp(theta[3])
        return -log_likelihood(X, theta[:2], 1 / (1 + math.exp(-theta[2])), scale)

    first = [*mean, -1.0] + ([] if sigma else [0.0])
    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000}
    found = minimize(objective, first, method="Nelder-Mead", options=options)
    assert model.log_likelihood_ == pytest.approx(-found.fun, abs=1e-7)
    sign = np.sign(model.mean_ @ found.x[:2])
    np.testing.assert_allclose(sign * model.mean_, found.x[:2], atol=1e-5)
    assert model.zeta_ == pytest.approx(1 / (1 + math.exp(-found.x[2])), abs=1e-5)
    if sigma is None:
        assert model.sigma_ == pytest.approx(math.exp(found.x[3]), abs=1e-5)
    else:
        assert model.sigma_ == 1.0


def test_one_step_is_the_updates_as_printed():
    X, _, mean = simulated(6, 2)
    data = check_sequences(TwoStateGaussianHMM(), X, None, reset=True)
    start, zeta = mean * 1.2, 0.4
    run = baum_welch(data, start, zeta=zeta, sigma=1.0, bound=0.99, max_iter=1, step_tol=1e-300)
    log_b = gaussian_log_density(X, np.array([start, -start]), np.tile(np.eye(2), (2, 1, 1)))
    A = np.array([[zeta, 1 - zeta], [1 - zeta, zeta]])
    _, gamma, pairs, *_ = enumerate_paths(log_b, np.array([0.5, 0.5]), A)
    expected = ((2 * gamma[:, 0] - 1)[:, None] * X).mean(axis=0)  # (2.30a)
    np.testing.assert_allclose(run.emissions.mean, expected, atol=1e-12)
    # (2.30b) over the pairs from (Z₀, Z₁) on: the first one stays with probability ζ exactly.
    assert run.chain.zeta == pytest.approx((zeta + np.trace(pairs)) / 6, abs=1e-12)
    step = np.linalg.norm(run.emissions.mean - start) + abs(
        run.chain.beta - 0.5 * math.log(zeta / (1 - zeta))
    )
    assert run.steps.tolist() == [pytest.approx(step)]


def test_zeta_is_projected_on_the_set_that_b_allows():
    X, _, _ = simulated(400, 2, snr=6, zeta=0.05)
    free = TwoStateGaussianHMM(random_state=0).fit(X)
    bound = TwoStateGaussianHMM(b=0.5, random_state=0).fit(X)
    assert free.zeta_ < 0.2
    assert bound.zeta_ == 0.25
    assert bound.beta_ == pytest.approx(0.5 * math.log(0.25 / 0.75))


def test_all_starts_in_the_ball_end_at_one_point_and_the_certificate_says_so():
    X, z, mean = simulated()
    model = TwoStateGaussianHMM(sigma=1.0, random_state=0).fit(X)
    certificate = model.certificate_
    assert certificate.n_agree == 10
    assert certificate.spread < 1e-8
    assert 0.4 < certificate.contraction < 0.6  # THEORY: 0.47–0.51 at η² = 1.5
    assert certificate.contraction_low <= certificate.contraction <= certificate.contraction_high
    assert certificate.statistical_precision == pytest.approx(0.1)
    assert certificate.snr == pytest.approx(model.mean_ @ model.mean_)
    assert certificate.radius == pytest.approx(np.linalg.norm(model.mean_) / 4)
    epsilon = 2 * min(model.zeta_, 1 - model.zeta_)
    assert certificate.epsilon_mix == pytest.approx(epsilon)
    assert certificate.rho_mix == pytest.approx(abs(2 * model.zeta_ - 1))
    assert certificate.rho_tilde == pytest.approx(1 - epsilon / 2)
    time = certificate.forgetting_time
    assert 2 * epsilon**-2 * certificate.rho_tilde**time <= 0.01
    assert 2 * epsilon**-2 * certificate.rho_tilde ** (time - 1) > 0.01
    text = str(certificate)
    assert "10 of 10 starts end within" in text
    assert "the theory's own constant certifies nothing here" in text
    error = min(np.linalg.norm(model.mean_ - mean), np.linalg.norm(model.mean_ + mean))
    assert error < 0.2
    right = (model.predict(X) == z).mean()
    assert max(right, 1 - right) > 0.85


def test_the_contraction_improves_with_the_signal():
    factors = [
        TwoStateGaussianHMM(sigma=1.0, n_init=2, random_state=0)
        .fit(simulated(snr=snr, seed=3)[0])
        .certificate_.contraction
        for snr in (0.75, 1.5, 2.25)
    ]
    assert factors[0] > factors[1] > factors[2]


def test_the_theorys_factor_certifies_only_huge_signals():
    assert theory_factor(1.5, 0.9) == pytest.approx(1.5 * 2.5 * math.exp(-1.5 / 32) / 0.19)
    assert theory_factor(100, 0.9) > 1
    assert theory_factor(800, 0.9) < 1


def test_the_sign_of_the_mean_is_a_convention():
    X, _, _ = simulated(300, 3)
    one, other = (TwoStateGaussianHMM(random_state=0).fit(sign * X) for sign in (1, -1))
    np.testing.assert_allclose(one.mean_, other.mean_, atol=1e-8)
    assert one.mean_[np.argmax(np.abs(one.mean_))] > 0


def test_missing_values_are_integrated_out():
    X, _, mean = simulated(2_000, 3, snr=4)
    X = with_gaps(np.random.default_rng(0), X, 0.3)
    model = TwoStateGaussianHMM(random_state=0).fit(X)
    error = min(np.linalg.norm(model.mean_ - mean), np.linalg.norm(model.mean_ + mean))
    assert error < 0.15
    assert model.sigma_ == pytest.approx(1, abs=0.05)
    assert np.isfinite(model.log_likelihood(X))


def test_several_sequences_and_one_feature():
    X, _, _ = simulated(600, 1, snr=4, zeta=0.9)
    model = TwoStateGaussianHMM(random_state=0).fit(X, lengths=[200, 400])
    assert model.zeta_ == pytest.approx(0.9, abs=0.05)
    assert model.mean_[0] == pytest.approx(2, abs=0.3)


def test_samples_have_the_models_moments():
    model = TwoStateGaussianHMM(random_state=0).fit(simulated(500, 2, snr=4, zeta=0.8)[0])
    X, states = model.sample(40_000, random_state=0)
    sign = 1 - 2 * states
    np.testing.assert_allclose((sign[:, None] * X).mean(axis=0), model.mean_, atol=0.03)
    assert (states[1:] == states[:-1]).mean() == pytest.approx(model.zeta_, abs=0.01)
    assert model.n_parameters_ == 4


@pytest.mark.parametrize("mean", [[3.0, -1.0], [2.0, 1.0], [1.0, 1.0, 1.0]])
def test_data_without_noise_are_fitted_with_a_warning(mean):
    z = np.where(np.random.default_rng(0).random(200) < 0.2, -1.0, 1.0).cumprod()
    X = z[:, None] * mean
    with pytest.warns(LabelwoodWarning, match="floor holds up sigma_"):
        model = TwoStateGaussianHMM(n_init=3, random_state=0).fit(X)
    sign = np.sign(model.mean_ @ mean)
    np.testing.assert_allclose(sign * model.mean_, mean)
    assert model.sigma_ == pytest.approx(math.sqrt(1e-6 * (X**2).mean()))
    assert (sign * model.predict(X) == z).all()


def test_data_that_were_not_centered_are_fitted_with_a_warning():
    X, _, _ = simulated(200, 2)
    with pytest.warns(LabelwoodWarning, match="one side of zero .* center the data"):
        TwoStateGaussianHMM(n_init=2, random_state=0).fit(X + 100)


def test_the_limit_of_iterations_is_reported():
    model = TwoStateGaussianHMM(max_iter=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="limit of 3 iterations with a step of"):
        model.fit(simulated(200, 2)[0])
    assert model.stop_reason_ == "iteration limit"


def test_the_certificate_is_saved_with_the_model(tmp_path):
    model = TwoStateGaussianHMM(random_state=0).fit(simulated(300, 2)[0])
    labelwood.save(model, tmp_path / "model")
    assert labelwood.load(tmp_path / "model").certificate_ == model.certificate_


@pytest.mark.parametrize(
    ("parameters", "X", "error", "message"),
    [
        ({"b": 1.0}, np.ones((5, 1)), ParameterError, "The 'b' parameter .* < 1"),
        ({"sigma": 0.0}, np.ones((5, 1)), ParameterError, "The 'sigma' parameter"),
        ({}, np.ones((5, 1)), DataError, "column 0 of X is constant"),
        ({}, np.ones((1, 1)), DataError, "fewer than n_states=2"),
        ({}, np.full((5, 1), np.nan), DataError, "column 0 of X holds nothing but NaN"),
    ],
)
def test_bad_input_is_refused(parameters, X, error, message):
    with pytest.raises(error, match=message):
        TwoStateGaussianHMM(**parameters).fit(X)


def test_the_moment_estimate_is_near_the_truth_and_starts_fill_its_ball():
    X, _, mean = simulated(20_000, 3, snr=2)
    data = check_sequences(TwoStateGaussianHMM(), X, None, reset=True)
    found, variance = moment_estimate(data, None)
    assert min(np.linalg.norm(found - mean), np.linalg.norm(found + mean)) < 0.1
    assert variance == pytest.approx(1, abs=0.05)
    rng = np.random.default_rng(0)
    lengths = [np.linalg.norm(in_ball(np.zeros(3), 2.0, rng)) for _ in range(4000)]
    assert max(lengths) <= 2
    assert np.mean(np.array(lengths) < 1) == pytest.approx(1 / 8, abs=0.02)


def test_beta_and_zeta_are_one_parameter():
    chain = SymmetricChain.of(0.2, 0.99)
    assert chain.zeta == pytest.approx(
        math.exp(chain.beta) / (math.exp(chain.beta) + math.exp(-chain.beta))
    )
    assert abs(math.tanh(chain.beta)) == pytest.approx(abs(2 * 0.2 - 1))
