"""The data argument of a subcommand, with all the options that tell how to read it."""

import functools
import inspect
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwood.cli import options

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset
    from labelwood.tagger import Tagger

_LEARNED = ("text_columns", "label_columns", "label_separator")


@dataclass(frozen=True)
class Source:
    """A data file and how to read it."""

    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA...", help="Data files, or patterns as 'part-*.csv'; - is standard input."
        ),
    ]
    format: Annotated[
        str | None, typer.Option(help="Format of DATA, when its name and content do not tell.")
    ] = None
    label_names: Annotated[
        Path | None, typer.Option(help="File with the label names, or ids and names, one per line.")
    ] = None
    feature_names: Annotated[
        Path | None, typer.Option(help="File with the feature names, one per line.")
    ] = None
    taxonomy: Annotated[
        str | None,
        typer.Option(
            metavar="prefix|path:/|FILE",
            help="Labels are codes of which one begins with its parent, or paths, or FILE has a "
            "child and its parent on each line.",
        ),
    ] = None
    parent_first: Annotated[
        bool, typer.Option("--parent-first", help="The lines of --taxonomy are parent and child.")
    ] = False
    multiple_parents: Annotated[
        str,
        typer.Option(
            help="A label with several parents is an 'error', hangs on the 'first', or needs "
            "'any' or 'all' of them."
        ),
    ] = "error"
    text_column: Annotated[
        list[str] | None, typer.Option(help="Column of the text; several are joined: title,text.")
    ] = None
    label_column: Annotated[
        list[str] | None,
        typer.Option(help="Column of the labels; several of 0 and 1: toxic,insult or first..last."),
    ] = None
    id_column: Annotated[str | None, typer.Option(help="Column of the ids.")] = None
    label_separator: Annotated[
        str | None, typer.Option(help="What stands between labels in a field: ';', ',', space…")
    ] = None
    delimiter: Annotated[
        str | None, typer.Option(help="What stands between fields of CSV: ',', ';', tab or '|'.")
    ] = None
    encoding: Annotated[
        str | None, typer.Option(help="Encoding of DATA, as utf-8, cp1252 or utf-16.")
    ] = None
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first row of CSV names columns."),
    ] = None
    n_features: Annotated[
        int | None,
        typer.Option(
            parser=options.whole(),
            metavar="INTEGER",
            help="Number of features, where DATA does not tell (svmlight).",
        ),
    ] = None
    n_labels: Annotated[
        int | None,
        typer.Option(parser=options.whole(), metavar="INTEGER", help="Number of labels, likewise."),
    ] = None
    one_based: Annotated[
        bool | None,
        typer.Option("--one-based/--zero-based", help="Whether columns count from 1."),
    ] = None
    label_count: Annotated[
        int | None,
        typer.Option(
            parser=options.whole(),
            metavar="INTEGER",
            help="ARFF: how many first (or, if negative, last) are labels.",
        ),
    ] = None
    missing: Annotated[
        str | None, typer.Option(help="ARFF: 'error' or 'zero' for a missing value.")
    ] = None

    def read(self, *, ignore_labels: bool = False, tagger: "Tagger | None" = None) -> "Dataset":
        """Load the data set, without its labels where only the samples are wanted.

        For a `tagger` it is read as the data that it learned from, where no option says otherwise.
        """
        from labelwood.data.load import load_dataset
        from labelwood.data.taxonomy import Taxonomy
        from labelwood.data.taxonomy.codes import is_in_names, taxonomy_of_names

        given = {key: value for key, value in asdict(self).items() if value is not None}
        for name in ("text_column", "label_column"):  # one may be a list as title,text
            if len(given.get(name, ())) == 1:
                given[name] = given[name][0]
        first, parents = given.pop("parent_first"), given.pop("multiple_parents")
        in_names = self.taxonomy is not None and is_in_names(self.taxonomy)
        if in_names:
            del given["taxonomy"]
        elif self.taxonomy is not None:
            given["taxonomy"] = Taxonomy.from_file(
                self.taxonomy,
                columns="parent child" if first else "child parent",
                **{"parents" if parents in ("any", "all") else "multiple_parents": parents},
            )
        learned = {} if tagger is None else vars(tagger)  # models of format 1 have none of them
        with _remarks_in_options():
            dataset = load_dataset(
                given.pop("data"),
                ignore_labels=ignore_labels or None,
                **{f"known_{name}": learned.get(f"{name}_") for name in _LEARNED},
                **given,
            )
        dataset = replace(dataset, description=in_options(dataset.description))
        if not in_names:
            return dataset
        names = dataset.label_names or [str(label) for label in range(dataset.n_labels)]
        return replace(dataset, taxonomy=taxonomy_of_names(names, str(self.taxonomy)))

    @property
    def files(self) -> tuple[Path, ...]:
        """All files that are read."""
        from labelwood.data.taxonomy.codes import is_in_names

        taxonomy = None if self.taxonomy is None or is_in_names(self.taxonomy) else self.taxonomy
        given = (*self.data, self.label_names, self.feature_names, taxonomy)
        return tuple(Path(one) for one in given if one is not None)


