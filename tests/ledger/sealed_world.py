"""A database in which something of everything has happened, sealed in small blocks of every kind."""

from __future__ import annotations

import uuid
from contextlib import ExitStack
from datetime import timedelta

import extraction
import product
from alarms import alert_in
from company import (
    acting,
    advance,
    attempt_and,
    claimed_error,
    delivery_in,
    error_in,
    finish,
    minted,
    new_batch,
    new_intake,
    open_attempt,
    run_in,
)
from product import shipped_document
from recoup import gate
from recoup.audit import InvariantResult, results
from recoup.database.connection import Database, Transaction
from recoup.errors import processed, retrying
from recoup.errors.processed import NewProcessed
from recoup.gate import NewIntake
from recoup.ledger import seals
from recoup.ledger.seals import Seal
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup.recovery.matches import NewFailure, ingest

BLOCK_ROWS = 20
QUIET_FOR = timedelta(hours=1)


def seal_all(database: Database, *, block_rows: int = BLOCK_ROWS) -> list[Seal]:
    """Everything that has settled, a few blocks at a time."""
    made: list[Seal] = []
    while True:
        with database.transaction(Authority.ARCHIVER) as tx:
            sealed = seals.seal(tx, block_rows=block_rows, max_blocks=3, quiet_for=QUIET_FOR)
        made += sealed
        if len(sealed) < 3:
            return made


def pause(tx: Transaction, batch: str, *, times: int = 1) -> None:
    with acting(tx, Authority.OPERATOR):
        for _ in range(times):
            gate.pause_batch(tx, batch, reason='look, "into" it \\ now')
            gate.resume_batch(tx, batch)


def late_result(tx: Transaction) -> None:
    """A result for an attempt that has ended."""
    attempt = open_attempt(tx, new_intake(tx))
    finish(tx, attempt, None)
    assert finish(tx, attempt, ReasonCode.TIMEOUT).status == "late"


def retried_error(tx: Transaction) -> None:
    """A retry that failed and is then reported as succeeded: that is late."""
    claimed_error(tx)
    error = claimed_error(tx)
    row = tx.execute("select part, unit, token from recoup.error_queue where unit = %s", (error,)).fetchone()
    assert row is not None
    failed = retrying.Failed(
        error_table=row[0], error_id=row[1], token=row[2], failure='it said "no, {never}" \\ again'
    )
    with acting(tx, Authority.ERROR_WORKER):
        assert [one.status for one in retrying.finish(tx, [failed])] == ["RETRY_PENDING"]
        succeeded = retrying.Succeeded(error_table=row[0], error_id=row[1], token=row[2])
        assert [one.status for one in retrying.finish(tx, [succeeded])] == ["late"]


def failed_outside(tx: Transaction) -> None:
    """Failures that recovery is to end: two incidents, with a match each."""
    with acting(tx, Authority.MATCHER):
        ingest(tx, [NewFailure(source=f"vendor {uuid.uuid4()}", message="no {answer}", key="1") for _ in range(2)])


def extracted(tx: Transaction) -> None:
    """Partitions that were accepted, and that somebody asks for again."""
    for _ in range(2):
        assert extraction.ask(tx, extraction.succeeded(tx), "reprocess") == "asked"


def audited(tx: Transaction) -> None:
    """Two audits whose results were kept: one that found something, one that did not."""
    (now,) = tx.execute("select recoup.now()").fetchone() or ()
    with acting(tx, Authority.OPERATOR):
        for found in (3, 0):
            verdict = InvariantResult(
                id="errors/E1", description="x", holds=not found, found=found, rows=(), seconds=0.1
            )  # fmt: skip
            results.record(tx, [verdict], started_at=now, selected=["errors"])


def many(tx: Transaction, count: int) -> None:
    """So many rows of one log in one transaction."""
    with acting(tx, Authority.HUB):
        intakes = gate.add_intakes(tx, [NewIntake(company_name="Ärger & Söhne", state="TX")] * count)
    with acting(tx, Authority.GATE):
        gate.open_attempts(tx, intakes, worker="many")


def apply_policy(database: Database, block_rows: int) -> None:
    with database.transaction(Authority.OPERATOR) as tx:
        text = shipped_document().replace("block_rows = 10000", f"block_rows = {block_rows}")
        product.apply_policy(tx, text, reason=f"blocks of {block_rows}")


def live(database: Database, admin: Transaction) -> None:
    """Small and long transactions, late ones, quiet times, a restore; everything is sealed at the end."""
    for stage in range(3):
        with ExitStack() as stack:
            slow = stack.enter_context(database.transaction(Authority.HUB))
            batch = new_batch(slow)
            pause(slow, batch)
            late_result(slow)
            minted(slow)
            error_in(slow, "ESCALATED")
            for _ in range(4):
                with database.transaction(Authority.HUB) as tx:
                    pause(tx, new_batch(tx), times=2)
                    late_result(tx)
                    attempt_and(tx, new_intake(tx), ReasonCode.STATE_MISSING)
                    minted(tx)
                    error_in(tx, "RESOLVED")
                    delivery_in(tx, "delivered")
                    alert_in(tx, "recovered")
                    processed.report(tx, [NewProcessed(table="outreach.dol_errors", count=7)])
            with database.transaction(Authority.HUB) as tx:
                retried_error(tx)
                run_in(tx, "failed")
                failed_outside(tx)
                extracted(tx)
                audited(tx)
            seal_all(database)
            apply_policy(database, 5000 + stage)
            with database.transaction(Authority.HUB) as tx:
                many(tx, 45 if stage else 60)
                advance(tx, timedelta(minutes=20))
            seal_all(database)
        with database.transaction(Authority.HUB) as tx:
            for _ in range(3):
                advance(tx, timedelta(minutes=40))
        if stage == 1:
            # As a restore does it: whatever is there belongs to the incarnation before.
            admin.execute(
                "insert into recoup.incarnation select max(incarnation) + 1, max(system_identifier), now()"
                " from recoup.incarnation"
            )
    seal_all(database)
