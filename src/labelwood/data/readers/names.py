"""Lists of names, from a sequence, a text file, or Mulan's XML."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeAlias
from xml.etree import ElementTree

from labelwood.core.io import Source, read_source
from labelwood.core.names import check_names, first_double, shown
from labelwood.errors import DataError

if TYPE_CHECKING:
    from labelwood.data.taxonomy import Taxonomy

Names: TypeAlias = str | Path | Sequence[str]


@dataclass(frozen=True)
class NameList:
    """Names in column order, the keys under which a data file knows them, and their parents."""

    names: tuple[str, ...]
    keys: tuple[str, ...]
    edges: tuple[tuple[str, str], ...] = ()

    @property
    def has_ids(self) -> bool:
        """Whether a data file speaks of ids instead of names."""
        return self.keys != self.names

    def taxonomy(self) -> "Taxonomy | None":
        """The forest of (parent, child) edges, when there are any."""
        from labelwood.data.taxonomy import Taxonomy

        return Taxonomy.from_edges(self.edges, self.names) if self.edges else None


def read_names(names: Names, parameter: str) -> NameList:
    """Names from a sequence, or from a file: a name or ``id<TAB>name`` per line, or Mulan's XML."""
    if isinstance(names, str | Path):
        if Path(names).suffix.lower() == ".xml":
            return read_xml(names)
        return _read_lines(read_source(names))
    listed = tuple(names)
    check_names(listed, parameter)
    return NameList(listed, listed)


def _read_lines(source: Source) -> NameList:
    rows: list[list[str]] = []
    for number, line in source.lines():
        fields = line.rstrip("\r\n").split("\t")
        if not all(field.strip() for field in fields) or len(fields) > 2:
            raise source.error(
                number,
                f"found {shown(line)} where one name, or an id, a tab and a name is expected",
            )
        if len(fields) != len(rows[0] if rows else fields):
            raise source.error(number, "only some of the lines have a tab; all or none must")
        rows.append(fields)
    keys, names = tuple(row[0] for row in rows), tuple(row[-1] for row in rows)
    if all(key.startswith("<") and key.endswith(">") for key in keys):
        keys = tuple(key[1:-1] for key in keys)  # URIs, as a vocabulary of Annif has them
    for listed in (keys, names):
        double = first_double(listed)
        if double is not None:
            name = shown(listed[double])
            raise source.error(double + 1, f"{name} stands on an earlier line too")
    return NameList(names, keys)


def read_xml(path: str | Path) -> NameList:
    """Mulan's ``<labels><label name="…">…</label></labels>``, where nesting makes a taxonomy."""
    source = read_source(path)
    parser = ElementTree.XMLParser(target=_Builder(source))
    try:
        root = ElementTree.fromstring(bytes(source.data), parser)
    except DataError:
        raise
    except (ElementTree.ParseError, LookupError, ValueError) as error:  # or an odd encoding
        raise source.error(None, f"not valid XML ({error})") from None
    names: list[str] = []
    edges: list[tuple[str, str]] = []
    stack: list[tuple[str | None, ElementTree.Element]] = [
        (None, child) for child in reversed(root)
    ]
    while stack:
        parent, element = stack.pop()
        name = _label_name(source, element)
        names.append(name)
        if parent is not None:
            edges.append((parent, name))
        stack.extend((name, child) for child in reversed(element))
    if not names or first_double(names) is not None:
        raise source.error(None, "a label comes twice" if names else "found no label")
    return NameList(tuple(names), tuple(names), tuple(edges))


class _Builder(ElementTree.TreeBuilder):
    """Refuses a document type: labels need none, and its entities could grow without bound."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source = source

    def doctype(self, *_: object) -> NoReturn:
        raise self._source.error(None, "found a document type declaration, which is not supported")


def _label_name(source: Source, element: ElementTree.Element) -> str:
    name = element.get("name", "")
    if element.tag.rpartition("}")[2] != "label" or not name.strip():
        # Not by tostring, which calls itself for every level of nesting.
        attributes = "".join(f' {key}="{value}"' for key, value in element.attrib.items())
        tag = shown(f"<{element.tag}{attributes} />")
        raise source.error(None, f'found {tag} where <label name="…"> is expected')
    return name