@contextmanager
def _remarks_in_options() -> Iterator[None]:
    """What the library logs within, in the words of the command line, as errors are."""

    def in_words(record: logging.LogRecord) -> bool:
        record.msg, record.args = in_options(record.getMessage()), ()
        return True

    logger = logging.getLogger("labelwood")
    logger.addFilter(in_words)
    try:
        yield
    finally:
        logger.removeFilter(in_words)


def check_labels(dataset: "Dataset") -> None:
    """Refuse data without any label, where labels are what the command is about."""
    from labelwood.errors import DataError

    if len(dataset) == 0:
        raise DataError(
            f"{dataset.description} has no samples; it holds no row below its header, or is empty"
        )
    if dataset.Y.nnz == 0:
        raise DataError(
            f"{dataset.description} has no labels; if they are there, name their column by "
            "label_column"
        )


def is_model(path: Path | str) -> bool:
    """Whether it is the directory of a model."""
    # Of a name that is too long for a file, `Path.exists` raises an error.
    return os.path.exists(Path(path, "model.json"))


def check_output(output: Path | str | None, *inputs: Path) -> None:
    """Refuse to write over a file that is read, or into a model directory."""
    from labelwood.errors import ParameterError

    if output is None or str(output) == "-":
        return
    path = Path(output)
    for one in inputs:
        if path.exists() and one.exists() and path.samefile(one):
            raise ParameterError(f"{output} is the file that is read; write to another one")
    if path.is_dir():
        raise ParameterError(f"{output} is a directory; name a file")
    if not path.parent.exists():
        raise ParameterError(f"there is no directory {path.parent}; make it first")
    if is_model(path.resolve().parent):
        raise ParameterError(f"{path.parent} is a model; write to another directory")


def check_order(command: str, model: Path, source: Source) -> None:
    """Refuse data in the place of the model and the model in the place of data."""
    from labelwood.errors import ParameterError

    for one in source.data:
        if model.is_file() and is_model(one):
            raise ParameterError(
                f"{one} is the model, which comes first: labelwood {command} {one} {model}"
            )


_RENAMED = {"n_jobs": "--jobs", "random_state": "--seed", "overwrite": "--force"}
_FUNCTIONS = "load_dataset|save_dataset|evaluate"


@contextmanager
def called(names: Mapping[str, str]) -> Iterator[None]:
    """Errors of the library within, in the words of a command: `names` is as in `in_options`."""
    from labelwood.errors import DataError, ParameterError

    try:
        yield
    except (DataError, ParameterError) as error:
        raise type(error)(in_options(str(error), names)) from None


