"""A real corpus on any machine: the docstrings of the installed Python libraries."""

import ast
import importlib.util
import re
import sys
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from labelwood.core.labels import lists_to_indicator
from labelwood.core.params import Integer, OneOf, check_parameter
from labelwood.core.progress import progress
from labelwood.data.corpora._docstrings import strip_answer
from labelwood.data.dataset import Dataset
from labelwood.data.taxonomy import Taxonomy
from labelwood.errors import DataError

STANDARD_LIBRARY = "stdlib"

# What labelwood runs on, so that the corpus does not change with other things installed.
PACKAGES = (
    "joblib",
    "llvmlite",
    "markdown_it",
    "numba",
    "numpy",
    "rich",
    "safetensors",
    "scipy",
    "sklearn",
    "threadpoolctl",
    "typer",
    STANDARD_LIBRARY,
)

_TEST_FOLDERS = {"test", "tests", "idle_test"}
_FILE_NAME = "<docstrings for pydocs>"
_BRANCHES = (ast.If, ast.Try, ast.With, ast.ExceptHandler)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_IMPLICIT = {"self", "cls", "mcs", "args", "kwargs"}


class _Document(NamedTuple):
    name: str
    module: str
    text: str
    parameters: tuple[str, ...]


def pydocs(
    packages: Sequence[str] | None = None,
    *,
    labels: Literal["parameters", "modules"] = "parameters",
    min_count: int = 2,
    min_words: int = 5,
) -> Dataset:
    """Docstrings of installed libraries, to be tagged with parameters or modules.

    Each function, method and class with a docstring is a document, named by its
    qualified name. The source files are parsed, never imported or run. Tests are left
    out, and of several equal texts or names the first is taken. The same installed
    versions give the same corpus.

    The text is the docstring without the places that list or show the parameters:
    sections on parameters, attributes, methods and examples, fields, signatures and
    doctests. A parameter's name may still occur in running prose, and does so in about
    a third of the cases: often enough to be learned from, as in any real tagging task.

    Parameters
    ----------
    packages : sequence of str, optional
        Top-level packages or modules, and "stdlib" for the standard library. By default
        the standard library and what labelwood itself runs on, as far as installed.
    labels : {"parameters", "modules"}
        The labels of a document: the names of its parameters (of `__init__` for a class;
        without self, cls, ``*args`` and ``**kwargs``), or its module and all packages
        above, with the module tree as taxonomy.
    min_count : int
        Labels of fewer documents are left out, and documents without a label with them.
    min_words : int
        Documents with a shorter text are left out.

    Examples
    --------
    >>> data = pydocs(["joblib"])
    >>> labels = dict(zip(data.ids, data.label_lists()))
    >>> "location" in labels["joblib.memory.Memory"]
    True
    """
    check_parameter("pydocs", "labels", labels, OneOf("parameters", "modules"))
    check_parameter("pydocs", "min_count", min_count, Integer(low=1))
    check_parameter("pydocs", "min_words", min_words, Integer(low=1))
    if isinstance(packages, str):
        raise DataError(f"A list of packages is expected; put the name in a list: [{packages!r}].")
    wanted = PACKAGES if packages is None else tuple(packages)
    sources = [
        source for name in wanted for source in _sources(name, required=packages is not None)
    ]
    documents, n_unread = _read(sources, min_words)
    tags = [
        document.parameters if labels == "parameters" else _ancestry(document.module)
        for document in documents
    ]
    counts = Counter(tag for one in tags for tag in one)
    names = sorted(tag for tag in counts if counts[tag] >= min_count)
    kept = [i for i, one in enumerate(tags) if any(counts[tag] >= min_count for tag in one)]
    if not kept:
        raise DataError(
            f"No label occurs in {min_count} of {len(documents)} docstrings of "
            f"{', '.join(wanted)}; lower min_count or min_words."
        )
    known = [[tag for tag in tags[i] if counts[tag] >= min_count] for i in kept]
    return Dataset(
        X=None,
        Y=lists_to_indicator(known, names),
        label_names=names,
        ids=[documents[i].name for i in kept],
        texts=[documents[i].text for i in kept],
        taxonomy=Taxonomy.from_paths(names, separator=".") if labels == "modules" else None,
        description=_description(packages, labels, n_unread),
    )


