"""Recorders, retries, sweeps and bulk operations killed at every statement boundary, none left out.

Whoever is killed is a process of its own that talks over a wire on which statements can be seen to end. At boundary 0
it is killed before its first statement, at boundary 1 after it, and so on, until it lives to the end. Whatever was
left, somebody else goes on, and at the end it is as if nobody had been killed.
"""

from __future__ import annotations

import contextlib
import json
import queue
import re
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any, TypeVar
from uuid import UUID

import pytest

from command_line import RECOUP, clean_environment
from conformance import kills
from hub import DAY, DOL, MINUTE, ORPHANS, PEOPLE, SECOND, STRUCTURAL, TRANSIENT, Hub, succeeded
from recoup.database import embedded
from recoup.database.connection import Database, connect
from recoup.errors import archive, parking
from recoup.errors.listing import Filter
from recoup.errors.lookup import ErrorKey
from recoup.errors.recording import NewError
from recoup.errors.retrying import Succeeded
from recoup.errors.subject import SUBJECT
from recoup.errors.verbs import Verb
from recoup.lifecycles.declaration import Authority
from recoup.operations import begin, carry_on, find
from recoup.operations.verbs import Act
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parents[1] / "audit"))
from lively import audited, broken

sys.path.insert(0, str(Path(__file__).parent))
from killing import KILLED, Ground, bearing
from wire import Wire

LONG_ROUNDS, SHORT_ROUNDS = 200, 20  # of kills at any moment
SHORT_STRIDE = 4  # in the long run each boundary of a step is struck
MOMENT_MOST_S = 0.06  # an operation takes about so long, where nothing else is running
FILE_LINES = 1500  # two batches
Left = TypeVar("Left")


@pytest.fixture(scope="module")
def hub(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Hub]:
    with Database(server.uri(new_database()), settings) as database:
        yield Hub(database)


@pytest.fixture(scope="module")
def bears() -> Iterator[subprocess.Popen[str]]:
    with bearing() as process:
        yield process


@dataclass(frozen=True)
class HubGround(Ground):
    """The same, with its workers."""

    hub: Hub

    def struck_everywhere(
        self, task: str, prepare: Callable[[], tuple[str, ...]], what_is_left: Callable[[], Left]
    ) -> list[Left]:
        return kills.struck_everywhere(self, task, prepare, what_is_left)

    @property
    def transactions(self) -> list[int]:
        """How many statements the last one had in each of its transactions."""
        return [len(found) for found in re.findall("T+I", self.wire.passed)]


@pytest.fixture
def ground(hub: Hub, bears: subprocess.Popen[str], server: embedded.Server, settings: Settings) -> Iterator[HubGround]:
    # A folder with a short name: that of a socket is bounded.
    with (
        tempfile.TemporaryDirectory() as folder,
        Wire(hub.db.conninfo, Path(folder)) as wire,
        contextlib.closing(connect(server.uri("postgres", admin=True), settings)) as admin,
    ):
        yield HubGround(wire=wire, bears=bears, admin=admin, hub=hub)


def entities(number: int) -> list[UUID]:
    return [uuid.uuid4() for _ in range(number)]


def open_of(hub: Hub, of: list[UUID]) -> int:
    ((errors, failures),) = hub.rows(
        "select count(*), count(distinct outreach_id) from recoup.error where outreach_id = any(%s)"
        " and archived_at is null",
        of,
    )
    assert errors == failures, "one is open of each failure"
    return int(errors)


# Recording ----------------------------------------------------------------------------------------------------------


def test_killed_at_every_statement_of_a_batch(ground: HubGround) -> None:
    """All of it is recorded, or nothing. Recorded again it supersedes, and no failure is open twice."""
    hub, of = ground.hub, list[UUID]()

    def prepare() -> tuple[str, ...]:
        of[:] = entities(3)
        return tuple(map(str, of))

    def what_is_left() -> int:
        left = open_of(hub, of)
        hub.record_all(NewError(table=DOL, message=TRANSIENT, outreach_id=one) for one in of)
        assert open_of(hub, of) == 3
        ((rows, events),) = hub.rows(
            "select count(distinct e.error_id), count(*) filter (where v.event_type = 'RECORDED') from recoup.error e"
            "  join recoup.error_event v using (error_id) where e.outreach_id = any(%s)",
            of,
        )
        assert rows == events == left + 3
        return left

    left = ground.struck_everywhere("record errors", prepare, what_is_left)
    (statements,) = ground.transactions
    assert left == [0] * statements + [3] * 2