def in_options(message: str, names: Mapping[str, str] = MappingProxyType({})) -> str:
    """A message of the library in the words of the command line.

    A parameter of reading is an option, `a_b=1` becomes `--a-b 1`, and a parameter of a learner is
    set by ``--set``. A command that calls a parameter, or any other part of a message, by another
    name gives `names`.

    Examples
    --------
    >>> in_options("The 'delimiter' parameter of load_dataset must be one character")
    '--delimiter must be one character'
    >>> in_options("The 'C' parameter of OneVsRestSVM must be a number > 0")
    '--set C=… must be a number > 0'
    >>> in_options("name the right one by text_column, or give header=False")
    'name the right one by --text-column, or give --no-header'
    >>> in_options("The 'ratio' parameter of Bernoulli must be a number", {"ratio": "--split"})
    '--split must be a number'
    """
    reading = [one.name for one in fields(Source) if one.name != "data"]
    every = "|".join([*reading, *_RENAMED])

    def flag(name: str) -> str:
        return _RENAMED.get(name, f"--{name.replace('_', '-')}")

    def parameter(match: re.Match[str]) -> str:
        name, owner = match["name"], match["owner"]
        if name in names:
            return names[name]
        if (name, owner) == ("format", "save_dataset"):
            return "--to"
        if name in reading or name in _RENAMED or owner == "Tagger":
            return flag(name)
        if owner == "TextVectorizer":
            return f"--set text.{name}=…"
        return f"--{name}" if re.fullmatch(_FUNCTIONS, owner) else f"--set {name}=…"

    def option(match: re.Match[str]) -> str:
        name, value = match["name"], match["value"]
        if value == "True":
            return flag(name)
        if value == "False":
            return {"one_based": "--zero-based"}.get(name, f"--no-{name.replace('_', '-')}")
        return f"{flag(name)} {value}"

    message = _with_phrases(message, names)
    message = re.sub(r"The '(?P<name>\w+)' parameter of (?P<owner>\w+)\b", parameter, message)
    # An option is left out rather than given None, which --set alone takes.
    message = re.sub(r"(--(?!set )[\w-]+ must be .*?) or None\b", r"\1", message)
    message = re.sub(rf"\b(?P<name>{every})=(?P<value>\w+|'[^']*')", option, message)
    # Parameters of the vectorizer without a value: elsewhere such a word may be the user's own.
    message = re.sub(
        r"(?i:\b(lower|raise|or)) (min_df|max_df|max_candidates)\b(?!=)",
        r"\1 --set text.\2=…",
        message,
    )
    message = re.sub(r"\bgive (m(?:in|ax)_df=)", r"give --set text.\1", message)
    message = re.sub(r"\bgive features='(\w+)'", r"give --set text.features=\1", message)
    message = re.sub(r"\bcalibrate=True\b", "--set calibrate=true", message)
    message = re.sub(r"\bby (format|encoding|delimiter|taxonomy)\b", r"by --\1", message)
    # A word with an underscore is no word of a sentence, so it is the parameter, unless it is in
    # quotes or part of the name of a file; n_labels alone is a figure of a log of predictions.
    written = "|".join(name for name in reading if "_" in name and name != "n_labels")
    own = rf"(?<![-\w.'\"/\\])({written})(?![-\w'\":/\\]|\.\w)"
    return re.sub(own, lambda match: flag(match[1]), message)


_QUOTED = r"""(?<![\w=])(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w)"""


def _with_phrases(message: str, names: Mapping[str, str]) -> str:
    """The message with each phrase by its other name, but for what it quotes of the user's."""
    parts = re.split(f"({_QUOTED})", message)
    for phrase, own in names.items():
        if not phrase.isidentifier():
            parts[::2] = [one.replace(phrase, own) for one in parts[::2]]
    return "".join(parts)


def with_source(command: Callable[..., None]) -> Callable[..., None]:
    """Spread the `source` parameter of a subcommand into the fields of `Source`."""
    signature = inspect.signature(command)
    own = list(inspect.signature(Source).parameters.values())
    spread: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        spread.extend(own if parameter.name == "source" else [parameter])
    keyword_only = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in spread]

    @functools.wraps(command)
    def run(**values: Any) -> None:
        command(source=Source(**{one.name: values.pop(one.name) for one in own}), **values)

    run.__signature__ = signature.replace(parameters=keyword_only)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in keyword_only}
    return run
