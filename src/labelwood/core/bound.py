"""A bound that tells what it is made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from labelwood.core.types import DoubleArray

Terms: TypeAlias = Mapping[str, float]


@dataclass(frozen=True)
class Bound:
    """An upper bound and what it is made of; `print` shows it as a block of text.

    Attributes
    ----------
    quantity : str
        What is bounded.
    terms : mapping of str to float
        They add up to the bound.
    trivial : float
        What is known without it: a bound that is no smaller is vacuous.
    assumes, source : str
        When it holds, and where it is from.
    facts : mapping of str to float
        Other figures.
    remark : str
    parts : mapping of str to arrays
        What each part of the bounded thing, such as a node, adds to the terms.

    Examples
    --------
    >>> bound = Bound("error", {"of training": 0.1, "confidence": 0.95}, 1.0, "nothing", "a book")
    >>> bound.value, bound.vacuous
    (1.05, True)
    >>> print(bound)
    error ≤ 1.05 (a book)
      of training  0.1
      confidence   0.95
      vacuous: 1 or less is known without it
      assumes nothing
    """

    quantity: str
    terms: Terms
    trivial: float
    assumes: str
    source: str
    facts: Mapping[str, float] = field(default_factory=dict)
    remark: str = ""
    parts: Mapping[str, DoubleArray] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The bound."""
        return float(sum(self.terms.values()))

    @property
    def vacuous(self) -> bool:
        """Whether it says no more than is known without it."""
        return not self.value < self.trivial

    def __str__(self) -> str:
        width = max(map(len, [*self.terms, *self.facts]), default=0)
        lines = [f"{self.quantity} ≤ {self.value:.4g} ({self.source})"]
        lines += [f"  {name:{width}}  {value:.4g}" for name, value in self.terms.items()]
        if self.vacuous:
            lines.append(f"  vacuous: {self.trivial:.4g} or less is known without it")
        lines += [f"  {name:{width}}  {_figure(value)}" for name, value in self.facts.items()]
        lines += [f"  {self.remark}"] * bool(self.remark)
        return "\n".join([*lines, f"  assumes {self.assumes}"])


def _figure(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
