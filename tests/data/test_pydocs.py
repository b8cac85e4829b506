import ast
import gc
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from labelwood.data.corpora.pydocs import PACKAGES, pydocs
from labelwood.data.taxonomy.taxonomy import Taxonomy
from labelwood.errors import DataError, ParameterError

OWLS = '''
"""A module on owls has a docstring, which is no document."""
import no_such_module_anywhere
raise SystemExit("nobody may run this file")


def hoot(volume, times=1, *args, pitch, **kwargs):
    """Make the noise of an owl in the night.

    Parameters
    ----------
    volume, times : int
        Secret.
    """

    def inner(hidden):
        """Stay out of sight of all the readers."""


async def wait(seconds, /):
    """Wait for a mouse to come along."""


if True:
    def glide(volume):
        """Glide without any noise at all."""


class Owl:
    """A bird of the night with eyes."""

    def __init__(self, volume, color):
        self.volume = volume

    @classmethod
    def hatch(cls, color):
        """Come out of an egg at last."""

    class Nest:
        """Where the owl sleeps by day."""

    def nothing(self):
        """Do nothing for a very long time."""

    def undocumented(self, color):
        pass

    def terse(self, color):
        """Too short."""
'''

CATS = '''
def purr(volume, color):
    """Make the noise of a content cat."""


def purr(volume):
    """The second of this name is not taken."""


def copy(volume):
    """Make the noise of a content cat."""


def lonely(unique):
    """Has one parameter that no other has."""
'''


