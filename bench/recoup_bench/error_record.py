"""Errors recorded in batches: each with its signature and its decision, over four tables."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from recoup.database.queries import load
from recoup.errors.decision import decide
from recoup.errors.recording import NewError, record
from recoup.errors.redaction import redacted
from recoup.errors.vocabulary import Severity
from recoup.lifecycles.declaration import Authority
from recoup.policy.errors import Errors
from recoup.signatures import category, signature
from recoup_bench import error_ground
from recoup_bench.ground import ACTOR, Ground
from recoup_bench.measure import Timed
from recoup_bench.moves import sliced
from recoup_bench.workload import OURS, RAW, Size, Stopwatch, Trial, Workload

Q = load("recoup_bench", "error_record.sql")
K = 1000


class Record(Trial):
    """Both sides get the same errors, of entities that had none. Raw is given what ours has to work out."""

    def __init__(self, ground: Ground, size: Size) -> None:
        self.ground, self.size = ground, size
        self.policy = error_ground.policy()
        self.errors: list[NewError] = []
        self.rows: list[tuple[Any, ...]] = []
        error_ground.twin_tables(ground)

    def prepare(self) -> None:
        self.errors = [new_error(number) for number in range(self.size.batches * K)]
        self.rows = [_row(self.policy, error) for error in self.errors]
        error_ground.tidy(self.ground)

    def variants(self) -> Mapping[str, Callable[[], Timed]]:
        return {OURS: self.ours, RAW: self.raw}

    def ours(self) -> Timed:
        with Stopwatch() as watch:
            for errors in sliced(self.errors, K):
                with self.ground.ours.transaction(Authority.HUB) as tx:
                    record(tx, errors)
        return Timed(units=len(self.errors), seconds=watch.seconds)

    def raw(self) -> Timed:
        with Stopwatch() as watch:
            for rows in sliced(self.rows, K):
                self.ground.raw.execute(Q["record"], _arrays(rows)).fetchall()
        return Timed(units=len(self.rows), seconds=watch.seconds)

    def tallies(self) -> Mapping[str, Mapping[str, int]]:
        return error_ground.tallies(self.ground)


def new_error(number: int) -> NewError:
    """One of four kinds: to be retried soon, with a payload; to be retried later; parked; kept for the archive."""
    entity = uuid.uuid4()
    match number % 4:
        case 0:
            return NewError(
                table="outreach.dol_errors", outreach_id=entity, code="EIN_TIMEOUT", severity=Severity.HIGH,
                message=f"GET https://filings.example/v1/ein/{number:09}?page=2 timed out after {100 + number} ms"
                f" (request {entity})",
                payload={"ein": f"{number:09}", "page": 2, "api_key": "abc", "answers": [{"code": 504, "ms": number}]},
            )  # fmt: skip
        case 1:
            return NewError(
                table="outreach.company_target_errors", outreach_id=entity, code="DOMAIN_NOT_FOUND",
                message=f"No domain found for 'Company {number}' in 3 directories (company {entity})",
            )  # fmt: skip
        case 2:
            return NewError(
                table="people.people_errors", outreach_id=entity, code="MISSING_NAME",
                message=f"Row {number} of /imports/people-{number % 50}.csv: first name missing",
            )  # fmt: skip
        case _:
            return NewError(
                table="company.url_discovery_failures", outreach_id=entity, severity=Severity.LOW,
                message=f"HTTP 503 from www.company-{number}.example: Service Unavailable",
            )  # fmt: skip


COLUMNS = (
    "tables", "entities", "codes", "messages", "signatures", "severities", "categories", "dispositions", "statuses",
    "tiers", "days", "budgets", "waits", "windows", "park_reasons", "payloads", "deciders", "clamps",
)  # fmt: skip


def _row(policy: Errors, error: NewError) -> tuple[Any, ...]:
    kind = category(error.message, error.code)
    made = decide(policy, error.table, severity=error.severity, category=kind, code=error.code)
    payload = None if error.payload is None else json.dumps(redacted(error.payload, policy.redact_keys))
    return (
        error.table, error.outreach_id, error.code, error.message, signature(error.message, error.code).key,
        error.severity, kind, made.disposition, made.status, made.ttl_tier, made.ttl and made.ttl.days,
        made.max_retries, made.retry_after, policy.retry[kind.value].window_hours, made.park_reason, payload,
        made.decided_by, made.clamped_from,
    )  # fmt: skip


def _arrays(rows: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    return {
        "actor": ACTOR,
        **{name: list(column) for name, column in zip(COLUMNS, zip(*rows, strict=True), strict=True)},
    }


WORKLOADS = (
    Workload(
        name=f"record-{K}",
        says=f"record errors of four tables, {K} a transaction, with signature and decision",
        unit="errors",
        begin=Record,
        full=Size(batches=5, rounds=25),
        quick=Size(batches=2, rounds=5, warm_ups=1),
        goal=0.4,
    ),
)
