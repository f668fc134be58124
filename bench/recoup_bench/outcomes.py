"""Outcomes written in sets, as a verification has them: passes, failures, re-entries and last failures mixed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple
from uuid import UUID

from recoup import gate
from recoup.database.queries import load
from recoup.gate import Failed, Passed
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup_bench.ground import ACTOR, TABLES, Ground
from recoup_bench.measure import Timed
from recoup_bench.moves import sliced
from recoup_bench.tally import tally
from recoup_bench.workload import OURS, RAW, Size, Stopwatch, Trial, Workload

Q = load("recoup_bench", "outcomes.sql")
K = 200
MIX = 20  # the shares repeat after so many, as outcomes.sql makes them
PASSES = frozenset({*range(10), 15, 16})
REASON = ReasonCode.STATE_MISMATCH
EVIDENCE = "check:state the directory says Texas"


class Report(NamedTuple):
    """An open attempt, and what is to be said of it: a reason, or None when it passed."""

    attempt_id: UUID
    token: UUID
    reason_code: ReasonCode | None


class Outcomes(Trial):
    """Both sides end copies of the same open attempts, of one import batch a round."""

    def __init__(self, ground: Ground, size: Size) -> None:
        self.ground, self.size = ground, size
        self.round = 0
        self.reports: list[Report] = []
        ground.twin_tables()

    def prepare(self) -> None:
        self.round += 1
        batch_id = f"round-{self.round}"
        given = {"batch_id": batch_id, "rows": self.size.batches * K}
        with self.ground.unguarded() as tx:
            for part in ("batch", "intakes", "attempts", "recoveries", "events"):
                tx.execute(Q[f"fill_{part}"], given)
        for table in TABLES:
            self.ground.copy_to_raw(table, batch_id=batch_id)
        self.ground.tidy()
        self.reports = [
            Report(attempt_id, token, None if place % MIX in PASSES else REASON)
            for place, (attempt_id, token) in enumerate(self.ground.admin.execute(Q["open_attempts"], given))
        ]

    def variants(self) -> Mapping[str, Callable[[], Timed]]:
        return {OURS: self.ours, RAW: self.raw}

    def ours(self) -> Timed:
        with Stopwatch() as watch:
            for reports in sliced(self.reports, K):
                with self.ground.ours.transaction(Authority.GATE) as tx:
                    gate.finish_attempts(tx, [_outcome(report) for report in reports])
        return Timed(units=len(self.reports), seconds=watch.seconds)

    def raw(self) -> Timed:
        with Stopwatch() as watch:
            for reports in sliced(self.reports, K):
                given = {
                    "attempts": [report.attempt_id for report in reports],
                    "tokens": [report.token for report in reports],
                    "reasons": [report.reason_code for report in reports],
                    "payloads": [EVIDENCE] * len(reports),
                    "actor": ACTOR,
                }
                self.ground.raw.execute(Q["finish"], given).fetchall()
        return Timed(units=len(self.reports), seconds=watch.seconds)

    def tallies(self) -> Mapping[str, Mapping[str, int]]:
        return {OURS: tally(self.ground.admin, "cl"), RAW: tally(self.ground.admin, "raw")}


def _outcome(report: Report) -> Passed | Failed:
    if report.reason_code is None:
        return Passed(attempt_id=report.attempt_id, token=report.token, payload_ref=EVIDENCE)
    return Failed(
        attempt_id=report.attempt_id, token=report.token, reason_code=report.reason_code, payload_ref=EVIDENCE
    )


WORKLOADS = (
    Workload(
        name="outcomes",
        says=f"write outcomes, {K} a transaction: passes, failures, re-entries and last failures",
        unit="outcomes",
        begin=Outcomes,
        full=Size(batches=10, rounds=25),
        quick=Size(batches=5, rounds=5, warm_ups=1),
        goal=0.5,
    ),
)
