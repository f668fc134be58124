"""Operations whose process died: a worker continues them, for who began them, and no row goes twice."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
import psycopg
import pytest

import product
from hub import DOL, MINUTE, OPERATIONAL, SECOND, Hub
from recoup.audit import audit
from recoup.database import embedded
from recoup.database.connection import Actor, Database, connect
from recoup.errors.recording import NewError
from recoup.errors.subject import SUBJECT
from recoup.errors.verbs import Verb
from recoup.lifecycles.declaration import Authority
from recoup.operations import Act, Operation, begin, carry_on, find, steps, taking_up
from recoup.operations.batches import BATCH
from recoup.partitions.requesting import SUBJECT as PARTITIONS
from recoup.refusals import LawRefused
from recoup.worker.loop import WorkerLoop
from recoup.worker.standalone import Standalone

PROGRAM = [sys.executable, "-c", "from recoup.cli.main import main; main()"]
ADA = Actor("human", "ada")
DUTY = "error-operations"
SILENT = taking_up.SILENT_S * SECOND
PARK = Act(verb=Verb.PARK, given={"reason": "the registry is down"})
PARKED = "select count(*), count(distinct error_id) from recoup.error_event where event_type = 'PARKED'"


@dataclass(frozen=True)
class Asked:
    """An operation over errors that wait for their retry."""

    hub: Hub
    errors: Sequence[int]
    operation: uuid.UUID

    @property
    def now(self) -> Operation:
        with self.hub.db.transaction(Authority.READER) as tx:
            return find(tx, self.operation)

    @property
    def parked(self) -> tuple[int, int]:
        """How often an error was parked, and how many errors."""
        ((times, errors),) = self.hub.rows(PARKED)
        return times, errors

    def work(self, name: str = "w-1") -> int:
        """One turn of a worker that does nothing else."""
        duties = [duty for duty in product.DUTIES if duty.name == DUTY]
        return WorkerLoop(self.hub.db, duties, name=name).run_once()[DUTY]

    def batch(self) -> int:
        """One batch of a process that works on it now."""
        done: list[int] = []

        def stop(ended: int, _: int) -> None:
            done.append(ended)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            carry_on(self.hub.db, SUBJECT, self.operation, actor=ADA, progress=stop)
        return done[0]


def record(hub: Hub, count: int) -> list[int]:
    recorded = hub.record_all(NewError(table=DOL, message=OPERATIONAL, outreach_id=uuid.uuid4()) for _ in range(count))
    return [one.error_id for one in recorded]


def asked(hub: Hub, count: int, *, unattended: bool = True, **more: Any) -> Asked:
    errors = record(hub, count)
    units = [f"{DOL}/{error}" for error in errors]
    with hub.db.transaction(Authority.OPERATOR, actor=ADA) as tx:
        operation = begin(tx, SUBJECT, PARK, units, unattended=unattended, **more)
    return Asked(hub, errors, operation)


def whole(hub: Hub) -> None:
    """Nothing that the audit knows of operations and errors is broken."""
    assert hub.broken() == []
    of_operations = ("operations/", "rebuild/recoup.op", "laws/L1", "laws/L6")
    asked = [one for one in product.chosen(()) if one.id.startswith(of_operations)]
    with connect(hub.db.conninfo, hub.db.settings) as connection:
        assert [f"{v.id}: {v.rows[:2]}" for v in audit(connection, asked) if not v.holds] == []


def serving(db: Database) -> tuple[subprocess.Popen[str], str]:
    command = [*PROGRAM, "--dsn", db.conninfo, "api", "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    return process, process.stderr.readline().split(" at ")[1].split("/v1/")[0]


def test_the_process_that_answered_is_killed_and_a_worker_finishes(hub: Hub, server: embedded.Server) -> None:
    """In the middle of a batch of some thousand rows. Each row goes once, under the name of who asked."""
    errors = record(hub, 6 * BATCH)
    name = psycopg.conninfo.conninfo_to_dict(hub.db.conninfo)["dbname"]
    process, at = serving(hub.db)
    with process, psycopg.connect(server.uri(str(name), admin=True)) as blocker:
        try:
            # Its third batch waits for this row, so the process dies with two batches done and one begun.
            blocker.execute("select from recoup.error where error_id = %s for update", (errors[2 * BATCH + 7],))
            body = {"reason": "the registry is down", "units": errors}
            answer = httpx2.post(f"{at}/v1/errors/park", json=body, timeout=30)
            assert answer.status_code == 202, answer.text
            found = Asked(hub, errors, uuid.UUID(answer.json()["operation_id"]))
            while found.now.done < 2 * BATCH or not _waits(blocker):
                time.sleep(0.01)
        finally:
            process.send_signal(signal.SIGKILL)
        assert process.wait(20) == -signal.SIGKILL
        # The server has not noticed: the batch still holds its rows, and nobody takes it up.
        hub.advance(2 * SILENT)
        assert (found.work(), found.now.done) == (0, 2 * BATCH)
        blocker.rollback()
    while (went := found.work()) == 0:  # until the server has noticed
        time.sleep(0.05)
    assert (went, found.now.status, found.now.done, found.now.pending) == (4 * BATCH, "DONE", 6 * BATCH, 0)
    assert found.parked == (6 * BATCH, 6 * BATCH)
    ((by,),) = hub.rows("select requested_by from recoup.operation")
    said = "select distinct actor, actor_id, reason from recoup.error_event where event_type = 'PARKED'"
    assert hub.rows(said) == [("human", by, "the registry is down")]
    with hub.db.transaction(Authority.READER) as tx:
        told = [(one.to_status, one.actor_id) for one in steps.story(tx, found.operation)]
    assert told == [("OPEN", by), ("OPEN", "w-1"), ("DONE", by)]
    whole(hub)


def _waits(connection: psycopg.Connection[Any]) -> bool:
    return connection.execute("select from pg_locks where not granted").rowcount > 0


def test_it_is_left_alone_while_batches_end(hub: Hub) -> None:
    """A minute after the last one. What began a minute ago and never went is taken up, too."""
    found = asked(hub, 3 * BATCH)
    hub.advance(SILENT - SECOND)
    assert found.work() == 0
    assert found.batch() == BATCH
    hub.advance(SILENT - SECOND)
    assert found.work() == 0
    hub.advance(SECOND)
    assert (found.work(), found.now.status) == (2 * BATCH, "DONE")
    assert found.now.taken_up_at is not None
    never = asked(hub, 3)
    hub.advance(SILENT)
    assert (never.work(), never.now.status) == (3, "DONE")


def test_an_operation_that_only_had_to_be_closed(hub: Hub) -> None:
    """It died after its last batch. One without any rows is closed as well."""
    found = asked(hub, 5)
    assert found.batch() == 5
    nothing = asked(hub, 0)
    assert (found.now.status, nothing.now.status) == ("OPEN", "OPEN")
    hub.advance(SILENT)
    assert found.work() == 0
    assert (found.now.status, nothing.now.status) == ("DONE", "DONE")
    assert found.parked == (5, 5)
    whole(hub)


def test_what_a_person_began_at_the_command_line_is_theirs(hub: Hub) -> None:
    """Ctrl-C may have been the intention."""
    found = asked(hub, 2 * BATCH, unattended=False)
    assert found.batch() == BATCH
    hub.advance(100 * MINUTE)
    assert (found.work(), found.now.pending) == (0, BATCH)


def test_paused_and_cancelled_it_is_not_taken_up(hub: Hub) -> None:
    found, other = asked(hub, 30), asked(hub, 30)
    with hub.db.transaction(Authority.OPERATOR, actor=ADA) as tx:
        assert product.pause(tx, "operation", str(found.operation), reason="wait")
        steps.cancel(tx, other.operation, reason="not today")
    hub.advance(2 * SILENT)
    assert found.work() == 0
    assert (found.now.pending, other.now.pending, found.now.taken_up_at) == (30, 30, None)
    with hub.db.transaction(Authority.OPERATOR, actor=ADA) as tx:
        assert product.resume(tx, "operation", str(found.operation), reason="go on")
    assert (found.work(), found.now.done, other.now.pending) == (30, 30, 30)


def test_paused_or_cancelled_between_two_batches_of_a_worker(hub: Hub) -> None:
    """The pause counts from its commit. What has gone has gone, once."""
    found, other = asked(hub, 3 * BATCH), asked(hub, 3 * BATCH)
    hub.advance(SILENT)
    for one in (found, other):
        with hub.db.transaction(Authority.OPERATOR) as tx:
            assert taking_up.advance(tx, SUBJECT, one.operation) == BATCH
    with hub.db.transaction(Authority.OPERATOR, actor=ADA) as tx:
        product.pause(tx, "operation", str(found.operation), reason="wait")
        assert steps.cancel(tx, other.operation, reason="enough") == 2 * BATCH
    hub.advance(10 * MINUTE)
    assert (found.work(), found.now.done, other.now.done, other.now.status) == (0, BATCH, BATCH, "CANCELLED")
    whole(hub)


def test_who_works_on_a_batch_is_not_joined_however_long_it_takes(hub: Hub) -> None:
    """And who cancels waits for the worker's batch, as for any other."""
    found = asked(hub, 2 * BATCH)
    hub.advance(SILENT)
    with hub.db.transaction(Authority.OPERATOR) as first, hub.db.transaction(Authority.OPERATOR) as second:
        assert taking_up.advance(first, SUBJECT, found.operation) == BATCH
        assert taking_up.advance(second, SUBJECT, found.operation) == 0
    assert found.now.done == BATCH


