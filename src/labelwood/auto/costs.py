"""Time and memory of a fit, from the same fit on parts of the data."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import joblib
import numpy as np

from labelwood.auto.choice import Cost
from labelwood.core.calibration import RANKED, n_calibration_folds
from labelwood.core.kernel import compile_seconds
from labelwood.core.lanes import WIDTH
from labelwood.core.types import CSR
from labelwood.linear.onevsrest import OneVsRestSVM
from labelwood.linear.onevsrest.training import SHORT_ROW
from labelwood.linear.tuning import Part, fit_quietly, nominal_seconds, with_C
from labelwood.trees.fastxml import FastXMLClassifier

_QUARTER = 4
# Limits of the power of the samples by which the time of a fit grows, and the size of a forest.
# Where the quarter has few of the labels, what each problem takes is what grows, by a lower power.
_POWERS = (0.7, 1.6)
_POWERS_OF_EACH = (0.3, 1.2)
# The same for the bytes of a linear model, for each block of labels: a word that is new to a label
# becomes rarer the more samples there are. On training parts of 17 sets the power from a part to
# all samples was 0.1 to 0.35 where these were more than twice the part, and on a hundred times as
# many synthetic short texts, whose rarest words never end, 0.56.
_POWERS_OF_BYTES = (0.3, 0.5)
# Bytes that a fit takes whatever its data are.
_BASE = 2**20
WARM_UP_ROWS = 64
# Of a fit: what one on four fifths of the samples costs, to calibrate. One-vs-rest goes on from the
# first one: 1.3 to 1.8 times its time in all where that is more than a second (eleven sets).
_CALIBRATION = 0.8
_CALIBRATION_ONE_VS_REST = 0.6


class Pilot(NamedTuple):
    """A fit on a part of the samples: how many, how long it took, and the size of the model.

    `work` is its processor time in seconds, which other work on the machine hardly changes.
    """

    n: int
    seconds: float
    work: float
    bytes: int


def timed_fit(model: Any, part: Part) -> Pilot:
    """Fit on a part; the time of compiling kernels does not count."""
    start, work = time.perf_counter() - compile_seconds(), time.process_time() - compile_seconds()
    fit_quietly(model, part)
    seconds = time.perf_counter() - compile_seconds() - start
    work = max(time.process_time() - compile_seconds() - work, 0.0)
    return Pilot(part.X.shape[0], seconds, work, model.model_size)


def warm_up(model: Any, part: Part) -> None:
    """Fit on a few rows, which loads the kernels, so that no pilot is timed while it does."""
    fit_quietly(model, head(part, WARM_UP_ROWS))


def with_default_C(estimator: Any) -> Any:
    """A copy that neither tunes `C` nor calibrates."""
    return with_C(estimator, type(estimator)().C if isinstance(estimator.C, str) else estimator.C)


def to_try(estimator: Any, C: float, part: Part) -> Any:
    """A copy to fit a part with: a tuned `C` is rescaled for the part, a given one is kept."""
    return with_C(estimator, part.C_for(C) if isinstance(estimator.C, str) else C)


def head(part: Part, n: int) -> Part:
    """The same with the first `n` samples to fit on."""
    share = part.share * min(n, part.X.shape[0]) / part.X.shape[0]
    return part._replace(X=part.X[:n], Y=part.Y[:n], share=share)


class Size(NamedTuple):
    """What memory follows: rows, used features, non-zeros, labels that have a sample, threads.

    `n_pairs` are the pairs of a sample and a label, `nominal` the seconds by a formula
    (`nominal_seconds`). Each `..._peak` is the memory of a fit in bytes, given that of its model.
    """

    n: int
    d: int
    nonzeros: int
    n_labels: int
    n_pairs: int
    n_threads: int
    nominal: float

    @classmethod
    def of(cls, X: CSR, Y: CSR, n_jobs: int | None) -> "Size":
        """The size of a problem that is fitted by `n_jobs` threads."""
        return cls(
            X.shape[0],
            np.unique(X.indices).size,
            X.nnz,
            n_used_labels(Y),
            Y.nnz,
            joblib.effective_n_jobs(n_jobs),
            nominal_seconds(X, Y),
        )

    def one_vs_rest_peak(self, model: float, *, calibrated: bool = False) -> float:
        """The most of three phases: the rows are prepared, blocks are trained, they are joined.

        Preparing short rows also sorts their entries by feature, and keeps them so. Training holds
        the rows and what is ready of the model, and for each thread the weights of a block in
        single and in double precision, with a few numbers per row and label. Joined blocks are held
        in two orders. A calibrated model has a second one, which has not seen some rows.
        """
        is_short = self.nonzeros <= SHORT_ROW * self.n
        prepared = (35 if is_short else 15) * self.nonzeros
        rows = (16 if is_short else 8) * self.nonzeros
        n_busy = min(self.n_threads, -(-self.n_labels // WIDTH))
        scratch = n_busy * 4 * WIDTH * (3 * self.d + 4 * self.n)
        trained = rows + scratch + (2 if calibrated else 1) * model
        return _BASE + max(prepared, trained, (3.4 if calibrated else 2.4) * model)

    def calibration_of(self, estimator: Any) -> float:
        """The rows of the fit that has not seen some of them, and the scores of these.

        Sorting and pooling takes about 100 bytes for each held-out sample and ranked label. An
        estimator that is not calibrated takes nothing.
        """
        if not estimator.calibrate:
            return 0.0
        n_held_out = self.n if n_calibration_folds(self.n) > 1 else self.n // 5
        return 8 * self.nonzeros + 100 * n_held_out * min(RANKED, self.n_labels)

    def tree_peak(self, model: float, n_trees: int = 1) -> float:
        """A copy of the rows, the labels' mean vectors, what roots are trained with, the trees.

        Below the root a thread has fewer rows, so that only the roots of several trees add up.
        """
        vectors = min(256 * self.n_labels, self.n_pairs * self.nonzeros / max(self.n, 1))
        root = 8 * self.nonzeros + 4 * WIDTH * (3 * self.n + self.d)
        roots = min(self.n_threads, n_trees) * root
        return _BASE + 8 * self.nonzeros + 8 * vectors + roots + 2.2 * model

    def forest_peak(self, model: float) -> float:
        """Each thread has the rows twice, the columns of a node, and a few numbers per row."""
        each = 24 * self.nonzeros + 16 * self.n_pairs + 120 * self.n
        return _BASE + self.n_threads * each + 2.2 * model  # the trees are concatenated


def expected_cost(
    estimator: Any,
    C: float,
    part: Part,
    pilots: Sequence[Pilot],
    size: Size,
    peak: Callable[[float], float],
) -> Cost:
    """Time and memory of the whole fit, extrapolated from `pilots` and a smaller one.

    `pilots` were fitted on `part` to try `C`; the smaller one is fitted here, on a quarter of the
    part. `peak` is the memory of a fit in bytes, given that of its model.
    """
    n = part.X.shape[0]
    smaller = head(part, max(n // _QUARTER, 1))
    quarter = timed_fit(to_try(estimator, C, smaller), smaller)
    seconds, work, size_of_model = _medians(pilots)
    labels = (n_used_labels(smaller.Y), n_used_labels(part.Y), size.n_labels)
    blocks = tuple(-(-one // WIDTH) for one in labels)
    # Each block of one-vs-rest reads all rows; a tree is one problem.
    problems = blocks if isinstance(estimator, OneVsRestSVM) else (1, 1, 1)
    # How the time grows is seen from the work: the time itself depends on what else is running.
    times = grown_time(quarter.work, work, (n, size.n), problems) / max(work, 1e-9)
    if isinstance(estimator, FastXMLClassifier):  # its leaves are in proportion to the samples
        model = grown(quarter.bytes, size_of_model, (n, size.n))
    else:
        sizes = (quarter.bytes, size_of_model)
        model = grown(*sizes, (n, size.n), blocks, (_POWERS_OF_BYTES, _POWERS_OF_BYTES))
    memory = peak(model) + size.calibration_of(estimator)
    return Cost(_calibration_factor(estimator, size.n) * times * seconds, int(memory))


def n_used_labels(Y: CSR) -> int:
    """Labels that have a sample."""
    return int(np.unique(Y.indices).size)


def _medians(pilots: Sequence[Pilot]) -> tuple[float, float, float]:
    """Seconds, processor seconds and bytes."""
    seconds, work, size = np.median([one[1:] for one in pilots], axis=0)
    return float(seconds), float(work), float(size)


def _calibration_factor(estimator: Any, n: int) -> float:
    """Times the fit alone, with the calibration where there is one."""
    if not getattr(estimator, "calibrate", False):
        return 1.0
    folds = n_calibration_folds(n)
    if folds == 1 and isinstance(estimator, OneVsRestSVM):
        return 1 + _CALIBRATION_ONE_VS_REST
    return 1 + folds * _CALIBRATION


def scaled_cost(
    cost: Cost,
    pilots: Sequence[Pilot],
    others: Sequence[Pilot],
    scratch: float,
    more_scratch: float,
) -> Cost:
    """The cost of a variant, by the ratio of its pilots to those from which `cost` was expected.

    `scratch` are the bytes that do not follow the size of the model, `more_scratch` those of the
    variant.
    """
    (_, work, size), (_, more_work, more_size) = _medians(pilots), _medians(others)
    seconds = more_work / max(work, 1e-9) * cost.seconds
    return Cost(seconds, int(more_scratch + more_size / size * (cost.bytes - scratch)))


def grown(
    quarter: float,
    part: float,
    n: tuple[int, int],
    problems: tuple[int, ...] = (1, 1, 1),
    powers: tuple[tuple[float, float], tuple[float, float]] = (_POWERS, _POWERS_OF_EACH),
) -> float:
    """The value for all samples, by a power of them through a quarter of a part and the part.

    `n` are the samples of the part and of all, `problems` how many problems the quarter, the part
    and all samples have: few samples have few of the labels, and only what each problem takes
    grows like a power. `powers` are the limits of the power, where the quarter has all labels and
    where it has hardly any.
    """
    of_quarter, of_part, of_all = (max(one, 1) for one in problems)
    each = max(part, 1e-9) / of_part
    power = np.log(each / max(quarter / of_quarter, 1e-9)) / np.log(_QUARTER)
    share = min(of_quarter / of_all, 1.0)  # a problem more or less must not move the limits far
    low, high = share * np.array(powers[0]) + (1 - share) * np.array(powers[1])
    return float(of_all * each * (n[1] / max(n[0], 1)) ** np.clip(power, low, high))


def grown_time(
    quarter: float, part: float, n: tuple[int, int], problems: tuple[int, ...] = (1, 1, 1)
) -> float:
    """The same for time: the geometric mean of the power, and of a line that begins above zero.

    What a fit takes whatever its samples hides how time will grow from few of them. On training
    parts of 21 sets the power expected 0.4 to 4.0 times the processor time of a fit, the line 0.6
    to 2.2 times, and their mean 0.67 to 1.5 times for 37 of 42 fits.
    """
    of_quarter, of_part, of_all = (max(one, 1) for one in problems)
    each = max(part, 1e-9) / of_part
    rise = max(1 - quarter / of_quarter / each, 0.0) / (1 - 1 / _QUARTER)
    line = of_all * each * (1 + rise * (n[1] / max(n[0], 1) - 1))
    return float(np.sqrt(grown(quarter, part, n, problems) * line))
