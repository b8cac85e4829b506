"""Kernels where they cannot be cached."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from labelwood.core._kernels import next_double
from labelwood.core.kernel import _SharedCacheFile

# No directory can be written to, which even root is refused here.
NOTHING_IS_WRITABLE = """
import numba.core.caching as caching
def refuse(self):
    raise PermissionError(13, "Permission denied")
caching._CacheLocator.ensure_cache_path = refuse
"""
KERNEL = """
from labelwood.core.kernel import kernel

@kernel
def double(x):
    return 2 * x
"""


def run(code, tmp_path):
    """Code that calls a kernel of a file, as Numba caches none that comes without one."""
    (tmp_path / "doubling.py").write_text(KERNEL)
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
    }
    call = "from doubling import double\nprint(double(21))"
    return subprocess.run(
        [sys.executable, "-c", code + call], env=environment, capture_output=True, text=True
    )


def test_compilation_is_announced_when_it_happens_and_only_then(tmp_path):
    for expected in (True, False):
        done = run("", tmp_path)
        assert done.stdout == "42\n"
        assert ("compiling kernels, first run only" in done.stderr) == expected


def test_without_a_writable_cache_kernels_are_compiled_in_memory_with_one_remark(tmp_path):
    nothing_there = "caching.IndexDataCacheFile._load_index = lambda self: {}\n"
    done = run(NOTHING_IS_WRITABLE + nothing_there, tmp_path)
    assert done.stdout == "42\n"
    assert len(done.stderr.splitlines()) == 1
    assert "no cache directory is writable; set NUMBA_CACHE_DIR to one" in done.stderr


def test_kernels_that_were_compiled_before_are_used_though_nothing_is_writable(tmp_path):
    assert "compiling kernels, first run only" in run("", tmp_path).stderr
    done = run(NOTHING_IS_WRITABLE, tmp_path)
    assert (done.stdout, done.stderr) == ("42\n", "")


def test_processes_that_compile_at_once_do_not_take_each_others_code(tmp_path):
    """Both have read the index before one of them writes it, and the second one's code is last."""
    both_read, first_is_kept = threading.Barrier(2, timeout=10), threading.Event()

    class Slow(_SharedCacheFile):
        def _load_index(self):
            index = super()._load_index()
            both_read.wait()
            return index

        def _save_data(self, name, data):
            assert data == 1 or first_is_kept.wait(10)
            super()._save_data(name, data)
            first_is_kept.set()

    kept = [Slow(str(tmp_path), "kernel", "stamp") for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda file, key: file.save(key, key), kept, (1, 2)))
    later = _SharedCacheFile(str(tmp_path), "kernel", "stamp")
    found = [later.load(key) for key in (1, 2)]
    assert found in ([1, None], [None, 2])  # what is lost is compiled again
    later.save(3, 3)
    assert later.load(3) == 3


def test_kernels_are_kept_in_files_that_no_other_process_writes():
    assert type(next_double._cache._cache_file) is _SharedCacheFile


CHECKED = """
import numpy as np
from numba import njit
from labelwood.core.lanes import load, store

@njit
def copy(source, target, from_, to):
    store(target, np.uint64(to), load(source, np.uint64(from_)))

source, target = np.ones(40, np.float32), np.zeros(40, np.float32)
copy(source, target, 24, 0)
assert target.sum() == 16
for wrong in ((25, 0), (0, 25), (2**63, 0), (0, 2**64 - 1)):
    try:
        copy(source, target, np.uint64(wrong[0]), np.uint64(wrong[1]))
    except IndexError as error:
        print(error)
try:
    copy(source[:10], target, 0, 0)
except IndexError as error:
    print(error)
"""


def test_lanes_are_checked_when_indices_are():
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1"}
    done = subprocess.run(
        [sys.executable, "-c", CHECKED], env=environment, capture_output=True, text=True
    )
    assert done.stdout.splitlines() == ["lanes are out of bounds"] * 5, done.stderr
