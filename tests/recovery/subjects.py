"""Things in this database that failed, to recover from."""

from __future__ import annotations

import uuid
from uuid import UUID

import company
from recoup.lifecycles.declaration import Authority
from recoup.runs import NewRun, running
from recovery.stage import Stage

CRASH = (
    "update recovery.run set status = 'crashed', crash_reason = 'silent', finished_at = recoup.now() where run_id = %s"
)


def crashed_run(stage: Stage) -> UUID:
    with stage.db.transaction(Authority.RUNNER) as tx:
        (run,) = running.start(tx, [NewRun(kind=f"import-{uuid.uuid4().hex[:8]}", input={"day": 1})])
    crash(stage, run.run_id)
    return run.run_id


def crash(stage: Stage, run: UUID) -> None:
    stage.advance(hours=1)
    with stage.db.transaction(Authority.ORPHAN_RECOVERY) as tx:
        assert tx.execute(CRASH, (run,)).rowcount == 1


def exhausted_intake(stage: Stage) -> UUID:
    with stage.db.transaction(Authority.READER) as tx:
        return company.failed_intake(tx, times=3)
