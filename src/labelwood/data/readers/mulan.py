"""Mulan's XML list of labels: ``<labels><label name="…">…</label></labels>``, maybe nested."""

from pathlib import Path
from xml.etree import ElementTree

from labelwood.data.readers.files import Source, read_source, shown
from labelwood.data.readers.options import NameList


def read_labels(path: str | Path) -> NameList:
    """Read the labels of an XML file.

    A document type declaration is refused: labels need none, and its entities could
    grow without bound.
    """
    source = read_source(path)
    if b"<!DOCTYPE" in source.data:
        raise source.error(None, "found a document type declaration, which is not supported")
    try:
        root = ElementTree.fromstring(bytes(source.data))
    except ElementTree.ParseError as error:
        raise source.error(None, f"not valid XML ({error})") from None
    names: list[str] = []
    edges: list[tuple[str, str]] = []
    stack: list[tuple[str | None, ElementTree.Element]] = [(None, root)]
    while stack:
        parent, element = stack.pop()
        name = parent if element is root else _label_name(source, element)
        if element is not root:
            names.append(str(name))
            if parent is not None:
                edges.append((parent, str(name)))
        stack.extend((name, child) for child in reversed(element))
    if not names or len(set(names)) < len(names):
        raise source.error(None, "found no label" if not names else "a label comes twice")
    return NameList(tuple(names), tuple(names), tuple(edges))


def _label_name(source: Source, element: ElementTree.Element) -> str:
    name = element.get("name", "")
    if element.tag.rpartition("}")[2] != "label" or not name.strip():
        tag = shown(ElementTree.tostring(element, encoding="unicode"))
        raise source.error(None, f'found {tag} where <label name="…"> is expected')
    return name
