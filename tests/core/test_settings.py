from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from labelwood.core.settings import settings_of


class Settings(NamedTuple):
    C: float
    budget: int
    prune: bool
    loss: str


def test_settings_are_parameters_of_the_declared_kinds():
    owner = SimpleNamespace(C=np.float32(2), budget=np.int16(3), prune=True, loss="hinge", n_jobs=4)
    settings = settings_of(Settings, owner)
    assert settings == Settings(2.0, 3, True, "hinge")
    assert [type(value) for value in settings] == [float, int, bool, str]


def test_none_is_the_zero_of_its_kind():
    owner = SimpleNamespace(C=None, budget=None, prune=None, loss=None)
    assert settings_of(Settings, owner) == Settings(0.0, 0, False, "")
