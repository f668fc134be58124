"""Long lists at the command line: printed as they come, page by page, in memory that does not grow with them."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Callable, Iterator

import pytest

from command_line import RECOUP, Run, clean_environment, run_in
from hub import DOL, PEOPLE, Hub
from recoup.database import embedded
from recoup.database.connection import Database
from recoup.errors.recording import NewError
from recoup.settings import Settings

MANY, FEW, BLOCKING = 20_000, 2_000, 200
GROWTH_MOST_KB = 25_000
CROWDED = uuid.uuid4()  # has many


@pytest.fixture(scope="module")
def dsn(server: embedded.Server, new_database: Callable[..., str]) -> str:
    return server.uri(new_database())


@pytest.fixture(scope="module")
def hub(dsn: str, settings: Settings) -> Iterator[Hub]:
    with Database(dsn, settings) as database:
        hub = Hub(database)
        for table in (DOL, PEOPLE):
            hub.record_all(
                NewError(table=table, message="no price", outreach_id=uuid.uuid4()) for _ in range(MANY // 2)
            )
        hub.record_all(NewError(table=DOL, message="no", code=f"C{n}", outreach_id=CROWDED) for n in range(BLOCKING))
        yield hub


@pytest.fixture
def cli(dsn: str, hub: Hub) -> Run:
    return run_in({"RECOUP_DSN": dsn, "RECOUP_ACTOR": "ada"}, "errors")


def memory(dsn: str, *arguments: object) -> int:
    """The most memory that a command had, in kilobytes."""
    command = [*RECOUP, "errors", *map(str, arguments)]
    process = subprocess.Popen(command, env=clean_environment() | {"RECOUP_DSN": dsn}, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_maxrss


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["table", "json"])
def test_a_long_list_takes_no_more_memory_than_a_short_one(dsn: str, hub: Hub, form: tuple[str, ...]) -> None:
    short, long = (memory(dsn, "list", "--limit", limit, *form) for limit in (FEW, MANY))
    assert long - short < GROWTH_MOST_KB


def test_a_list_goes_on_behind_the_last_that_was_shown(cli: Run, hub: Hub) -> None:
    """Page by page, over all tables, nothing twice and nothing left out, though others are recorded meanwhile."""
    whole = [one["error_id"] for one in json.loads(cli("list", "--limit", 2500, "--json").stdout)]
    assert whole == sorted(whole, reverse=True)
    pages: list[int] = []
    while len(pages) < 2500:
        after = ("--after", pages[-1]) if pages else ()
        pages += [one["error_id"] for one in json.loads(cli("list", "--limit", 1250, "--json", *after).stdout)]
        hub.record()
    assert pages == whole
    assert cli("list", "--limit", 10, "--after", whole[-1]).stdout.splitlines()[-1].split()[-2] == "--after"


def test_what_blocks_a_crowded_entity_is_shown_in_part(cli: Run, hub: Hub) -> None:
    """The oldest, and how many more there are; it is blocked all the same."""
    done = cli("blocked", CROWDED, "--json", ends=1)
    assert len(json.loads(done.stdout)) == 50
    assert f"and {BLOCKING - 50} more" in done.stderr
    assert len(json.loads(cli("blocked", CROWDED, "--limit", 60, "--json", ends=1).stdout)) == 60
