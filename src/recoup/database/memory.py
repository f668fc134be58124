"""How much memory the embedded server may use: decided at each start, by the machine or container."""

from __future__ import annotations

import re
from pathlib import Path

MB = 1024 * 1024


def usable_bytes(root: Path = Path("/")) -> int:
    """The machine's memory, or what the control groups that we are in leave of it."""
    total = re.search(r"^MemTotal:\s+(\d+) kB", (root / "proc/meminfo").read_text(), re.MULTILINE)
    assert total is not None
    return min([int(total[1]) * 1024, *_limits(root)])


def _limits(root: Path) -> list[int]:
    """Limits of our control groups and of all above them, in both versions; "max" is none."""
    found = []
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top, file = (("", "memory.max"), ("memory", "memory.limit_in_bytes"))[bool(controllers)]
        group = Path(path.lstrip("/"))
        # In a container the path is often the host's, and its own limit is at the top.
        for one in (group, *group.parents):
            try:
                found.append(int((root / "sys/fs/cgroup" / top / one / file).read_text()))
            except (OSError, ValueError):
                continue
    return [limit for limit in found if limit > 0]


def shared_buffers() -> str:
    """An eighth of the memory: other programs need some, and the system's cache holds the rest."""
    return f"{min(max(usable_bytes() // 8 // MB, 32), 1024)}MB"
