"""Kernels that another process compiles while data are read."""

import os
import subprocess
import sys

import pytest

from labelwood.cli import compiling
from labelwood.core.kernel import has_compiled_kernels

PACKAGE = """
from labelwood.core.kernel import kernel

@kernel
def double(x):
    return 2 * x
"""


def run(code, folder):
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(folder / "cache"),
        # An empty part would stand for the folder in which the program runs.
        "PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")])),
    }
    command = [sys.executable, "-P", "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=folder)


def test_a_package_is_compiled_once_its_kernels_are_in_the_cache(tmp_path):
    (tmp_path / "doubling").mkdir()
    (tmp_path / "doubling" / "__init__.py").write_text("")
    (tmp_path / "doubling" / "_kernels.py").write_text(PACKAGE)
    seen = (
        "from labelwood.core.kernel import has_compiled_kernels\n"
        "print(has_compiled_kernels('doubling'))\n"
        "from doubling._kernels import double\n"
        "double(2)\n"
        "print(has_compiled_kernels('doubling'))"
    )
    assert run(seen, tmp_path).stdout.split() == ["False", "True"]
    assert run(seen, tmp_path).stdout.split() == ["True", "True"]


def test_a_package_without_kernels_has_nothing_to_compile():
    assert has_compiled_kernels("labelwood.cli")


@pytest.fixture
def cold(monkeypatch):
    """Two cores, and no kernel was ever compiled."""
    monkeypatch.setattr("labelwood.core.kernel.has_compiled_kernels", lambda package: False)
    monkeypatch.setattr("joblib.effective_n_jobs", lambda n_jobs: 1 if n_jobs == 1 else 2)


def test_a_second_core_that_has_something_to_compile_is_used(cold):
    assert compiling._pays("labeltree", 2)


@pytest.mark.parametrize(("learner", "jobs"), [("labeltree", 1), ("no such", 2)])
def test_no_process_is_started_where_it_would_not_help(cold, learner, jobs):
    assert not compiling._pays(learner, jobs)


def test_no_process_is_started_once_kernels_are_there(cold, monkeypatch):
    monkeypatch.setattr("labelwood.core.kernel.has_compiled_kernels", lambda package: True)
    assert not compiling._pays("labeltree", 2)


def test_no_process_is_started_where_nothing_would_be_kept(cold, monkeypatch):
    monkeypatch.setattr("labelwood.core.kernel.caches_kernels", lambda: False)
    assert not compiling._pays("labeltree", 2)


@pytest.mark.parametrize("executable", [None, "", "/no/such/python", "/"])
def test_a_training_goes_on_without_the_other_process(cold, monkeypatch, executable):
    monkeypatch.setattr(compiling.sys, "executable", executable)
    assert compiling._pays("labeltree", 2)  # so that a process is asked for
    assert compiling._started("labeltree") is None
    trained = False
    with compiling.compiling_in_background("labeltree", 2):
        trained = True
    assert trained


ASIDE = """
import time, joblib
from labelwood.cli import compiling
from labelwood.core.kernel import compile_seconds, has_compiled_kernels
joblib.effective_n_jobs = lambda jobs: 2
started = []
class Watched(compiling.subprocess.Popen):
    def __init__(self, *arguments, **options):
        started.append(self)
        super().__init__(*arguments, **options)
compiling.subprocess.Popen = Watched
with compiling.compiling_in_background("auto", 2):
    while {condition}:
        time.sleep(0.2)
print(has_compiled_kernels("labelwood.trees.labeltree"), compile_seconds())
print(started[0].poll() is not None)
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


def test_files_beside_the_data_are_not_taken_for_modules(tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "typer.py").write_text("open('was run', 'w').close()\n")
    wait = (
        "import os\n"
        "from labelwood.cli import compiling\n"
        "os.chdir('here')\n"
        "compiling._started('popularity').wait()"
    )
    assert run(wait, tmp_path).returncode == 0
    assert os.listdir(tmp_path / "here") == ["typer.py"]
