"""Kernels that another process compiles while data are read."""

import os
import subprocess
import sys

import pytest

from labelwood.cli import compiling
from labelwood.core.kernel import is_compiled

PACKAGE = """
from labelwood.core.kernel import kernel

@kernel
def double(x):
    return 2 * x
"""


def run(code, tmp_path):
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
    }
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )


def test_a_package_is_compiled_once_its_kernels_are_in_the_cache(tmp_path):
    (tmp_path / "doubling").mkdir()
    (tmp_path / "doubling" / "__init__.py").write_text("")
    (tmp_path / "doubling" / "_kernels.py").write_text(PACKAGE)
    seen = (
        "from labelwood.core.kernel import is_compiled\n"
        "print(is_compiled('doubling'))\n"
        "from doubling._kernels import double\n"
        "double(2)\n"
        "print(is_compiled('doubling'))"
    )
    assert run(seen, tmp_path).stdout.split() == ["False", "True"]
    assert run(seen, tmp_path).stdout.split() == ["True", "True"]


def test_a_package_without_kernels_has_nothing_to_compile():
    assert is_compiled("labelwood.cli")


@pytest.mark.parametrize(
    ("learner", "jobs", "compiled"),
    [("auto", 2, True), ("labeltree", 1, False), ("popularity", 2, None), ("no such", 2, None)],
)
def test_no_process_is_started_where_it_would_not_help(monkeypatch, learner, jobs, compiled):
    if compiled is not None:
        monkeypatch.setattr("labelwood.core.kernel.is_compiled", lambda package: compiled)
    monkeypatch.setattr(compiling.os, "cpu_count", lambda: 8)
    monkeypatch.setattr(compiling.subprocess, "Popen", None)  # a call would raise
    with compiling.compiled_aside(learner, jobs):
        pass


ASIDE = """
import time
from labelwood.cli import compiling
from labelwood.core.kernel import compile_seconds
compiling.os.cpu_count = lambda: 2
started = []
popen = compiling.subprocess.Popen
compiling.subprocess.Popen = lambda *a, **k: started.append(popen(*a, **k)) or started[0]
with compiling.compiled_aside("auto", 2):
    while {condition}:
        time.sleep(0.2)
print(compiling._is_compiled("labeltree"), compile_seconds(), started[0].poll() is not None)
"""


@pytest.mark.slow
def test_another_process_compiles_and_this_one_does_not(tmp_path):
    """Nor does one that trains then: all that a label tree needs is there."""
    done = run(ASIDE.format(condition="started[0].poll() is None"), tmp_path)
    assert done.stdout.split() == ["True", "0.0", "True"], done.stderr
    train = (
        "from labelwood import LabelTreeClassifier, synthetic\n"
        "from labelwood.core.kernel import compile_seconds\n"
        "made = synthetic(200, 60, 12, n_test=1, random_state=0).train\n"
        "LabelTreeClassifier(random_state=0).fit(made.X, made.Y).predict_topk(made.X, 2)\n"
        "print(compile_seconds())"
    )
    assert run(train, tmp_path).stdout == "0.0\n"


def test_the_other_process_ends_with_the_training(tmp_path):
    done = run(ASIDE.format(condition="False"), tmp_path)
    assert done.stdout.split() == ["False", "0.0", "True"], done.stderr