@pytest.fixture
def zoo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that must not be run."""
    files = {
        "zoo_of_tests/__init__.py": "",
        "zoo_of_tests/birds/__init__.py": "",
        "zoo_of_tests/birds/owls.py": OWLS,
        "zoo_of_tests/cats.py": CATS,
        "zoo_of_tests/tests/helpers.py": CATS,
        "zoo_of_tests/test_cats.py": CATS,
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path / "zoo_of_tests"


def labels_by_id(data) -> dict[str, list[str]]:
    return dict(zip(data.ids, data.label_lists(), strict=True))


def test_documents_are_tagged_with_their_parameters(zoo):
    data = pydocs(["zoo_of_tests"])

    assert labels_by_id(data) == {
        "zoo_of_tests.birds.owls.hoot": ["volume"],
        "zoo_of_tests.birds.owls.glide": ["volume"],
        "zoo_of_tests.birds.owls.Owl": ["color", "volume"],
        "zoo_of_tests.birds.owls.Owl.hatch": ["color"],
        "zoo_of_tests.cats.purr": ["color", "volume"],
    }
    assert data.texts[0] == "Make the noise of an owl in the night."
    assert data.X is None
    assert data.taxonomy is None
    assert data.description == "docstrings of zoo_of_tests by parameters"


def test_rare_parameters_are_kept_on_request(zoo):
    found = labels_by_id(pydocs(["zoo_of_tests"], min_count=1))

    assert found["zoo_of_tests.birds.owls.hoot"] == ["pitch", "times", "volume"]
    assert found["zoo_of_tests.birds.owls.wait"] == ["seconds"]
    assert found["zoo_of_tests.cats.lonely"] == ["unique"]


def test_short_texts_are_kept_on_request(zoo):
    assert "zoo_of_tests.birds.owls.Owl.terse" in pydocs(["zoo_of_tests"], min_words=2).ids


def test_documents_are_tagged_with_their_modules_along_the_module_tree(zoo):
    data = pydocs(["zoo_of_tests"], labels="modules")

    assert data.taxonomy == Taxonomy.from_paths(
        ["zoo_of_tests.birds.owls", "zoo_of_tests.cats"], separator="."
    )
    assert data.label_names == list(data.taxonomy.names)
    data.taxonomy.check(data.Y)
    found = labels_by_id(data)
    assert found["zoo_of_tests.cats.lonely"] == ["zoo_of_tests", "zoo_of_tests.cats"]
    assert len(found["zoo_of_tests.birds.owls.Owl.Nest"]) == 3


def test_the_source_is_never_imported(zoo):
    pydocs(["zoo_of_tests"])

    assert not any(name.startswith("zoo_of_tests") for name in sys.modules)


def test_files_that_cannot_be_parsed_are_counted(zoo):
    (zoo / "broken.py").write_text("def oops(:\n")
    (zoo / "bytes.py").write_bytes(b'"""\xff\xfe"""\n')
    (zoo / "latin.py").write_bytes(
        b'# coding: latin-1\ndef f(volume):\n    """Stra\xdfe und Haus in alter Schrift."""\n'
    )

    data = pydocs(["zoo_of_tests"])

    assert data.description.endswith("by parameters; 2 files could not be parsed")
    assert "Straße und Haus in alter Schrift." in data.texts


def test_a_single_module_is_read_as_well(tmp_path, monkeypatch):
    (tmp_path / "lone_zoo.py").write_text(CATS)
    monkeypatch.syspath_prepend(tmp_path)

    assert pydocs(["lone_zoo"], min_count=1).ids == ["lone_zoo.purr", "lone_zoo.lonely"]


def test_a_warning_of_the_parser_does_not_reach_the_user(zoo):
    (zoo / "escapes.py").write_text('def f(volume):\n    """An escape \\d of the old kind."""\n')

    assert "zoo_of_tests.escapes.f" in pydocs(["zoo_of_tests"]).ids


def test_what_other_threads_do_to_warnings_and_collector_is_left_alone(zoo, monkeypatch):
    def parse(*arguments):
        assert gc.isenabled()
        warnings.filterwarnings("ignore", message="a filter that another thread sets")
        return real(*arguments)

    real = ast.parse
    monkeypatch.setattr(ast, "parse", parse)
    pydocs(["zoo_of_tests"])

    with warnings.catch_warnings(record=True) as caught:
        warnings.warn("a filter that another thread sets", stacklevel=1)
    assert caught == []


@pytest.mark.parametrize(
    ("packages", "message"),
    [
        (["no_such_package_here"], "'no_such_package_here' is not installed"),
        (["numpy.linalg"], "'numpy.linalg' is not the name of a top-level package"),
        (["../secrets"], "is not the name of a top-level package"),
        ("numpy", r"put the name in a list: \['numpy'\]"),
        (["__main__"], "'__main__' is not installed|No label occurs"),
        ([], "No label occurs in 2 of 0 docstrings"),
        (["_struct"], "No label occurs in 2 of 0 docstrings of _struct; lower min_count"),
    ],
)
def test_packages_that_cannot_be_read_are_refused(packages, message):
    with pytest.raises(DataError, match=message):
        pydocs(packages)


@pytest.mark.parametrize("bad", [{"labels": "authors"}, {"min_count": 0}, {"min_words": 0.5}])
def test_a_parameter_outside_its_constraint_is_refused(bad):
    (name,) = bad
    with pytest.raises(ParameterError, match=f"The '{name}' parameter of pydocs must be"):
        pydocs(["joblib"], **bad)


def test_a_real_library_gives_the_same_corpus_every_time_without_its_answers():
    data, again = pydocs(["joblib"]), pydocs(["joblib"])

    assert len(data) > 100
    assert data.texts == again.texts
    assert data.ids == again.ids
    np.testing.assert_array_equal(data.Y.indices, again.Y.indices)
    assert len(set(data.ids)) == len(set(data.texts)) == len(data)
    for text, labels in zip(data.texts, data.label_lists(), strict=True):
        assert not re.search(r"^\s*(Parameters|Attributes|Args|Examples?):?\n", text, re.MULTILINE)
        assert ">>>" not in text
        assert ":param" not in text
        for label in labels:
            assert not re.search(rf"^\s*{label}\s*:", text, re.MULTILINE)


def test_the_default_packages_include_the_standard_library():
    assert {"numpy", "sklearn", "stdlib"} <= set(PACKAGES)


@pytest.mark.slow
def test_all_that_is_installed_makes_a_large_corpus_with_a_long_tail():
    data = pydocs()

    counts = np.bincount(data.Y.indices, minlength=data.n_labels)
    assert len(data) > 8_000
    assert data.n_labels > 2_000
    assert np.mean(counts < 5) > 0.4
    assert any(name.startswith("argparse.") for name in data.ids)
