"""Read and write data sets in any of the formats."""

import importlib
import logging
import re
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from glob import glob
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from labelwood.core.caller import user_stacklevel
from labelwood.core.io import STANDARD_STREAM, Source, file_name, read_source, writing
from labelwood.core.names import count, first_double, shown
from labelwood.core.params import Boolean, Constraints, Integer, OneOf, check_parameter
from labelwood.data.concatenation import concatenate
from labelwood.data.dataset import Dataset
from labelwood.data.readers.encoding import in_utf8
from labelwood.data.readers.names import NameList, Names
from labelwood.data.readers.options import ReadOptions
from labelwood.data.readers.records import Records, find_records
from labelwood.data.readers.sniff import SUFFIXES, format_suffix, is_binary, sniff
from labelwood.errors import DataError, LabelwoodWarning, ParameterError

if TYPE_CHECKING:
    from labelwood.data.taxonomy import Taxonomy

_logger = logging.getLogger("labelwood")
_COLUMNS = ("text_column", "label_column", "id_column")
_TABLE = (*_COLUMNS, "label_separator", "delimiter", "encoding", "header")


@dataclass(frozen=True)
class _Format:
    """A format: its title, its module, and the options that mean something for it."""

    title: str
    name: str
    options: tuple[str, ...]
    reader: str = "read"
    writer: str | None = None

    def module(self) -> ModuleType:
        return importlib.import_module(f"labelwood.data.readers.{self.name}")

    def read(self, source: Source, options: ReadOptions) -> Dataset:
        read: Callable[[Source, ReadOptions], Dataset] = getattr(self.module(), self.reader)
        return read(source, options)


_FORMATS = {
    "xmc": _Format("XMC text", "xmc", ("feature_names", "one_based"), writer="write"),
    "svmlight": _Format("svmlight", "svmlight", ("feature_names", "n_features", "one_based")),
    "jsonl": _Format(
        "JSONL",
        "jsonl",
        ("feature_names", "n_labels", "n_features", *_COLUMNS, "label_separator", "encoding"),
        writer="write",
    ),
    "csv": _Format("CSV", "tabular", _TABLE, writer="write"),
    "tsv": _Format("TSV", "tabular", _TABLE, reader="read_tsv", writer="write_tsv"),
    "fasttext": _Format("fastText", "fasttext", ("encoding",)),
    "annif": _Format("Annif TSV", "annif", ("encoding",)),
    "lines": _Format("lines of text", "plain_lines", ("encoding",)),
    "arff": _Format("ARFF", "arff", ("label_count", "missing")),
    "parquet": _Format("Parquet", "parquet", (*_COLUMNS, "label_separator"), writer="write"),
    "npz": _Format("NumPy archive", "npz", ("feature_names",), writer="write"),
}
_TEXT_FORMATS = tuple(name for name, one in _FORMATS.items() if "encoding" in one.options)
WRITABLE = tuple(name for name, one in _FORMATS.items() if one.writer is not None)
_KNOWN = ("known_text_columns", "known_label_columns")
_SEVERAL = ("text_column", "label_column", *_KNOWN)  # a name, or a list of names
# Any format may have them.
_ALWAYS = ("label_names", "ignore_labels", *_KNOWN, "known_label_separator")
_CONSTRAINTS: Constraints = {
    "n_labels": (Integer(low=0), None),
    "n_features": (Integer(low=0), None),
    "label_count": (Integer(low=1), Integer(high=-1), None),
    "one_based": (Boolean(), None),
    "missing": (OneOf("error", "zero"), None),
    "header": (Boolean(), None),
    "ignore_labels": (Boolean(), None),
}