def test_two_workers_the_process_and_a_person_at_once(hub: Hub) -> None:
    """All of them continue one operation: each row goes once, and it ends."""
    found = asked(hub, 12 * BATCH)
    assert found.batch() == BATCH
    hub.advance(SILENT)
    failures: list[BaseException] = []

    def worker(name: str) -> None:
        with Database(hub.db.conninfo, hub.db.settings) as own:
            WorkerLoop(own, [one for one in product.DUTIES if one.name == DUTY], name=name).run_once()

    def person(name: str) -> None:
        with Database(hub.db.conninfo, hub.db.settings) as own:
            carry_on(own, SUBJECT, found.operation, actor=Actor("human", name))

    def run(act: Any, name: str) -> None:
        try:
            act(name)
        except BaseException as failure:  # noqa: BLE001 - shown below
            failures.append(failure)

    acts = [(worker, "w-1"), (worker, "w-2"), (person, "service"), (person, "eve")]
    threads = [threading.Thread(target=run, args=act) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    while found.now.status == "OPEN":  # each left the last batch to another
        found.work()
    assert (found.now.status, found.now.done, found.now.refused) == ("DONE", 12 * BATCH, 0)
    assert found.parked == (12 * BATCH, 12 * BATCH)
    whole(hub)


def test_a_worker_killed_at_a_batch_leaves_it_to_the_next(hub: Hub) -> None:
    """Taken up is taken up: nobody waits another minute."""
    found = asked(hub, 2 * BATCH)
    hub.advance(SILENT)
    with hub.db.transaction(Authority.OPERATOR) as tx:
        taking_up.advance(tx, SUBJECT, found.operation)
        tx.rollback()
    assert (found.now.done, found.now.taken_up_at) == (0, None)
    with hub.db.transaction(Authority.OPERATOR) as tx:
        taking_up.advance(tx, SUBJECT, found.operation)
    assert (found.work("w-2"), found.now.status) == (BATCH, "DONE")


def test_one_turn_is_bounded_and_a_failing_one_holds_up_no_other(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taking_up, "MAX_BATCHES", 2)
    large, small = asked(hub, 3 * BATCH), asked(hub, 10)
    with hub.db.transaction(Authority.OPERATOR, actor=ADA) as tx:
        broken = begin(tx, SUBJECT, PARK, [f"{DOL}/no-id"], unattended=True)
    hub.advance(SILENT)
    duty = Standalone(hub.db, Authority.OPERATOR, name="w-1")
    with pytest.raises(ValueError, match="no-id"):
        taking_up.continue_all(duty, SUBJECT)
    assert (large.now.done, small.now.status) == (2 * BATCH, "DONE")
    with pytest.raises(ValueError, match="no-id"):
        taking_up.continue_all(duty, SUBJECT)
    assert large.now.status == "DONE"
    assert find_one(hub, broken).pending == 1


def find_one(hub: Hub, operation: uuid.UUID) -> Operation:
    with hub.db.transaction(Authority.READER) as tx:
        return find(tx, operation)


def test_the_lag_is_that_of_what_a_worker_would_take_up(hub: Hub) -> None:
    (duty,) = (one for one in product.DUTIES if one.name == DUTY)

    def lag() -> float | None:
        with hub.db.transaction(Authority.READER) as tx:
            return duty.lag(tx)

    found = asked(hub, 3)
    assert lag() is None
    hub.advance(SILENT + 30 * SECOND)
    assert lag() == pytest.approx(taking_up.SILENT_S + 30, abs=5)
    found.work()
    assert lag() is None


BEGUN = (
    "insert into recoup.operation (subject, verb, arguments, filter, items, digest, requested_at, requested_by,"
    " continued_as) values ('recoup.error', 'park', '{}', '{}', 0, sha256(''), recoup.now(), %s,"
    " jsonb_build_object('actor', %s::text, 'authority', %s::text))"
)


def test_nobody_begins_it_for_others_or_with_what_their_login_may_not(hub: Hub) -> None:
    """A worker goes on under the name and the authority of who began it: these are not theirs to choose."""
    for given in (("eve", "human", "recoup_operator"), ("ada", "system", "recoup_operator"),
                  ("ada", "human", "recoup_nobody"), ("ada", "human", None)):  # fmt: skip
        with (
            pytest.raises(LawRefused, match="begins for who"),
            hub.db.transaction(Authority.OPERATOR, actor=ADA) as tx,
        ):
            tx.execute(BEGUN, given)
    with hub.db.transaction(Authority.OPERATOR, actor=ADA) as tx:
        tx.execute(BEGUN, ("ada", "human", "recoup_operator"))
    for change in ("continued_as = null", "continued_as = jsonb_set(continued_as, '{actor}', '\"system\"')"):
        with pytest.raises(LawRefused), hub.db.transaction(Authority.OPERATOR) as tx:
            tx.execute(f"update recoup.operation set {change}".encode())
    ((forged,),) = hub.rows("select operation_id from recoup.operation")
    hub.advance(SILENT)
    with pytest.raises(LawRefused, match="was begun as recoup_operator"), hub.db.transaction(Authority.OPERATOR) as tx:
        taking_up.advance(tx, PARTITIONS, forged)
