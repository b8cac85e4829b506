"""Text sets that any Debian machine has: descriptions of packages, and the glosses of WordNet.

Nothing of the defaults was chosen on them: they tell how `labelwood train` does on other people's
data. The first two read what `apt-cache dumpavail` prints, the third the nouns of the package
wordnet-base.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.harness import DataMissingError

WORDNET = Path("/usr/share/wordnet/data.noun")
_HYPERNYM = ("@", "@i")


def tags() -> Any:
    """Names and short descriptions of packages with their debtags, as ``role::program``."""
    rows = [
        (f"{name.replace('-', ' ')}: {fields['Description']}", _listed(fields["Tag"]))
        for name, fields in _packages().items()
        if "Tag" in fields and "Description" in fields
    ]
    return _dataset(rows)


def sections() -> Any:
    """Short descriptions of packages, each with its one section."""
    packages = _packages().values()
    found = [one for one in packages if "Section" in one and "Description" in one]
    return _dataset([(one["Description"], [one["Section"]]) for one in found])


def wordnet() -> Any:
    """Glosses of nouns, with what the noun is a kind of, and what that is a kind of."""
    if not WORDNET.is_file():
        raise DataMissingError(f"{WORDNET} is not there; install wordnet-base")
    words: dict[str, str] = {}
    above: dict[str, list[str]] = {}
    glosses: dict[str, str] = {}
    for line in WORDNET.read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):  # the license
            continue
        fields, _, gloss = line.partition("|")
        parts = fields.split()
        key, n_words = parts[0], int(parts[3], 16)
        first = 4 + 2 * n_words  # of the pointers: kind, key, part of speech, source and target
        kinds = parts[first + 1 :: 4]
        keys = parts[first + 2 :: 4]
        words[key], glosses[key] = parts[4], gloss.strip()
        above[key] = [other for kind, other in zip(kinds, keys, strict=False) if kind in _HYPERNYM]
    rows = []
    for key, gloss in glosses.items():
        parents = [one for one in above[key] if one in words]
        both = {*parents, *(two for one in parents for two in above[one] if two in words)}
        if both:
            rows.append((gloss, sorted(f"{words[one]} {one}" for one in both)))
    return _dataset(rows)


def _packages() -> dict[str, dict[str, str]]:
    """The fields of each package, the first version of those that there are."""
    try:
        done = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise DataMissingError("apt-cache is not there, or has no list of packages") from None
    packages: dict[str, dict[str, str]] = {}
    for fields in _paragraphs(done.stdout.decode(errors="replace")):
        packages.setdefault(fields["Package"], fields)
    if len(packages) < 10_000:
        raise DataMissingError("apt-cache knows few packages; apt-get update gets the list")
    return packages


def _paragraphs(text: str) -> Iterator[dict[str, str]]:
    for paragraph in text.split("\n\n"):
        joined = re.sub(r"\n[ \t]", " ", paragraph)
        fields = dict(line.partition(": ")[::2] for line in joined.splitlines())
        if "Package" in fields:
            yield fields


def _listed(text: str) -> list[str]:
    return sorted({one.strip() for one in text.split(",") if one.strip()})


def _dataset(rows: list[tuple[str, list[str]]]) -> Any:
    from labelwood import Dataset

    texts, labels = zip(*rows, strict=True)
    return Dataset.from_lists(list(texts), list(labels))
