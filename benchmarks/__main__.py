"""`python -m benchmarks [name …]`: the comparisons with the peers, or what is named."""

import json
import platform
import sys
from functools import partial
from importlib.metadata import version
from pathlib import Path

from benchmarks import (
    costs,
    defaults,
    fastxml,
    growth,
    scale,
    size,
    suite,
    tables,
    taggers,
    text,
    tuning,
)
from benchmarks.harness import ROOT, THREADS, compare

COMPARISONS = {
    "xmc": partial(compare, "xmc"),
    **{data: partial(compare, "taggers", data) for data in taggers.DATA},
}
BENCHMARKS = {
    **COMPARISONS,
    "fastxml": fastxml.run,
    "defaults": defaults.run,
    "growth": growth.run,
    "hierarchical": partial(compare, "hierarchical"),
    "experiments": partial(compare, "experiments"),
    "rules": partial(compare, "rules"),
    "hmm": partial(compare, "hmm"),
    "kernels": partial(compare, "kernels"),
    "scale": scale.run,
    "short-500k": partial(compare, "taggers", "short-500k"),
    "size": size.run,
    "suite": suite.run,
    "tables": tables.run,
    "tuning": tuning.run,
    "costs": costs.run,
    "text": text.run,
}


def main() -> None:
    names = sys.argv[1:] or list(COMPARISONS)
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        sys.exit(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    machine = {
        "machine": f"{_processor()}, {platform.system()} {platform.machine()}",
        "threads": THREADS,
        "python": platform.python_version(),
        **{name: version(name) for name in ("labelwood", "numpy", "scipy", "numba")},
    }
    print(", ".join(f"{key} {value}" for key, value in machine.items()))
    print("(a ratio is the contestant's figure over that of the first)")
    results = {name: BENCHMARKS[name]() for name in names}
    folder = ROOT / "bench-results"
    folder.mkdir(exist_ok=True)
    path = folder / f"{'-'.join(names)}.json"
    path.write_text(json.dumps({"machine": machine, "results": results}, indent=2) + "\n")
    print(f"\nwritten to {path.relative_to(ROOT)}")
    if any(not figures for result in results.values() for figures in result.values()):
        sys.exit("a contestant failed")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


if __name__ == "__main__":
    main()