def load_dataset(
    path: str | Path | Sequence[str | Path],
    format: str | None = None,  # noqa: A002 - the word that a user looks for
    *,
    label_names: Names | None = None,
    feature_names: Names | None = None,
    taxonomy: "Taxonomy | str | Path | None" = None,
    n_labels: int | None = None,
    n_features: int | None = None,
    one_based: bool | None = None,
    text_column: str | Sequence[str] | None = None,
    label_column: str | Sequence[str] | None = None,
    id_column: str | None = None,
    label_separator: str | None = None,
    label_count: int | None = None,
    missing: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    ignore_labels: bool | None = None,
    known_text_columns: str | Sequence[str] | None = None,
    known_label_columns: str | Sequence[str] | None = None,
    known_label_separator: str | None = None,
) -> Dataset:
    r"""Read a data set.

    An option that means nothing for the format is an error. Whatever is wrong with the
    file is a `DataError` of one line with the file, the line, what was found and what
    was expected; the page on formats tells what each format allows.

    Parameters
    ----------
    path : path, or sequence of them
        The file; ``.gz``, ``.xz``, ``.bz2`` and ``.zst`` are decompressed, ``-`` is standard
        input. Several files, or a pattern such as ``"part-*.csv"``, are read one after the other
        as one data set.
    format : {"xmc", "svmlight", "jsonl", "csv", "tsv", "fasttext", "annif", "lines", "arff", \
            "parquet", "npz"}, optional
        By default it is inferred from the suffix and the content; the description of the
        data set says what was taken.
    label_names, feature_names : path or sequence of str, optional
        What the columns are called, in their order: a file with one name a line, or with
        ``id<TAB>name``, where the data (and the taxonomy) speak of ids and the data set
        of names. Where the data hold names, no others are allowed. In ARFF the label
        names tell which attributes are labels.
    taxonomy : Taxonomy or path, optional
        The forest of the labels, or a file that `Taxonomy.from_file` reads.
    n_labels, n_features : int, optional
        How many columns there are (JSONL with numbers, svmlight); by default as many as
        occur.
    one_based : bool, optional
        Whether columns are counted from 1. By default XMC text counts from 0, and
        svmlight from 1.
    text_column, label_column, id_column : str, optional
        The columns (or keys) of texts, labels and ids; by default ``text``, ``labels`` and
        ``id``, or the one column with another usual name (``body``, ``tags``…), which the
        description says. Several text columns, as in ``"title,text"``, are joined by a line feed.
        Several label columns, as in ``"toxic,insult"`` or ``"toxic..insult"``, hold 0 and 1, or
        labels that are put together.
    label_separator : str, optional
        What separates the labels in a field; inferred where the fields leave no doubt.
    label_count : int, optional
        ARFF: how many of the first attributes are labels; negative for the last ones.
    missing : {"error", "zero"}, optional
        ARFF: what to do with the missing value ``?`` of a feature; an error by default.
    delimiter : str, optional
        CSV and TSV: what stands between fields, as ``";"`` or ``"tab"``; inferred by default.
    encoding : str, optional
        Of text files; by default UTF-8, or UTF-16 or cp1252 where the bytes leave no doubt.
    header : bool, optional
        CSV and TSV: whether the first row names the columns; without one they are called
        ``1``, ``2``….
    ignore_labels : bool, optional
        Whether only the samples are wanted: columns of labels are not looked at, and a text file
        that is no other format is read as one text a line.
    known_text_columns, known_label_columns : str or sequence of str, optional
        The columns that a model learned from, such as `Tagger.text_columns_` and
        `Tagger.label_columns_`: where the file has all of them and `text_column` (or
        `label_column`) is not given, they are taken before other usual names.
    known_label_separator : str, optional
        What separated the labels that a model learned from, such as `Tagger.label_separator_`: it
        is taken where `label_separator` is not given, and fields hold it or leave it open.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "tiny.txt")
    ...     _ = path.write_text("2 4 3\n0,2 1:0.5 3:2\n1 0:1\n")
    ...     data = load_dataset(path)
    >>> data.description
    'tiny.txt (XMC text)'
    >>> data.Y.toarray().tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    if format is not None:
        check_parameter("load_dataset", "format", format, OneOf(*_FORMATS))
    options = ReadOptions(
        label_names=label_names,
        feature_names=feature_names,
        n_labels=n_labels,
        n_features=n_features,
        one_based=one_based,
        text_column=text_column,
        label_column=label_column,
        id_column=id_column,
        label_separator=label_separator,
        label_count=label_count,
        missing=missing,
        delimiter=delimiter,
        encoding=encoding,
        header=header,
        ignore_labels=ignore_labels,
        known_text_columns=known_text_columns,
        known_label_columns=known_label_columns,
        known_label_separator=known_label_separator,
    )
    for name, constraint in _CONSTRAINTS.items():
        check_parameter("load_dataset", name, getattr(options, name), constraint)
    _check_names(options)
    for name in ("text_column", "label_separator"):
        given = getattr(options, name)
        if given is not None and len(given) == 0:
            raise ParameterError(f"The {name!r} parameter of load_dataset must not be empty.")
    double = first_double(options.text_columns)
    if double is not None:
        raise ParameterError(
            f"The 'text_column' parameter of load_dataset names "
            f"{shown(options.text_columns[double])} twice; name each column once."
        )
    parts = [_load(one, format, options) for one in _paths(path)]
    dataset = parts[0] if len(parts) == 1 else concatenate(parts)
    if dataset.Y.nnz and not ignore_labels:
        _warn_of_unlabeled(parts)
    forest = dataset.taxonomy
    if taxonomy is not None:
        forest = _taxonomy(taxonomy, options.labels)
        if dataset.Y.nnz and not ignore_labels:
            _check_known(dataset, forest)
    elif forest is None and options.labels is not None:
        forest = options.labels.taxonomy()
    return replace(dataset, taxonomy=forest)


def _warn_of_unlabeled(parts: Sequence[Dataset]) -> None:
    """Warn of files that hold samples without any label beside files that hold labels."""
    for part in parts:
        if len(part) and not part.Y.nnz:
            warnings.warn(
                f"{part.description} has no labels: its {count(len(part), 'sample')} "
                f"{'counts' if len(part) == 1 else 'count'} as having none that applies; leave the "
                "file out if it was not tagged.",
                LabelwoodWarning,
                stacklevel=user_stacklevel(),
            )


def _check_names(options: ReadOptions) -> None:
    """Refuse columns and marks that are not given by their names."""
    for name in (*_COLUMNS, *_KNOWN, "label_separator", "delimiter", "encoding"):
        given = getattr(options, name)
        listed = name in _SEVERAL and isinstance(given, list | tuple)
        if given is not None and not all(
            isinstance(x, str) for x in (given if listed else [given])
        ):
            several = ", or a list of names" if name in _SEVERAL else ""
            raise ParameterError(
                f"The {name!r} parameter of load_dataset must be a name (str){several}. "
                f"Got {given!r} instead."
            )


def _paths(given: str | Path | Sequence[str | Path]) -> list[str | Path]:
    """All files that are meant; a name with ``*``, ``?`` or ``[`` that is no file is a pattern."""
    listed = [given] if isinstance(given, str | Path) else given
    if not isinstance(listed, list | tuple) or not all(isinstance(x, str | Path) for x in listed):
        raise ParameterError(
            "The 'path' parameter of load_dataset must be a path, or a list of paths. Got "
            f"{type(given).__name__} instead; a table goes to Tagger.from_frame."
        )
    paths: list[str | Path] = []
    for one in listed:
        if re.search(r"[*?\[]", str(one)) and not Path(one).exists():
            found = sorted(glob(str(one), recursive=True))
            if not found:
                raise DataError(f"{one}: no file matches this pattern")
            paths.extend(found)
        else:
            paths.append(one)
    if not paths:
        raise ParameterError("The 'path' parameter of load_dataset must name a file. Got none.")
    return paths


def load_records(
    path: str | Path,
    format: str | None = None,  # noqa: A002 - as in load_dataset
    **options: Any,
) -> tuple[str, Records | None]:
    """The format of a file, and its samples as they stand there.

    The options are those of `load_dataset`, which has checked them. There are no records where a
    sample has no place of its own in the file.
    """
    given = ReadOptions(**options)
    source, chosen, _ = _opened(path, format, given)
    return chosen, find_records(source, chosen, given)


def _opened(path: str | Path, given: str | None, options: ReadOptions) -> tuple[Source, str, str]:
    """The source, in UTF-8 where it is text, its format, and a remark on its encoding."""
    source = read_source(path, may_be_empty=True)
    encoding = ""
    if options.encoding is not None or given in (None, *_TEXT_FORMATS):
        source, encoding = _decoded(source, path, given, options)
    if given is None and _is_empty_batch(source, path):
        given = "jsonl"
    texts_only = bool(options.ignore_labels)
    return source, given or sniff(source, path, may_be_lines=texts_only), encoding


def _load(path: str | Path, given: str | None, options: ReadOptions) -> Dataset:
    """One file, described by what was taken."""
    source, name, encoding = _opened(path, given, options)
    chosen = _FORMATS[name]
    if source.is_empty and chosen.name not in ("jsonl", "plain_lines"):
        raise source.error(None, f"it is empty, which {chosen.title} does not allow")
    _check_options(chosen, options)
    dataset = chosen.read(source, options)
    taken = ", ".join(filter(None, (chosen.title, encoding, dataset.description)))
    description = f"{Path(file_name(path)).name} ({taken})"
    if encoding or dataset.description:
        _logger.info("reading %s", description)
    return replace(dataset, description=description)


def _decoded(
    source: Source, path: str | Path, given: str | None, options: ReadOptions
) -> tuple[Source, str]:
    """The source in UTF-8 where it is text, and a remark where its encoding was guessed."""
    if given is None and options.encoding is None and is_binary(source, path):
        return source, ""
    # JSON is UTF-8 by its standard: other bytes in it are damage, and no older encoding.
    is_json = given == "jsonl" or SUFFIXES.get(format_suffix(path)) == "jsonl"
    is_json = is_json or source.data.lstrip()[:1] == b"{"
    return in_utf8(source, options.encoding, western=not is_json)


def _is_empty_batch(source: Source, path: str | Path) -> bool:
    """Whether it is JSONL without a line, which is what an empty stream is taken for."""
    return source.is_empty and (str(path) == STANDARD_STREAM or not format_suffix(path))


def _check_options(chosen: _Format, options: ReadOptions) -> None:
    for option in fields(options):
        name = option.name
        given = getattr(options, name) is not None
        if given and name not in (*_ALWAYS, *chosen.options):
            users = ", ".join(one.title for one in _FORMATS.values() if name in one.options)
            raise ParameterError(
                f"The {name!r} parameter of load_dataset is for {users}; "
                f"{chosen.title} has no use for it."
            )


def _taxonomy(given: "Taxonomy | str | Path", labels: NameList | None) -> "Taxonomy":
    from labelwood.data.taxonomy import Taxonomy

    forest = Taxonomy.from_file(given) if isinstance(given, str | Path) else given
    if labels is None or not labels.has_ids:
        return forest
    called = dict(zip(labels.keys, labels.names, strict=True))
    return forest.renamed([called.get(name, name) for name in forest.names])


def _check_known(dataset: Dataset, forest: "Taxonomy") -> None:
    """Refuse a taxonomy without any of the labels, each of which would be a root of its own."""
    nodes = set(forest.names)
    names = dataset.label_names or list(map(str, range(dataset.n_labels)))
    if not nodes.isdisjoint(names):
        return
    folded = {node.casefold(): node for node in forest.names}
    alike = next((name for name in names if name.casefold() in folded), names[0])
    node = folded.get(alike.casefold(), forest.names[0] if forest.names else "")
    raise DataError(
        f"{dataset.description}: none of its {count(len(names), 'label')} is in the taxonomy, "
        f"which has {shown(node)} and not {shown(alike)}; write the names of both alike, or leave "
        "the taxonomy out"
    )


def save_dataset(
    dataset: Dataset,
    path: str | Path,
    format: str | None = None,  # noqa: A002 - as in load_dataset
    *,
    overwrite: bool = False,
) -> None:
    """Write a data set.

    A temporary sibling is written and then renamed, so that no half of a file is left; a write
    that fails leaves no file at all.

    Parameters
    ----------
    dataset : Dataset
    path : path
        The file, compressed when it ends in ``.gz``, ``.xz``, ``.bz2`` or ``.zst``; ``-`` is
        standard output.
    format : {"xmc", "jsonl", "csv", "tsv", "parquet", "npz"}, optional
        By default it is inferred from the suffix (``.txt`` is XMC text).

        XMC text holds numbers only: label and feature names go to siblings
        ``<name>.labels.txt`` and ``<name>.features.txt``. JSONL holds the labels and
        features that occur. CSV, TSV and Parquet hold texts, labels and ids. A NumPy archive
        holds everything but the taxonomy.
    overwrite : bool
        Whether files of names that are there already, with other names, may be replaced.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import scipy.sparse as sp
    >>> data = Dataset(sp.csr_array([[0.0, 0.1]]), sp.csr_array([[1.0]]), label_names=["owl"])
    >>> with TemporaryDirectory() as folder:
    ...     save_dataset(data, f"{folder}/one.txt.gz")
    ...     again = load_dataset(f"{folder}/one.txt.gz", label_names=f"{folder}/one.labels.txt")
    >>> again.X.toarray().tolist() == data.X.toarray().tolist()
    True
    >>> again.label_names
    ('owl',)
    """
    chosen = format_to_write(path, format)
    module = _FORMATS[chosen].module()
    try:
        siblings: dict[Path, bytes] = {}
        if chosen == "xmc" and str(path) != STANDARD_STREAM:
            siblings = _to_write(module.name_files(dataset, Path(path)), overwrite=overwrite)
        with ExitStack() as files:  # they take their places together, when all are written
            for sibling, content in siblings.items():
                files.enter_context(writing(sibling)).write(content)
            write = getattr(module, _FORMATS[chosen].writer or "write")
            write(dataset, files.enter_context(writing(path)))
    except UnicodeEncodeError as error:
        raise DataError(f"{path}: a text or name cannot be written as UTF-8 ({error})") from None


def format_to_write(
    path: str | Path,
    format: str | None,  # noqa: A002 - as in load_dataset
    option: str = "format",
) -> str:
    """The format that `save_dataset` writes: the one that is given by `option`, or the suffix's."""
    suffix = format_suffix(path)
    chosen = format or ("xmc" if suffix == ".txt" else SUFFIXES.get(suffix, suffix))
    if not chosen:
        raise ParameterError(
            f"give the format to write to {path} by {option}: {', '.join(WRITABLE)}"
        )
    if format is None and chosen not in WRITABLE:
        raise ParameterError(
            f"data are written as {', '.join(WRITABLE)}, not as {chosen}; give one of them by "
            f"{option}, or another name of the file"
        )
    check_parameter("save_dataset", "format", chosen, OneOf(*WRITABLE))
    return chosen


def _to_write(siblings: dict[Path, bytes], *, overwrite: bool) -> dict[Path, bytes]:
    """Those that are not there yet; what is there and differs is refused."""
    for sibling, content in siblings.items():
        if sibling.exists() and not overwrite and sibling.read_bytes() != content:
            raise DataError(
                f"{sibling} is there already and holds other names; move it away, write to another "
                "name, or give overwrite=True"
            )
    return {one: content for one, content in siblings.items() if overwrite or not one.exists()}
