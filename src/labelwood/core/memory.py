"""Refuse work that cannot fit before it starts."""

import os
from pathlib import Path


def available_memory() -> int:
    """Bytes that can still be used without swapping, and within the container's limit."""
    free = _meminfo_available()
    for limit_file, usage_file in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        (
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        ),
    ):
        try:
            limit, used = int(Path(limit_file).read_text()), int(Path(usage_file).read_text())
        except (OSError, ValueError):
            continue
        free = min(free, max(limit - used, 0))
    return free


def require_memory(needed: int, what: str, remedy: str) -> None:
    """Raise `MemoryError` when `what` needs more than is there."""
    free = available_memory()
    if needed > free:
        raise MemoryError(
            f"{what} needs about {needed / 2**30:.1f} GB and "
            f"{free / 2**30:.1f} GB are free; {remedy}"
        )


def _meminfo_available() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # no such figure on this system
        return 2**63
