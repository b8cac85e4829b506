"""Independent pieces of work over threads, in order, whatever the number of threads."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TypeVar

import joblib

from labelwood.core.progress import progress

_T = TypeVar("_T")
_R = TypeVar("_R")


def parallel(
    function: Callable[[_T], _R],
    items: Sequence[_T],
    *,
    n_jobs: int | None = None,
    description: str = "",
    weights: Iterable[int] | None = None,
) -> list[_R]:
    """Apply `function` to each item; results come back in the order of the items.

    `weights` are the items' shares of the work, for the progress bar. Under
    `joblib.parallel_config(backend="dask")` the same call runs on a cluster.
    """
    if len(items) == 1:  # one row to predict should not wait for a thread
        return [function(items[0])]
    sizes = [1] * len(items) if weights is None else list(weights)
    run = joblib.Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    results = []
    with progress(description, total=sum(sizes)) as bar:
        for result, size in zip(
            run(joblib.delayed(function)(item) for item in items), sizes, strict=True
        ):
            results.append(result)
            bar.update(size)
    return results


def parallel_stream(
    function: Callable[[_T], _R], items: Iterable[_T], *, n_jobs: int | None = None
) -> Iterator[_R]:
    """Apply `function` to items as they are read; results come in the order of the items.

    Items are read a few ahead of the threads, so that a long stream never is in memory.

    Examples
    --------
    >>> list(parallel_stream(abs, iter([-1, 2])))
    [1, 2]
    """
    items = iter(items)
    head = list(islice(items, 2))
    if len(head) < 2:  # one text to transform should not wait for a thread
        yield from map(function, head)
        return
    items = chain(head, items)
    run = joblib.Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    # In batches, as joblib would read on while results pile up that nobody has taken yet.
    while batch := list(islice(items, 4 * joblib.effective_n_jobs(n_jobs))):
        yield from run(joblib.delayed(function)(item) for item in batch)


def blocks(n: int, size: int) -> list[range]:
    """0…n−1 cut into ranges of at most `size`.

    Examples
    --------
    >>> blocks(5, 2)
    [range(0, 2), range(2, 4), range(4, 5)]
    """
    return [range(start, min(start + size, n)) for start in range(0, n, size)]
