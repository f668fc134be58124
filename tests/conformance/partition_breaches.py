"""For every invariant of partitions, what breaks it. Names in braces are those of the cast (lively_partitions.py)."""

from __future__ import annotations


def _state(of: str, change: str) -> str:
    return f"update partitions.partition_state set {change} where partition_id = {{partition_{of}}}"


def _run(of: str, change: str) -> str:
    return f"update partitions.run set {change} where run_id = {{run_{of}}}"


def _schedule(of: str, change: str) -> str:
    return f"update partitions.schedule set {change} where partition_id = {{partition_{of}}}"


def _event(of: str, which: str, change: str) -> str:
    return f"update partitions.partition_event set {change} where partition_id = {{partition_{of}}} and {which}"


def _without(of: str, which: str) -> str:
    return f"delete from partitions.partition_event where partition_id = {{partition_{of}}} and {which}"


def _attempt(of: str, change: str) -> str:
    return f"update partitions.attempt set {change} where partition_id = {{partition_{of}}}"


def _member(change: str) -> str:
    return f"update partitions.backfill_item set {change} where partition_id = {{partition_member}}"


BACKFILLS, MEMBERS = "partitions/6/backfills", "rebuild/partitions.backfill_item"
RAW = "partitions/9/raw-partitions-are-immutable"
AUTHORITY = "partitions/9/state-is-the-sole-authority"
COUNTS = "partitions/9/every-attempt-counts-once"
CURRENT = "partitions/9/current-run-exists"
IN_SINK = "partitions/9/current-run-in-the-sink"
ONE = "partitions/9/one-run-at-a-time"
PRIOR = "partitions/9/prior-attempts-stay"
LOGGED = "partitions/runs/as-logged"
AS_LOGGED, AGREES = "partitions/4/schedule-as-logged", "partitions/4/schedule-agrees"
DISPATCHES, CAUSES = "partitions/4/dispatches", "partitions/5/terminal-causes"
OVERRIDES, REQUEUED = "partitions/8/overrides-are-logged", "partitions/2/requeued"
LATE, STAMPED = "laws/L5/late-verdicts", "laws/L8/partitions-stamped"
_LATE = "insert into recoup.late_result (subject, unit_id, token, result) "
_NO_ATTEMPT = "delete from partitions.attempt where run_id = {run_current}"
_AGAIN = (
    "insert into partitions.run select (jsonb_populate_record(r, jsonb_build_object('run_id', gen_random_uuid(),"
    " 'number', r.number + 1))).* from partitions.run r where run_id = {run_published}"
)

