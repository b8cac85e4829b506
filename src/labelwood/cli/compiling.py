"""Kernels that a training will need, compiled by another process while the data are read."""

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from labelwood.cli.learners import LEARNERS

# The choice tries one-vs-rest first and label trees last, which take longest to compile: they are
# ready when it comes to them.
_AHEAD = {"auto": "labeltree"}


@contextmanager
def compiled_aside(learner: str, jobs: int) -> Iterator[None]:
    """Compile the kernels of a learner in another process, where they never were.

    What both processes come to at the same time is compiled twice, and kept once. The other process
    ends with the block at the latest.
    """
    name = _AHEAD.get(learner, learner)
    if jobs == 1 or (os.cpu_count() or 1) == 1 or _is_compiled(name):
        yield
        return
    command = [sys.executable, "-m", "labelwood", "warm-up", "--quiet", "--only", name]
    closed = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=closed, stdout=closed, stderr=closed)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def _is_compiled(learner: str) -> bool:
    from labelwood.core.kernel import is_compiled

    labelwood = importlib.import_module("labelwood")
    modules = [getattr(labelwood, name).__module__ for name in LEARNERS.get(learner, ())]
    return all(is_compiled(module.rpartition(".")[0]) for module in modules)
