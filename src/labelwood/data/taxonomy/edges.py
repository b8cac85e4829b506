"""The edges of a forest in a text file, one per line."""

from collections.abc import Iterable
from pathlib import Path

from labelwood.core.io import Source, read_source, writing
from labelwood.core.names import shown
from labelwood.core.params import OneOf, check_parameter, parse_int
from labelwood.data.taxonomy.forest import Edge, Node, turned

_TURNED = (
    "Most nodes have several parents, read as child parent: columns='parent child' "
    "(on the command line --parent-first) takes the parent from the first column"
)


def read_edges(
    path: str | Path, *, columns: str, entries: str, root: str | None
) -> tuple[Source, list[Edge]]:
    """The file, and its (parent, child) pairs; see `Taxonomy.from_file`."""
    check_parameter("Taxonomy", "columns", columns, OneOf("child parent", "parent child"))
    check_parameter("Taxonomy", "entries", entries, OneOf("names", "indices"))
    source = read_source(path)
    edges: list[Edge] = []
    for number, line in source.lines():
        if line.isspace():
            continue
        fields = line.rstrip("\r\n").split("\t") if "\t" in line else line.split()
        if len(fields) != 2:
            raise source.error(
                number, f"found {shown(line.strip())} where two columns are expected"
            )
        child, parent = fields if columns == "child parent" else reversed(fields)
        if not child:
            raise source.error(number, "the child has no name")
        above = None if parent in ("", root) else _entry(source, number, parent, entries)
        edges.append((above, _entry(source, number, child, entries)))
    return source, edges


def _entry(source: Source, number: int, text: str, entries: str) -> Node:
    if entries == "names":
        return text
    try:
        return parse_int(text)
    except ValueError:
        raise source.error(number, f"found {shown(text)} where an index is expected") from None


def with_reading_hint(message: str, edges: Iterable[Edge], columns: str) -> str:
    """What is wrong with the edges of a file, with the option that may be the remedy."""
    if columns != "child parent" or not turned(edges):
        return (
            f"{message} The columns were read as {columns}: Taxonomy.from_file has other options."
        )
    what, _, remedy = message.partition("; ")
    return "; ".join(filter(None, (f"{what.rstrip('.')}. {_TURNED}", remedy)))


def write_edges(path: str | Path, edges: Iterable[tuple[str, str]]) -> None:
    """Write (parent, child) pairs as ``child<TAB>parent``; the parent of a root is empty."""
    with writing(path) as file:
        file.write("".join(f"{child}\t{parent}\n" for parent, child in edges).encode("utf-8"))
