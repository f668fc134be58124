"""What the bench ran on: machine, server, versions. Contains no names of persons, hosts or folders."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import psycopg

import recoup
from recoup.database.connection import Transaction
from recoup.database.queries import load

Q = load("recoup_bench", "machine.sql")


def describe(connection: Transaction) -> dict[str, Any]:
    """This machine, and the server behind a connection, whose processor may be another. None: unknown.

    The load average is that of the beginning; the commit has -dirty behind it when files were changed since.
    """
    (server,) = connection.execute(Q["server_version"]).fetchone() or ("unknown",)
    memory = _line("/proc/meminfo", "MemTotal")
    return {
        "cpus": os.cpu_count(),
        "cpu_model": _line("/proc/cpuinfo", "model name"),
        "memory_gib": round(int(memory.split()[0]) / 1024 / 1024, 1) if memory else None,
        "load_average": [round(load, 2) for load in os.getloadavg()] if hasattr(os, "getloadavg") else None,
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "psycopg": psycopg.__version__,
        "server": server,
        "server_settings": dict(connection.execute(Q["settings"]).fetchall()),
        "recoup": recoup.__version__,
        "commit": _commit(),
    }


def _line(path: str, name: str) -> str | None:
    """The value behind a name in a file of the kernel's."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), None)


def processor_us(pid: int) -> float:
    """How long a server process has been on a processor; 0: there is no such process on this machine."""
    process = Path(f"/proc/{pid}")
    try:
        server = (process / "comm").read_text().startswith("postgres")
        return int((process / "schedstat").read_text().split()[0]) / 1000 if server else 0.0
    except OSError:
        return 0.0


def _commit() -> str | None:
    """The commit of the source tree, where there is one."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude", "*"]
    try:
        done = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
