import json
import math

import numpy as np
import pytest
from scipy import stats

import labelwood
from labelwood import StreamMonitor
from labelwood.errors import DataError, ModelError, ParameterError
from labelwood.sequences.monitor import Timeline
from labelwood.sequences.monitor import _kernels as kernels
from labelwood.sequences.monitor.calibration import (
    Scenario,
    alarm_level,
    block_size,
    calibrate,
    simulate_delays,
)

OPTIMUM = {0.5: 43.7, 1.0: 13.7, 1.5: 6.9, 2.0: 4.2}  # one-sided, run length 5,000


def normal(n, shift=0.0, seed=0):
    return np.random.default_rng(seed).normal(shift, 1, n)


def exact_posterior(u, steps, shifts, weights, hazard, back):
    """P(degraded) and age by the joint chain over (state, step of entry), nothing merged.

    A change between two observations is at any step after the first of them.
    """
    healthy, entered, last = 1.0, {}, 0
    for step, x in zip(steps, u, strict=True):
        moved = {key: p * (1 - back) for key, p in entered.items()}
        for j, weight in enumerate(weights):
            for entry in range(last + 1, step + 1):
                moved[j, entry] = healthy * hazard * weight / (step - last)
        healthy = healthy * (1 - hazard) + back * sum(entered.values())
        entered = {
            (j, s): p * math.exp(shifts[j] * x - shifts[j] ** 2 / 2) for (j, s), p in moved.items()
        }
        total = healthy + sum(entered.values())
        healthy /= total
        entered = {key: p / total for key, p in entered.items()}
        last = step
    degraded = sum(entered.values())
    mean = sum(p * (last - s) for (_, s), p in entered.items()) / degraded
    square = sum(p * (last - s) ** 2 for (_, s), p in entered.items()) / degraded
    return degraded, mean, math.sqrt(square - mean**2)


@pytest.mark.parametrize("gaps", [[1], [1, 4, 2]], ids=["every step", "left out at times"])
def test_the_filter_and_the_age_of_the_change_are_exact(gaps):
    u = np.concatenate([normal(15), normal(10, 1.0, seed=1)])
    steps = np.cumsum(np.resize(gaps, u.size)).tolist()
    figure = Scenario().figure()
    for step, x in zip(steps, u, strict=True):
        figure.advance(x, step)
    degraded, mean, deviation = exact_posterior(
        u, steps, figure.shifts, figure.weights, 1 / 5000, figure.settings[kernels.RETURN]
    )
    assert figure.degraded == pytest.approx(degraded, rel=1e-12)
    expected = (pytest.approx(mean, rel=1e-10), pytest.approx(deviation, rel=1e-8))
    assert figure.age(steps[-1]) == expected
    assert figure.age(steps[-1] + 3)[0] == pytest.approx(mean + 3)


def test_the_e_process_is_the_mixture_over_change_points():
    u = normal(12, 0.5)
    shifts, weights = np.array([0.5, -1.0]), np.array([0.3, 0.7])
    state = np.zeros((kernels.N_ROWS, 3))
    for t, x in enumerate(u, 1):
        found = kernels.evidence_step(state, x, shifts, weights, float(t))
    n = len(u)
    expected = 1 / (n + 1)  # the change is still to come
    for k in range(1, n + 1):
        for shift, weight in zip(shifts, weights, strict=True):
            ratio = math.exp((shift * u[k - 1 :] - shift**2 / 2).sum())
            expected += weight * ratio / (k * (k + 1))
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("regress", [False, True])
def test_recursive_residuals_agree_with_least_squares(regress):
    y = 1e6 + np.cumsum(0.1 * normal(40)) + normal(40, seed=2)
    figure = Scenario(
        known=False, baseline_size=30, autocorrelation=None if regress else 0.0
    ).figure()
    for x in y[:39]:
        kernels.advance(
            figure.probabilities, figure.baseline, np.zeros(0), x,
            figure.shifts, figure.weights, figure.settings, 1.0,
        )  # fmt: skip
    found = kernels.standardize(figure.baseline, y[39] - y[0], figure.settings)
    z = y - y[0]
    first = 1 if regress else 0
    columns = [np.ones(39 - first)] + ([z[:38]] if regress else [])
    D = np.column_stack(columns)
    target = z[first:39]
    new = np.array([1.0, z[38]]) if regress else np.array([1.0])
    beta, rss = np.linalg.lstsq(D, target, rcond=None)[:2]
    freedom = len(target) - D.shape[1]
    variance = rss[0] / freedom * (1 + new @ np.linalg.inv(D.T @ D) @ new)
    t = (z[39] - new @ beta) / math.sqrt(variance)
    assert found == pytest.approx(kernels.normal_score(t, freedom), abs=1e-5)


