"""Remove each trigger, check, key and reference in turn, and see whether a test notices.

For every guard in the catalogue: a database made by the same migrations, without the guard, and the
laws' own tests (tests/laws) run against it in a process of their own. What they notice is behaviour: something went
through that must not, or did not happen that must. The comparison of schemas, which notices everything, is not run.

    python tools/guards_bite.py                       every guard, one after the other
    python tools/guards_bite.py --only 'recoup.pause' those whose name contains it, or matches it as a pattern
    python tools/guards_bite.py --seed 7              in random order, the same for the same seed

Exits with status 1 when a removed guard was not noticed, or when a law does not hold with all guards.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from conftest import HOME_VARIABLE, server_settings
from databases import START
from laws.catalogue import Guard, guards
from laws.conftest import WITHOUT_VARIABLE
from product import migrate
from recoup.database import embedded
from recoup.database.connection import connect
from recoup.settings import Settings

ROOT = Path(__file__).parent.parent
LAWS = "tests/laws/test_laws.py"
HOLDS = "test_the_law_holds"
MAX_RUN_S = 120
FAILED = re.compile(rf"^FAILED {re.escape(LAWS)}::(\S+?)(?: - .*)?$", re.MULTILINE)
ALL_PASSED, SOME_FAILED, NONE_FOUND = 0, 1, 5  # exit codes of pytest; anything else is no result


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a run of the laws' tests."""

    failed: tuple[str, ...]
    trouble: str = ""  # the run itself failed


def ask(guard: Guard | None, *, tables: str = "", deselect: Sequence[str] = (), first: bool = True) -> Answer:
    """Run the probes, of one table or all, against a database without the guard."""
    # Exactly that test, and not those whose names begin with it.
    chosen = f"{HOLDS}[" + (f" and {tables}/" if tables else "")
    command = [
        sys.executable, "-m", "pytest", "-q", "-rf", "--tb=no", "--no-header", "-p", "pytest_timeout",
        "-p", "no:cacheprovider", "-k", chosen, *(("-x",) if first else ()),
        *(f"--deselect={LAWS}::{test}" for test in deselect), LAWS,
    ]  # fmt: skip
    environment = {
        **os.environ,
        "COLUMNS": "1000",  # pytest shortens its summary to the width of the screen
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # loading them all takes as long as the probes
    }
    if guard is not None:
        environment[WITHOUT_VARIABLE] = str(guard)
    try:
        ran = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=MAX_RUN_S, check=False
        )
    except subprocess.TimeoutExpired:
        return Answer((), f"no end after {MAX_RUN_S} s")
    failed = tuple(FAILED.findall(ran.stdout))
    if ran.returncode in (ALL_PASSED, NONE_FOUND) or (ran.returncode == SOME_FAILED and failed):
        return Answer(failed)
    return Answer(failed, (ran.stdout + ran.stderr).strip()[-2000:])


def noticed(guard: Guard, deselect: Sequence[str]) -> Answer:
    """By the probes of its table, which is quick, or else by any."""
    answer = ask(guard, tables=guard.table, deselect=deselect)
    return answer if answer.failed or answer.trouble else ask(guard, deselect=deselect)


def all_guards(settings: Settings) -> list[Guard]:
    """The guards of a freshly migrated database."""
    server = embedded.start(settings)
    with contextlib.closing(connect(server.uri(embedded.DATABASE, admin=True), settings)) as connection:
        migrate(connection, login=server.app, simulated_from=START)
        return guards(connection)


def picked(found: Sequence[Guard], *, only: str | None, seed: int | None) -> list[Guard]:
    chosen = [g for g in found if only is None or only in str(g) or fnmatch.fnmatch(str(g), only)]
    if seed is not None:
        random.Random(seed).shuffle(chosen)
    return chosen


def soak(settings: Settings, *, only: str | None, seed: int | None) -> int:
    chosen = picked(all_guards(settings), only=only, seed=seed)
    if not chosen:
        print(f"No guard is called {only!r}.")
        return 2
    whole = ask(None, first=False)
    if whole.trouble:
        print(f"The laws cannot be tested at all:\n{whole.trouble}")
        return 1
    for test in whole.failed:
        print(f"does not hold with every guard in place, and is left out: {test}")

    answers: dict[Guard, Answer] = {}
    for place, guard in enumerate(chosen, 1):
        began = time.monotonic()
        answers[guard] = answer = noticed(guard, whole.failed)
        print(
            f"{place:4}/{len(chosen)}  {time.monotonic() - began:4.1f} s  {in_a_word(answer):11}  {guard}", flush=True
        )
    report(answers)
    missed = [guard for guard, answer in answers.items() if not answer.failed]
    print(f"\n{len(answers) - len(missed)} of {len(answers)} guards were noticed.")
    return 1 if missed or whole.failed else 0


def in_a_word(answer: Answer) -> str:
    return "noticed" if answer.failed else "no answer" if answer.trouble else "NOT noticed"


def report(answers: dict[Guard, Answer]) -> None:
    """The table: each guard, and the test that noticed."""
    width = max(len(str(guard)) for guard in answers)
    print(f"\n{'without':{width}}  noticed by")
    for guard, answer in sorted(answers.items()):
        by = ", ".join(answer.failed) or in_a_word(answer)
        print(f"{guard!s:{width}}  {by}")
        if answer.trouble:
            print(f"{answer.trouble}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="PATTERN", help="guards whose name contains it, or matches it as a pattern")
    parser.add_argument("--seed", type=int, metavar="N", help="shuffle the guards")
    given = parser.parse_args()
    # One server for all the runs: each finds it by its home, and leaves it running.
    home = tempfile.mkdtemp(prefix="recoup-guards-")
    os.environ[HOME_VARIABLE] = home
    settings = server_settings()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the server is stopped then too
    try:
        return soak(settings, only=given.only, seed=given.seed)
    finally:
        embedded.stop(settings)
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
