"""How much memory and log the embedded server may take: settled at each start, by the machine or container."""

from __future__ import annotations

import os
import re
from pathlib import Path

MB = 1024 * 1024
SETTINGS = ("shared_buffers", "effective_cache_size", "maintenance_work_mem", "max_wal_size")


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
        if controllers not in ("", "memory"):
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


def settings_for(memory: int, disk_free: int) -> dict[str, tuple[str, str]]:
    """Settings of the server, each with its reason."""
    return {
        "shared_buffers": (
            megabytes(memory // 8, 32, 1024),
            "an eighth of the memory, as programs live beside us; the system's cache holds the rest",
        ),
        "effective_cache_size": (
            megabytes(memory // 2, 64, 1024 * 1024),
            "what that cache may hold of our data; nothing is taken, plans are made by it",
        ),
        "maintenance_work_mem": (
            megabytes(memory // 32, 16, 512),
            "indexes are built and dead rows are collected in one pass instead of several",
        ),
        "max_wal_size": (
            megabytes(disk_free // 16, 256, 4096),
            "checkpoints come by time and not by every gigabyte of log, after which each page is logged whole again",
        ),
    }


def megabytes(size: int, least: int, most: int) -> str:
    return f"{min(max(size // MB, least), most)}MB"


def conf(folder: Path) -> str:
    """Lines of the server's configuration, for data in this folder."""
    disk = os.statvfs(folder)
    chosen = settings_for(usable_bytes(), disk.f_bavail * disk.f_frsize)
    return "".join(f"{name} = {value}  # {reason}\n" for name, (value, reason) in chosen.items())