@pytest.mark.parametrize("freedom", [28.0, 100.0, 1000.0])
def test_normal_scores_have_the_probability_of_students_t(freedom):
    for t in (-4.0, -1.0, 0.0, 0.3, 2.5):
        score = kernels.normal_score(t, freedom)
        assert score == pytest.approx(stats.norm.ppf(stats.t.cdf(t, freedom)), abs=0.003)


def test_scores_of_a_learned_baseline_are_standard_normal_whatever_the_stream():
    rng = np.random.default_rng(0)
    scores = []
    for _ in range(300):
        figure = Scenario(known=False, baseline_size=30, autocorrelation=0.0).figure()
        for x in rng.normal(50, 7, 40):
            if figure.baseline[kernels.STEP] >= 30:
                y = x - figure.baseline[kernels.OFFSET]
                scores.append(kernels.standardize(figure.baseline, y, figure.settings))
            kernels.advance(
                figure.probabilities, figure.baseline, np.zeros(0), x,
                figure.shifts, figure.weights, figure.settings, 1.0,
            )  # fmt: skip
    assert stats.kstest(scores, "norm").pvalue > 0.01


@pytest.mark.parametrize("direction", ["both", "up"])
def test_the_promised_run_length_is_kept_at_any_promise(direction):
    for promised in (150, 700):
        delays = simulate_delays(Scenario(run_length=promised, direction=direction), 2_000)
        error = delays.std() / math.sqrt(delays.size)
        assert promised - 2 * error < delays.mean() < 1.15 * promised


@pytest.mark.parametrize("shift", OPTIMUM)
@pytest.mark.parametrize("direction", ["both", "up"])
def test_the_delay_is_within_1_3_of_the_optimum(direction, shift):
    delays = simulate_delays(Scenario(direction=direction, shift=shift), 3_000)
    assert delays.mean() <= 1.3 * OPTIMUM[shift]


def test_a_shift_in_the_other_direction_does_not_alarm():
    up = StreamMonitor(5000, 0, 1, direction="up")
    assert not up.update_many(normal(500, -1.0)).alarms.any()
    down = StreamMonitor(5000, 0, 1, direction="down")
    assert down.update_many(normal(500, -1.0)).alarms[100:].all()


@pytest.mark.slow
@pytest.mark.parametrize("baseline_size", [200, 1000])
@pytest.mark.parametrize("phi", [0.0, 0.5])
def test_a_learned_baseline_keeps_the_run_length(baseline_size, phi):
    scenario = Scenario(known=False, baseline_size=baseline_size, phi=phi)
    delays = simulate_delays(scenario, 2_000, n_jobs=2)
    error = delays.std() / math.sqrt(delays.size)
    least = 5000 if phi == 0 else 2500
    assert delays.mean() > least - 2 * error


@pytest.mark.slow
def test_the_table_of_levels_is_what_calibration_finds():
    for run_length in (100, 1000):
        for direction in ("both", "up"):
            scenario = Scenario(run_length=run_length, direction=direction)
            level = alarm_level(run_length, two_sided=direction == "both")
            found = calibrate(scenario, 3_000, random_state=9)
            assert math.log(level / (1 - level)) == pytest.approx(found + 0.04, abs=0.06)


def test_a_short_learned_baseline_keeps_a_short_promise():
    delays = simulate_delays(Scenario(run_length=200, known=False, baseline_size=50), 1_500)
    error = delays.std() / math.sqrt(delays.size)
    assert delays.mean() > 200 - 2 * error


def test_never_means_that_few_streams_ever_alarm():
    scenario = Scenario(guarantee_alpha=0.2)
    ended = simulate_delays(scenario, 600, limit=3_000) < 3_000
    assert 0.02 < ended.mean() < 0.2
    found = simulate_delays(Scenario(guarantee_alpha=0.2, shift=1.0), 300, limit=3_000)
    assert found.max() < 100


def test_an_alarm_holds_until_the_stream_has_recovered():
    monitor = StreamMonitor(5000, 0, 1)
    quiet = monitor.update_many(normal(300))
    bad = monitor.update_many(normal(100, 1.5, seed=1))
    good = monitor.update_many(normal(200, seed=2))
    assert not quiet.alarms.any()
    assert bad.episodes()[0][0] < 20
    assert bad.alarms[20:].all()  # it does not flicker
    (first, last) = good.episodes()[0]
    assert first == 0
    assert last < 40
    assert not good.alarms[last:].any()


