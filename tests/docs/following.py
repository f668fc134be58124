"""Follows a page of the docs: every command, file and Python block of it, run as printed."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from printed import Command, File, matches, steps
from reader import Reader

from recoup.settings import Settings
from servers import removed

ROOT = Path(__file__).parents[2]
FIRST = ("docs/quickstart.md", "docs/howto/your-first-pipeline.md")
HOW_TOS = tuple(sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs/howto").glob("*.md")))
# What calls these tests; and what takes a quarter of an hour: tests/bench run it, with what it needs.
ELSEWHERE = ("make test", "make bench", "recoup bench", "pip install")


PORT = "8321"  # as the pages print it; each home of these tests has one of its own


@contextmanager
def a_home(home: Path) -> Iterator[dict[str, str]]:
    """What a new user has: recoup on the path, and a home in which nothing is yet."""
    kept = {name: os.environ[name] for name in ("LANG", "RECOUP_SERVER_BIN") if name in os.environ}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    kept["RECOUP_API_PORT"] = port
    found = {**kept, "PATH": path, "HOME": str(home), "RECOUP_HOME": str(home / "recoup"), "COLUMNS": "100"}
    yield found
    subprocess.run(["recoup", "db", "stop"], env=found, check=True)
    removed(Settings(home=home / "recoup", actor="tester"))
    shutil.rmtree(home, ignore_errors=True)


def follow(page: str, environment: dict[str, str], folder: Path) -> dict[str, str]:
    """Do what the page says. Returns what each of its commands printed."""
    said: dict[str, str] = {}
    own = environment["RECOUP_API_PORT"]
    with Reader(folder, environment) as reader:
        for step in steps(ROOT / page):
            at = f"{page}:{step.line}"
            if isinstance(step, File):
                reader.write(step.name, step.text)
            elif isinstance(step, Command):
                if not step.text.startswith(ELSEWHERE):
                    in_checkout = step.text.startswith("make ")
                    text = step.text.replace(PORT, own)
                    status, printed = reader.run(f"(cd {ROOT}\n{text}\n)" if in_checkout else text)
                    printed = printed.replace(own, PORT)
                    check(step, status, printed, at)
                    said[step.text] = printed
            else:
                status, printed = reader.execute(step.text)
                assert status == 0, f"{at}\n{printed}"
                assert step.output is None or matches(step.output, printed), f"{at}\n{printed}"
    return said


def check(step: Command, status: int, printed: str, at: str) -> None:
    told = f"{at}: {step.text}\nexit status {status}\n{printed}"
    assert re.search(r"^Traceback \(most recent", printed, re.MULTILINE) is None, told
    assert (status != 0) is step.fails, told
    assert step.status in (None, status), told
    if step.output is not None:
        assert matches(step.output, printed), f"{told}\nthe page shows:\n{step.output}"
