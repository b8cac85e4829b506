import numpy as np
import pytest

from labelwood import studies
from labelwood.experiments.simulation.simulate import SequenceRuns
from labelwood.studies._study import Options
from labelwood.studies.mab import fdr as mab_fdr
from labelwood.studies.mab._sequences import ALPHA, Experiments


@pytest.fixture(scope="module")
def result():
    return studies.run("mab-fdr", quick=True, jobs=1)


def rejections(rejected):
    other = np.zeros(rejected.shape, np.int64)
    return SequenceRuns(other + 0.1, other + 0.1, rejected, other, other, other)


def test_error_rates_are_those_of_their_definition():
    rng = np.random.default_rng(0)
    given = Experiments(np.zeros((30, 2)), rng.random(30) < 0.5)
    done = rejections(rng.random((8, 30)) < 0.3)
    fdp, mfdr = mab_fdr._error_rates(given, done)
    for J in (1, 7, 30):
        false, total, share = [], [], []
        for run in done.rejected:
            found = [j for j in range(J) if run[j]]
            wrong = [j for j in found if not given.effects[j]]
            false.append(len(wrong))
            total.append(len(found))
            share.append(len(wrong) / max(len(found), 1))
        row = mab_fdr._figures(given, done, fdp, mfdr, J)
        assert row["FDR"] == pytest.approx(np.mean(share))
        assert row["±"] == pytest.approx(np.std(share, ddof=1) / 8**0.5)
        assert row["mFDR"] == pytest.approx(np.mean(false) / (np.mean(total) + 1))
        assert row["FDP 90 %"] == pytest.approx(np.quantile(share, 0.9))
    right = [run[j] for run in done.rejected for j in range(30) if given.effects[j]]
    assert row["power"] == pytest.approx(np.mean(right))


def test_the_worst_rate_is_the_largest_so_far():
    given = Experiments(np.zeros((4, 2)), np.array([False, True, True, True]))
    done = rejections(np.array([[True, True, False, True], [False, True, True, True]]))
    rates = mab_fdr._error_rates(given, done)
    figures = [mab_fdr._figures(given, done, *rates, J) for J in (1, 2, 3, 4)]
    assert [row["FDR"] for row in figures] == pytest.approx([1 / 2, 1 / 4, 1 / 4, 1 / 6])
    assert [row["worst FDR"] for row in figures] == [0.5] * 4
    assert [row["mFDR"] for row in figures] == pytest.approx([1 / 3, 1 / 5, 1 / 6, 1 / 8])
    assert [row["worst mFDR"] for row in figures] == pytest.approx([1 / 3] * 4)
    assert figures[0]["power"] is None  # no effect so far


def test_each_procedure_has_a_row_for_each_time_and_each_share(result):
    found = [(row["panel"], row["effects"], row["procedure"], row["J"]) for row in result.rows]
    expected = [("time", 0.4, name, J) for name in mab_fdr.PROCEDURES for J in (1, 2, 5, 10, 20)]
    for share in (0.1, 0.5, 0.9):
        expected += [("share", share, name, 20) for name in mab_fdr.PROCEDURES]
    assert found == expected


@pytest.fixture(scope="module")
def many():
    """The settings of the full study but for the number of runs; rows by procedure and share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mab_fdr, "N_RUNS", 10)
        patch.setattr(mab_fdr, "SHARES", (0.1, 0.4))
        rows = list(mab_fdr.rows("share", Options(seed=1)))
    return {(row["procedure"], row["effects"]): row for row in rows}


@pytest.mark.parametrize("share", [0.1, 0.4])
def test_lord_and_lord_15_keep_both_error_rates_at_every_time(many, share):
    for name in ("LORD", "LORD '15"):
        assert many[name, share]["worst FDR"] <= ALPHA
        assert many[name, share]["worst mFDR"] <= ALPHA


@pytest.mark.parametrize("share", [0.1, 0.4])
def test_independent_tests_keep_neither(many, share):
    row = many["independent", share]
    assert row["FDR"] - 3 * row["±"] > ALPHA
    assert row["mFDR"] > ALPHA


@pytest.mark.parametrize("share", [0.1, 0.4])
def test_lord_has_more_power_than_bonferroni(many, share):
    assert many["LORD", share]["power"] > many["Bonferroni", share]["power"] + 0.05


def test_the_plot_has_the_level_and_every_procedure(result):
    pytest.importorskip("matplotlib")
    from labelwood.studies._plot import svg

    image = svg(studies.find("mab-fdr").draw, result.rows).decode()
    for text in ("α", *mab_fdr.PROCEDURES, "mFDR", "power", "share of effects"):
        assert f">{text}<" in image
