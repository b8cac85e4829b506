"""What training will cost, and which learner suits a problem.

One-vs-rest is the more accurate of the two; the label tree costs less the more labels there
are. Expected costs follow what each does, with factors measured on one machine (see
`docs/research/performance.md`): within a factor of two or three elsewhere, which is what a choice
needs.
"""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import joblib
import numpy as np

from labelwood.core.labels import encode_labels
from labelwood.core.lanes import WIDTH
from labelwood.core.memory import available_memory
from labelwood.core.sparse import as_csr

_MAX_SECONDS = 600.0  # that the more accurate learner may take
_MAX_RATIO = 4.0  # or so many times the time of the tree


@dataclass(frozen=True)
class Cost:
    """Seconds of training and bytes at its peak, beside the data themselves."""

    seconds: float
    bytes: int

    @property
    def time(self) -> str:
        """The seconds, rounded for people."""
        return f"~{duration(self.seconds)}"

    @property
    def memory(self) -> str:
        """The bytes, rounded for people."""
        megabytes = max(self.bytes / 2**20, 1)
        return f"{megabytes:.0f} MB" if megabytes < 1000 else f"{megabytes / 1024:.1f} GB"


class Choice(NamedTuple):
    """The class that is recommended, what each would cost, and why; `print` shows a table."""

    learner: str
    costs: dict[str, Cost]
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        costs = {name: asdict(cost) for name, cost in self.costs.items()}
        return {"learner": self.learner, "costs": costs, "reason": self.reason}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "Choice":
        """The way back."""
        costs = {
            str(name): Cost(float(cost["seconds"]), int(cost["bytes"]))
            for name, cost in content["costs"].items()
        }
        return cls(str(content["learner"]), costs, str(content["reason"]))

    def __str__(self) -> str:
        width = max(map(len, self.costs))
        lines = [f"{'learner':{width}}  {'time':>8}  {'memory':>8}"]
        for name, cost in self.costs.items():
            mark = f"  <- selected: {self.reason}" if name == self.learner else ""
            lines.append(f"{name:{width}}  {cost.time:>8}  {cost.memory:>8}{mark}")
        return "\n".join(lines)


def expected_costs(
    X: object, Y: object, *, calibrate: bool = False, n_jobs: int | None = None
) -> dict[str, Cost]:
    """The cost of a fit of each learner with its default parameters, but for `calibrate`.

    X are features and Y an indicator of labels, as for `fit`. Another machine may be two or
    three times faster or slower.

    Examples
    --------
    >>> from labelwood import synthetic
    >>> train = synthetic(1000, 500, 100).train
    >>> sorted(expected_costs(train.X, train.Y, n_jobs=1))
    ['LabelTreeClassifier', 'OneVsRestSVM']
    """
    matrix, labels = as_csr(X), encode_labels(Y).Y
    size = _Size(
        matrix.shape[0],
        np.unique(matrix.indices).size,
        matrix.nnz,
        np.unique(labels.indices).size,
        labels.nnz,
        joblib.effective_n_jobs(n_jobs),
    )
    costs = {"OneVsRestSVM": _onevsrest(size), "LabelTreeClassifier": _labeltree(size)}
    if not calibrate:
        return costs
    return {name: Cost(1.8 * cost.seconds, cost.bytes) for name, cost in costs.items()}


def choose_learner(
    X: object, Y: object, *, calibrate: bool = False, n_jobs: int | None = None
) -> Choice:
    """One-vs-rest unless it is too expensive, else the label tree.

    Too expensive is what does not fit into memory, or takes more than ten minutes and four
    times as long as the tree.

    Examples
    --------
    >>> from labelwood import choose_learner, synthetic
    >>> train = synthetic(1000, 500, 100).train
    >>> choose_learner(train.X, train.Y).learner
    'OneVsRestSVM'
    """
    costs = expected_costs(X, Y, calibrate=calibrate, n_jobs=n_jobs)
    best, tree = costs["OneVsRestSVM"], costs["LabelTreeClassifier"]
    if best.bytes > available_memory():
        return Choice("LabelTreeClassifier", costs, "one-vs-rest does not fit into memory")
    if best.seconds > _MAX_SECONDS and best.seconds > _MAX_RATIO * tree.seconds:
        return Choice("LabelTreeClassifier", costs, "one-vs-rest would take much longer")
    reason = f"more accurate, in under {duration(_MAX_SECONDS)}"
    if best.seconds > _MAX_SECONDS:
        reason = f"more accurate, in under {_MAX_RATIO:.0f} times the time"
    return Choice("OneVsRestSVM", costs, reason)


class _Size(NamedTuple):
    """What costs follow: rows, used features, non-zeros, and labels that have a sample."""

    n: int
    d: int
    nonzeros: int
    n_labels: int
    n_pairs: int
    n_threads: int

    @property
    def per_row(self) -> float:
        return self.nonzeros / max(self.n, 1)

    @property
    def n_blocks(self) -> int:
        return -(-self.n_labels // WIDTH)

    @property
    def kept_features(self) -> float:
        """Of all blocks: a block keeps most features that its labels' samples have."""
        draws = self.n_pairs / max(self.n_blocks, 1) * self.per_row
        return self.n_blocks * self.d * -np.expm1(-draws / max(self.d, 1))


def _onevsrest(size: _Size) -> Cost:
    """All rows are scored for each block; the positives and some rows are visited often."""
    visits = 7e-7 * size.n_pairs + 1e-7 * 500 * size.n_blocks
    work = 3.5e-9 * size.n_blocks * size.nonzeros + visits * size.per_row
    scratch = size.n_threads * 4 * WIDTH * (3 * size.d + 4 * size.n)
    model = 0.6 * (4 * WIDTH + 4) * size.kept_features
    return Cost(work / size.n_threads, int(scratch + 2.2 * model))


def _labeltree(size: _Size) -> Cost:
    """Each row is visited at `beam` leaves and on every level; the clusters have levels too."""
    levels = float(np.log2(max(size.n_labels / 32, 2)))
    vectors = min(256 * size.n_labels, size.n_pairs * size.per_row)
    work = levels * (3.3e-7 * size.nonzeros + 9.2e-8 * vectors)
    per_thread = 8 * size.nonzeros + 4 * WIDTH * (3 * size.n + size.d)
    model = 1.4 * WIDTH * size.kept_features
    scratch = 8 * size.nonzeros + 8 * vectors + size.n_threads * per_thread
    return Cost(work / size.n_threads, int(scratch + 1.1 * model))


def duration(seconds: float) -> str:
    """Seconds in a unit that suits.

    Examples
    --------
    >>> duration(42), duration(600), duration(9000)
    ('42 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
