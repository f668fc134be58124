"""A database in which everything has happened that can happen, by the product's own verbs."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from company import minted
from product import INVARIANTS, apply_policy, pause, resume
from recoup import gate, mint
from recoup.audit import results
from recoup.audit.examine import InvariantResult, audit
from recoup.audit.invariant import Invariant
from recoup.database.connection import Database, Transaction, connect
from recoup.database.queries import load
from recoup.errors import Want
from recoup.ledger import seals
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "gate"))
from desk import LEASE, Desk, outcome
from lively_alerts import AlertCast, play_alerts
from lively_deliveries import DeliveryCast, play_deliveries
from lively_errors import ORPHANS, ErrorCast, Hubs, play_errors
from lively_partitions import PartitionCast, play_partitions
from lively_recovery import RecoveryCast, play_recovery
from lively_runs import RunCast, play_runs
from lively_service import ServiceCast, play_service

WORKERS = load("recoup.worker", "worker.sql")
FOUND = (
    gate.Evidence("dns", "passed", "acme.example is at 203.0.113.7", 12),
    gate.Evidence("directory", "no-entry", "none"),
)
OTHER_POLICY = "[gate]\nwait_hours = [12, 36]\nrecovery_window_days = 10\n"


@dataclass(frozen=True)
class Cast:
    """Who became what. One of each, for tests that break something of a kind."""

    pending: UUID
    open: UUID
    authorized: UUID
    failed: UUID
    failed_twice: UUID
    retrying: UUID
    exhausted: UUID
    exhausted_by_freeze: UUID
    recovered: UUID
    recovered_late: UUID
    crashed: UUID
    evidenced: UUID
    restarted: UUID
    by_hand: UUID
    last_minted: UUID
    unminted: UUID
    batch: str
    paused_batch: str
    frozen_batch: str
    worker: UUID
    errors: ErrorCast
    runs: RunCast
    deliveries: DeliveryCast
    alerts: AlertCast
    service: ServiceCast
    recovery: RecoveryCast
    partitions: PartitionCast


def _audited(database: Database) -> None:
    """Somebody kept what the audit found."""
    found = [
        InvariantResult(id=id_, description="d", holds=not rows, found=rows, rows=(), seconds=0.1)
        for id_, rows in (("laws/L1", 7), (results.SEALS, 0))
    ]
    with database.transaction(Authority.OPERATOR) as tx:
        results.record(tx, found, started_at=results.now(tx), selected=["laws"])


def play(database: Database) -> Cast:
    """Histories of every kind, under two policies, with all that goes on around them: from pauses to identities."""
    desk = Desk(database)
    notices = play_deliveries(database)
    with database.transaction(Authority.RUNNER) as tx:
        stopped, worker = (_registered(tx, name) for name in ("ada", "bob"))
        tx.execute(WORKERS["stop"], {"worker_id": stopped})
    batch, frozen, paused = desk.batch(), desk.batch(completed=True), desk.batch()
    desk.intakes(3, batch_id=frozen)
    exhausted_by_freeze, in_flight = desk.failed(batch_id=frozen), desk.failed(batch_id=frozen)
    exhausted = desk.failed(times=3, batch_id=batch)
    recovered = desk.failed(batch_id=batch)
    desk.wait(recovered)
    desk.finish(desk.open(recovered), None)
    crashed = _crashed(desk, batch)
    _pauses(desk, paused)
    # Frozen while a retry is under way: it may finish, and its failure is the last.
    desk.advance_to(
        desk.rows("select batch_freeze_at from cl.gate_zero_batch where batch_id = %s", frozen)[0][0] - LEASE
    )
    attempt = desk.open(in_flight)
    desk.advance(LEASE)
    desk.freeze()
    desk.finish(attempt)
    with database.transaction(Authority.OPERATOR) as tx:
        apply_policy(tx, OTHER_POLICY, reason="shorter waits")
    recovered_late = desk.failed(times=2, batch_id=batch)
    desk.wait(recovered_late)
    desk.finish(desk.open(recovered_late), None)
    authorized = desk.intake(batch_id=batch)
    desk.report(outcome(desk.open(authorized), None, payload_ref="s3://evidence"))
    desk.complete(batch)
    restarted = _restarted(desk, exhausted, exhausted_by_freeze)
    by_hand = _authorized(desk)
    with database.transaction(Authority.MINT) as tx:
        minted(tx, of=by_hand)
    _mint(database, limit=3)
    # The mint is in the middle of a page's window, and has not seen the last one at all.
    last_minted, _ = _authorized(desk), _authorized(desk)
    _mint(database, limit=1, pages=1)
    unminted = _authorized(desk)
    evidenced = desk.intake(batch_id=batch)
    desk.report(outcome(desk.open(evidenced), evidence=FOUND))
    given_up = desk.failed(times=3)
    failed, failed_twice, retrying = desk.failed(), desk.failed(times=2, batch_id=batch), desk.failed(batch_id=batch)
    desk.wait(retrying)
    desk.open(retrying)
    open_ = desk.intake()
    desk.open(open_)
    desk.pause(paused, reason="looks wrong again")
    errors = play_errors(database)
    runs = play_runs(database)
    recovery = play_recovery(database, error=_parked(desk), run=runs.run_unclaimed, intake=given_up)
    alarms = play_alerts(database)
    callers = play_service(database)
    partitions = play_partitions(database)
    _audited(database)
    with database.transaction(Authority.ARCHIVER) as tx:
        seals.seal(tx, block_rows=10, max_blocks=200)
    pending = desk.intake(batch_id=batch)
    return Cast(
        pending=pending, open=open_, authorized=authorized, failed=failed, failed_twice=failed_twice, retrying=retrying,
        exhausted=exhausted, exhausted_by_freeze=exhausted_by_freeze, recovered=recovered,
        recovered_late=recovered_late, crashed=crashed, evidenced=evidenced, restarted=restarted, by_hand=by_hand,
        last_minted=last_minted,
        unminted=unminted, batch=batch, paused_batch=paused, frozen_batch=frozen, worker=worker,
        errors=errors, runs=runs, deliveries=notices, alerts=alarms, service=callers, recovery=recovery,
        partitions=partitions,
    )  # fmt: skip


def _parked(desk: Desk) -> str:
    """An error after its last retry, as recovery names it."""
    hubs = Hubs(desk.db)
    error = hubs.error(ORPHANS, want=Want.RETRY)
    assert hubs.fail(error, ORPHANS, times=5) == "PARKED"
    return f"{ORPHANS}/{error}"


def _authorized(desk: Desk) -> UUID:
    intake = desk.intake()
    desk.finish(desk.open(intake), None)
    return intake


def _restarted(desk: Desk, exhausted: UUID, exhausted_by_freeze: UUID) -> UUID:
    """Restarts: one passes, one fails and its retry passes, and one is exhausted and restarted again."""
    with desk.db.transaction(Authority.OPERATOR) as tx:
        passed = gate.restart(tx, exhausted, company_domain="acme.example")
        recovers = gate.restart(tx, exhausted_by_freeze)
    desk.finish(desk.open(passed), None)
    desk.finish(desk.open(recovers))
    desk.wait(recovers)
    desk.finish(desk.open(recovers), None)
    spent = desk.failed(times=3)
    for _ in range(2):
        with desk.db.transaction(Authority.OPERATOR) as tx:
            spent = gate.restart(tx, spent, state="OK")
        for number in range(3):
            if number:
                desk.wait(spent)
            desk.finish(desk.open(spent))
    return passed


def _mint(database: Database, *, limit: int, pages: int = 100) -> None:
    """So many pages of what was authorised, or all of it."""
    for _ in range(pages):
        with database.transaction(Authority.MINT) as tx:
            if not mint.mint(tx, limit=limit).events:
                return


def _crashed(desk: Desk, batch: str) -> UUID:
    """An attempt whose worker died, and came back too late."""
    intake = desk.intake(batch_id=batch)
    attempt = desk.open(intake)
    desk.advance(2 * LEASE)
    desk.sweep()
    assert desk.finish(attempt, ReasonCode.TIMEOUT).status == "late"
    with desk.db.transaction(Authority.ORPHAN_RECOVERY) as tx:
        assert tx.execute(WORKERS["lose_silent"], {"lost_after_s": 60, "limit": 10}).rowcount == 1
    with desk.db.transaction(Authority.RUNNER) as tx:
        _registered(tx, "eve")
    return intake


def _registered(tx: Transaction, name: str) -> UUID:
    given = {"name": name, "host": "here", "pid": 1, "recoup_version": "0", "duties": ["freeze"]}
    (worker,) = tx.execute(WORKERS["register"], given).fetchone() or (None,)
    return UUID(str(worker))


def _pauses(desk: Desk, batch: str) -> None:
    """Pauses of every scope that stops Gate Zero, and work before and after them."""
    held = desk.failed(batch_id=batch)
    desk.wait(held)
    desk.pause(batch)
    for scope, name in (("global", None), ("table", "cl.gate_zero_recovery"), ("duty", "seal")):
        with desk.db.transaction(Authority.OPERATOR) as tx:
            pause(tx, scope, name, reason="let us look")
        desk.advance(timedelta(hours=1))
        with desk.db.transaction(Authority.OPERATOR) as tx:
            resume(tx, scope, name, reason="it was nothing")
    desk.resume(batch, reason="it was nothing")
    desk.finish(desk.open(held))


def audited(database: Database, *invariants: Invariant) -> list[InvariantResult]:
    """The audit, as the command does it."""
    with contextlib.closing(connect(database.conninfo, database.settings)) as connection:
        return audit(connection, invariants or INVARIANTS, settings=database.settings)


def broken(verdicts: list[InvariantResult]) -> dict[str, tuple[object, ...]]:
    return {verdict.id: verdict.rows for verdict in verdicts if not verdict.holds}


__all__ = ["Cast", "Desk", "audited", "broken", "outcome", "play"]
