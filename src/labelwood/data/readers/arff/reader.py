"""ARFF with several labels: Mulan's and MEKA's, sparse and dense, and CLUS's hierarchical kind."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from labelwood.core.io import Source, without_compression
from labelwood.core.names import first_double, shown
from labelwood.core.params import parse_float
from labelwood.data.dataset import Dataset
from labelwood.data.readers.arff.header import (
    HIERARCHICAL,
    NOMINAL,
    Attribute,
    Header,
    read_header,
    split_fields,
    split_pairs,
)
from labelwood.data.readers.columns import ColumnBuilder
from labelwood.data.readers.names import NameList, read_xml
from labelwood.data.readers.options import ReadOptions
from labelwood.errors import DataError

if TYPE_CHECKING:
    from labelwood.data.taxonomy import Taxonomy

_MISSING = "?"
_REMEDY = "say which are labels by label_names, or by label_count (negative for the last ones)"
_PATH, _AND = "/", "@"  # hierarchical classes: a/b/c@d/e


def read(source: Source, options: ReadOptions) -> Dataset:
    """Read ARFF; which attributes are labels comes from the options, the file, or XML beside it."""
    lines = source.lines()
    header = read_header(source, lines)
    names, taxonomy = _labels(source, header, options)
    rows = _Rows(source, header, names, zero_for_missing=options.missing == "zero")
    for number, line in lines:
        text = line.strip()
        if text and not text.startswith("%"):
            rows.add(number, text)
    X, feature_names = rows.features.features()
    Y, label_names = rows.labels.labels()
    return Dataset(
        X=X, Y=Y, label_names=label_names, feature_names=feature_names, taxonomy=taxonomy
    )


def _labels(
    source: Source, header: Header, options: ReadOptions
) -> tuple[NameList, "Taxonomy | None"]:
    """The labels in column order, and their taxonomy."""
    trees = [a for a in header.attributes if a.kind == HIERARCHICAL]
    if trees:
        return _paths(source, trees, options)
    if options.labels is not None:
        return options.labels, options.labels.taxonomy()
    if options.label_count is not None:
        return _counted(source, header, options.label_count), None
    beside = _xml_beside(source)
    if beside is not None:
        names = read_xml(beside)
        _check_agreement(source, header, names, beside)
        return names, names.taxonomy()
    return _counted(source, header, _stated_count(source, header)), None


def _counted(source: Source, header: Header, count: int) -> NameList:
    """The first `count` attributes, or the last ones when it is negative."""
    attributes = tuple(attribute.name for attribute in header.attributes)
    if abs(count) > len(attributes):
        raise source.error(
            header.data_line,
            f"{abs(count)} labels are expected, but there are {len(attributes)} attributes",
        )
    labels = attributes[:count] if count > 0 else attributes[count:]
    return NameList(labels, labels)


def _stated_count(source: Source, header: Header) -> int:
    """The ``-C`` of the relation, refused where it may no longer be true."""
    counts = header.label_counts - {0}
    if not counts:
        raise source.error(
            header.data_line,
            "nothing says which attributes are labels; give label_names or label_count, "
            "-C in the relation's name, or a file of the same name that ends in .xml",
        )
    if header.is_filtered:
        raise source.error(
            header.data_line,
            f"-C {min(counts)} stands in a relation that Weka filters have changed since, so the "
            f"labels may be elsewhere now; {_REMEDY}",
        )
    if len(counts) > 1:
        listed = " and ".join(f"-C {count}" for count in sorted(counts))
        raise source.error(header.data_line, f"the relation's name has {listed}; {_REMEDY}")
    return next(iter(counts))


def _check_agreement(source: Source, header: Header, names: NameList, beside: Path) -> None:
    """Refuse an XML file that contradicts ``-C``, unless filters have made ``-C`` void."""
    if header.is_filtered:
        return
    for count in header.label_counts - {0}:
        stated = _counted(source, header, count)
        if set(stated.names) != set(names.names):
            raise source.error(
                header.data_line,
                f"-C {count} of the relation makes {shown(stated.names[0])}, … labels, and "
                f"{beside.name} {shown(names.names[0])}, …; {_REMEDY}",
            )


def _paths(
    source: Source, trees: list[Attribute], options: ReadOptions
) -> tuple[NameList, "Taxonomy"]:
    from labelwood.data.taxonomy import Taxonomy

    if len(trees) > 1:
        raise source.error(None, "found several hierarchical attributes where one is expected")
    if options.labels is not None or options.label_count is not None:
        raise source.error(
            None, "the hierarchical attribute holds the labels: leave out label_names, label_count"
        )
    try:
        taxonomy = Taxonomy.from_paths(trees[0].values, _PATH)
    except DataError as error:
        raise source.error(None, str(error)) from None
    return NameList(taxonomy.names, taxonomy.names), taxonomy


def _xml_beside(source: Source) -> Path | None:
    path = without_compression(source.name)
    stems = [path.stem, path.stem.removesuffix("-train").removesuffix("-test")]
    candidates = [path.with_name(f"{stem}.xml") for stem in stems]
    return next((candidate for candidate in candidates if candidate.is_file()), None)


class _Rows:
    """Gathers rows: a nominal feature becomes a column a value, called ``name=value``."""

    def __init__(
        self, source: Source, header: Header, labels: NameList, *, zero_for_missing: bool
    ) -> None:
        self.source = source
        self.attributes = header.attributes
        self.zero_for_missing = zero_for_missing
        place = {key: column for column, key in enumerate(labels.keys)}
        has_tree = any(attribute.kind == HIERARCHICAL for attribute in self.attributes)
        self.class_at, self.label_at = (place, {}) if has_tree else ({}, place)
        self._check_labels(header.data_line)
        # A sparse row that leaves out a nominal attribute means its first value.
        self.omitted = {
            position: attribute.values[0]
            for position, attribute in enumerate(self.attributes)
            if attribute.kind == NOMINAL and attribute.values[0] != "0"
        }
        self.feature_at: dict[str, int] = {}
        names: list[str] = []
        for attribute in self.attributes:
            if attribute.kind != HIERARCHICAL and attribute.name not in self.label_at:
                self.feature_at[attribute.name] = len(names)
                names += _feature_names(attribute)
        double = first_double(names)
        if double is not None:
            raise source.error(
                header.data_line, f"two features are called {shown(names[double])}; rename one"
            )
        self.features = ColumnBuilder(source, "feature", NameList(tuple(names), tuple(names)))
        self.labels = ColumnBuilder(source, "label", labels)

    def _check_labels(self, line: int) -> None:
        attributes = {attribute.name: attribute for attribute in self.attributes}
        for name in self.label_at:
            if name not in attributes:
                raise self.source.error(line, f"there is no attribute for the label {shown(name)}")
            if not attributes[name].is_number:
                raise self.source.error(
                    line,
                    f"the label {shown(name)} must be an attribute with the values {{0,1}}; "
                    f"{_REMEDY}",
                )

    def add(self, line: int, text: str) -> None:
        """Add the row that stands on `line`."""
        columns: list[int] = []
        values: list[float] = []
        labels: list[int] = []
        for position, value in self._fields(line, text):
            attribute = self.attributes[position]
            name = attribute.name
            if value == _MISSING:
                self._check_missing(line, attribute)
            elif attribute.kind == HIERARCHICAL:
                labels += self._classes(line, value)
            elif name in self.label_at:
                if self._number(line, attribute, value, binary=True):
                    labels.append(self.label_at[name])
            elif attribute.is_number:
                number = self._number(line, attribute, value)
                if number:
                    columns.append(self.feature_at[name])
                    values.append(number)
            else:
                columns.append(self.feature_at[name] + self._choice(line, attribute, value))
                values.append(1.0)
        self.features.add(line, columns, values)
        self.labels.add(line, labels)

    def _fields(self, line: int, text: str) -> Iterable[tuple[int, str]]:
        """(position, value) of each field, with the values that a sparse row leaves out."""
        if text.startswith("{") and text.endswith("}"):
            pairs = split_pairs(text[1:-1])
            if pairs is None:
                raise self.source.error(
                    line, f"found {shown(text)} where a sparse row {{index value, …}} is expected"
                )
            fields = dict(pairs)
            if len(fields) < len(pairs):
                raise self.source.error(line, "an index comes twice in this sparse row")
            if fields and max(fields) >= len(self.attributes):
                raise self.source.error(
                    line, f"found index {max(fields)} where 0 to {len(self.attributes) - 1} exist"
                )
            return (self.omitted | fields).items()
        listed = split_fields(text)
        if listed is None:
            raise self.source.error(line, f"the quotes in {shown(text)} do not match")
        if len(listed) != len(self.attributes):
            raise self.source.error(
                line, f"found {len(listed)} fields where {len(self.attributes)} are expected"
            )
        return enumerate(listed)

    def _check_missing(self, line: int, attribute: Attribute) -> None:
        is_feature = attribute.name in self.feature_at
        if not (is_feature and self.zero_for_missing):
            remedy = "; missing='zero' reads it as zero" if is_feature else ""
            raise self.source.error(
                line, f"the value of {shown(attribute.name)} is missing{remedy}"
            )

    def _number(
        self, line: int, attribute: Attribute, value: str, *, binary: bool = False
    ) -> float:
        if attribute.kind == NOMINAL:
            return float(attribute.values[self._choice(line, attribute, value)])
        try:
            number = parse_float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            self._refuse(line, attribute, value, "a finite number")
        if binary and number not in (0, 1):
            self._refuse(line, attribute, value, "0 or 1", remedy=f"; {_REMEDY}")
        return number

    def _choice(self, line: int, attribute: Attribute, value: str) -> int:
        if value not in attribute.position:
            self._refuse(line, attribute, value, "one of the values in the header")
        return attribute.position[value]

    def _classes(self, line: int, value: str) -> list[int]:
        paths = [path.strip() for path in value.split(_AND)] if value else []
        for path in paths:
            if path not in self.class_at:
                raise self.source.error(line, f"found the class {shown(path)}, not in the header")
        return [self.class_at[path] for path in paths]

    def _refuse(
        self, line: int, attribute: Attribute, value: str, expected: str, remedy: str = ""
    ) -> NoReturn:
        name = shown(attribute.name)
        raise self.source.error(
            line, f"found {shown(value)} for {name} where {expected} is expected{remedy}"
        )


def _feature_names(attribute: Attribute) -> list[str]:
    if attribute.is_number:
        return [attribute.name]
    return [f"{attribute.name}={value}" for value in attribute.values]
