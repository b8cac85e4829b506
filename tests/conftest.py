"""Fixtures: the real data sets, when they are there."""

from pathlib import Path

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