def test_killed_at_every_statement_of_a_file(ground: HubGround, tmp_path: Path) -> None:
    """What was committed stays, batch by batch; read again, its errors supersede those, and the rest is recorded."""
    hub, of, path = ground.hub, list[UUID](), tmp_path / "errors.jsonl"

    def prepare() -> tuple[str, ...]:
        of[:] = entities(5)
        write_lines(path, of)
        return (str(path),)

    def what_is_left() -> int:
        left = open_of(hub, of)
        hub.record_all(NewError(table=DOL, message=TRANSIENT, outreach_id=one) for one in of)
        assert open_of(hub, of) == 5
        assert hub.rows("select count(*) from recoup.error where outreach_id = any(%s)", of) == [(left + 5,)]
        return left

    left = ground.struck_everywhere("record file", prepare, what_is_left)
    first, second, third = ground.transactions
    assert left == [0] * first + [2] * second + [4] * third + [5] * 2


def write_lines(path: Path, of: list[UUID]) -> None:
    lines = (json.dumps({"table": DOL, "entity": str(one), "message": TRANSIENT}) for one in of)
    path.write_text("".join(f"{line}\n" for line in lines))


def test_the_command_killed_between_two_batches_is_run_again(ground: HubGround, tmp_path: Path) -> None:
    """A thousand lines stay recorded; all are there after the second run, each once open."""
    hub, of, path = ground.hub, entities(FILE_LINES), tmp_path / "errors.jsonl"
    write_lines(path, entities(1))
    assert record_command(ground, path, killed_at=0) == 0
    committed = ground.wire.passed.rindex("TI") + 2  # a batch is its last transaction
    write_lines(path, of)
    assert record_command(ground, path, killed_at=committed - 1) == KILLED
    assert open_of(hub, of) == 0
    assert record_command(ground, path, killed_at=committed) == KILLED
    assert open_of(hub, of) == 1000
    assert record_command(ground, path, killed_at=0) == 0
    assert open_of(hub, of) == FILE_LINES
    superseded = "select count(*) from recoup.error where outreach_id = any(%s) and archive_reason = 'SUPERSEDED'"
    assert hub.rows(superseded, of) == [(1000,)]


