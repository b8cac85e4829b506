import json

import numpy as np
import pytest
import scipy.sparse as sp

from labelwood import LabelTreeClassifier, OneVsRestSVM, synthetic
from labelwood import auto as choice
from labelwood.auto import Choice, Cost, choose_learner, expected_costs


def problem(n, n_labels, per_row=10, d=1000):
    rng = np.random.default_rng(0)
    X = sp.csr_array(
        (
            np.ones(n * per_row, np.float32),
            rng.integers(0, d, n * per_row),
            np.arange(0, n * per_row + 1, per_row),
        ),
        shape=(n, d),
    )
    Y = sp.csr_array((np.ones(n), np.arange(n) % n_labels, np.arange(n + 1)), shape=(n, n_labels))
    return X, Y


@pytest.mark.parametrize("learner", ["OneVsRestSVM", "LabelTreeClassifier"])
def test_more_points_and_more_labels_cost_more(learner):
    small = expected_costs(*problem(5_000, 500), n_jobs=1)[learner]
    points = expected_costs(*problem(20_000, 500), n_jobs=1)[learner]
    labels = expected_costs(*problem(5_000, 5_000), n_jobs=1)[learner]
    assert small.seconds < min(points.seconds, labels.seconds)
    assert small.bytes < points.bytes


@pytest.mark.parametrize("learner", ["OneVsRestSVM", "LabelTreeClassifier"])
def test_threads_share_the_time_and_not_the_memory(learner):
    one = expected_costs(*problem(5_000, 500), n_jobs=1)[learner]
    two = expected_costs(*problem(5_000, 500), n_jobs=2)[learner]
    assert two.seconds == pytest.approx(one.seconds / 2)
    assert two.bytes > one.bytes


def test_the_tree_grows_slower_with_the_labels():
    few = expected_costs(*problem(50_000, 1_000), n_jobs=2)
    many = expected_costs(*problem(50_000, 50_000), n_jobs=2)
    growth = {name: many[name].seconds / few[name].seconds for name in few}
    assert growth["OneVsRestSVM"] > 2 * growth["LabelTreeClassifier"]


def test_one_vs_rest_is_taken_while_it_is_affordable():
    assert choose_learner(*problem(5_000, 500)).learner == OneVsRestSVM.__name__


def test_the_tree_is_taken_where_one_vs_rest_takes_too_long(monkeypatch):
    costs = {"OneVsRestSVM": Cost(5_000, 1), "LabelTreeClassifier": Cost(100, 1)}
    monkeypatch.setattr(choice, "expected_costs", lambda *_, **__: costs)
    chosen = choose_learner(*problem(10, 2))
    assert chosen.learner == LabelTreeClassifier.__name__
    assert "longer" in chosen.reason


def test_the_tree_is_taken_where_one_vs_rest_does_not_fit(monkeypatch):
    monkeypatch.setattr(choice, "available_memory", lambda: 1000)
    chosen = choose_learner(*problem(5_000, 500))
    assert chosen.learner == LabelTreeClassifier.__name__
    assert "memory" in chosen.reason


def test_the_table_shows_what_each_costs_and_which_is_selected():
    lines = str(choose_learner(*problem(5_000, 500), n_jobs=1)).splitlines()
    assert lines[0].split() == ["learner", "time", "memory"]
    assert [line.split()[0] for line in lines[1:]] == ["OneVsRestSVM", "LabelTreeClassifier"]
    assert lines[1].endswith("<- selected: more accurate, in under 10 min")


def test_a_choice_survives_json():
    choice = choose_learner(*problem(50, 5), n_jobs=1)
    assert Choice.from_dict(json.loads(json.dumps(choice.to_dict()))) == choice


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.2, "~1 s"), (42, "~42 s"), (600, "~10 min"), (9000, "~2.5 h")]
)
def test_durations_are_shown_in_a_fitting_unit(seconds, shown):
    assert Cost(seconds, 3 * 2**29).time == shown
    assert Cost(seconds, 3 * 2**29).memory == "1.5 GB"
    assert Cost(seconds, 72 * 2**20).memory == "72 MB"


def test_calibration_takes_longer():
    plain = expected_costs(*problem(5_000, 500), n_jobs=1)
    calibrated = expected_costs(*problem(5_000, 500), n_jobs=1, calibrate=True)
    assert all(calibrated[name].seconds > 1.5 * plain[name].seconds for name in plain)


def test_one_vs_rest_may_take_long_where_the_tree_does_too(monkeypatch):
    costs = {"OneVsRestSVM": Cost(5_000, 1), "LabelTreeClassifier": Cost(2_000, 1)}
    monkeypatch.setattr(choice, "expected_costs", lambda *_, **__: costs)
    chosen = choose_learner(*problem(10, 2))
    assert chosen.learner == OneVsRestSVM.__name__
    assert "4 times" in chosen.reason


def test_nothing_to_train_costs_nothing():
    empty = sp.csr_array((0, 5)), sp.csr_array((0, 3))
    assert all(cost.seconds == 0 for cost in expected_costs(*empty, n_jobs=1).values())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*have no sample")
@pytest.mark.parametrize("kind", [OneVsRestSVM, LabelTreeClassifier])
def test_the_model_and_scratch_memory_are_of_the_right_size(kind):
    train = synthetic(20_000, 20_000, 5_000, random_state=0).train
    expected = expected_costs(train.X, train.Y, n_jobs=1)[kind.__name__].bytes
    size = kind(random_state=0, n_jobs=1).fit(train.X, train.Y).model_size
    assert size < expected < 10 * size
