"""Errors: recorded with signature and decision, and moved to the archive."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from psycopg.sql import SQL, Identifier

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors.archive import sweep
from recoup.errors.decision import decide
from recoup.errors.policy import ErrorPolicy
from recoup.errors.recording import NewError, Recorded, record
from recoup.errors.vocabulary import Severity
from recoup.lifecycles.declaration import Authority
from recoup.redaction import redacted
from recoup.signatures import category, read, signature
from recoup_bench.ground import Ground, Twins
from recoup_bench.measure import Timed
from recoup_bench.workload import Aim, Size, Stage, Stopwatch, Trial, Workload, batched, of_raw, small

Q = load("recoup_bench", "errors.sql")
POLICY = ErrorPolicy.shipped()  # the policy of a scratch database
BLOCKING = ["outreach.dol_errors", "outreach.company_target_errors", "people.people_errors"]
FILLED = (
    "recoup.error",
    "recoup.error_event",
    "recoup.error_queue",
)  # through the parent, so that the triggers of partitions do not run
SWEPT = "outreach.dol_errors"  # the first of the policy, so that a sweep finds enough in it and stops there
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


ERRORS = Twins(
    schema="recoup",
    tables=("error", "error_event", "error_archive"),
    tally=Q["tally"],
    more=Q["raw_more"],
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
    """Insert errors into ours, with the events of their births, and copy them to raw in the same order."""
    (last,) = ground.admin.execute(Q["last_error"]).fetchone() or (0,)
    with filling(ground) as tx:
        tx.execute(query, given)
        tx.execute(Q["fill_births"], {"after": last})
        tx.execute(Q["fill_queue"], {"after": last})
    ground.copy(ERRORS, {"after": last})
    ground.tidy(ERRORS)
    ground.admin.execute("vacuum (analyze) recoup.error_queue")


def new_errors(trial: Trial, *, plain: bool = False) -> Stage:
    """Errors of entities that had none, each with its row for raw, which gets what ours has to compute.

    Plain: the category is given to ours too.
    """
    while True:
        errors = [new_error(number) for number in range(trial.units)]
        if plain:
            errors = [replace(error, category=category(error.message, error.code)) for error in errors]
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


def recorded_plain(trial: Trial) -> Timed:
    """Ours without its signatures: an error cannot be given one, so each is made once more and subtracted."""
    whole, signing = Stopwatch(), Stopwatch()
    for batch in trial.batches():
        with whole:
            recorded(trial.ground, batch)
        with signing:
            for error, _ in batch:
                read(error.message, error.code)
    metrics = whole.metrics(trial.units)
    metrics["signing_us"] = signing.busy_s / trial.units * 1e6
    metrics["client_us"] -= metrics["signing_us"]
    return Timed(units=trial.units, seconds=whole.seconds - signing.busy_s, metrics=metrics)


def raw_recorded(ground: Ground, errors: Sequence[tuple[Any, dict[str, Any]]]) -> list[Any]:
    columns = zip(*(row.values() for _, row in errors), strict=True)
    return ground.by_hand(Q["record"], **dict(zip(errors[0][1], map(list, columns), strict=True)))


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
    name="record-1000", description="record errors of four tables, 1000 a transaction, with signature and decision",
    unit="errors", k=1000, stage=new_errors, twins=ERRORS, aims=(of_raw(0.4), Aim(metric="per_second", least=14_000)),
    ours=batched(recorded), raw=batched(raw_recorded), weighed=True, full=Size(batches=5), quick=small(batches=2),
)  # fmt: skip
PLAIN = Workload(
    name="record-1000-plain",
    description="the same with the category given, without the time for signatures, which is measured separately",
    unit="errors", k=1000, stage=partial(new_errors, plain=True), twins=ERRORS, ours=recorded_plain,
    raw=batched(raw_recorded), aims=(Aim(metric="per_second", least=20_000),), full=Size(batches=5),
    quick=small(batches=2),
)  # fmt: skip
ARCHIVE = Workload(
    name="archive-1000", description="archive errors, 1000 a transaction, half of them resolved and half expired",
    unit="errors", k=1000, stage=leaving_errors, twins=ERRORS, aims=(of_raw(0.5),), ours=batched(archived),
    raw=batched(raw_archived), full=Size(batches=10), quick=small(batches=4),
)  # fmt: skip
