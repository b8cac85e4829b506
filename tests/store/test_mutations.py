"""Changed models behind right hashes: refused, or they predict inside their arrays."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import labelwood
from store import mutations

CHEAP = ("OneVsRestSVM", "PopularityClassifier", "PowersetTreeClassifier", "TailClassifier")


def attack_under_bounds_checks(folder, n, cache):
    """Counts of a run in which Numba and the lanes check every index, with kernels of its own."""
    done = subprocess.run(
        [sys.executable, mutations.__file__, "attack", str(folder), str(n)],
        env={**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def wrong(counts):
    return [one for one in counts if "wrong" in one]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    mutations.train(folder, *CHEAP)
    return folder


def test_a_changed_model_is_refused_or_predicts(stored):
    counts = mutations.attack(stored, 400)
    assert wrong(counts) == []
    assert min(counts["refused"], counts["predicted"]) > 50


def test_a_changed_model_reads_nothing_outside_its_arrays(tmp_path):
    mutations.train(tmp_path / "models", "OneVsRestSVM")
    counts = attack_under_bounds_checks(tmp_path / "models", 150, tmp_path / "kernels")
    assert wrong(counts) == []
    assert counts["predicted"] > 20


@pytest.mark.slow
def test_twenty_thousand_changed_models_read_nothing_outside_their_arrays(tmp_path):
    mutations.train(tmp_path / "models")
    trained = {path.name for path in (tmp_path / "models").iterdir()}
    assert len(trained) > 15
    assert trained <= set(labelwood._HOME)
    # Kernels with checks take minutes to compile: they are kept from one run to the next.
    cache = Path(__file__).parents[2] / ".pytest_cache" / "bounds-checked-kernels"
    counts = attack_under_bounds_checks(tmp_path / "models", 20_000, cache)
    print(counts)
    assert wrong(counts) == []
