"""Taxonomies that the names of labels hold: codes by their beginnings, or paths."""

import re
from collections.abc import Sequence

from labelwood.core.names import shown, some
from labelwood.data.taxonomy.taxonomy import Taxonomy
from labelwood.errors import DataError, ParameterError

PREFIX, PATH = "prefix", "path:"
_DIVIDED = re.compile(r"[^\W_][./:\-][^\W_]")


def is_in_names(taxonomy: str) -> bool:
    """Whether a taxonomy is said to be in the names of the labels, and not in a file.

    Examples
    --------
    >>> is_in_names("prefix"), is_in_names("path:/"), is_in_names("tree.tsv")
    (True, True, False)
    """
    return taxonomy == PREFIX or taxonomy.startswith(PATH)


def taxonomy_of_names(names: Sequence[str], how: str) -> Taxonomy:
    """The forest of labels whose names are codes ("prefix") or paths ("path:/").

    With "prefix" the parent of a code is the longest other code that it begins with. Where codes
    are divided, as in 1.10, a beginning ends at a division: 1.1 is no parent of 1.10. With
    "path:" and a separator, all beginnings of a path are its ancestors, labels or not.

    Examples
    --------
    >>> taxonomy_of_names(["C1", "C15", "C151", "E"], "prefix")
    Taxonomy(4 nodes, 2 roots, 2 leaves, depth 2)
    >>> taxonomy_of_names(["1", "1.1", "1.10"], "prefix").parent.tolist()
    [-1, 0, 0]
    >>> taxonomy_of_names(["animal/cat", "animal/owl"], "path:/").names
    ('animal', 'animal/cat', 'animal/owl')
    """
    if how != PREFIX:
        separator = how.removeprefix(PATH)
        if not separator:
            raise ParameterError("taxonomy='path:' takes the separator of the paths, as in path:/")
        if not any(separator in name for name in names):
            raise DataError(
                f"No label has {separator!r} in its name, as a path would: {_few(names)}."
            )
        return Taxonomy.from_paths(names, separator)
    known = set(names)
    divided = sum(bool(_DIVIDED.search(name)) for name in names) * 2 > len(names)
    edges = [(_longest_beginning(name, known, divided), name) for name in names]
    if all(parent is None for parent, _ in edges):
        raise DataError(
            f"No label begins with another, as codes of a taxonomy do: {_few(names)}; for paths "
            "give the separator, as in path:/, else a file with a child and its parent on each line"
        )
    return Taxonomy.from_edges(edges, names)


def _longest_beginning(name: str, known: set[str], divided: bool) -> str | None:
    for end in range(len(name) - 1, 0, -1):
        at_division = not name[end].isalnum() or not name[end - 1].isalnum()
        if name[:end] in known and (at_division or not divided):
            return name[:end]
    return None


def _few(names: Sequence[str]) -> str:
    return some(map(shown, list(names)[:3]))
