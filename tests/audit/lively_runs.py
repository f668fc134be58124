"""Runs in every status, brought there by the product's own verbs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from recoup import clock, policy
from recoup.database.connection import Database
from recoup.lifecycles.declaration import Authority
from recoup.runs import Failed, NewRun, Succeeded, orphans, running
from recoup.worker import register

RUNNER = Authority.RUNNER
DAY = NewRun(kind="import", source="crm", input={"day": 1})


@dataclass(frozen=True)
class RunCast:
    """Which became what."""

    run_queued: UUID
    run_running: UUID
    run_succeeded: UUID
    run_failed: UUID
    run_silent: UUID
    run_unclaimed: UUID


def play_runs(database: Database) -> RunCast:
    """Started and claimed, noted, ended, silent, left in the queue; and a result that came too late."""
    with database.transaction(RUNNER) as tx:
        (unclaimed,) = running.queue(tx, [NewRun(kind="nobody")])
        silent, succeeded = running.start(tx, [DAY, NewRun(kind="export")], owner="ada")
        running.note(tx, succeeded.run_id, succeeded.token, "half of it")
        running.queue(tx, [DAY], owner="eve")
        (failed,) = running.claim(tx, kind="import", limit=1, owner="bob")
    with database.transaction(RUNNER) as tx:
        running.heartbeat(tx, succeeded.run_id, succeeded.token)
        running.finish(
            tx,
            [
                Succeeded(run_id=succeeded.run_id, token=succeeded.token, result={"rows": 3}),
                Failed(run_id=failed.run_id, token=failed.token, message="no", result=1),
            ],
        )
    with database.transaction(Authority.OPERATOR) as tx:
        clock.advance(tx, timedelta(hours=30))
    with database.transaction(RUNNER) as tx:
        for (worker,) in tx.execute("select worker_id from recoup.worker where status = 'running'").fetchall():
            register.beat(tx, worker)
        mine = register.register(tx, name="sweeper", duties=["orphaned-runs"])
    with database.transaction(Authority.ORPHAN_RECOVERY) as tx:
        marked = {one.run_id for one in orphans.sweep(tx, policy.in_force(tx).policy)}
        assert marked == {silent.run_id, unclaimed}
        register.tally(tx, mine, "orphaned-runs", done=len(marked))
    with database.transaction(RUNNER) as tx:
        (late,) = running.finish(tx, [Succeeded(run_id=silent.run_id, token=silent.token)])
        assert late.status == "late"
        (live,) = running.start(tx, [DAY], worker_id=mine)
        running.note(tx, live.run_id, live.token, "begun")
        (queued,) = running.queue(tx, [DAY])
    return RunCast(
        run_queued=queued,
        run_running=live.run_id,
        run_succeeded=succeeded.run_id,
        run_failed=failed.run_id,
        run_silent=silent.run_id,
        run_unclaimed=unclaimed,
    )
