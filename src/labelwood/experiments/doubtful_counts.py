"""Rows of counts that are plausible one by one and wrong together, as of a spreadsheet."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from labelwood.core.names import count, shown
from labelwood.errors import DataError

Row = tuple[str, int, int, str]
"""Arm, visitors, conversions, day."""

_TOTALS = frozenset(
    ("total", "totals", "grand total", "overall", "sum", "all", "gesamt", "insgesamt", "summe")
)
_DAYS = 4  # that must rise before counts seem cumulative


def doubts(rows: Sequence[Row]) -> list[str]:
    """What to warn of; a row that is the sum of the others is refused.

    Examples
    --------
    >>> doubts([("old", 100, 5, ""), ("new", 100, 6, ""), ("New", 100, 7, "")])
    ["the arms 'new' and 'New' differ by case or spaces alone, and count as two; write one name \
if they are one"]
    """
    _refuse_total(rows, "arm", 0)
    _refuse_total(rows, "day", 3)
    return [one for one in (_spellings(rows), _repeated(rows), _cumulative(rows)) if one]


def _refuse_total(rows: Sequence[Row], what: str, place: int) -> None:
    """Refuse an arm, or a day, that is named like a total and is the sum of the others."""
    names = list(dict.fromkeys(str(row[place]) for row in rows))
    for name in names:
        # One of two arms may be called "all", and be equal to the other by chance.
        if _folded(name).rstrip(" :") not in _TOTALS or len(names) < 3:
            continue
        own = _sum(row for row in rows if row[place] == name)
        if own[0] and own == _sum(row for row in rows if row[place] != name):
            raise DataError(
                f"the {what} {shown(name)} has the {own[0]:,} visitors and {own[1]:,} conversions "
                f"of all others together, so it is their sum and no {what}; leave its rows out"
            )


def _sum(rows: Iterable[Row]) -> tuple[int, int]:
    pairs = [(row[1], row[2]) for row in rows]
    return sum(one[0] for one in pairs), sum(one[1] for one in pairs)


def _spellings(rows: Sequence[Row]) -> str:
    """Two names of arms that are probably one."""
    first: dict[str, str] = {}
    for row in rows:
        same = first.setdefault(_folded(row[0]), row[0])
        if same != row[0]:
            return (
                f"the arms {shown(same)} and {shown(row[0])} differ by case or spaces alone, and "
                "count as two; write one name if they are one"
            )
    return ""


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())


def _repeated(rows: Sequence[Row]) -> str:
    """An arm that has several rows on one day; without days, rows are there to be added up."""
    numbers = Counter((row[0], row[3]) for row in rows if row[3])
    several = [pair for pair, n in numbers.items() if n > 1]
    if not several:
        return ""
    arm, day = several[0]
    more = len(several) - 1
    others = f"{count(more, 'more arm and day has', 'more arms and days have')} several"
    rest = f" (and {others})" if more else ""
    return (
        f"the arm {shown(arm)} has {numbers[several[0]]} rows on day {shown(day)}{rest}, which are "
        "added up: right for parts of a day, wrong for a row that was pasted twice"
    )


def _cumulative(rows: Sequence[Row]) -> str:
    """Counts since the start of the experiment where those of each day are wanted."""
    arms = dict.fromkeys(row[0] for row in rows)
    if not all(_accumulates(_days(rows, arm)) for arm in arms):
        return ""
    return (
        "visitors and conversions of every arm rise from day to day, as counts since the start do, "
        "and days are added up here: if these are such, keep the last day's rows alone, or give "
        "each day its own counts"
    )


def _days(rows: Sequence[Row], arm: str) -> list[tuple[int, int]]:
    """Visitors and conversions of an arm on each of its days."""
    sums: dict[str, tuple[int, int]] = {}
    for name, visitors, conversions, day in rows:
        if name == arm and day:
            before = sums.get(day, (0, 0))
            sums[day] = before[0] + visitors, before[1] + conversions
    return list(sums.values())


def _accumulates(days: Sequence[tuple[int, int]]) -> bool:
    """Whether counts of days rise as sums do.

    Sums never fall, and gain no more conversions than visitors. Four days that rise by chance are
    common enough, as traffic follows the week; sums also rise by a whole day's visitors each. From
    the second to the last of n days even traffic would multiply sums by n/2, and half of that
    growth is asked for. The first day is left out of it, as experiments begin in the middle of
    one. Of four days with traffic that varies by a third, 0.4 % of simulated counts seem to be
    sums, and 97 % of their sums do. Traffic that is raised step by step looks the same: hence a
    warning and no error.
    """
    if len(days) < _DAYS:
        return False
    for before, after in pairwise(days):
        visitors, conversions = after[0] - before[0], after[1] - before[1]
        if visitors <= 0 or not 0 <= conversions <= visitors:
            return False
    growth = 1 + (len(days) / 2 - 1) / 2
    return days[-1][0] >= growth * days[1][0]