def record_command(ground: HubGround, path: Path, *, killed_at: int) -> int:
    """Run it over the wire, and kill it at this boundary; at 0, nobody does. Returns how it ended."""
    born: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
    ground.wire.watch(at=killed_at, act=lambda: born.get().kill())
    with subprocess.Popen(
        [*RECOUP, "errors", "record", "--file", str(path)],
        env={**clean_environment(), "RECOUP_DSN": ground.wire.conninfo},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        born.put(process)
    ground.let_go()
    return process.returncode


# A retry ------------------------------------------------------------------------------------------------------------


def test_killed_at_every_statement_of_a_retry(ground: HubGround) -> None:
    """Not begun; or begun, and then its lease lapses and it counts; or ended. Then somebody else mends it."""
    hub, error = ground.hub, [0]

    def prepare() -> tuple[str, ...]:
        hub.advance(MINUTE)
        fix(hub)  # what other tests left
        error[0] = hub.record(TRANSIENT, table=PEOPLE)
        hub.advance(2 * SECOND)
        return ()

    def what_is_left() -> list[str]:
        left = hub.events(error[0])
        assert hub.lapse() == 0
        hub.advance(6 * MINUTE)
        assert hub.lapse() == (left[-1] == "CLAIMED")
        assert hub.lapse() == 0
        assert hub.row(error[0])["retry_count"] == len(left) - 1 - (left[-1] == "SUCCEEDED")
        hub.advance(MINUTE)
        fix(hub)
        assert hub.row(error[0])["status"] == "RESOLVED"
        lapsed = ["CLAIMED", "LAPSED"] if left[-1] == "CLAIMED" else []
        assert hub.events(error[0]) == ["RECORDED", *lapsed, "CLAIMED", "SUCCEEDED"]
        return left

    left = ground.struck_everywhere("retry errors", prepare, what_is_left)
    claim, finish = ground.transactions
    begun = ["RECORDED", "CLAIMED"]
    assert left == [["RECORDED"]] * claim + [begun] * finish + [[*begun, "SUCCEEDED"]] * 2


def fix(hub: Hub) -> None:
    """Whatever is due."""
    if claimed := hub.claim():
        hub.finish([succeeded(one) for one in claimed])


# The archive --------------------------------------------------------------------------------------------------------


def over(hub: Hub, number: int) -> list[int]:
    """Errors of a table of their own that are over."""
    recorded = hub.record_all(NewError(table=ORPHANS, message=TRANSIENT, outreach_id=one) for one in entities(number))
    with hub.db.transaction(Authority.OPERATOR) as tx:
        assert all(answer.done for answer in parking.archive(tx, [ErrorKey(*one) for one in recorded]))
    return [one.error_id for one in recorded]


def test_killed_at_every_statement_of_a_sweep(ground: HubGround) -> None:
    """Each error is live or archived, and never both; its month is made with the first, or not at all."""
    hub, errors = ground.hub, list[int]()

    def prepare() -> tuple[str, ...]:
        hub.advance(31 * DAY)
        hub.sweep_all()
        errors[:] = over(hub, 3)
        return ()

    def where() -> tuple[int, int, int]:
        ((live, archived, months),) = hub.rows(
            "select (select count(*) from recoup.error where error_id = any(%s)),"
            " (select count(*) from recoup.error_archive where error_id = any(%s)),"
            " (select count(*) from recoup.error_archive_month where error_table = %s"
            "   and month = date_trunc('month', recoup.now() at time zone 'UTC'))",
            errors, errors, ORPHANS,
        )  # fmt: skip
        return live, archived, months

    def what_is_left() -> tuple[int, int, int]:
        left = where()
        assert hub.sweep_all() == left[0]
        assert where() == (0, 3, 1)
        assert {tuple(hub.events(error)) for error in errors} == {("RECORDED", "RETIRED", "ARCHIVED")}
        return left

    left = ground.struck_everywhere("sweep errors", prepare, what_is_left)
    (statements,) = ground.transactions
    assert left == [(3, 0, 0)] * statements + [(0, 3, 1)] * 2


def test_killed_at_every_statement_of_a_drop(ground: HubGround) -> None:
    """The month is there with all its errors, or it is gone with its count and digest in its place."""
    hub, month = ground.hub, list[Any]()

    def prepare() -> tuple[str, ...]:
        for _ in range(2):  # whatever there is expires; then the months in which it did are over
            hub.advance(800 * DAY)
            hub.sweep_all()
        while drop(hub):
            """Until no other month is left."""
        over(hub, 3)
        month[:] = hub.rows("select date_trunc('month', recoup.now() at time zone 'UTC')::date")[0]
        hub.sweep_all()
        hub.advance(800 * DAY)
        return ()

    def where() -> tuple[str, int | None, int | None]:
        ((status, rows, name),) = hub.rows(
            "select status, rows, recoup.archive_month_name(error_table, month) from recoup.error_archive_month"
            " where error_table = %s and month = %s",
            ORPHANS, month[0],
        )  # fmt: skip
        is_there = hub.rows("select to_regclass(%s) is not null", name) == [(True,)]
        return status, rows, hub.rows(f"select count(*) from {name}")[0][0] if is_there else None

    def what_is_left() -> tuple[str, int | None, int | None]:
        left = where()
        assert (drop(hub) is None) == (left[0] == "DROPPED")
        assert where() == ("DROPPED", 3, None)
        logged = "select count(*) from recoup.control_log where to_status = 'DROPPED' and key like %s"
        assert hub.rows(logged, f"%{ORPHANS}%{month[0]}%") == [(1,)]
        return left

    left = ground.struck_everywhere("drop month", prepare, what_is_left)
    (statements,) = ground.transactions
    assert left == [("KEPT", None, 3)] * statements + [("DROPPED", 3, None)] * 2


def drop(hub: Hub) -> archive.Dropped | None:
    with hub.db.transaction(Authority.ARCHIVER) as tx:
        return archive.drop_month(tx)


# A bulk operation ---------------------------------------------------------------------------------------------------


def asked_for(hub: Hub, number: int) -> UUID:
    """An operation that resolves this many errors."""
    code = str(uuid.uuid4())
    hub.record_all(NewError(table=DOL, message=STRUCTURAL, outreach_id=one, code=code) for one in entities(number))
    with hub.db.transaction(Authority.OPERATOR) as tx:
        return begin(tx, SUBJECT, Act(verb=Verb.RESOLVE), Filter(codes=(code,)))


def carried_on(hub: Hub, operation: UUID, number: int) -> tuple[str, int]:
    """How far it was; then it is carried on with, and each of its errors has been resolved once."""
    with hub.db.transaction(Authority.READER) as tx:
        found = find(tx, operation)
    assert (found.refused, found.done + found.pending) == (0, number)
    assert resolved(hub, operation) == [1] * found.done
    after = carry_on(hub.db, SUBJECT, operation)
    assert (after.status, after.done, after.pending, after.refused) == ("DONE", number, 0, 0)
    assert resolved(hub, operation) == [1] * number
    return found.status, found.done


def resolved(hub: Hub, operation: UUID) -> list[int]:
    """How often each of its errors was resolved, of those that were."""
    rows = hub.rows(
        "select count(*) from recoup.operation_item i"
        " join recoup.error_event e on e.error_table || '/' || e.error_id = i.unit"
        " where i.operation_id = %s and e.event_type = 'RESOLVED' group by error_id",
        operation,
    )
    return [row[0] for row in rows]


def test_killed_at_every_statement_of_an_operation(ground: HubGround) -> None:
    """A batch and its results commit together; the next process does the rest, and nothing twice."""
    hub, operation = ground.hub, list[UUID]()

    def prepare() -> tuple[str, ...]:
        operation[:] = [asked_for(hub, 5)]
        return ("recoup.errors.subject:SUBJECT", str(operation[0]))

    left = ground.struck_everywhere("carry on", prepare, lambda: carried_on(hub, operation[0], 5))
    assert [stage for stage, _ in groupby(left)] == [("OPEN", 0), ("OPEN", 2), ("OPEN", 4), ("OPEN", 5), ("DONE", 5)]


def unparked(hub: Hub, operation: UUID) -> list[int]:
    return [
        row[0]
        for row in hub.rows(
            "select count(*) from recoup.operation_item i"
            " join recoup.error_event e on e.error_table || '/' || e.error_id = i.unit"
            " where i.operation_id = %s and e.event_type = 'UNPARKED' group by error_id",
            operation,
        )
    ]


def test_killed_at_every_statement_of_a_step(ground: HubGround, pytestconfig: pytest.Config) -> None:
    """Its first step is begun; the next one is decided on and begun. No item goes twice, and no step is left out.

    In the short run at some of the statements, and at every one between two that leave something different.
    """
    hub, operation = ground.hub, list[UUID]()
    stride = 1 if pytestconfig.getoption("--times") > 1 else SHORT_STRIDE

    def begun() -> tuple[str, ...]:
        code = str(uuid.uuid4())
        hub.record_all(NewError(table=DOL, message=STRUCTURAL, outreach_id=one, code=code) for one in entities(12))
        with hub.db.transaction(Authority.OPERATOR) as tx:
            operation[:] = [begin(tx, SUBJECT, Act(verb=Verb.UNPARK), Filter(codes=(code,)), canary=3)]
        return ("recoup.errors.subject:SUBJECT", str(operation[0]))

    def watched() -> tuple[str, ...]:
        given = begun()
        carry_on(hub.db, SUBJECT, operation[0])
        hub.finish([Succeeded(error_table=one.error_table, error_id=one.error_id, token=one.token)
                    for one in hub.claim()])  # fmt: skip
        return given

    def left(upto: int) -> tuple[int | None, int]:
        with hub.db.transaction(Authority.READER) as tx:
            found = find(tx, operation[0])
        assert unparked(hub, operation[0]) == [1] * found.done
        carry_on(hub.db, SUBJECT, operation[0])
        assert unparked(hub, operation[0]) == [1] * upto
        return found.step, found.done

    first = kills.struck_in_strides(ground, "carry on", begun, lambda: left(3), stride)
    assert [stage for stage, _ in groupby(first)] == [(1, 0), (1, 2), (1, 3)]
    second = kills.struck_in_strides(ground, "carry on", watched, lambda: left(9), stride)
    assert [stage for stage, _ in groupby(second)] == [(1, 3), (2, 3), (2, 5), (2, 7), (2, 9)]


def test_an_operation_killed_at_any_moment(
    ground: HubGround, pytestconfig: pytest.Config, seed: int, again: int
) -> None:
    """The same where nobody chose the moment: also while the server is at a statement."""
    chance, stages = Random(f"killed operation {seed} {again}"), set[int]()
    is_long, most = int(pytestconfig.getoption("--times")) > 1, MOMENT_MOST_S
    for _ in range(LONG_ROUNDS if is_long else SHORT_ROUNDS):
        operation = asked_for(ground.hub, 9)
        worker = ground.born("carry on", "recoup.errors.subject:SUBJECT", str(operation))
        ground.wire.watch(at=0, act=lambda: None)
        worker.go()
        time.sleep(chance.uniform(0, most))
        with contextlib.suppress(ProcessLookupError):  # it was done before
            worker.kill()
        assert worker.ends() in (KILLED, 0)
        ground.let_go()
        done = carried_on(ground.hub, operation, 9)[1]
        stages.add(done)
        most *= 1.25 if done == 0 else 0.8 if done == 9 else 1  # this machine's pace, at this time
    assert len(stages) > 1, "it was killed in more than one place"


def test_the_audit_finds_nothing_after_all_that(hub: Hub) -> None:
    """Every promise of the documents, asked of what those who were killed left behind."""
    assert broken(audited(hub.db)) == {}