def test_the_change_point_is_found_with_its_interval():
    hits = 0
    for seed in range(100):
        monitor = StreamMonitor(5000, 0, 1)
        monitor.update_many(normal(300, seed=seed))
        monitor.update_many(normal(60, 1.0, seed=1000 + seed))
        record = monitor.record
        low, high = record.change_interval
        assert low <= record.change_point <= high
        hits += low <= 301 <= high
    assert hits >= 84  # 90 % intervals


@pytest.mark.parametrize("every", [3, 10])
def test_the_change_point_counts_steps_of_the_monitor_when_a_figure_is_left_out(every):
    """A figure that comes with every `every`-th observation changes at step 601."""
    hits, errors = 0, []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        monitor = StreamMonitor(5000, [0, 0], [1, 1], figures=["often", "seldom"])
        for step in range(1, 601 + 25 * every):
            x = {"often": rng.normal()}
            if step % every == 0:
                x["seldom"] = rng.normal(1.5 if step > 600 else 0.0)
            record = monitor.update(x)
        assert "seldom" in record.figures
        low, high = record.change_interval
        hits += low <= 601 <= high
        errors.append(record.change_point - 601)
    assert hits >= 32
    assert abs(np.median(errors)) <= every


def test_an_alarm_that_begins_and_ends_within_a_batch_leaves_its_change_point():
    x = np.concatenate([normal(300), normal(60, 1.5, seed=1), normal(300, seed=2)])
    one, many = (StreamMonitor(5000, [0, 0], [1, 1], figures=["a", "b"]) for _ in range(2))
    rows = np.column_stack([x, normal(660, seed=3)])
    for row in rows:
        one.update(row)
    timeline = many.update_many(rows)
    assert timeline.alarms.any()
    assert not many.alarm
    assert 290 < many.record.change_point < 320
    assert one.to_json() == many.to_json()


def test_updates_one_by_one_and_at_once_are_the_same():
    x = np.concatenate([normal(250), normal(60, 1.0, seed=3)])
    one, many = StreamMonitor(baseline_size=100), StreamMonitor(baseline_size=100)
    records = [one.update(value) for value in x]
    timeline = many.update_many(x)
    assert [record.probability for record in records] == timeline.probabilities.tolist()
    assert [record.alarm for record in records] == timeline.alarms.tolist()
    assert one.to_json() == many.to_json()
    assert records[50].learning
    assert records[50].probability == 0
    assert not records[-1].learning


def test_its_state_goes_through_json_and_goes_on_the_same():
    x = np.concatenate([normal(250), normal(60, 1.0, seed=3)])
    monitor = StreamMonitor(figures=["margin"], baseline_size=100)
    for value in x[:270]:
        monitor.update(value)
    copy = StreamMonitor.from_json(monitor.to_json())
    for value in x[270:]:
        assert copy.update(value) == monitor.update(value)
    assert copy.to_json() == monitor.to_json()
    assert len(monitor.to_json()) < 20_000  # constant memory
    monitor.reset()
    assert monitor.record.step == 0
    assert monitor.record.learning


def test_saving_a_monitor_as_a_model_points_to_its_json(tmp_path):
    with pytest.raises(ModelError, match=r"StreamMonitor is no estimator .*: keep its to_json\(\)"):
        labelwood.save(StreamMonitor(), tmp_path / "monitor")


def test_several_figures_share_the_promise_and_name_the_culprit():
    monitor = StreamMonitor(
        1000, mean={"margin": 0.5, "tags": 5}, scale=[0.1, 2], figures=["margin", "tags"]
    )
    alone = StreamMonitor(2000, 0, 1)
    assert list(monitor.levels.values()) == [*alone.levels.values()] * 2
    rng = np.random.default_rng(0)
    for _ in range(60):
        record = monitor.update({"margin": rng.normal(0.5, 0.1), "tags": rng.normal(8, 2)})
    assert record.figures == ("tags",)
    assert record.alarm
    assert record.probability > 0.99
    before = monitor.to_dict()["figures"][0]
    monitor.update({"tags": 8.0})  # a figure that is left out keeps its state
    assert monitor.to_dict()["figures"][0] == before


def test_data_frames_are_read_by_the_names_of_their_columns():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"b": normal(50, seed=1), "a": normal(50)})
    one, many, rows = (StreamMonitor(1000, [0, 5], [1, 1], figures=["a", "b"]) for _ in range(3))
    many.update_many(frame)
    rows.update_many(frame[["a", "b"]].to_numpy())
    for _, row in frame.iterrows():
        one.update(row)
    assert one.to_json() == many.to_json() == rows.to_json()
    with pytest.raises(DataError, match="the columns are b, and the figures of the monitor a, b"):
        many.update_many(frame[["b"]])
    assert repr(one) == "<StreamMonitor of a, b: alarm after 50 steps>"


