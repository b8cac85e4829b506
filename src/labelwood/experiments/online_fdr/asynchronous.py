"""Tests that overlap: levels while other tests are still running.

Zrnic, Ramdas and Jordan, "Asynchronous online testing of multiple hypotheses", JMLR 2021: LORD
and SAFFRON whose levels depend on finished tests alone, a running test counting as one that will
have to be paid for. A-priori weights of hypotheses are those of Ramdas, Yang, Wainwright and
Jordan 2017.
"""

from typing import NamedTuple

import numpy as np

from labelwood.core.params import Integer, OneOf, Real, check_parameter
from labelwood.errors import DataError
from labelwood.experiments.online_fdr.base import GammaTable, check_initial_wealth, check_p_value
from labelwood.experiments.online_fdr.gamma import GammaLike, as_gamma
from labelwood.experiments.online_fdr.investing import LordPlusPlus, Saffron


class RunningTest(NamedTuple):
    """A test that was started: its number, from 0 on, and its level."""

    number: int
    level: float


class AsynchronousFDR:
    """Several tests open at once, with the false discovery rate of all of them controlled.

    `start` gives the level of a new test at once, `finish` takes its p-value whenever it comes.
    A test is paid for when it starts, so one that never ends costs its own level and holds up
    nobody. Controls the mFDR for p-values that are super-uniform given what had finished before
    their test began; always-valid p-values of experiments on separate subjects are.

    Parameters
    ----------
    alpha : float
        The error rate, between 0 and 1.
    procedure : {"lord", "saffron"}
        "saffron" gives back what a test has cost when its p-value is at most `candidate`.
    initial_wealth : float, optional
        W(0), below α; half of it unless given.
    gamma : "log", "power", numbers or Gamma, optional
        As for `online_fdr`; "log" for "lord" and "power" for "saffron" unless given.
    candidate : float
        λ of "saffron".

    Examples
    --------
    >>> tests = AsynchronousFDR(0.1)
    >>> first, second = tests.start(), tests.start()
    >>> tests.finish(second.number, 1e-4)
    True
    >>> third = tests.start()  # while the first is still running
    >>> third.level > second.level
    True
    >>> sorted(tests.running)
    [0, 2]
    """

    def __init__(
        self,
        alpha: float,
        procedure: str = "lord",
        *,
        initial_wealth: float | None = None,
        gamma: GammaLike | None = None,
        candidate: float = 0.5,
    ) -> None:
        name = type(self).__name__
        check_parameter(name, "alpha", alpha, Real(above=0, below=1))
        check_parameter(name, "procedure", procedure, OneOf("lord", "saffron"))
        check_parameter(name, "candidate", candidate, Real(above=0, below=1))
        owner = LordPlusPlus if procedure == "lord" else Saffron
        self.alpha = float(alpha)
        self.procedure = procedure
        self.initial_wealth = check_initial_wealth(owner, self.alpha, initial_wealth)
        default = "log" if procedure == "lord" else "power"
        self.gamma = as_gamma(default if gamma is None else gamma)
        self.candidate = float(candidate)
        self._kept = 1.0 if procedure == "lord" else 1 - self.candidate  # level / price
        self._table = GammaTable(self.gamma)
        self.running: dict[int, float] = {}
        """The level of each test that has not finished."""
        self.n_started = 0
        self.n_discoveries = 0
        self.wealth = self.initial_wealth
        """What may still be spent, never negative."""
        self._returns: list[int] = []  # tests started before each discovery was known
        self._candidates: list[int] = []  # numbers of finished tests that cost nothing

    def start(self, weight: float = 1.0) -> RunningTest:
        """A new test with its level, which is 0 when the wealth is spent.

        `weight` says how much the hypothesis matters, and must be chosen before its outcomes are
        seen: the level, and what it costs, is so many times what it would be. Weights of mean
        one spend the wealth as fast as no weights do.
        """
        check_parameter("start", "weight", weight, Real(above=0))
        price = min(weight * self._share(), self.wealth)
        level = min(self._kept * price, self.candidate if self.procedure == "saffron" else 1.0)
        self.wealth = max(0.0, self.wealth - level / self._kept)
        test = RunningTest(self.n_started, level)
        self.running[test.number] = level
        self.n_started += 1
        return test

    def _share(self) -> float:
        """Of W(0) and of each reward the share of the next test.

        Zrnic et al. 2021: as LORD++ and SAFFRON, each reward counted from the test after which it
        was known. A test that cost nothing turns the clock back of those rewards alone from which
        it had a share. γ does not rise, so what running tests hold is never given out twice.
        """
        free = np.array(self._candidates, dtype=np.int64)
        gammas = self._table.up_to(self.n_started + 1)
        share = self.initial_wealth * float(gammas[self.n_started - free.size])
        for k, since in enumerate(self._returns):
            reward = self.alpha - self.initial_wealth if k == 0 else self.alpha
            age = self.n_started - since - int((free >= since).sum())
            share += reward * float(gammas[age])
        return share

    def finish(self, number: int, p: float) -> bool:
        """Take the p-value of a running test; True for a discovery."""
        level = self._level_of(number)
        p = check_p_value(p, f"test {number}")
        del self.running[number]
        if self.procedure == "saffron" and p <= self.candidate:
            self.wealth += level / self._kept
            self._candidates.append(number)
        if p > level:
            return False
        first = self.n_discoveries == 0
        self.wealth += self.alpha - self.initial_wealth if first else self.alpha
        self.n_discoveries += 1
        self._returns.append(self.n_started)
        return True

    def abandon(self, number: int) -> None:
        """Give up a test that will never end: no discovery, and what it cost is spent."""
        self._level_of(number)
        del self.running[number]

    def _level_of(self, number: int) -> float:
        if not Integer(low=0, high=self.n_started - 1).accepts(number):
            raise DataError(f"test {number!r} was never started")
        if number not in self.running:
            raise DataError(f"test {number} has finished already, or was abandoned")
        return self.running[int(number)]
