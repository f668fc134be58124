"""One way into a transaction: one authority, told actor, bounded waits, all or nothing."""

from __future__ import annotations

import contextlib
import dataclasses
import time
import uuid
from collections.abc import Iterator

import psycopg
import pytest

from company import new_batch, new_intake
from recoup import gate
from recoup.database.connection import Actor, Database, Transaction
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused, Refusal, TransactionLost
from recoup.settings import Settings


@pytest.fixture
def impatient(db: Database, settings: Settings) -> Iterator[Database]:
    """The shared database with waits of a tenth of a second."""
    short = dataclasses.replace(settings, idle_in_transaction_timeout_ms=100, lock_timeout_ms=100)
    with Database(db.conninfo, short) as database:
        yield database


def test_a_transaction_acts_as_its_authority_and_leaves_nothing_behind(db: Database) -> None:
    """The next user of the connection has no role and no actor left over."""
    with db.transaction(Authority.GATE, actor=Actor("human", "o'hara; drop"), reason='say "no"') as tx:
        row = tx.execute(
            "select current_user, recoup.acting_kind(), recoup.acting_id(), current_setting('recoup.reason')"
        ).fetchone()
    assert row == ("recoup_gate", "human", "o'hara; drop", 'say "no"')
    with db.transaction(Authority.READER) as tx:
        assert tx.execute("select current_user, recoup.acting_id()").fetchone() == ("recoup_reader", "tester")


def test_an_exception_rolls_back_and_a_refusal_comes_out_as_one(db: Database) -> None:
    """All or nothing; and what the database refused says its code."""
    name = f"batch-{uuid.uuid4()}"
    with pytest.raises(ZeroDivisionError), db.transaction(Authority.HUB) as tx:
        gate.create_batch(tx, name)
        raise ZeroDivisionError
    with db.transaction(Authority.READER) as tx:
        assert tx.execute("select from cl.gate_zero_batch where batch_id = %s", (name,)).rowcount == 0
    with pytest.raises(LawRefused) as refused, db.transaction(Authority.GATE) as tx:
        intake = new_intake(tx)
        tx.execute("update cl.gate_zero_intake set status = 'EXHAUSTED' where intake_id = %s", (intake,))
    assert (refused.value.code, refused.value.facts["to"]) == ("move_not_listed", "EXHAUSTED")


def test_a_refusal_caught_inside_a_savepoint_keeps_the_rest(db: Database) -> None:
    """A caller may try something, be refused, and go on."""
    with db.transaction(Authority.HUB) as tx:
        name = new_batch(tx)
        with pytest.raises(psycopg.Error), tx.transaction():
            tx.execute("update cl.gate_zero_intake set status = 'FAILED'")
    with db.transaction(Authority.READER) as tx:
        assert gate.find_batch(tx, name).status == "OPEN"


@pytest.mark.parametrize("before", ["nothing", "a statement", "outcomes written"])
def test_an_idle_transaction_is_ended_by_the_server(impatient: Database, db: Database, before: str) -> None:
    """Whatever was done before: a program that hangs holds its locks for a bounded time."""
    with db.transaction(Authority.GATE) as tx:
        (attempt,) = gate.open_attempts(tx, [new_intake(tx)], worker="w")
    with pytest.raises(psycopg.Error), impatient.transaction(Authority.GATE) as tx:
        if before == "a statement":
            tx.execute("select 1")
        elif before == "outcomes written":
            gate.finish_attempts(tx, [gate.Passed(attempt_id=attempt.attempt_id, token=attempt.token)])
        pid = tx.info.backend_pid
        deadline = time.monotonic() + 20
        with db.transaction(Authority.READER) as other:
            while other.execute("select from pg_stat_activity where pid = %s", (pid,)).rowcount:
                assert time.monotonic() < deadline, "the server did not end it"
                other.execute("select pg_stat_clear_snapshot()")
                time.sleep(0.02)
        tx.execute("select 1")


def test_a_lock_is_waited_for_only_so_long(impatient: Database, admin: Transaction) -> None:
    """Then the server says so, and nothing was done."""
    with admin.transaction():
        batch = new_batch(admin)
    with admin.transaction():
        admin.execute("select from cl.gate_zero_batch where batch_id = %s for update", (batch,))
        with pytest.raises(psycopg.errors.LockNotAvailable), impatient.transaction(Authority.HUB) as tx:
            gate.complete_batch(tx, batch)


def count_of(db: Database, batch: str) -> int:
    with db.transaction(Authority.READER) as tx:
        return tx.execute("select from cl.gate_zero_intake where batch_id = %s", (batch,)).rowcount


def test_a_refusal_of_ours_that_is_caught_keeps_the_rest(db: Database) -> None:
    """Create it unless it is there, add to one that is not there, start afresh into none: the block goes on."""
    with db.transaction(Authority.HUB) as tx:
        name = new_batch(tx)
        companies = [gate.NewIntake(company_name=f"Company {number}") for number in range(10)]
        (first, *_) = gate.add_intakes(tx, companies, batch_id=name)
        for refused in (
            lambda: gate.create_batch(tx, name),
            lambda: gate.add_intakes(tx, companies, batch_id="nowhere"),
            lambda: gate.restart(tx, first, batch_id="nowhere"),
            lambda: gate.restart(tx, uuid.uuid4(), batch_id=name),
        ):
            with pytest.raises(Refusal):
                refused()
    assert count_of(db, name) == 10


@pytest.mark.parametrize("how", ["transaction", "another actor", "commit", "autocommit", "savepoint"])
def test_an_error_that_is_caught_without_a_savepoint_is_said_at_the_end(
    db: Database, admin: Transaction, how: str
) -> None:
    """The server has given the transaction up, and would answer COMMIT with a rollback: nobody may take it for done."""
    name = ""
    actor = Actor("human", "ann") if how == "another actor" else None
    with pytest.raises(TransactionLost, match="non-DEFAULT") as lost:
        if how == "autocommit":
            with admin.transaction():
                name = new_batch(admin)
                swallowed(admin)
        else:
            with db.transaction(Authority.HUB, actor=actor) as tx:
                name = new_batch(tx)
                with tx.transaction() if how == "savepoint" else contextlib.nullcontext():
                    swallowed(tx)
                if how == "commit":
                    tx.commit()
    assert (lost.value.code, "savepoint" in lost.value.next_step) == ("transaction_lost", True)
    with pytest.raises(Refusal), db.transaction(Authority.READER) as tx:
        gate.find_batch(tx, name)


def swallowed(tx: Transaction) -> None:
    """A move that is refused, and a statement after it: what is told is the first of the two."""
    for statement in ("insert into cl.gate_zero_batch (batch_id, status) values ('x', 'FROZEN')", "select 1"):
        with contextlib.suppress(psycopg.Error):
            tx.execute(statement.encode())


@pytest.mark.parametrize("actor", [None, Actor("human", "ann")], ids=["own", "foreign"])
def test_the_only_statement_of_a_transaction_may_fail_and_be_caught(db: Database, actor: Actor | None) -> None:
    """There is nothing beside it to be lost."""
    with db.one_statement(Authority.HUB, actor=actor) as tx, contextlib.suppress(psycopg.Error):
        tx.execute("select 1 / 0")
