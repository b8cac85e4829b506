"""The learner that is best on held-out training samples, of those within the limits.

The candidates are one-vs-rest, one label tree, and three of them, the trees with a narrow and
with a wide beam, and a forest over the features, which no linear classifier can match on some dense
measurements. Each is fitted on a part of the training samples, with a few values of `C` where that
is "auto", and ranks the labels of samples that were held out. The same fits are the pilots from
which time and memory of the whole fit are expected: a second one on a quarter of the part shows how
they grow.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from labelwood.auto.choice import OBJECTIVES, Choice, Cost, choose
from labelwood.auto.trials import try_candidates
from labelwood.core.labels import encode_labels
from labelwood.core.memory import available_memory
from labelwood.core.params import OneOf, Real, check_parameter
from labelwood.core.sparse import as_csr
from labelwood.core.types import CSR
from labelwood.linear.tuning import too_few


def choose_learner(
    X: object,
    Y: object,
    *,
    candidates: Sequence[Any] | None = None,
    objective: str = "P@k",
    time_limit: float | None = None,
    memory_limit: float | None = None,
    random_state: object = 0,
    n_jobs: int | None = None,
) -> Choice:
    """The learner that ranks held-out training samples best, of those within the limits.

    Parameters
    ----------
    X : features
    Y : labels
        As for `fit`.
    candidates : an OneVsRestSVM, a LabelTreeClassifier and maybe a FastXMLClassifier, or None
        With parameters of your own; where `C` is "auto" it is tuned. None is all three, with
        `C="auto"` for the first two.
    objective : "P@k", "PSP@k", "nDCG@k" or "micro-F1"
        What is maximized; the first three are means over k = 1, 3 and 5.
    time_limit : float or None
        Seconds of training. Where nothing meets the limits, the cheapest is taken, with a
        warning.
    memory_limit : float or None
        Bytes, those of the data included; None for what is free.

    Examples
    --------
    >>> from labelwood import choose_learner, synthetic
    >>> train = synthetic(1000, 500, 100).train
    >>> choose_learner(train.X, train.Y).learner
    'LabelTreeClassifier'
    """
    check_parameter("choose_learner", "objective", objective, OneOf(*OBJECTIVES))
    for name, limit in (("time_limit", time_limit), ("memory_limit", memory_limit)):
        check_parameter("choose_learner", name, limit, (Real(above=0), None))
    matrix, labels = as_csr(X), encode_labels(Y).Y
    free = _free_memory(matrix, labels, memory_limit)
    found = try_candidates(matrix, labels, candidates, objective, random_state, n_jobs)
    has_arrays = any(isinstance(one.C, np.ndarray) for one in candidates or ())
    why_untried = "C is given for each label" if has_arrays else too_few(labels)
    return choose(found, objective, time_limit, free, why_untried)


def expected_costs(X: object, Y: object, *, n_jobs: int | None = None) -> dict[str, Cost]:
    """The cost of a fit of each candidate of `choose_learner`, from pilots on a part of the data.

    Examples
    --------
    >>> from labelwood import synthetic
    >>> train = synthetic(1000, 500, 100).train
    >>> list(expected_costs(train.X, train.Y, n_jobs=1))[:2]
    ['one-vs-rest', 'label tree']
    """
    found = try_candidates(as_csr(X), encode_labels(Y).Y, None, OBJECTIVES[0], 0, n_jobs)
    return {one.name: one.cost for one in found}


def _free_memory(X: CSR, Y: CSR, limit: float | None) -> float:
    """Bytes beside the data; a limit that the data themselves exceed is refused."""
    if limit is None:
        return available_memory()
    data = sum(part.nbytes for one in (X, Y) for part in (one.data, one.indices, one.indptr))
    if data > limit:
        raise MemoryError(
            f"The data themselves take {data / 2**20:.0f} MB and the memory limit is "
            f"{limit / 2**20:.0f} MB; raise it, or train on fewer samples"
        )
    return min(limit - data, available_memory())
