"""Errors: recorded with signature and decision, claimed and retried in sets, moved to the archive."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import repeat
from typing import Any

from psycopg.sql import SQL, Identifier

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors.archive import sweep
from recoup.errors.decision import decide
from recoup.errors.policy import ErrorPolicy
from recoup.errors.recording import NewError, Recorded, record
from recoup.errors.redaction import redacted
from recoup.errors.retrying import Claimed, Ended, Failed, Succeeded, claim, finish
from recoup.errors.vocabulary import Severity
from recoup.lifecycles.declaration import Authority
from recoup.signatures import category, signature
from recoup_bench.ground import WORKER, Domain, Ground
from recoup_bench.measure import Timed
from recoup_bench.workload import Bound, Size, Stage, Stopwatch, Trial, Workload, batched, small

Q = load("recoup_bench", "errors.sql")
FAILURE = "the upstream service answered 503"
POLICY = ErrorPolicy.shipped()  # what a scratch database goes by
BLOCKING = ["outreach.dol_errors", "outreach.company_target_errors", "people.people_errors"]
FILLED = ("recoup.error", "recoup.error_event")  # through the parent, so that the triggers of partitions do not run
RETRIED = [name for name, table in POLICY.tables.items() if "RETRY" in table.allowed]
SWEPT = "outreach.dol_errors"  # the first of the policy, so that a sweep finds enough in it and looks no further
# To be retried soon, with a payload; to be retried later; parked; kept for the archive.
KINDS: tuple[tuple[str, str | None, Severity | None, str], ...] = (
    ("outreach.dol_errors", "EIN_TIMEOUT", Severity.HIGH,
     "GET https://filings.example/v1/ein/{n:09}?page=2 timed out after {n} ms (request {entity})"),
    ("outreach.company_target_errors", "DOMAIN_NOT_FOUND", None,
     "No domain found for 'Company {n}' in 3 directories (company {entity})"),
    ("people.people_errors", "MISSING_NAME", None, "Row {n} of /imports/people-{file}.csv: first name missing"),
    ("company.url_discovery_failures", None, Severity.LOW,
     "HTTP 503 from www.company-{n}.example: Service Unavailable"),
)  # fmt: skip


ERRORS = Domain(
    schema="recoup",
    tables=("error", "error_event", "error_archive"),
    tally=Q["tally"],
    new="error_id > %(after)s order by error_id",
)


@contextlib.contextmanager
def filling(ground: Ground, *, lean: bool = False) -> Iterator[Transaction]:
    """A transaction in which errors are put into ours by plain SQL. Lean: millions of them, and no WAL."""
    with ground.unguarded(FILLED) as tx:
        parts = tx.execute(Q["partitions"]).fetchall() if lean else []
        for schema, table in parts:
            tx.execute(SQL("alter table {} set unlogged").format(Identifier(schema, table)))
            # An index that is not ready is not written to; it is built at the end, at once.
            tx.execute(Q["rest_indexes"], {"table": f"{schema}.{table}"})
        yield tx
        for schema, table in parts:
            tx.execute(SQL("reindex table {}").format(Identifier(schema, table)))


def fill(ground: Ground, query: SQL, **given: Any) -> None:
    """Put errors into ours, with the events of their births, and copy them to raw in the same order."""
    (last,) = ground.admin.execute(Q["last_error"]).fetchone() or (0,)
    with filling(ground) as tx:
        tx.execute(query, given)
        tx.execute(Q["fill_births"], {"after": last})
    ground.copy(ERRORS, {"after": last})
    ground.tidy(ERRORS)


def new_errors(trial: Trial) -> Stage:
    """Errors of entities that had none, each with its row for raw, which is given what ours has to work out."""
    while True:
        errors = [new_error(number) for number in range(trial.units)]
        trial.ground.tidy(ERRORS)
        yield [(error, _row(error)) for error in errors]


def new_error(number: int) -> NewError:
    """One of four kinds in turn."""
    table, code, severity, says = KINDS[number % 4]
    entity = uuid.uuid4()
    payload = {"ein": f"{number:09}", "page": 2, "api_key": "abc", "answers": [{"code": 504, "ms": number}]}
    return NewError(
        table=table, outreach_id=entity, code=code, severity=severity, payload=None if number % 4 else payload,
        message=says.format(n=number, entity=entity, file=number % 50),
    )  # fmt: skip


def _row(error: NewError) -> dict[str, Any]:
    kind = category(error.message, error.code)
    made = decide(POLICY, error.table, severity=error.severity, category=kind, code=error.code)
    return {
        "table": error.table, "outreach_id": error.outreach_id, "code": error.code, "message": error.message,
        "signature": signature(error.message, error.code).key, "severity": error.severity, "category": kind,
        "payload": None if error.payload is None else json.dumps(redacted(error.payload, POLICY.redact_keys)),
        "days": made.ttl and made.ttl.days, "hours": POLICY.retry[kind].window_hours, **made._asdict(),
    }  # fmt: skip


def recorded(ground: Ground, errors: Sequence[tuple[NewError, Any]]) -> list[Recorded]:
    with ground.ours.transaction(Authority.HUB) as tx:
        return record(tx, [error for error, _ in errors])


def raw_recorded(ground: Ground, errors: Sequence[tuple[Any, dict[str, Any]]]) -> list[Any]:
    columns = zip(*(row.values() for _, row in errors), strict=True)
    return ground.by_hand(Q["record"], **dict(zip(errors[0][1], map(list, columns), strict=True)))


def due_errors(trial: Trial) -> Stage:
    """Errors that are due; a fifth of them has one retry left."""
    while True:
        fill(trial.ground, Q["fill_due"], tables=BLOCKING, rows=trial.units, due=trial.units, last=2)
        yield range(trial.units)


def waiting_errors(trial: Trial) -> Stage:
    """Errors that wait, and at the front as many due ones as all rounds claim."""
    due = (trial.size.rounds + trial.size.warm_ups) * trial.units
    fill(trial.ground, Q["fill_due"], tables=BLOCKING, rows=trial.size.standing + due, due=due, last=0)
    yield from repeat(range(trial.units))


def claimed(ground: Ground, batch: Sequence[Any]) -> list[Claimed]:
    with ground.ours.transaction(Authority.ERROR_WORKER) as tx:
        return claim(tx, limit=len(batch), worker=WORKER)


def ended(ground: Ground, claims: Sequence[Claimed], *, failing: bool) -> list[Ended]:
    """Every second retry fails, or none."""
    outcomes = [_outcome(one, failing and one.error_id % 2 == 0) for one in claims]
    with ground.ours.transaction(Authority.ERROR_WORKER) as tx:
        return finish(tx, outcomes)


def _outcome(one: Claimed, failed: bool) -> Succeeded | Failed:
    if failed:
        return Failed(error_table=one.error_table, error_id=one.error_id, token=one.token, failure=FAILURE)
    return Succeeded(error_table=one.error_table, error_id=one.error_id, token=one.token)


def raw_claimed(ground: Ground, batch: Sequence[Any]) -> list[Any]:
    """Rows of errors: table, id and token first."""
    return ground.by_hand(Q["claim"], limit=len(batch), tables=RETRIED)


def raw_ended(ground: Ground, claims: Sequence[Any], *, failing: bool) -> list[Any]:
    failed = [failing and row[1] % 2 == 0 for row in claims]
    return ground.by_hand(
        Q["finish"],
        tables=[row[0] for row in claims],
        ids=[row[1] for row in claims],
        tokens=[row[2] for row in claims],
        outcomes=["FAILED" if one else "SUCCEEDED" for one in failed],
        failures=[FAILURE if one else None for one in failed],
    )


def half_beside_none(trial: Trial) -> Timed:
    """Ours alone: sets of which half fail and sets of which none does, in turns."""
    half, none, units = Stopwatch(), Stopwatch(), 0
    for number, batch in enumerate(trial.batches()):
        with half if number % 2 else none:
            units += len(ended(trial.ground, claimed(trial.ground, batch), failing=bool(number % 2)))
    figures = {"half_failing_to_none": half.seconds / none.seconds}
    return Timed(units=units, seconds=half.seconds + none.seconds, figures=figures)


def leaving_errors(trial: Trial) -> Stage:
    """Errors of one table, of which half is resolved and half has expired."""
    trial.ground.admin.execute(Q["make_archive"])
    while True:
        fill(trial.ground, Q["fill_leaving"], table=SWEPT, rows=trial.units)
        yield range(trial.units)


def archived(ground: Ground, batch: Sequence[Any]) -> int:
    with ground.ours.transaction(Authority.ARCHIVER) as tx:
        return sweep(tx, limit=len(batch)).gone


def raw_archived(ground: Ground, batch: Sequence[Any]) -> int:
    ((gone,),) = ground.by_hand(Q["archive"], table=SWEPT, limit=len(batch))
    return int(gone)


RECORD = Workload(
    name="record-1000", says="record errors of four tables, 1000 a transaction, with signature and decision",
    unit="errors", k=1000, stage=new_errors, twins=ERRORS, goal=0.4, ours=batched(recorded), raw=batched(raw_recorded),
    full=Size(batches=5), quick=small(batches=2),
)  # fmt: skip
RETRY = Workload(
    name="retry-100", says="claim due errors and end their retries, 100 a transaction, half of them failing",
    unit="retries", k=100, stage=due_errors, twins=ERRORS, goal=0.6,
    ours=batched(claimed, partial(ended, failing=True)), raw=batched(raw_claimed, partial(raw_ended, failing=True)),
    full=Size(batches=20), quick=small(batches=10),
)  # fmt: skip
FAILING = Workload(
    name="retry-100-failing",
    says="the same, sets of which half fail beside sets of which none does: what failing costs",
    unit="retries", k=100, stage=due_errors, ours=half_beside_none,
    full=Size(batches=40), quick=small(batches=20), bound=Bound(figure="half_failing_to_none", most=1.2),
)  # fmt: skip
# What a claim took succeeds before the next one: each finds its rows at the front, as in daily work.
CLAIM = Workload(
    name="claim-errors-1m", says="claim due errors, 100 a transaction, while 1,000,000 others wait",
    unit="claims", k=100, stage=waiting_errors, twins=ERRORS, goal=0.85,
    ours=batched(claimed, then=partial(ended, failing=False)),
    raw=batched(raw_claimed, then=partial(raw_ended, failing=False)),
    full=Size(batches=10, standing=1_000_000), quick=small(batches=10, standing=50_000),
)  # fmt: skip
ARCHIVE = Workload(
    name="archive-1000", says="archive errors, 1000 a transaction, half of them resolved and half expired",
    unit="errors", k=1000, stage=leaving_errors, twins=ERRORS, goal=0.5, ours=batched(archived),
    raw=batched(raw_archived), full=Size(batches=10), quick=small(batches=4),
)  # fmt: skip
