"""The embedded server's memory: by machine and container at each start, and the user's word before ours."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from command_line import run_in
from recoup.database import embedded, memory
from recoup.database.memory import MB
from recoup.settings import Settings

SERVER_BIN = Path(os.environ["RECOUP_SERVER_BIN"]) if os.environ.get("RECOUP_SERVER_BIN") else None
MACHINE = "MemTotal:        8388608 kB\nMemFree:          100 kB\n"
GB = 1024 * MB


@pytest.mark.parametrize(
    ("cgroup", "files", "usable"),
    [
        ("", {}, 8 * GB),
        ("0::/\n", {"sys/fs/cgroup/memory.max": "max\n"}, 8 * GB),
        ("0::/\n", {"sys/fs/cgroup/memory.max": str(2 * GB)}, 2 * GB),
        ("0::/a/b\n", {"sys/fs/cgroup/a/memory.max": str(GB), "sys/fs/cgroup/a/b/memory.max": "max"}, GB),
        ("0::/of/the/host\n", {"sys/fs/cgroup/memory.max": str(3 * GB)}, 3 * GB),
        ("4:memory:/docker/x\n0::/\n", {"sys/fs/cgroup/memory/memory.limit_in_bytes": str(GB)}, GB),
        ("4:memory:/docker/x\n", {"sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes": str(GB // 2)}, GB // 2),
        ("4:memory:/\n", {"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712"}, 8 * GB),
        ("3:cpu:/\n", {"sys/fs/cgroup/cpu/memory.limit_in_bytes": "1"}, 8 * GB),
        ("0::/\n", {"sys/fs/cgroup/memory.max": str(64 * GB)}, 8 * GB),
    ],
)
def test_what_may_be_used(tmp_path: Path, cgroup: str, files: dict[str, str], usable: int) -> None:
    """The least of the machine's memory and the limits above us, in both versions of control groups."""
    for name, text in {"proc/meminfo": MACHINE, "proc/self/cgroup": cgroup, **files}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert memory.usable_bytes(tmp_path) == usable


def test_this_machine_has_memory() -> None:
    assert 64 * MB < memory.usable_bytes() <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def home() -> Iterator[Settings]:
    folder = Path(tempfile.mkdtemp(prefix="recoup-test-", dir="/tmp"))
    folder.chmod(0o755)
    settings = Settings(home=folder / "home", actor="test", server_bin=SERVER_BIN)
    yield settings
    embedded.stop(settings)
    shutil.rmtree(folder)


def restarted(home: Settings, *statements: str) -> str:
    """What the server has after a start; then it is told something."""
    embedded.stop(home)
    with psycopg.connect(embedded.start(home).uri("postgres", admin=True), autocommit=True) as admin:
        (found,) = admin.execute("show shared_buffers").fetchone() or ("",)
        for statement in statements:
            admin.execute(statement.encode())
    return str(found)


def test_a_home_that_moves_to_a_smaller_machine_starts(home: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has what fits the machine that it starts on."""
    found = []
    for usable in (64 * GB, 4 * GB, 100 * MB):
        monkeypatch.setattr(memory, "usable_bytes", lambda usable=usable: usable)
        found.append(restarted(home))
    assert found == ["1GB", "512MB", "32MB"]


def test_what_the_user_sets_wins(home: Settings) -> None:
    """ALTER SYSTEM is read after ours, and outlives a start; the doctor shows what is in force."""
    restarted(home, "alter system set shared_buffers = '48MB'")
    assert restarted(home) == "48MB"
    given = {"RECOUP_HOME": str(home.home)} | ({"RECOUP_SERVER_BIN": str(SERVER_BIN)} if SERVER_BIN else {})
    recoup = run_in(given)
    recoup("migrate")
    told = {finding["check"]: finding["found"] for finding in json.loads(recoup("doctor", "--json").stdout)}
    assert "48MB" in told["memory"]
