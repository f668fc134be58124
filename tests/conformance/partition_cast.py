"""The rows of partitions: how each comes into a status, and what a statement says to move it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import extraction
from company import advance
from conformance.cast import Actor, Role
from extraction import dispatched, failed, lost, new_partition, partition_in, released, run_in, schedule_in
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.partitions.lifecycle import PARTITION, RUN, SCHEDULE, SINK

CONTROL_PLANE, EXTRACTOR, VALIDATOR = Authority.CONTROL_PLANE, Authority.EXTRACTOR, Authority.VALIDATOR
NOW = "(select recoup.now() as now_) t"

# Partitions -----------------------------------------------------------------------------------------------------------

PARTITION_ROW = (
    "({more}source, customer_id, query_name, logical_date, created_at, updated_at)"
    f" select {{values}}'to come', gen_random_uuid()::text, 'q', '2026-01-01', now_, now_ from {NOW}"
)
PARTITION_CHANGE = {
    "pending": "status = 'pending', current_run_id = null, updated_at = t.now_",
    "success": "status = 'success', current_run_id = coalesce(current_run_id, gen_random_uuid()),"
    " attempt_count = attempt_count + 1, error_message = null, updated_at = t.now_",
    "failed": "status = 'failed', current_run_id = null, attempt_count = attempt_count + 1, error_message = 'm',"
    " updated_at = t.now_",
}


def schedules_to_come(tx: Transaction) -> dict[str, Any]:
    """A partition is born with its schedule; here those of the next ones are there already."""
    tx.execute("alter table partitions.schedule disable trigger all")
    tx.execute(
        "insert into partitions.schedule (partition_id, source, query_name, lane, next_run_at, backoff_strategy,"
        " first_enqueued_at, updated_at)"
        " select s.last_value + n, 'to come', 'q', 'fresh', t.now_, 'none', t.now_, t.now_"
        f" from partitions.partition_seq s, generate_series(0, 200) n, {NOW}"
    )
    return {}


def without_pointer(tx: Transaction) -> None:
    """The reference would answer before the guard."""
    tx.execute("alter table partitions.partition_state drop constraint partition_state_accepted")


def partition_change(actor: Actor, source: str, target: str) -> str:
    """What the executor may write is less: its step is the consequence of a candidate."""
    requeued = actor is Authority.EXECUTOR and (source, target) == ("failed", "pending")
    return "status = 'pending', updated_at = t.now_" if requeued else PARTITION_CHANGE[target]


# Runs -----------------------------------------------------------------------------------------------------------------

RUN_ROW = (
    "({more}partition_id, number, lane, pool, reprocesses, worker, token, policy_version, opened_at, dispatched_at,"
    " updated_at) select {values}%(partition)s, 1, 'fresh', 'default', false, 'w', gen_random_uuid(),"
    f" recoup.policy_version(), now_, now_, now_ from {NOW}"
)
PUBLISHED = (
    "sink_id = gen_random_uuid(), location = 'run_id=' || run_id, manifest_digest = repeat('a', 64),"
    " format = 'jsonl', rows = 1, bytes = 2, published_at = t.now_"
)
KEPT = (
    "published_at = coalesce(published_at, t.now_), sink_id = coalesce(sink_id, gen_random_uuid()),"
    " location = coalesce(location, 'run_id=' || run_id), manifest_digest = coalesce(manifest_digest, repeat('a', 64)),"
    " format = coalesce(format, 'jsonl'), rows = coalesce(rows, 1), bytes = coalesce(bytes, 2)"
)
NOT_PUBLISHED = (
    "sink_id = null, location = null, manifest_digest = null, format = null, rows = null, bytes = null,"
    " published_at = null"
)
SILENT = "reason = null, rule = null, message = null, error_signature = null, category = null"
NOT_ENDED = (
    "ended_at = null, ended_with = null, validator = null, validator_version = null, contract_digest = null,"
    f" {SILENT}, lease_until = t.now_ + interval '1 minute'"
)
ENDED = "ended_at = t.now_, lease_until = null, updated_at = t.now_"
SAID = "reason = 'CONTRACT_BROKEN', message = 'm', error_signature = 's', category = 'TRANSIENT'"
RUN_CHANGE = {
    "open": f"status = 'open', {NOT_PUBLISHED}, {NOT_ENDED}, updated_at = t.now_",
    "published": f"status = 'published', {KEPT}, {NOT_ENDED}, updated_at = t.now_",
    "accepted": f"status = 'accepted', {KEPT}, {SILENT}, {ENDED}",
    "rejected": f"status = 'rejected', {KEPT}, {SAID}, {ENDED}",
    "lost": "status = 'lost', reason = 'R', message = 'm', rule = null, error_signature = null, category = null,"
    f" validator = null, validator_version = null, contract_digest = null, ended_with = null, {ENDED}",
}
EXTENDED = "lease_until = lease_until + interval '1 minute', updated_at = t.now_"
STARTED = "started_with = token, updated_at = t.now_"
LOST = f"status = 'lost', reason = 'EXTRACTOR_ERROR', message = 'm', {ENDED}"
# What the authority of each step writes.
RUN_LISTED = {
    (EXTRACTOR, "open", "open"): STARTED,
    (CONTROL_PLANE, "open", "open"): EXTENDED,
    (EXTRACTOR, "open", "published"): f"status = 'published', {PUBLISHED}, updated_at = t.now_",
    (CONTROL_PLANE, "open", "lost"): LOST,
    (VALIDATOR, "open", "rejected"): "status = 'rejected', reason = 'NOTHING_TO_VALIDATE', message = 'm',"
    f" error_signature = 's', category = 'TRANSIENT', {ENDED}",
    (CONTROL_PLANE, "published", "published"): EXTENDED,
    (VALIDATOR, "published", "published"): STARTED,
    (CONTROL_PLANE, "published", "lost"): LOST,
    (VALIDATOR, "published", "accepted"): f"status = 'accepted', ended_with = token, {ENDED}",
    (VALIDATOR, "published", "rejected"): f"status = 'rejected', ended_with = token, {SAID}, {ENDED}",
}


def run_change(actor: Actor, source: str, target: str) -> str:
    if isinstance(actor, Authority) and (actor, source, target) in RUN_LISTED:
        return RUN_LISTED[actor, source, target]
    return RUN_CHANGE[target]


def validated_again(tx: Transaction) -> Any:
    """Dispatched to be validated again, and not started yet."""
    return dispatched(tx, released(tx), starts=False).run_id


# Schedules ------------------------------------------------------------------------------------------------------------

SCHEDULE_ROW = (
    "({more}partition_id, source, query_name, lane, next_run_at, backoff_strategy, first_enqueued_at, updated_at)"
    f" select {{values}}%(partition)s, %(source)s, 'orders', 'fresh', {{next}}, 'none', now_, now_ from {NOW}"
)
ASKED = "requested_at = t.now_, requested_by = recoup.acting_id()"
FREE = "hold = null, held_at = null, terminal_causes = null, terminal_at = null, terminal_policy = null"
MARKED = (
    "status = 'terminal', terminal_causes = '{MARKED}', terminal_at = t.now_,"
    " terminal_policy = recoup.policy_version(), next_run_at = null, hold = null, held_at = null,"
    f" {ASKED}, updated_at = t.now_"
)
WAITING = f"status = 'waiting', next_run_at = t.now_, {FREE}, updated_at = t.now_"
HELD = (
    "status = 'held', hold = coalesce(hold, 'PAUSED'), held_at = coalesce(held_at, t.now_), next_run_at = null,"
    " terminal_causes = null, terminal_at = null, terminal_policy = null, updated_at = t.now_"
)
IDLE = f"status = 'idle', next_run_at = null, {FREE}, reprocesses = false, updated_at = t.now_"
SCHEDULE_CHANGE = {
    "waiting": WAITING,
    "open": f"status = 'open', run_id = coalesce(run_id, gen_random_uuid()), next_run_at = null, {FREE},"
    " updated_at = t.now_",
    "held": HELD,
    "terminal": MARKED,
    "idle": IDLE,
}
SCHEDULE_LISTED = {
    ("waiting", "waiting"): "lane = 'backfill', updated_at = t.now_",
    ("open", "waiting"): f"{WAITING}, run_id = null, dispatches = dispatches + 1",
    ("open", "held"): f"{HELD}, run_id = null, dispatches = dispatches + 1",
    ("open", "terminal"): f"{MARKED}, attempts_seen = 1",
    ("open", "idle"): f"{IDLE}, attempts_seen = 1",
    ("held", "waiting"): f"{WAITING}, {ASKED}",
    ("held", "held"): "priority = 3, updated_at = t.now_",
    ("terminal", "terminal"): "priority = 3, updated_at = t.now_",
    ("terminal", "waiting"): f"{WAITING}, {ASKED}, granted_attempts = granted_attempts + 1, aged_from = null",
    ("idle", "waiting"): f"{WAITING}, {ASKED}, reprocesses = true",
}


# The executor's, as the consequence of a candidate.
LIFTED = "terminal_causes = null, terminal_at = null, terminal_policy = null, granted_attempts = granted_attempts + 1"
SCHEDULE_REQUESTED = {
    ("terminal", "waiting"): f"status = 'waiting', next_run_at = t.now_, {LIFTED}, {ASKED}, aged_from = null,"
    " updated_at = t.now_",
    ("terminal", "terminal"): "candidate_id = gen_random_uuid(), updated_at = t.now_",
}


def schedule_change(actor: Actor, source: str, target: str) -> str:
    if actor is Authority.EXECUTOR and (source, target) in SCHEDULE_REQUESTED:
        return SCHEDULE_REQUESTED[source, target]
    return SCHEDULE_LISTED.get((source, target), SCHEDULE_CHANGE[target])


def partition_without_schedule(tx: Transaction) -> dict[str, Any]:
    """A schedule is born with its partition; here the partition is there already."""
    tx.execute("alter table partitions.partition_state disable trigger all")
    (partition,) = tx.execute(
        "insert into partitions.partition_state (source, customer_id, query_name, logical_date, created_at, updated_at)"
        f" select gen_random_uuid()::text, 'c', 'orders', '2026-01-01', now_, now_ from {NOW} returning partition_id"
    ).fetchone() or (0,)
    return {"partition": partition, "source": extraction.source_of(tx, partition)}


def person_later(tx: Transaction) -> None:
    """A person acts with a reason, later than what was asked for before; until the transaction ends."""
    advance(tx, timedelta(seconds=1))
    for name, value in (("actor_kind", "human"), ("actor_id", "ann"), ("reason", "it is fixed")):
        tx.execute("select set_config(%s, %s, true)", (f"recoup.{name}", value))


def _unfollowed(make: Callable[..., int]) -> Callable[[Transaction], int]:
    return lambda tx: make(tx, follows=False)


# Raw sinks ------------------------------------------------------------------------------------------------------------

SINK_ROW = (
    "({more}sink_id, name, registered_at, registered_by, updated_at)"
    f" select {{values}}gen_random_uuid(), gen_random_uuid()::text, now_, recoup.acting_id(), now_ from {NOW}"
)
OUT = (
    "status = 'unavailable', cause = 'full', message = 'm', host = 'h', outage_at = t.now_, checked_at = t.now_,"
    " restored_at = null, updated_at = t.now_"
)
SINK_LISTED = {
    ("available", "unavailable"): OUT,
    ("unavailable", "unavailable"): "checked_at = t.now_, updated_at = t.now_",
    ("unavailable", "available"): "status = 'available', restored_at = t.now_, updated_at = t.now_",
    ("available", "available"): "updated_at = t.now_",
}
ASKED_FOR = (
    ("waiting", "terminal"), ("open", "terminal"), ("held", "terminal"), ("held", "waiting"), ("terminal", "waiting"),
    ("idle", "waiting"),
)  # fmt: skip
PARTITION_ROLES: tuple[Role, ...] = (
    Role(
        PARTITION,
        {
            "pending": PARTITION_ROW.format(more="", values=""),
            "failed": PARTITION_ROW.format(
                more="status, attempt_count, error_message, ", values="'failed', 1, 'm', "
            ),
        },
        partition_change,
        row_in=partition_in,
        prepare={(source, "success"): without_pointer for source in PARTITION.statuses},
        given=schedules_to_come,
    ),
    Role(
        RUN,
        {
            "open": RUN_ROW.format(more="lease_until, ", values="now_ + interval '1 minute', "),
            "lost": RUN_ROW.format(more="status, reason, message, ended_at, ", values="'lost', 'R', 'm', now_, "),
        },
        run_change,
        row_in=run_in,
        row_for={
            ("open", "open"): lambda tx: dispatched(tx, new_partition(tx), starts=False).run_id,
            ("open", "rejected"): lambda tx: extraction.at_cap(tx).run_id,
            ("published", "published"): validated_again,
        },
        given=lambda tx: {"partition": new_partition(tx)},
    ),
    Role(
        SCHEDULE,
        {
            "waiting": SCHEDULE_ROW.format(more="", values="", next="now_"),
            "idle": SCHEDULE_ROW.format(more="status, ", values="'idle', ", next="null"),
        },
        schedule_change,
        row_in=schedule_in,
        row_for={
            ("waiting", "terminal"): failed,
            ("waiting", "idle"): extraction.reprocessing,
            ("open", "waiting"): _unfollowed(lost),
            ("open", "held"): _unfollowed(lost),
            ("open", "terminal"): _unfollowed(failed),
            ("open", "idle"): _unfollowed(extraction.succeeded),
            ("held", "idle"): lambda tx: extraction.paused(tx, extraction.reprocessing(tx)),
        },
        prepare=dict.fromkeys(ASKED_FOR, person_later),
        given=partition_without_schedule,
    ),
    Role(
        SINK,
        {
            "available": SINK_ROW.format(more="", values=""),
            "unavailable": SINK_ROW.format(
                more="status, cause, message, host, outage_at, checked_at, ",
                values="'unavailable', 'full', 'm', 'h', now_, now_, ",
            ),
        },
        lambda _actor, source, target: SINK_LISTED[source, target],
    ),
)  # fmt: skip
