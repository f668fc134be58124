"""Following the logs: failures become matches, and whatever happens to a match's subject, candidate or scope wakes it.

Logs only say where to look; rows decide. A page of a log, what follows from it and its acknowledgement are one
transaction, so nothing is missed and nothing done twice, whatever process dies.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Any
from uuid import UUID, uuid4

from psycopg.rows import dict_row
from psycopg.sql import Composed, Identifier

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.ledger import subscriptions
from recoup.ledger.subscriptions import Log
from recoup.recovery.matches import NewFailure, ingest, ingestible
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.vocabulary import SubjectKind
from recoup.worker.duty import seconds

Q = load("recoup.recovery", "following.sql")
PAGE = 5_000
PASSED = 500  # transactions
MATCHER, EVALUATOR = "matcher", "evaluator"  # names of the subscriptions
Event = dict[str, Any]

ERRORS = Log(table="recoup.error_event", columns=("seq", "event_type", "error_table", "error_id", "to_status"))
INTAKES = Log(table="cl.gate_zero_air", columns=("seq", "entity_id"))
RUNS = Log(table="recovery.run_trace", columns=("seq", "run_id"))
PARTITIONS = Log(table="partitions.partition_event", columns=("seq", "subject", "partition_id"))
DELIVERIES = Log(table="recoup.delivery_event", columns=("seq", "delivery_id"), event="to_status")
CONTROL = Log(table="recoup.control_log", columns=("seq", "subject", "key"))
POLICIES = Log(table="recoup.policy", columns=("seq", "version"), event="actor")
PROVENANCE = Log(
    table="recovery.provenance",
    columns=("seq", "xid", "event_type", "candidate_id", "failure_match_id", "incident_id", "facts"),
)


@dataclass(frozen=True, slots=True)
class Followed:
    """A log that is followed: which events, and what they lead to. Returns how many rows it changed."""

    log: Log
    event_types: tuple[str, ...]
    then: Callable[[Transaction, Sequence[Event]], int]
    at: str = "logged_at"  # the log's column with the time of an event


def follow(tx: Transaction, name: str, followed: Iterable[Followed], *, limit: int = PAGE) -> int:
    """Read the next page of each log under a name, and act on it. Returns how many events were read."""
    read = 0
    for one in followed:
        subscriptions.subscribe(tx, one.log, name)
        page = subscriptions.read(tx, one.log, name, limit=limit, event_types=one.event_types)
        if page.events:
            one.then(tx, page.events)
        # An empty page is acknowledged when it is not the end (after a restore, one may come first), or when much else
        # was passed over: otherwise the same rows would be read again by every poll.
        if page.events or page.passed >= PASSED or not (page.caught_up or page.busy):
            subscriptions.acknowledge(tx, page)
        read += len(page.events)
    return read


def lag(tx: Transaction, name: str, followed: Iterable[Followed]) -> float | None:
    """Seconds that the oldest event has been waiting that a follower of this name has not read; None: none waits."""
    found = [
        waiting
        for one in followed
        if (waiting := seconds(tx, _lag(one), {"name": name, "log": one.log.table, "types": list(one.event_types)}))
    ]
    return max(found, default=None)


def _lag(one: Followed) -> Composed:
    log = Identifier(*one.log.table.split("."))
    return Q["lag"].format(log=log, at=Identifier(one.at), event=Identifier(one.log.event))


# Failures become matches ----------------------------------------------------------------------------------------------


def match_subjects(tx: Transaction, policy: RecoveryPolicy) -> int:
    """Ingest what was parked, exhausted, crashed or given up since, as the matcher."""
    return follow(tx, MATCHER, _matchers(policy))


def match_lag(tx: Transaction) -> float | None:
    """Seconds that the oldest event has been waiting that may become a match; None: none waits."""
    return lag(tx, MATCHER, _matchers(RecoveryPolicy.shipped()))


def _matchers(policy: RecoveryPolicy) -> list[Followed]:
    followed = [
        Followed(
            ERRORS,
            ("RECORDED", "FAILED", "LAPSED", "WINDOW_CLOSED", "PARKED"),
            lambda on, events: _ingested(on, _parked(on, events, policy)),
        ),
    ]
    if policy.subjects.intakes:
        exhausted = lambda on, events: _ingested(on, _exhausted(on, events))  # noqa: E731
        followed.append(Followed(INTAKES, ("EXHAUSTED",), exhausted, "event_timestamp"))
    if policy.subjects.runs:
        followed.append(Followed(RUNS, ("crashed",), lambda on, events: _ingested(on, _crashed(on, events))))
    if policy.subjects.partitions:
        given_up = lambda on, events: _ingested(on, _given_up(on, events))  # noqa: E731
        followed.append(Followed(PARTITIONS, ("terminal_marked",), given_up))
    return followed


def _ingested(tx: Transaction, failures: Sequence[NewFailure]) -> int:
    """Ingest failures of this database. A key that somebody used for something else keeps none from its match."""
    ours = [ingestible(one) for one in failures]
    done = ingest(tx, ours) if ours else []
    differing = [(one, told.failure_match_id) for one, told in zip(ours, done, strict=True) if told.answer == "differs"]
    if differing:
        about: dict[UUID | None, str] = dict(
            tx.execute(Q["subjects_of"], {"ids": [match for _, match in differing]}).fetchall()
        )
        taken = [one for one, match in differing if about.get(match) != f"{one.kind}/{one.ref}"]
        ingest(tx, [replace(one, key=f"{one.kind}/{one.ref}/{uuid4()}") for one in taken])
    return len(done)


def _parked(tx: Transaction, events: Sequence[Event], policy: RecoveryPolicy) -> list[NewFailure]:
    parked = [event for event in events if event["to_status"] == "PARKED"]
    if not parked:
        return []
    given = {"tables": [e["error_table"] for e in parked], "ids": [e["error_id"] for e in parked]}
    reasons = policy.subjects.park_reasons
    return [
        NewFailure(
            source=row["error_table"],
            message=row["error_message"],
            key=f"{row['lineage']}" + (f"/{row['before']}" if row["before"] else ""),
            code=row["error_code"],
            category=row["category"],
            signature=row["error_signature"],
            kind=SubjectKind.ERROR,
            ref=f"{row['error_table']}/{row['lineage']}",
            context={
                "park_reason": row["park_reason"], "outreach_id": row["outreach_id"], "work_key": row["work_key"],
            },
            follows=row["before"],
        )
        for row in _rows(tx, "parked", given)
        if row["park_reason"] in reasons.get(row["error_table"], reasons.get("*", ()))
    ]  # fmt: skip


def _exhausted(tx: Transaction, events: Sequence[Event]) -> list[NewFailure]:
    given = {"keys": [str(event["entity_id"]) for event in events]}
    return [
        NewFailure(
            source="cl.gate_zero_intake",
            message=f"verification failed: {row['failure_reason']}",
            key=row["intake_id"],
            code=row["failure_reason"],
            kind=SubjectKind.INTAKE,
            ref=row["intake_id"],
            context={"company_name": row["company_name"], "batch_id": row["batch_id"]},
        )
        for row in _rows(tx, "exhausted", given)
    ]


def _crashed(tx: Transaction, events: Sequence[Event]) -> list[NewFailure]:
    given = {"keys": [str(event["run_id"]) for event in events]}
    return [
        NewFailure(
            source=row["source"],
            message=f"run crashed: {row['crash_reason']}" + (f": {row['message']}" if row["message"] else ""),
            key=row["run_id"],
            kind=SubjectKind.RUN,
            ref=row["run_id"],
            context={"kind": row["kind"]},
        )
        for row in _rows(tx, "crashed", given)
    ]


def _given_up(tx: Transaction, events: Sequence[Event]) -> list[NewFailure]:
    """Each decision that a partition is terminal is a failure of its own."""
    given = {"ids": [event["partition_id"] for event in events]}
    return [
        NewFailure(
            source=row["source"],
            message=row["error_message"],
            key=f"partition/{row['partition_id']}/{row['terminal_at'].astimezone(UTC).isoformat()}",
            code=row["reason"],
            category=row["category"],
            signature=row["error_signature"],
            kind=SubjectKind.PARTITION,
            ref=str(row["partition_id"]),
            context={
                "customer_id": row["customer_id"], "query_name": row["query_name"],
                "logical_date": row["logical_date"].isoformat(), "attempts": row["attempt_count"],
                "causes": row["terminal_causes"],
            },
            follows=row["before"],
        )
        for row in _rows(tx, "given_up", given)
    ]  # fmt: skip


# Matches are woken ----------------------------------------------------------------------------------------------------


def wake_matches(tx: Transaction) -> int:
    """Make matches due whose subject, candidate or scope changed since, as the evaluator."""
    return follow(tx, EVALUATOR, WAKERS)


def wake_lag(tx: Transaction) -> float | None:
    """Seconds that the oldest event has been waiting that may wake a match; None: none waits."""
    return lag(tx, EVALUATOR, WAKERS)


def wake(tx: Transaction, ids: Iterable[UUID]) -> int:
    """Make open matches due for evaluation now."""
    (count,) = tx.execute(Q["wake"], {"ids": list(ids)}).fetchone() or (0,)
    return int(count)


def _of_errors(tx: Transaction, events: Sequence[Event]) -> int:
    # A retry that failed and is tried again is no end. What is archived keeps its status, so that does not tell.
    told = [e for e in events if e["to_status"] != "RETRY_PENDING" or e["event_type"] not in ("FAILED", "LAPSED")]
    given = {"tables": [e["error_table"] for e in told], "ids": [e["error_id"] for e in told]}
    return _wake(tx, "of_errors", given) if told else 0


def _of_units(kind: str, column: str, also: str | None = None) -> Callable[[Transaction, Sequence[Event]], int]:
    def then(tx: Transaction, events: Sequence[Event]) -> int:
        given = {"keys": [str(event[column]) for event in events], "kind": kind}
        return _wake(tx, "of_units", given) + (_wake(tx, also, given) if also is not None else 0)

    return then


def _of_partitions(tx: Transaction, events: Sequence[Event]) -> int:
    told = [event for event in events if event["subject"] != "run"]  # a verdict is of its partition, too
    return _of_units("partition", "partition_id")(tx, told) if told else 0


def _of_controlled(tx: Transaction, events: Sequence[Event]) -> int:
    """Tasks that ended, breakers that opened or closed, and intakes that a person restarted."""
    tasks = [event["key"] for event in events if event["subject"] == "recovery.task"]
    intakes = [event["key"] for event in events if event["subject"] == "cl.gate_zero_intake"]
    breakers = [event["key"] for event in events if event["subject"] == "recovery.breaker"]
    woken = _wake(tx, "of_units", {"keys": tasks, "kind": "task"}) if tasks else 0
    woken += _wake(tx, "of_units", {"keys": breakers, "kind": "breaker"}) if breakers else 0
    return woken + (_wake(tx, "of_restarted_intakes", {"keys": intakes}) if intakes else 0)


def _of_policies(tx: Transaction, _: Sequence[Event]) -> int:
    """What has lost its action is skipped, and something else is proposed."""
    return _wake(tx, "of_retired_actions", {})


def _of_provenance(tx: Transaction, events: Sequence[Event]) -> int:
    scopes = [e["incident_id"] for e in events if e["event_type"].startswith("scope_")]
    candidates = [
        e for e in events
        if e["candidate_id"] is not None and not (e["event_type"] == "effect_made" and "reported" in (e["facts"] or {}))
    ]  # fmt: skip
    given = {
        "matches": [e["failure_match_id"] for e in candidates], "xids": [str(e["xid"]) for e in candidates],
    }  # fmt: skip
    woken = _wake(tx, "of_candidates", given) if candidates else 0
    return woken + (_wake(tx, "of_scopes", {"incidents": list(set(scopes))}) if scopes else 0)


WAKERS = (
    Followed(
        ERRORS,
        (
            "SUCCEEDED", "FAILED", "LAPSED", "WINDOW_CLOSED", "PARKED", "UNPARKED", "RESOLVED", "CLEARED", "SUPERSEDED",
            "EXPIRED", "RETIRED", "ARCHIVED",
        ),
        _of_errors,
    ),
    Followed(
        INTAKES, ("AUTH", "EXHAUSTED"), _of_units("intake", "entity_id", "of_restarted_intakes"), "event_timestamp"
    ),
    Followed(RUNS, ("queued", "succeeded", "failed", "crashed"), _of_units("run", "run_id", "of_retried_runs")),
    Followed(
        PARTITIONS, ("accepted", "terminal_marked", "terminal_marked_too", "terminal_lifted"), _of_partitions
    ),
    Followed(DELIVERIES, ("delivered", "dead"), _of_units("delivery", "delivery_id", "of_fallbacks")),
    Followed(CONTROL, ("BIRTH", "MOVE"), _of_controlled),
    Followed(POLICIES, ("system", "ai", "human"), _of_policies, "applied_at"),
    Followed(
        PROVENANCE,
        (
            "approved", "rejected", "effect_made", "success", "failure", "rolled_back", "skipped", "scope_opened",
            "scope_exhausted", "scope_expired", "scope_revoked",
        ),
        _of_provenance,
    ),
)  # fmt: skip


def _wake(tx: Transaction, query: str, given: dict[str, Any]) -> int:
    ids = {row[0] for row in tx.execute(Q[query], given, prepare=False)}
    return wake(tx, sorted(ids)) if ids else 0


def _rows(tx: Transaction, query: str, given: dict[str, Any]) -> list[dict[str, Any]]:
    with tx.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(Q[query], given, prepare=False).fetchall()


# Scopes and incidents end with time -----------------------------------------------------------------------------------


def expire_scopes(tx: Transaction, *, limit: int = 1000, only: UUID | None = None) -> int:
    """Expire scopes whose time has passed, as scoped execution."""
    return tx.execute(Q["expire_scopes"], {"limit": limit, "only": only}).rowcount


def expired_scopes(tx: Transaction, *, limit: int = 1000) -> list[UUID]:
    """Scopes whose time has passed and that are still active, longest first."""
    return [row[0] for row in tx.execute(Q["expired_scopes"], {"limit": limit})]


def scope_lag(tx: Transaction) -> float | None:
    """Seconds since the oldest expired scope should have ended; None: there is none."""
    return seconds(tx, Q["scope_lag"])


def quiet_lag(tx: Transaction) -> float | None:
    """Seconds that the oldest quiet incident has been waiting to be closed; None: none waits."""
    return seconds(tx, Q["quiet_lag"])


def close_incidents(tx: Transaction, policy: RecoveryPolicy, *, limit: int = 100) -> int:
    """Close incidents that have been quiet, as the evaluator."""
    asked = {"hours": policy.incident_quiet_hours, "limit": limit}
    ids = [row[0] for row in tx.execute(Q["hold_quiet"], asked)]
    return tx.execute(Q["close_quiet"], {"ids": ids, "hours": policy.incident_quiet_hours}).rowcount if ids else 0
