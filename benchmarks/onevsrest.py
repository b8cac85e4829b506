"""One-vs-rest on Bibtex: labelwood against napkinXC's binary relevance."""

import sys
from functools import partial
from pathlib import Path

from benchmarks import taggers
from benchmarks.harness import PEERS

CLAIM = "train no slower than napkinXC's BR, at P@1, 3 and 5 of at least 62.5, 38.5 and 28"


def prepare(folder: Path) -> None:
    taggers.prepare(folder, "bibtex")


CONTESTANTS = {
    "labelwood": (partial(taggers.onevsrest, repeats=3), Path(sys.executable)),
    "napkinXC BR": (partial(taggers.napkinxc_br, repeats=3), PEERS),
}
