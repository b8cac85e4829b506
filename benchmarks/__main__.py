"""`python -m benchmarks [name …]`: all benchmarks, or those named."""

import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks.harness import ROOT, THREADS, run_benchmark

BENCHMARKS = ("xmc", "onevsrest", "eurlex")


def main() -> None:
    names = sys.argv[1:] or BENCHMARKS
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
    print("(a ratio is the peer's figure over ours)")
    results = {name: run_benchmark(name) for name in names}
    folder = ROOT / "bench-results"
    folder.mkdir(exist_ok=True)
    path = folder / f"{'-'.join(names)}.json"
    path.write_text(json.dumps({"machine": machine, "results": results}, indent=2) + "\n")
    print(f"\nwritten to {path.relative_to(ROOT)}")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


if __name__ == "__main__":
    main()
