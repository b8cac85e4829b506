import warnings

import numpy as np
import pytest

from labelwood.errors import DataError, LabelwoodWarning
from labelwood.experiments.analysis import analyze
from labelwood.experiments.doubtful_counts import doubts

DAYS = ("Mon", "Tue", "Wed", "Thu")


def by_day(old, new, days=DAYS):
    """Rows of two arms, from (visitors, conversions) of each day."""
    arms = {"old": old, "new": new}
    return [(arm, *pair, day) for arm in arms for day, pair in zip(days, arms[arm], strict=True)]


# totals


@pytest.mark.parametrize("name", ["Total", "gesamt", "Summe:", "GRAND TOTAL", "All", "sum"])
def test_a_row_that_is_the_sum_of_the_arms_is_refused(name):
    message = (
        rf"the arm '{name}' has the 400 visitors and 27 conversions of all others together, so it "
        r"is their sum and no arm; leave its rows out"
    )
    with pytest.raises(DataError, match=message):
        analyze({"old": (200, 12), "new": (200, 15), name: (400, 27)})


def test_totals_by_day_and_one_over_all_days_are_refused_too():
    rows = by_day([(100, 5)] * 4, [(100, 6)] * 4)
    each = [("Total", 200, 11, day) for day in DAYS]
    for totals in (each, [("Total", 800, 44, "")]):
        with pytest.raises(DataError, match="'Total' has the 800 visitors and 44 conversions"):
            analyze(rows + totals)


def test_a_day_that_is_the_sum_of_the_days_is_refused():
    rows = by_day([(100, 5)] * 4, [(100, 6)] * 4)
    rows += [("old", 400, 20, "Total"), ("new", 400, 24, "Total")]
    with pytest.raises(DataError, match=r"the day 'Total' has the 800 visitors and 44 conversions"):
        analyze(rows)


@pytest.mark.parametrize(
    "counts",
    [
        {"none": (100, 5), "all": (100, 5)},  # of two arms, one may be called so
        {"old": (200, 12), "new": (200, 15), "all": (400, 26)},
        {"old": (200, 12), "new": (200, 15), "both": (400, 27)},
        {"old": (0, 0), "new": (0, 0), "all": (0, 0)},
    ],
)
def test_other_arms_are_no_totals(counts):
    assert not doubts([(arm, *pair, "") for arm, pair in counts.items()])


# repeated rows


def test_an_arm_that_comes_twice_on_a_day_is_warned_of():
    rows = by_day([(100, 5)] * 4, [(100, 6)] * 4)
    message = (
        r"the arm 'old' has 2 rows on day 'Mon' \(and 1 more arm and day has several\), which are "
        r"added up: right for parts of a day, wrong for a row that was pasted twice"
    )
    with pytest.warns(LabelwoodWarning, match=message):
        analyze([*rows, rows[0], rows[-1]])


def test_rows_without_days_add_up_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = analyze([("old", 100, 5), ("new", 100, 6), ("old", 90, 3), ("new", 95, 6)])
    assert [arm.count for arm in found.summary.arms] == [190, 195]


# spellings


@pytest.mark.parametrize("other", ["New", " new", "NEW  "])
def test_arms_that_differ_by_case_or_spaces_alone_are_warned_of(other):
    message = rf"the arms 'new' and '{other}' differ by case or spaces alone, and count as two"
    with pytest.warns(LabelwoodWarning, match=message):
        analyze({"old": (100, 5), "new": (100, 6), other: (100, 7)})


# cumulative counts


def test_counts_that_add_up_from_day_to_day_are_warned_of():
    old = [(1000, 50), (2000, 104), (3000, 149), (4000, 203)]
    new = [(1010, 60), (2005, 118), (3000, 181), (3990, 240)]
    message = (
        r"visitors and conversions of every arm rise from day to day, as counts since the start "
        r"do, and days are added up here: if these are such, keep the last day's rows alone, or "
        r"give each day its own counts"
    )
    with pytest.warns(LabelwoodWarning, match=message):
        analyze(by_day(old, new))


def test_a_short_first_day_and_a_day_without_conversions_hide_nothing():
    old = [(40, 1), (1000, 50), (2000, 50), (3000, 149)]
    new = [(50, 2), (1010, 55), (2005, 118), (3000, 181)]
    assert len(doubts(by_day(old, new))) == 1


@pytest.mark.parametrize(
    "old",
    [
        [(1000, 50), (1010, 51), (1030, 53), (1060, 60)],  # rises, but not by a day's visitors
        [(1000, 50), (2000, 104), (2000, 149), (4000, 203)],
        [(1000, 50), (2000, 104), (3000, 149), (4000, 148)],
        [(300, 10), (1000, 50), (1020, 55), (1050, 60)],  # a short first day
        [(1000, 50), (2000, 104), (3000, 1149), (4000, 1203)],  # more conversions than visitors
    ],
)
def test_other_counts_that_rise_are_not(old):
    new = [(1010, 60), (2005, 118), (3000, 181), (3990, 240)]
    assert not doubts(by_day(old, new))


def test_three_days_that_rise_are_not():
    old = [(1000, 50), (2000, 104), (3000, 149)]
    assert not doubts(by_day(old, old, DAYS[:3]))


def test_daily_counts_hardly_ever_seem_cumulative():
    rng = np.random.default_rng(0)
    warned = 0
    for _ in range(2000):
        # Traffic of a week rises and falls together in both arms, by a third and more.
        traffic = rng.gamma(9.0, 1000 / 9, 4)
        arms = []
        for rate in (0.05, 0.06):
            visitors = rng.poisson(traffic)
            arms.append(np.column_stack([visitors, rng.binomial(visitors, rate)]).tolist())
        warned += bool(doubts(by_day(*arms)))
    assert warned <= 20  # of 2,000
