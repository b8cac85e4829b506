import math

import numpy as np
import pytest

from labelwood import studies
from labelwood.studies import Options
from labelwood.studies.hmm import convergence, rate, truncation
from labelwood.studies.hmm._two_state import draw_sample, from_text, gap, trace
from sequences.brute_force import enumerate_paths


def test_samples_have_the_signal_and_the_chain_that_were_asked_for():
    sample = draw_sample(np.random.default_rng(0), snr=1.5, n=20_000)
    assert sample.mean @ sample.mean == pytest.approx(1.5)
    stays = (sample.states[1:] == sample.states[:-1]).mean()
    assert stays == pytest.approx(0.2, abs=0.01)
    assert math.tanh(sample.beta) == pytest.approx(2 * 0.2 - 1)
    noise = sample.X - sample.states[:, None] * sample.mean
    assert noise.std() == pytest.approx(1, abs=0.01)


def test_errors_fall_linearly_to_the_statistical_floor_and_starts_agree():
    rows = list(convergence.rows("η² = 1.5 (text)", Options()))
    assert len(rows) == 5
    assert max(row["optimization error"] for row in rows) < 1e-8
    assert 0.4 < rows[0]["factor"] < 0.6
    assert 0.5 < rows[0]["statistical error"] / math.sqrt(10 / 1000) < 2
    errors = np.log(from_text(rows[1]["trace of optimization error"])[5:25])
    residuals = errors - np.polyval(np.polyfit(np.arange(20), errors, 1), np.arange(20))
    assert np.abs(residuals).max() < 0.3


def test_a_window_over_everything_is_the_posterior_by_enumeration():
    rng = np.random.default_rng(0)
    log_odds, zeta = rng.normal(size=7), 0.3
    A = np.array([[zeta, 1 - zeta], [1 - zeta, zeta]])
    log_b = np.column_stack([log_odds, np.zeros(7)])
    whole = enumerate_paths(log_b, np.array([0.5, 0.5]), A)[1][:, 0]
    np.testing.assert_allclose(truncation.truncated_posteriors(log_odds, 6, zeta), whole)
    part = enumerate_paths(log_b[1:6], np.array([0.5, 0.5]), A)[1][2, 0]
    assert truncation.truncated_posteriors(log_odds, 2, zeta)[3] == pytest.approx(part)


def test_the_error_of_a_window_falls_at_least_as_fast_as_the_bound():
    rows = list(truncation.rows("1.5", Options()))
    assert truncation.measured_rate(rows)[1.5] < math.log(0.8)


def test_the_slope_of_the_rate_is_read_off_the_rows():
    rows = [
        {"η²": 1.5, "d": 10, "√(d/n)": x, "error": 2 * x, "‖μ − μ*‖": x**1.5}
        for x in (0.1, 0.2, 0.4)
    ]
    found = rate.slopes(rows)
    assert found["error"][1.5] == pytest.approx(1)
    assert found["‖μ − μ*‖"][1.5] == pytest.approx(1.5)


def test_a_trace_begins_at_its_start():
    sample = draw_sample(np.random.default_rng(1), snr=1.5, n=50)
    iterates = trace(sample, sample.mean, 2)
    assert gap(iterates[0][0], sample.mean) == 0
    assert iterates[0][1] == 0
    assert len(iterates) == 3


@pytest.mark.parametrize(
    "name", ["hmm-convergence", "hmm-snr", "hmm-rate", "hmm-truncation", "hmm-basins"]
)
def test_the_quick_version_runs_and_is_drawn(name, tmp_path):
    result = studies.run(name, only=list(studies.find(name).parts)[:1], quick=True, jobs=1)
    assert result.rows
    assert all(path.stat().st_size > 100 for path in result.write(tmp_path))


@pytest.mark.shared
def test_real_series_are_read_and_drawn(shared_data, tmp_path):
    result = studies.run("hmm-real", data=shared_data, only="geyser", quick=True, jobs=1)
    likelihoods = [row["log likelihood"] for row in result.rows]
    assert likelihoods[1] > likelihoods[0]
    assert result.write(tmp_path)