def _sources(package: str, *, required: bool) -> Iterator[tuple[str, Path]]:
    """Module name and source file of every module of a package, in a fixed order."""
    if package == STANDARD_LIBRARY:
        folder = Path(sysconfig.get_path("stdlib"))
        for name in sorted(sys.stdlib_module_names):
            yield from _modules(folder, folder / name)
        return
    if not package.isidentifier():  # the parent of a dotted name would have to be imported
        raise DataError(f"{package!r} is not the name of a top-level package.")
    try:
        spec = importlib.util.find_spec(package)
    except ValueError:  # a module made by hand, which has no source
        spec = None
    if spec is None:
        if required:
            raise DataError(f"The package {package!r} is not installed.")
        return
    for place in spec.submodule_search_locations or [(spec.origin or "").removesuffix(".py")]:
        yield from _modules(Path(place).parent, Path(place))


def _modules(folder: Path, module: Path) -> Iterator[tuple[str, Path]]:
    """The files of ``module.py`` or the folder `module`, with module names below `folder`."""
    single = module.with_name(module.name + ".py")
    files = sorted(module.rglob("*.py")) if module.is_dir() else [single]
    for file in files:
        parts = file.relative_to(folder).with_suffix("").parts
        is_test = _TEST_FOLDERS & set(parts) or parts[-1].startswith(("test_", "conftest"))
        if not is_test and file.is_file():
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), file


def _read(sources: Sequence[tuple[str, Path]], min_words: int) -> tuple[list[_Document], int]:
    """The documents of all files, and the number of files that could not be parsed."""
    documents: dict[str, _Document] = {}
    texts: set[str] = set()
    n_unread = 0
    with progress("reading docstrings", len(sources)) as bar:
        for module, path in sources:
            bar.update()
            try:
                tree = _parse(path)
            except (SyntaxError, ValueError, RecursionError, OSError):
                n_unread += 1
                continue
            for document in _documents(tree, module, module):
                new = document.name not in documents and document.text not in texts
                if new and len(document.text.split()) >= min_words:
                    documents[document.name] = document
                    texts.add(document.text)
    return list(documents.values()), n_unread


def _parse(path: Path) -> ast.Module:
    # A filter for this pseudo-file alone can stay, unlike `catch_warnings`, which
    # would set back what other threads do to the filters meanwhile.
    warnings.filterwarnings("ignore", module=re.escape(_FILE_NAME))
    return ast.parse(path.read_bytes(), _FILE_NAME)


def _documents(node: ast.AST, module: str, prefix: str) -> Iterator[_Document]:
    """Functions and classes below `node` that have a docstring, but none inside a function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _BRANCHES):
            yield from _documents(child, module, prefix)
        elif isinstance(child, _DEFINITIONS):
            docstring = ast.get_docstring(child)
            if docstring:
                parameters = _parameters(child)
                text = strip_answer(docstring, child.name, parameters)
                yield _Document(f"{prefix}.{child.name}", module, text, parameters)
            if isinstance(child, ast.ClassDef):
                yield from _documents(child, module, f"{prefix}.{child.name}")


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> tuple[str, ...]:
    """Parameter names of a function, or of a class's `__init__`."""
    if isinstance(node, ast.ClassDef):
        for child in node.body:
            if isinstance(child, ast.FunctionDef) and child.name == "__init__":
                return _parameters(child)
        return ()
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return tuple(one.arg for one in given if one.arg not in _IMPLICIT)


def _ancestry(module: str) -> tuple[str, ...]:
    """A module and all packages above it, from the top."""
    parts = module.split(".")
    return tuple(".".join(parts[:end]) for end in range(1, len(parts) + 1))


def _description(packages: Sequence[str] | None, labels: str, n_unread: int) -> str:
    where = "installed Python libraries" if packages is None else ", ".join(packages)
    unread = f"; {n_unread} files could not be parsed" if n_unread else ""
    return f"docstrings of {where} by {labels}{unread}"