def test_autocorrelation_that_is_known_is_taken_out():
    phi, rng = 0.6, np.random.default_rng(0)
    x, streams = 0.0, []
    for _ in range(4_000):
        x = phi * x + math.sqrt(1 - phi**2) * rng.normal()
        streams.append(x)
    naive = StreamMonitor(5000, 0, 1).update_many(streams)
    aware = StreamMonitor(5000, 0, 1, autocorrelation=phi).update_many(streams)
    assert len(naive.episodes()) > 5 * max(len(aware.episodes()), 1)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (float("nan"), r"figure 'value' is nan, not a finite number"),
        (math.inf, "figure 'value' is inf"),
        ("high", "figure 'value' is 'high'"),
        (None, "figure 'value' is None"),
        ([1.0, 2.0], r"must have 1 figures. Got 2"),
        (np.array(math.nan), "figure 'value' is .*nan"),
        ([[1.0]], r"figure 'value' is \[1\.0\], not a finite number"),
        ({"margin": 1.0}, "no figure 'margin'; the monitor has value"),
    ],
)
def test_an_observation_that_is_none_is_refused_and_changes_nothing(x, message):
    monitor = StreamMonitor(5000, 0, 1)
    monitor.update(0.3)
    before = monitor.to_json()
    with pytest.raises(DataError, match=message):
        monitor.update(x)
    assert monitor.to_json() == before


def test_observations_out_of_order_are_refused():
    monitor = StreamMonitor(5000, 0, 1)
    monitor.update(0.1, time=10.0)
    with pytest.raises(DataError, match="time must be a finite number"):
        monitor.update(0.1, time=math.inf)
    for time in (10.0, 9.0):
        with pytest.raises(DataError, match=r"came after the one at 10\.0: sort the log"):
            monitor.update(0.1, time=time)
    assert monitor.update(0.1, time=10.5).step == 2


def test_a_time_that_is_no_number_is_refused():
    monitor = StreamMonitor(mean=0.0, scale=1.0)
    with pytest.raises(DataError, match=r"time must be a number, such as .* Got '2026-01-31'"):
        monitor.update(0.0, time="2026-01-31")


def test_many_observations_are_checked_before_any_is_taken():
    monitor = StreamMonitor(5000, 0, 1)
    with pytest.raises(DataError, match=r"figure 'value' is .*nan.* \(row 1\)"):
        monitor.update_many([0.0, math.nan])
    with pytest.raises(DataError, match="must have 1 columns"):
        monitor.update_many(np.zeros((3, 2)))
    with pytest.raises(DataError, match="observations must be numbers"):
        monitor.update_many(["a", "b"])
    assert monitor.record.step == 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"expected_run_length": 5}, "'expected_run_length' parameter of StreamMonitor"),
        ({"mean": 0.0}, "mean and scale must be given together"),
        ({"mean": 0.0, "scale": 0.0}, "scale must be above 0"),
        ({"mean": [0.0, 1.0], "scale": 1.0}, "mean must be 1 finite numbers"),
        ({"mean": "a", "scale": 1.0}, "mean must be 1 finite numbers, one per figure. Got 'a'"),
        ({"mean": [[0.0], [1.0, 2.0]], "scale": 1.0}, "mean must be 1 finite numbers"),
        ({"mean": {"value": "a"}, "scale": 1.0}, "mean must be 1 finite numbers"),
        ({"block": 0}, "block must be 1 whole numbers ≥ 1"),
        ({"block": 2.5}, "block must be 1 whole numbers ≥ 1"),
        ({"block": 200}, "block of 200 .* at most 100"),
        ({"figures": 3}, "figures must be different names"),
        ({"figures": ["a", "a"]}, "figures must be different names"),
        ({"direction": "left"}, "'direction' parameter"),
        ({"autocorrelation": 1.0}, "'autocorrelation' parameter"),
        ({"baseline_size": 3}, "'baseline_size' parameter"),
        ({"mean": {"a": 1.0}, "scale": 1.0, "figures": ["a", "b"]}, "mean lacks the figure 'b'"),
    ],
)
def test_parameters_outside_their_constraints_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        StreamMonitor(**parameters)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: state.pop("figures"), "not the state of a monitor: KeyError"),
        (lambda state: state.update(format=1), "monitor of format 1"),
        (lambda state: state["figures"].pop(), "the number of figures differs"),
        (lambda state: state["figures"][0]["baseline"].pop(), "wrong baseline"),
        (lambda state: state["figures"][0]["probabilities"][0].__setitem__(0, 5.0), "damaged"),
        (lambda state: state.update(step="x"), "not the state of a monitor: step 'x'"),
        (lambda state: state.update(step=-1), "not the state of a monitor: step -1"),
        (lambda state: state.update(time="noon"), "not the state of a monitor: time 'noon'"),
        (lambda state: state.update(change=[1]), r"not the state of a monitor: change \[1\]"),
        (lambda state: state["figures"][0].update(baseline="x"), "not the state of a monitor"),
        (lambda state: state.update(figures=3), "not the state of a monitor"),
        (lambda state: state["parameters"].update(direction="x"), "'direction' parameter"),
        (lambda state: state["parameters"].update(mean="a"), "mean must be 1 finite numbers"),
        (lambda state: state["parameters"].update(color=1), "not the state of a monitor"),
    ],
)
def test_a_damaged_state_is_refused(change, message):
    state = json.loads(StreamMonitor(5000, 0, 1).to_json())
    change(state)
    with pytest.raises(DataError, match=message):
        StreamMonitor.from_dict(state)


