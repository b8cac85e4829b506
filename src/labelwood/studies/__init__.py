"""Figures and tables of the literature, made again: one file a study, named after it."""

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from pathlib import Path

from labelwood.errors import ParameterError
from labelwood.studies._result import Result
from labelwood.studies._study import Options, Study

__all__ = ["Options", "Result", "Study", "find", "names", "run"]


def names() -> list[str]:
    """The studies that there are.

    Examples
    --------
    >>> "pfastrexml-table" in names()
    True
    """
    return sorted(_homes())


def _homes() -> dict[str, str]:
    """The module of each study; `mab/fdr.py` holds the study mab-fdr."""
    prefix = f"{__name__}."
    modules = [one.name for one in pkgutil.walk_packages(__path__, prefix) if not one.ispkg]
    public = [name for name in modules if not name.rpartition(".")[2].startswith("_")]
    return {name.removeprefix(prefix).replace(".", "-").replace("_", "-"): name for name in public}


def find(name: str) -> Study:
    """The study called `name`.

    Examples
    --------
    >>> list(find("pfastrexml-table").parts)
    ['bibtex', 'delicious', 'eurlex57k', 'pydocs']
    """
    if name not in _homes():
        raise ParameterError(f"no study {name!r}; there are {', '.join(names())}")
    module = importlib.import_module(_homes()[name])
    study: Study = module.STUDY
    return study


def run(
    name: str,
    *,
    data: str | Path | None = None,
    only: str | Iterable[str] = (),
    quick: bool = False,
    seed: int = 0,
    jobs: int = -1,
    report: Callable[[str], None] | None = None,
) -> Result:
    """Run a study.

    Parameters
    ----------
    name : str
        One of `names()`.
    data : path, optional
        Folder with the real data sets. Parts of the study whose files are not there are
        skipped; `Result.skipped` says why.
    only : str or iterable of str
        The parts to run, all of them if it is empty. A part that is named is never skipped:
        when it cannot run, that is a DataError.
    quick : bool
        A small version that takes seconds. Its figures mean nothing.
    seed : int
        Seed of everything random.
    jobs : int
        Threads; -1 for all cores.
    report : callable, optional
        Gets a line for each row as it is done and for each part that is skipped.

    Returns
    -------
    Result
        `print(result)` shows the table, `result.rows` has its rows, and
        `result.write(folder)` writes text, JSON and a plot.

    Examples
    --------
    >>> run("xor")
    Traceback (most recent call last):
    ...
    labelwood.errors.ParameterError: no study 'xor'; there are ...
    """
    folder = None if data is None else Path(data)
    parts = (only,) if isinstance(only, str) else tuple(only)
    return find(name).run(Options(folder, parts, quick, seed, jobs), report)
