import pytest

from labelwood.errors import DataError
from labelwood.sequences.monitor.prediction_log import available_figures, figures_of

LABELS = [{"label": "a", "score": 0.9}, {"label": "b", "score": 0.5}]


def test_a_field_with_the_name_of_a_derived_figure_stands_once_and_is_read():
    line = {"labels": LABELS, "margin": 7.0}
    assert available_figures(line) == ["top_score", "margin", "n_labels"]
    assert figures_of(line, ["margin", "top_score"], "line 1") == {"margin": 7.0, "top_score": 0.9}


def test_a_log_without_labels_may_have_a_margin_of_its_own():
    line = {"id": 3, "time": 1, "margin": 0.25, "text": "x"}
    assert available_figures(line) == ["margin"]
    assert figures_of(line, ["margin"], "line 1") == {"margin": 0.25}


def test_a_field_that_is_no_number_gives_way_to_the_derived_figure():
    line = {"labels": LABELS, "margin": "wide"}
    assert "margin" in available_figures(line)
    assert figures_of(line, ["margin"], "line 1") == {"margin": pytest.approx(0.4)}


def test_a_figure_that_is_null_is_left_out():
    assert figures_of({"accepted": None, "latency": 1}, ["accepted", "latency"], "line 1") == {
        "latency": 1.0
    }
    with pytest.raises(DataError, match="line 1: no figure 'accepted' can be read"):
        figures_of({"latency": 1}, ["accepted"], "line 1")
