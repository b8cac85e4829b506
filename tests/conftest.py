"""Fixtures: the real data sets, when they are there."""

from pathlib import Path

import pytest
from hypothesis import settings

# Kernels compile inside the first example, so a time limit for one says nothing.
settings.register_profile("labelwood", deadline=None)
settings.load_profile("labelwood")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets; tests that use it are marked `shared`."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"real data sets are not there ({SHARED_DATA.name} beside the project)")
    return SHARED_DATA
