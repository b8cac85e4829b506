"""EURLEX57K: one-vs-rest against the label trees of the peers."""

import sys
from pathlib import Path

from benchmarks import taggers
from benchmarks.harness import PEERS

CLAIM = "more accurate than every peer, in no more time than PECOS (one-by-one times for Omikuji)"


def prepare(folder: Path) -> None:
    taggers.prepare(folder, "eurlex57k")


CONTESTANTS = {
    "labelwood": (taggers.onevsrest, Path(sys.executable)),
    "PECOS XR-Linear": (taggers.pecos, PEERS),
    "napkinXC PLT": (taggers.napkinxc_plt, PEERS),
    "Omikuji": (taggers.omikuji, PEERS),
}
