"""Kernels that a training will need, compiled by another process while the data are read."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from labelwood.cli.learners import LEARNERS

# The choice tries one-vs-rest first and label trees last, which take longest to compile: they are
# ready when it comes to them.
_AHEAD = {"auto": "labeltree"}
_PATIENCE = 5.0  # seconds that the other process has to end


@contextmanager
def compiling_in_background(learner: str, jobs: int) -> Iterator[None]:
    """Compile the kernels of a learner in another process, where none of them ever was.

    What both processes come to at the same time is compiled twice, and kept once. The other process
    is ended with the block; it ends by itself when all is compiled.
    """
    name = _AHEAD.get(learner, learner)
    process = _started(name) if _pays(name, jobs) else None
    try:
        yield
    finally:
        if process is not None:
            process.terminate()
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _pays(learner: str, jobs: int) -> bool:
    """Whether there is a second core, and something that would be compiled and kept."""
    import joblib

    from labelwood.core.kernel import caches_kernels, has_compiled_kernels

    labelwood = importlib.import_module("labelwood")
    modules = [getattr(labelwood, name).__module__ for name in LEARNERS.get(learner, ())]
    packages = [module.rpartition(".")[0] for module in modules]
    return (
        joblib.effective_n_jobs(jobs) > 1
        and not all(map(has_compiled_kernels, packages))
        and caches_kernels()
    )


def _started(learner: str) -> "subprocess.Popen[bytes] | None":
    """The other process, or None where the system refuses one."""
    if not sys.executable:
        return None
    # -P: files in the user's folder are not taken for modules.
    command = [sys.executable, "-P", "-m", "labelwood", "warm-up", "--quiet", "--jobs", "1"]
    nothing = subprocess.DEVNULL
    with suppress(OSError):
        return subprocess.Popen(
            [*command, "--only", learner], stdin=nothing, stdout=nothing, stderr=nothing
        )
    return None
