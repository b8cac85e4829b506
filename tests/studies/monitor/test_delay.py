import pytest

from labelwood import studies
from labelwood.studies import Options
from labelwood.studies.monitor import delay


def test_the_quick_version_has_a_row_for_every_detector_and_is_drawn(tmp_path):
    parts = ["known baseline, both directions", *delay.PEERS[:2]]
    result = studies.run("monitor-delay", only=parts, quick=True, jobs=1)
    assert [row["detector"] for row in result.rows] == parts
    assert all(row["run length"] > 0 for row in result.rows)
    assert result.write(tmp_path)


def test_adwin_is_measured_from_the_shift_on():
    pytest.importorskip("river")
    import numpy as np

    steps = delay._adwin(np.random.default_rng(0), 2.0, 3)
    assert (steps > 1).all()
    assert steps.max() < 200


def test_a_row_has_means_and_ratios_to_the_optimum():
    (row,) = delay.rows("dummy: alarms at random", Options(quick=True))
    assert row["ratio 1"] == pytest.approx(row["1 σ"] / 13.7)
