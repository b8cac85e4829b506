"""Kernels where they cannot be cached."""

import os
import subprocess
import sys

import pytest

# No directory can be written to, which even root is refused here.
NOTHING_IS_WRITABLE = """
import numba.core.caching as caching
def refuse(self):
    raise PermissionError(13, "Permission denied")
caching._CacheLocator.ensure_cache_path = refuse
"""
READ = "import labelwood, sys; print(labelwood.load_dataset(sys.argv[1]).X.nnz)"


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("2 2 2\n0 0:1\n1 1:1\n")
    return path


def run(code, path, cache):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run(
        [sys.executable, "-c", code, str(path)], env=environment, capture_output=True, text=True
    )


def test_without_a_writable_cache_kernels_are_compiled_in_memory_with_one_remark(text, tmp_path):
    nothing_there = "caching.IndexDataCacheFile._load_index = lambda self: {}\n"
    done = run(NOTHING_IS_WRITABLE + nothing_there + READ, text, tmp_path / "cache")
    assert done.stdout == "2\n"
    assert len(done.stderr.splitlines()) == 1
    assert "no cache directory is writable; set NUMBA_CACHE_DIR to one" in done.stderr


def test_kernels_that_were_compiled_before_are_used_though_nothing_is_writable(text, tmp_path):
    assert "compiling kernels, first run only" in run(READ, text, tmp_path / "cache").stderr
    done = run(NOTHING_IS_WRITABLE + READ, text, tmp_path / "cache")
    assert (done.stdout, done.stderr) == ("2\n", "")


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
