import numpy as np
import pytest

from labelwood import GaussianHMM, StreamMonitor
from labelwood.errors import DataError
from labelwood.sequences.monitor import Timeline
from labelwood.sequences.plots import plot_states, plot_timeline, plot_trace, plot_transitions


@pytest.fixture
def axes():
    figure = pytest.importorskip("matplotlib.figure")
    return figure.Figure().add_subplot()


def test_states_are_drawn_at_their_steps(axes):
    plot_states(axes, [5.0, 6.0, 7.0], [1, 0, 1])
    assert axes.lines[2].get_xydata().tolist() == [[0, 5], [2, 7]]
    with pytest.raises(DataError, match="two lists of one length"):
        plot_states(axes, [1.0], [0, 1])
    with pytest.raises(DataError, match="values must be numbers"):
        plot_states(axes, ["a"], [0])


def test_the_trace_shows_the_measured_factor(axes):
    rng = np.random.default_rng(0)
    X = rng.normal(np.repeat([0, 2, 0, 2], 100), 1).reshape(-1, 1)
    model = GaussianHMM(2, tol=1e-12, random_state=0).fit(X)
    plot_trace(axes, model)
    factor = axes.lines[-1].get_ydata()
    assert factor[1] / factor[0] == pytest.approx(model.certificate_.contraction)
    assert f"{model.certificate_.contraction:.2f}" in axes.lines[-1].get_label()
    with pytest.raises(DataError, match="no trace of EM: partial_fit"):
        plot_trace(axes, model.partial_fit(X))


def test_rare_transitions_are_left_out_of_the_graph(axes):
    plot_transitions(axes, [[0.999, 0.001], [0.5, 0.5]], names=["a", "b"])
    texts = [text.get_text() for text in axes.texts if text.get_text()]
    assert texts.count("0.50") == 2
    assert "0.00" not in texts
    assert {"a", "b"} <= set(texts)
    with pytest.raises(DataError, match="square matrix"):
        plot_transitions(axes, [[0.5, 0.5]])
    with pytest.raises(DataError, match="1 names were given for 2 states"):
        plot_transitions(axes, np.eye(2), names=["a"])


def test_alarms_are_shaded_on_the_timeline(axes):
    monitor = StreamMonitor(5000, 0, 1)
    values = np.repeat([0.0, 3.0, 0.0], [20, 20, 40])
    timeline = monitor.update_many(values)
    plot_timeline(axes, values, timeline, monitor.record.change_point)
    assert len(axes.patches) == 1
    with pytest.raises(DataError, match="3 values and 80 steps"):
        plot_timeline(axes, [1, 2, 3], timeline)
    plot_timeline(axes, np.zeros(2), Timeline(np.zeros(2), np.zeros(2, dtype=bool)))
    assert len(axes.patches) == 1
