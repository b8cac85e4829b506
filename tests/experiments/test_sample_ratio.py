import warnings

import numpy as np
import pytest

from labelwood.errors import LabelwoodWarning
from labelwood.experiments.analysis import analyze
from labelwood.experiments.sample_ratio import mismatch

UNEQUAL = {"old": (90_000, 4500), "new": (10_000, 700)}


def test_shares_that_contradict_the_ratio_are_warned_of_with_the_one_that_suits():
    message = (
        r"old has 90,000 visitors and new 10,000, where ratio=1 expects 50,000 and 50,000 "
        r"\(p < 1e-300 by a chi-squared test\)\. If these shares were planned, give ratio=0\.111, "
        r"as the test has little power otherwise; if not, find the cause before you believe a "
        r"verdict: visitors may be lost or counted twice in one arm"
    )
    with pytest.warns(LabelwoodWarning, match=message):
        found = analyze(UNEQUAL)
    assert not found.summary.winners


def test_the_ratio_that_is_named_leaves_no_warning_and_gives_the_power():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = analyze(UNEQUAL, ratio=0.111)
    assert found.p_value < 1e-12


def test_a_mismatch_of_moderate_size_is_warned_of():
    with pytest.warns(LabelwoodWarning, match=r"give ratio=0\.8, as the test has less power other"):
        analyze({"old": (10_000, 500), "new": (8_000, 400)})


def test_the_control_that_is_named_is_the_one_of_the_ratio():
    with pytest.warns(LabelwoodWarning, match=r"new has 10,000 visitors and old 90,000.*ratio=9, "):
        analyze(UNEQUAL, control="new")


def test_a_ratio_that_is_given_is_checked_too():
    with pytest.warns(LabelwoodWarning, match=r"ratio=0\.5 expects 10,000 and 5,000.*ratio=1, as"):
        analyze({"old": (7_500, 400), "new": (7_500, 410)}, ratio=0.5)


@pytest.mark.parametrize("evidence", ["mixture", "bounds"])
def test_evidence_without_bets_loses_no_power(evidence):
    with pytest.warns(LabelwoodWarning, match=r"were planned, say so by ratio=0\.111; if not"):
        analyze(UNEQUAL, evidence=evidence)


@pytest.mark.parametrize("visitors", [(45_489, 44_700), (100, 140), (1, 8), (5, 0), (0, 0)])
def test_what_chance_explains_is_no_mismatch(visitors):
    assert mismatch(dict(zip("ab", visitors, strict=True)), 0, 1.0, bets=True) == ""


def test_equal_treatments_beside_a_larger_control_suit_one_ratio():
    visitors = {"old": 50_000, "a": 25_100, "b": 24_900}
    found = mismatch(visitors, 0, 1.0, bets=True)
    assert "old has 50,000 visitors, a 25,100 and b 24,900, where" in found
    assert "expects 33,333, 33,333 and 33,333" in found
    assert "give ratio=0.5, as" in found
    assert mismatch(visitors, 0, 0.5, bets=True) == ""


def test_treatments_that_differ_get_the_ratio_of_their_mean():
    visitors = {"old": 50_000, "a": 30_000, "b": 20_000}
    assert "give ratio=0.5, their mean, as" in mismatch(visitors, 0, 1.0, bets=True)
    again = mismatch(visitors, 0, 0.5, bets=True)
    assert "If these shares were planned, leave ratio=0.5, their mean; if not" in again


def test_an_arm_without_visitors_has_no_ratio():
    found = mismatch({"old": 5_000, "new": 0}, 0, 1.0, bets=True)
    assert "old has 5,000 visitors and new 0" in found
    assert found.endswith("counted twice in one arm")
    assert "planned" not in found


def test_the_ratio_has_as_many_digits_as_the_counts_resolve():
    visitors = {"old": 900_000_000, "new": 100_000_000}
    found = mismatch(visitors, 0, 1.0, bets=True)
    given = float(found.split("give ratio=")[1].split(",")[0])
    assert mismatch(visitors, 0, given, bets=True) == ""


def test_an_even_split_is_seldom_warned_of():
    rng = np.random.default_rng(0)
    draws = rng.multinomial(3_000, [1 / 3] * 3, size=4_000).tolist()
    warned = sum(
        bool(mismatch(dict(zip("abc", one, strict=True)), 0, 1.0, bets=True)) for one in draws
    )
    assert warned <= 12  # 4 are expected at 0.001; 12 or fewer but for one in a thousand
