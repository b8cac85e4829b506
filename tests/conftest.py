"""Fixtures: the real data sets, when they are there, and another process."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Kernels compile inside the first example, so a time limit for one says nothing.
settings.register_profile("labelwood", deadline=None)
settings.load_profile("labelwood")

# The two files with the most tests, with which two workers start, both go through all estimators.
_BACKWARDS = "test_contract_of_refits.py"

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let two workers start from opposite ends of the list of estimators.

    In the same order they would compile the same kernels at the same time; so each kernel is
    compiled by one of them, and the other reads it from the cache on disk.
    """
    places = [place for place, item in enumerate(items) if item.path.name == _BACKWARDS]
    for place, item in zip(places, [items[k] for k in reversed(places)], strict=True):
        items[place] = item


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets; tests that use it are marked `shared`."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"real data sets are not there ({SHARED_DATA.name} beside the project)")
    return SHARED_DATA


# What another process does with each line: a call, a stored model and a file of features.
_ANSWER = """
import json, sys, labelwood, scipy.sparse as sp
for line in sys.stdin:
    call, model, X = json.loads(line)
    model, X = labelwood.load(model), sp.load_npz(X)
    if call == "predict(X)":
        answer = model.predict(X).tolist()
    else:
        top = model.predict_topk(X, 3)
        answer = [top.names(), top.scores.astype(float).tolist()]
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture(scope="session")
def other_process() -> Iterator[Callable[..., Any]]:
    """A process that has fitted nothing: it loads the models that it is asked for, and predicts."""
    command = [sys.executable, "-c", _ANSWER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        questions, answers = process.stdin, process.stdout

        def answer(call: str, model: Path, X: Path) -> Any:
            questions.write(json.dumps([call, str(model), str(X)]) + "\n")
            questions.flush()
            return json.loads(answers.readline())

        yield answer
        questions.close()
