"""What the figures were measured on: the machine, the server, the versions. Nothing that names anybody or any place."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg

import recoup
from recoup.database.connection import Transaction
from recoup.database.queries import load

Q = load("recoup_bench", "machine.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Facts beside a result. None: could not be found out."""

    cpus: int | None
    cpu_model: str | None
    memory_gib: float | None
    load_average: tuple[float, ...] | None  # when the bench began
    kernel: str
    python: str
    psycopg: str
    server: str
    server_settings: Mapping[str, str]
    recoup: str
    commit: str | None  # with -dirty behind it when files were changed since


def describe(connection: Transaction) -> Machine:
    """This machine, and the server behind a connection. A server elsewhere has a processor that is not told here."""
    (server,) = connection.execute(Q["server_version"]).fetchone() or ("unknown",)
    return Machine(
        cpus=os.cpu_count(),
        cpu_model=_line("/proc/cpuinfo", "model name"),
        memory_gib=_memory_gib(),
        load_average=tuple(round(load, 2) for load in os.getloadavg()) if hasattr(os, "getloadavg") else None,
        kernel=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        psycopg=psycopg.__version__,
        server=server,
        server_settings=dict(connection.execute(Q["settings"]).fetchall()),
        recoup=recoup.__version__,
        commit=_commit(),
    )


def _line(path: str, name: str) -> str | None:
    """The value behind a name in a file of the kernel's."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), None)


def _memory_gib() -> float | None:
    kib = _line("/proc/meminfo", "MemTotal")
    return round(int(kib.split()[0]) / 1024 / 1024, 1) if kib else None


def _commit() -> str | None:
    """The commit of the source tree, where there is one."""
    folder = Path(recoup.__file__).parent
    try:
        said = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude", "*"],
            cwd=folder, capture_output=True, text=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return said.stdout.strip() or None