ROWS: tuple[tuple[str, str], ...] = (
    (RAW, _run("current", "rows = rows + 1")),
    (RAW, _run("current", "bytes = bytes + 1")),
    (RAW, _run("current", "manifest_digest = repeat('0', 64)")),
    (RAW, _run("current", "format = 'parquet'")),
    (RAW, _run("published", "published_at = published_at - interval '1 second'")),
    (RAW, _run("published", "location = (select location from partitions.run where run_id = {run_current})")),
    (RAW, "delete from partitions.sink"),
    (RAW, _without("published", "event_type = 'published'")),
    (AUTHORITY, _state("failed", "status = 'pending'")),
    (AUTHORITY, _state("success", "status = 'failed'")),
    (AUTHORITY, _state("failed", "error_message = 'fine'")),
    (AUTHORITY, _state("success", "error_message = 'no'")),
    (AUTHORITY, _state("held", "updated_at = updated_at + interval '1 second'")),
    (COUNTS, _state("success", "attempt_count = 1")),
    (COUNTS, _state("new", "attempt_count = 1")),
    (COUNTS, _attempt("spent", "number = number + 1")),
    (COUNTS, _NO_ATTEMPT),
    (COUNTS, _without("spent", "event_type = 'rejected' and subject = 'partition'")),
    (COUNTS, "delete from partitions.partition_state where partition_id = {partition_failed}"),
    (CURRENT, _state("success", "current_run_id = null")),
    (CURRENT, _state("reprocessed", "current_run_id = (select a.run_id from partitions.attempt a"
              " where a.partition_id = {partition_reprocessed} and a.number = 1)")),
    (CURRENT, _run("current", "status = 'rejected'")),
    (CURRENT, "delete from partitions.run where run_id = {run_current}"),
    (IN_SINK, _attempt("success", "digest = repeat('0', 64)")),
    (IN_SINK, _state("success", "customer_id = 'other'")),
    (ONE, _AGAIN),
    (ONE, "update partitions.run set number = number + 1 where partition_id = {partition_lost}"),
    (ONE, "delete from partitions.run where partition_id = {partition_lost} and number = 1"),
    (PRIOR, _NO_ATTEMPT),
    (PRIOR, _attempt("failed", "verdict = 'accepted'")),
    (PRIOR, _attempt("failed", "message = 'fine'")),
    (PRIOR, _attempt("failed", "authority = 'recoup_extractor'")),
    (PRIOR, _attempt("failed", "validator_version = '2'")),
    (PRIOR, "insert into partitions.attempt (incarnation, logged_at, partition_id, run_id, number, verdict,"
            " policy_version, opened_at, actor, actor_id, authority) select 1, ended_at, partition_id, run_id, 1,"
            " 'rejected', 1, opened_at, 'system', 'x', 'recoup_validator' from partitions.run"
            " where run_id = {run_lost}"),
    (LOGGED, _run("published", "worker = 'eve'")),
    (LOGGED, _run("published", "token = gen_random_uuid()")),
    (LOGGED, _run("published", "started_with = null")),
    (LOGGED, _run("published", "validations = 1")),
    (LOGGED, _run("published", "turn = turn + 1")),
    (LOGGED, _run("published", "lease_until = null")),
    (LOGGED, _run("published", "reason = 'R', message = 'm'")),
    (LOGGED, _run("lost", "message = 'other'")),
    (LOGGED, _run("lost", "ended_at = ended_at + interval '1 second'")),
    (LOGGED, _run("current", "ended_with = null")),
    (LOGGED, _run("current", "dispatched_at = dispatched_at - interval '1 hour'")),
    (LOGGED, _run("current", "updated_at = updated_at + interval '1 second'")),
    (LOGGED, "delete from partitions.run where run_id = {run_lost}"),
    (LOGGED, "delete from partitions.partition_event where run_id = {run_lost}"),
    (REQUEUED, _event("success", "event_type = 'requeued'", "authority = 'recoup_validator'")),
    (REQUEUED, _event("success", "event_type = 'requeued'", "xid = '3'")),
    (REQUEUED, _event("success", "event_type = 'requeued'", "to_status = 'success'")),
    (REQUEUED, _event("success", "event_type = 'requeued'", "event_type = 'accepted'")),
    (LATE, _LATE + "values ('partitions.run', 'nobody', gen_random_uuid(), '{{}}')"),
    (LATE, _LATE.replace("result)", "result, received_at)") + "select 'partitions.run', run_id, token, '{{}}',"
     " published_at + interval '2 seconds' from partitions.run where run_id = {run_published}"),
    (STAMPED, _run("current", "policy_version = 1000")),
    (STAMPED, _run("current", "policy_version = 1")),
    (AS_LOGGED, _schedule("failed", "next_run_at = next_run_at - interval '1 hour'")),
    (AS_LOGGED, _schedule("failed", "lane = 'backfill'")),
    (AS_LOGGED, _schedule("failed", "priority = 1")),
    (AS_LOGGED, _schedule("failed", "backoff_strategy = 'none'")),
    (AS_LOGGED, _schedule("failed", "granted_attempts = 7")),
    (AS_LOGGED, _schedule("failed", "aged_from = aged_from - interval '1 hour'")),
    (AS_LOGGED, _schedule("failed", "alternative = '{{}}'")),
    (AS_LOGGED, _schedule("marked", "requested_by = 'eve'")),
    (AS_LOGGED, _schedule("held", "hold = 'PAUSED'")),
    (AS_LOGGED, "delete from partitions.schedule where partition_id = {partition_failed}"),
    (AS_LOGGED, _without("failed", "subject = 'schedule'")),
    (AGREES, _schedule("failed", "status = 'idle'")),
    (AGREES, _schedule("success", "status = 'waiting'")),
    (AGREES, _schedule("success", "reprocesses = true")),
    (AGREES, _schedule("success", "status = 'terminal'")),
    (AGREES, _schedule("open", "status = 'waiting'")),
    (AGREES, _schedule("open", "run_id = gen_random_uuid()")),
    (AGREES, _schedule("published", "status = 'waiting'")),
    (AGREES, _schedule("released", "run_id = null")),
    (AGREES, "delete from partitions.partition_state where partition_id = {partition_failed}"),
    (DISPATCHES, _schedule("lost", "dispatches = 1")),
    (DISPATCHES, _schedule("success", "dispatches = 1")),
    (DISPATCHES, _schedule("success", "attempts_seen = 1")),
    (DISPATCHES, _event("lost", "event_type = 'lost'", "reason = 'SINK_UNAVAILABLE'")),
    (CAUSES, _schedule("spent", "granted_attempts = 1")),
    (CAUSES, _schedule("spent", "terminal_causes = '{{AGE}}'")),
    (CAUSES, _schedule("spent", "terminal_policy = 1000")),
    (CAUSES, _schedule("spent", "terminal_policy = 1")),
    (CAUSES, _schedule("aged", "aged_from = terminal_at")),
    (CAUSES, _schedule("aged", "terminal_causes = '{{MARKED}}'")),
    (CAUSES, _schedule("marked", "terminal_causes = '{{}}'")),
    (BACKFILLS, "update partitions.backfill set planned = planned - 1 where backfill_id = {backfill}"),
    (BACKFILLS, "update partitions.backfill set expected = 7 where backfill_id = {backfill}"),
    (BACKFILLS, "update partitions.backfill set status = 'done' where backfill_id = {backfill}"),
    (BACKFILLS, "update partitions.backfill_item set place = place + 1 where backfill_id = {backfill}"),
    (BACKFILLS, "delete from partitions.backfill where backfill_id = {backfill}"),
    (MEMBERS, _member("status = 'failed'")),
    (MEMBERS, _member("status = 'waiting', ended_at = null")),
    (MEMBERS, _member("ended_at = ended_at - interval '1 hour'")),
    (MEMBERS, _member("partition_id = {partition_new}")),
    (MEMBERS, "update partitions.backfill_item set status = 'succeeded', ended_at = planned_at"
              " where status = 'waiting' and backfill_id = {backfill}"),
    (MEMBERS, "update partitions.backfill_item set status = 'succeeded' where backfill_id = {backfill_cancelled}"),
    (MEMBERS, "update partitions.schedule set backfill_id = null where status = 'waiting'"),
    (MEMBERS, "update partitions.backfill_item set ended_at = ended_at + interval '1 second' where status = 'left'"),
    (OVERRIDES, "delete from partitions.override_log"),
    (OVERRIDES, "update partitions.override_log set partitions = partitions || 0::bigint"),
    (OVERRIDES, "update partitions.override_log set actor_id = 'eve'"),
    (OVERRIDES, _event("lifted", "event_type = 'terminal_lifted'", "reason = null")),
    (OVERRIDES, _event("marked", "facts ? 'asked'", "facts = facts - 'asked'")),
    (OVERRIDES, _event("marked", "facts ? 'asked'", "authority = 'recoup_operator'")),
)  # fmt: skip