@pytest.mark.parametrize("text", ["{", "[]", "3", "null", '"a"'])
def test_what_is_no_state_is_refused(text):
    with pytest.raises(DataError, match="not the state of a monitor"):
        StreamMonitor.from_json(text)


def test_episodes_are_the_stretches_of_alarm():
    alarms = np.array([True, False, False, True, True])
    assert Timeline(np.zeros(5), alarms).episodes() == [(0, 1), (3, 5)]


def test_a_constant_baseline_is_refused_and_changes_nothing():
    monitor = StreamMonitor(figures=["a", "b"], baseline_size=30)
    for i in range(30):
        monitor.update([float(i % 7), 1.0], time=i)
    before = monitor.to_json()
    with pytest.raises(DataError, match="figure 'b' is constant over its baseline"):
        monitor.update([3.0, 1.0], time=30)
    assert monitor.to_json() == before
    assert monitor.update([3.0, 1.5], time=30).step == 31  # what varies is taken
    many = StreamMonitor(figures=["a", "b"], baseline_size=30)
    before = many.to_json()
    with pytest.raises(DataError, match="constant over its baseline"):
        many.update_many(np.column_stack([normal(50), np.ones(50)]))
    assert many.to_json() == before


@pytest.mark.parametrize(
    ("binomial", "block"),
    [((5, 0.98), 20), ((1, 0.9), 20)],
    ids=["number of labels", "accepted or not"],
)
def test_blocks_keep_the_promise_for_figures_far_from_normal(binomial, block):
    rng = np.random.default_rng(0)
    delays = []
    for _ in range(300):
        monitor = StreamMonitor(1000, block=block)
        steps = 0
        while not monitor.alarm:
            alarms = monitor.update_many(rng.binomial(*binomial, 500)).alarms
            steps += int(np.argmax(alarms)) if alarms.any() else 500
        delays.append(steps - 30 * block)
    error = np.std(delays) / math.sqrt(len(delays))
    assert np.mean(delays) > 1000 - 2 * error


def test_a_block_is_one_observation_of_its_mean():
    x = np.concatenate([normal(240), normal(60, 1.0, seed=3)])
    blocks = StreamMonitor(500, 0, 1, figures=["a"], block={"a": 4})
    means = StreamMonitor(125, 0, 1)
    records = [blocks.update(value) for value in x]
    expected = means.update_many(x.reshape(-1, 4).mean(axis=1))
    assert [record.probability for record in records[3::4]] == expected.probabilities.tolist()
    assert records[4].probability == records[3].probability  # nothing new before a block is full
    assert 230 < blocks.record.change_point < 260
    copy = StreamMonitor.from_json(blocks.to_json())
    assert copy.update(1.0) == blocks.update(1.0)


def test_the_block_is_chosen_by_the_shape_of_a_sample():
    rng = np.random.default_rng(0)
    assert block_size(rng.normal(size=200), 5000) <= 2
    assert 20 <= block_size(rng.exponential(size=200), 5000) <= 100
    assert block_size(rng.binomial(5, 0.98, 200), 5000) >= 50
    assert block_size(rng.random(200), 5000) == 1  # light tails alarm too seldom, not too often
    assert block_size(np.ones(200), 5000) == 1
