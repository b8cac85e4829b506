"""How far the propensity-scored figures depend on the constants of the propensity model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from labelwood.core.propensity import PUBLISHED, Propensity
from labelwood.core.types import CSR
from labelwood.metrics.intervals import PerSample
from labelwood.metrics.topk import RankedHits, weighted_hits

_METRICS: dict[str, Callable[[RankedHits, int], PerSample]] = {
    "PSP": RankedHits.psp,
    "PSnDCG": RankedHits.psndcg,
}


@dataclass(frozen=True)
class Sensitivity:
    """One metric with the constants (a, b) published for each kind of data.

    Attributes
    ----------
    name : str
    values : mapping of str to float
        By the kind of data.

    Examples
    --------
    >>> psp = Sensitivity("PSP@1", {"Wikipedia": 0.48, "Amazon": 0.45, "other data": 0.46})
    >>> psp.lowest, psp.highest
    (('Amazon', 0.45), ('Wikipedia', 0.48))
    """

    name: str
    values: Mapping[str, float]

    @property
    def lowest(self) -> tuple[str, float]:
        """The smallest value, and for which kind of data it holds."""
        return min(self.values.items(), key=lambda item: item[1])

    @property
    def highest(self) -> tuple[str, float]:
        """The largest value, and for which kind of data it holds."""
        return max(self.values.items(), key=lambda item: item[1])


def sensitivities(
    hits: RankedHits, Y: CSR, propensity: Propensity, ks: Sequence[int]
) -> Iterator[Sensitivity]:
    """PSP and PSnDCG (normalized) at each of `ks` over the published constants.

    `hits` are those of a ranking in the truth `Y`; they are weighted again, not matched again.
    """
    variants = {
        kind: weighted_hits(hits, Y, propensity.with_constants(a, b))
        for kind, (a, b) in PUBLISHED.items()
    }
    for name, metric in _METRICS.items():
        for k in ks:
            values = {kind: metric(variant, k).value for kind, variant in variants.items()}
            yield Sensitivity(f"{name}@{k}", values)
