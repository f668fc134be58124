"""For every invariant of errors, what breaks it. Names in braces are those of the cast (lively_errors.py)."""

from __future__ import annotations


def _error(of: str, change: str) -> str:
    return f"update recoup.error set {change} where error_id = {{{of}}}"


def _archive(of: str, change: str) -> str:
    return f"update recoup.error_archive set {change} where error_id = {{{of}}}"


def _event(of: str, event_type: str, change: str) -> str:
    return f"update recoup.error_event set {change} where error_id = {{{of}}} and event_type = '{event_type}'"


def _no_event(of: str, event_type: str) -> str:
    return f"delete from recoup.error_event where error_id = {{{of}}} and event_type = '{event_type}'"


def _claim(of: str, change: str) -> str:
    """In the log of claims: of one that was claimed alone."""
    return f"update recoup.claim_log set {change} where units[1] like '%%/' || {{{of}}} || '/%%'"


def _queue(of: str, change: str) -> str:
    return f"update recoup.error_queue set {change} where unit = {{{of}}}"


def _policy(path: str, value: str) -> str:
    """Another figure in every version."""
    return f"update recoup.policy set figures = jsonb_set(figures, '{{{{errors,{path}}}}}', '{value}')"


_MONTH = "update recoup.error_archive_month set {} where status = 'DROPPED'"
_CONTROL = "update recoup.control_log set {} where subject = 'recoup.error_archive_month'"
_OPERATION = "update recoup.operation set {} where operation_id = {{operation}}"
_ITEM = "update recoup.operation_item set {} where operation_id = {{operation}} and place = 1"
_COLUMNS = """error_table, error_id, outreach_id, error_code, error_message, error_signature, severity, category,
 disposition, status, ttl_tier, expires_at, retry_count, max_retries, payload, decided_by, policy_version, created_at,
 updated_at, park_reason, archived_at, archive_reason, archived_by, final_disposition, was_blocking"""
_ONE_MONTH = (
    "do $$ declare p regclass := (select tableoid::regclass from recoup.error_archive limit 1); begin {}; end $$"
)

ROWS: tuple[tuple[str, str], ...] = (
    ("laws/L5/tracebacks", "update recoup.retry_traceback set token = gen_random_uuid()"),
    ("errors/1/tiers", _error("waiting", "ttl_tier = 'ETERNAL'")),
    ("errors/1/tiers", _error("waiting", "expires_at = null")),
    ("errors/1/tiers", _error("for_ever", "expires_at = '3000-01-01'")),
    ("errors/1/ttl", _error("waiting", "expires_at = expires_at + interval '1 day'")),
    ("errors/1/ttl", _error("superseding", "expires_at = expires_at - interval '1 second'")),
    ("errors/1/ttl", _archive("expired", "expires_at = expires_at - interval '1 day'")),
    ("errors/1/ttl", _policy("tier_days,MEDIUM", "31")),
    ("errors/1/created-at", _error("waiting", "created_at = created_at + interval '1 day'")),
    ("errors/1/created-at", _error("superseding", "created_at = created_at + interval '1 second'")),
    ("errors/1/infinite-stays",
     _error("for_ever", "status = 'RESOLVED', archived_at = now(), archive_reason = 'RESOLVED'")),
    ("errors/1/infinite-stays", _archive("expired", "ttl_tier = 'INFINITE', expires_at = null")),
    ("errors/2/dispositions", _error("waiting", "disposition = 'PARK'")),
    ("errors/2/dispositions", _error("waiting", "disposition = null")),
    ("errors/2/status-of-disposition", _error("waiting", "disposition = 'ARCHIVE'")),
    ("errors/2/status-of-disposition", _error("escalated", "disposition = 'RETRY'")),
    ("errors/2/status-of-disposition", _error("ignored", "disposition = 'PARKED'")),
    ("errors/2/status-of-disposition", _archive("expired", "status = 'PARKED'")),
    ("errors/2/repeated", _error("critical", "park_reason = 'DATA_QUALITY'")),
    ("errors/2/repeated", _error("critical", "parked_at = parked_at + interval '2 minutes'")),
    ("errors/2/state-machine", _event("waiting", "FAILED", "to_status = 'ESCALATED'")),
    ("errors/2/state-machine", _event("critical", "REVIEWED", "to_status = 'ACTIVE'")),
    ("errors/2/state-machine", _event("archived", "SUCCEEDED", "event_type = 'RETIRED'")),
    ("errors/2/state-machine", _event("cleared", "CLEARED", "from_status = 'PARKED'")),
    ("errors/2/told-disposition", _event("waiting", "FAILED", "disposition = 'ARCHIVE'")),
    ("errors/2/told-disposition", _event("expired", "ARCHIVED", "disposition = 'IGNORE'")),
    ("errors/3/policy-mapping",
     "update recoup.policy set figures = figures #- '{{errors,tables,outreach.dol_errors}}'"),
    ("errors/3/allowed-at-birth", _event("waiting", "RECORDED", "disposition = 'IGNORE'")),
    ("errors/3/allowed-at-birth", _policy("tables,people.people_errors,allowed", '["RETRY"]')),
    ("errors/3/allowed-dispositions", _policy("tables,outreach.company_target_errors,allowed", '["ARCHIVE"]')),
    ("errors/3/allowed-dispositions", _event("spent", "FAILED", "disposition = 'PARKED'")),
    ("errors/4/parked-fields", _error("parked", "parked_at = null")),
    ("errors/4/parked-fields", _error("escalated", "parked_by = null")),
    ("errors/4/parked-fields", _archive("expired", "park_reason = null")),
    ("errors/4/escalation-level", _error("parked", "escalation_level = 4")),
    ("errors/4/escalation-level", _error("escalated", "escalation_level = 0")),
    ("errors/4/escalation-level", _error("escalated", "escalated_to = null")),
    ("errors/4/owner", "update recoup.policy set figures = figures #- '{{errors,tables,outreach.dol_errors,owner}}'"),
    ("errors/4/park-reasons", _event("coded", "RECORDED", "reason = 'BAD_LUCK'")),
    ("errors/4/parking-triggers", _event("coded", "RECORDED", "reason = 'ESCALATION_REQUIRED'")),
    ("errors/4/parking-triggers", _event("structural", "RECORDED", "reason = 'MAX_RETRIES_EXCEEDED'")),
    ("errors/4/parking-triggers", _event("critical", "RECORDED", "reason = 'NON_RETRYABLE_ERROR'")),
    ("errors/4/max-retries-parks",
     _event("parked", "FAILED", "disposition = 'ARCHIVE', to_status = 'ACTIVE'") + " and to_status = 'PARKED'"),
    ("errors/4/by-people", _error("coded", "parked_by = 'eve'")),
    ("errors/4/by-people", _error("waiting", "assigned_to = 'eve'")),
    ("errors/4/by-people", _error("structural", "last_reviewed_at = created_at")),
    ("errors/4/by-people", _event("escalated", "ESCALATED", "event_type = 'REVIEWED'")),
    ("errors/4/exits", _event("unparked", "UNPARKED", "event_type = 'WINDOW_CLOSED'")),
    ("errors/4/exits", _event("escalated", "ESCALATED", "to_status = 'ACTIVE'")),
    ("errors/4/exits", _event("expired", "ARCHIVED", "event_type = 'RETIRED'")),
    ("errors/5/max-retries", _error("waiting", "max_retries = max_retries + 1")),
    ("errors/5/max-retries", _error("unparked", "max_retries = max_retries + 1")),
    ("errors/5/max-retries", _policy("retry,TRANSIENT,max_retries", "4")),
    ("errors/5/backoff", _error("waiting", "next_retry_at = next_retry_at + interval '1 minute'")),
    ("errors/5/backoff", _error("fresh", "next_retry_at = next_retry_at - interval '1 minute'")),
    ("errors/5/backoff", _error("leased", "next_retry_at = next_retry_at - interval '1 minute'")),
    ("errors/5/no-retry-before-its-time", _claim("parked", "logged_at = logged_at - interval '2 seconds'")),
    ("errors/5/no-retry-before-its-time",
     _event("waiting", "RECORDED", "logged_at = logged_at + interval '2 seconds'")),
    ("errors/5/no-retry-before-its-time", _claim("archived", "logged_at = logged_at - interval '1 minute'")),
    ("errors/5/window", _error("waiting", "retry_until = retry_until + interval '1 hour'")),
    ("errors/5/window", _error("unparked", "retry_until = now()")),
    ("errors/5/window", _error("superseding", "retry_until = null")),
    ("errors/5/no-retry-after-window", _error("waiting", "retry_until = created_at")),
    ("errors/5/structural-is-parked", _event("structural", "RECORDED", "disposition = 'RETRY'")),
    ("errors/5/retry-count", _event("waiting", "FAILED", "retry_count = 0")),
    ("errors/5/retry-count", _event("waiting", "FAILED", "retry_count = 2")),
    ("errors/5/retry-count", _claim("waiting", "units = array[units[1] || '7']")),
    ("errors/5/retry-count", _event("parked", "RECORDED", "retry_count = 9")),
    ("errors/5/born-without-retries", _event("fresh", "RECORDED", "retry_count = 1")),
    ("errors/5/last-retry-at", _error("waiting", "last_retry_at = last_retry_at - interval '1 day'")),
    ("errors/5/last-retry-at", _error("waiting", "last_retry_at = null")),
    ("errors/5/next-retry-at", _error("parked", "next_retry_at = now()")),
    ("errors/5/next-retry-at", _error("waiting", "retry_until = next_retry_at - interval '1 second'")),
    ("errors/5/retry-exhausted", "alter table recoup.error alter column retry_exhausted drop expression;"
     + _error("parked", "retry_exhausted = false")),
    ("errors/5/pending-has-a-retry-left", _error("waiting", "retry_count = 5")),
    ("errors/5/pending-has-a-retry-left", _error("waiting", "next_retry_at = null")),
    ("errors/5/retries-end", _error("parked", "max_retries = 3")),
    ("errors/5/retry-to-park", _error("parked", "park_reason = 'DATA_QUALITY'")),
    ("errors/5/retry-to-park", _error("parked", "parked_by = 'eve'")),
    ("errors/5/retry-to-park", _error("parked", "parked_at = parked_at - interval '1 hour'")),
    ("errors/5/retry-to-park", _error("spent", "park_reason = null")),
    ("laws/L5/queue/recoup.error", _queue("waiting", "wake_at = wake_at + interval '1 minute'")),
    ("laws/L5/queue/recoup.error", _queue("waiting", "round = 3")),
    ("laws/L5/queue/recoup.error", _queue("waiting", "until = null")),
    ("laws/L5/queue/recoup.error", _queue("waiting", "unit = 999999")),
    ("laws/L5/queue/recoup.error", _queue("leased", "max_retries = 99")),
    ("laws/L5/queue/recoup.error", _error("leased", "status = 'PARKED'")),
    ("laws/L5/queue/recoup.error", "delete from recoup.error_queue where unit = {waiting}"),
    ("laws/L5/lease/recoup.error", _queue("leased", "worker = null")),
    ("laws/L5/lease/recoup.error", _queue("leased", "token = gen_random_uuid()")),
    ("laws/L5/lease/recoup.error", _queue("leased", "wake_at = wake_at + interval '1 minute'")),
    ("laws/L5/lease/recoup.error", _claim("leased", "worker = 'eve'")),
    ("laws/L5/lease/recoup.error", "delete from recoup.claim_log where units[1] like '%%/' || {leased} || '/%%'"),
    ("errors/5/one-retry-at-a-time",
     "insert into recoup.claim_log (incarnation, logged_at, subject, token, worker, lease_until, units, actor,"
     " actor_id, authority) select incarnation, logged_at, subject, gen_random_uuid(), worker, lease_until, units,"
     " actor, actor_id, authority from recoup.claim_log where units[1] like '%%/' || {waiting} || '/%%'"),
    ("errors/5/one-retry-at-a-time", "delete from recoup.claim_log where units[1] like '%%/' || {waiting} || '/%%'"),
    ("errors/6/promotion-check-query", "create or replace function recoup.is_blocked(outreach_id uuid) returns boolean"
     " language sql stable as 'select false'"),
    ("errors/6/promotion-check-query", "create or replace function recoup.is_blocked(outreach_id uuid) returns boolean"
     " language sql stable as 'select true'"),
    ("errors/6/promotion-check-query", "create or replace function recoup.blocking_tables() returns text[]"
     " language sql stable as $$ select '{{outreach.dol_errors,public.shq_orphan_errors}}'::text[] $$"),
    ("errors/6/promotion-check-query", "create or replace function recoup.blocking_errors(outreach_ids uuid[])"
     " returns setof recoup.error language sql stable as 'select * from recoup.error limit 3'"),
    ("errors/7/archive-fields", _error("resolved", "archive_reason = null")),
    ("errors/7/archive-fields", _archive("expired", "archived_by = null")),
    ("errors/7/archive-fields", _archive("expired", "archive_reason = 'BORING'")),
    ("errors/7/archive-fields", _error("superseded", "superseded_by = null")),
    ("errors/7/ttl-expired", _archive("expired", "expires_at = archived_at")),
    ("errors/7/archive-reason", _archive("archived", "archive_reason = 'MANUAL'")),
    ("errors/7/archive-reason", _error("cleared", "archive_reason = 'MANUAL', status = 'RETRY_PENDING'")),
    ("errors/7/archive-reason", _archive("retired", "archive_reason = 'RESOLVED'")),
    ("errors/7/archive-reason", _error("resolved", "archive_reason = 'TTL_EXPIRED'")),
    ("errors/7/archive-reason", _event("expired", "ARCHIVED", "reason = 'MANUAL'")),
    ("errors/7/superseded-by", _error("superseded", "superseded_by = {waiting}")),
    ("errors/7/superseded-by", _error("superseded", "superseded_by = 999999")),
    ("errors/7/superseded-by", _error("superseding", "retry_count = 0")),
    ("errors/7/superseded-by", _error("superseding", "created_at = created_at + interval '1 day'")),
    ("errors/7/superseded-by", _archive("replaced", "error_signature = 'other'")),
    ("errors/7/lineage", _error("superseding", "lineage_id = error_id")),
    ("errors/7/lineage", _error("superseding", "lineage_id = null")),
    ("errors/7/lineage", _error("waiting", "lineage_id = {superseded}")),
    ("errors/7/lineage", _archive("replaced", "lineage_id = 1")),
    ("errors/7/lineage", _event("waiting", "RECORDED", "form = 1")),
    ("errors/7/superseded-inherits", _event("superseding", "RECORDED", "retry_count = 0")),
    ("errors/7/superseded-inherits", _event("inheriting", "RECORDED", "disposition = 'RETRY'")),
    ("errors/7/never-weakened", _error("inheriting", "overruled = null")),
    ("errors/7/never-weakened", _error("waiting", "overruled = 'IGNORE'")),
    ("errors/7/one-open", "update recoup.error set outreach_id = {entity}, error_signature ="
     " (select error_signature from recoup.error where error_id = {waiting}) where error_id = {critical}"),
    ("errors/7/moved-once", f"insert into recoup.error_archive ({_COLUMNS})"
     f" select {_COLUMNS} from recoup.error_archive where error_id = {{archived}}"),
    ("errors/7/moved-once", _event("archived", "ARCHIVED", "error_id = {waiting}")),
    ("errors/7/moved-once", _no_event("archived", "ARCHIVED")),
    ("errors/7/nothing-lost", "delete from recoup.error where error_id = {waiting}"),
    ("errors/7/nothing-lost", "delete from recoup.error_archive where error_id = {expired}"),
    ("errors/7/nothing-lost", _MONTH.format("status = 'KEPT'")),
    ("errors/7/nothing-lost", _no_event("dropped", "ARCHIVED")),
    ("errors/7/archived-at", _archive("expired", "archived_at = archived_at + interval '1 second'")),
    ("errors/7/archived-at", _error("resolved", "archived_at = archived_at - interval '1 hour'")),
    ("errors/7/archived-by", _archive("expired", "archived_by = 'eve'")),
    ("errors/7/final-disposition", _archive("expired", "final_disposition = 'IGNORE'")),
    ("errors/2/repeated", "update recoup.error set last_failure = 'forged' where last_outcome <> 'SUCCEEDED'"),
    ("errors/2/repeated", "update recoup.error set token = gen_random_uuid() where token is not null"),
    ("errors/2/repeated", "update recoup.error set escalated_to = 'eve' where escalation_level > 0"),
    ("errors/2/repeated", "update recoup.error set last_reviewed_at = last_reviewed_at - interval '1 hour'"),
    ("errors/2/erased-by-people",
     "insert into recoup.content_log (incarnation, logged_at, subject, event_type, form, keys, digests, actor,"
     " actor_id, authority) select incarnation, logged_at, 'recoup.error', 'REDACTED', 1, array[error_table || ', ' ||"
     " error_id], array[digest], actor, actor_id, authority from recoup.error_event where digest is not null limit 1"),
    ("errors/7/archived-as-it-was", _archive("archived", "last_failure = 'forged'")),
    ("errors/7/was-blocking", _archive("expired", "was_blocking = false")),
    ("errors/7/was-blocking", _archive("archived", "was_blocking = true")),
    ("errors/7/was-blocking", _event("expired", "ARCHIVED", "facts = null")),
    ("errors/7/was-blocking",
     _archive("expired", "was_blocking = false") + ";" + _event("expired", "ARCHIVED", "facts = null")),
    ("errors/7/in-its-month", _ONE_MONTH.format("execute format('alter table %s rename to lost', p)")),
    ("errors/7/months", _ONE_MONTH.format("execute format('drop table %s', p)")),
    ("errors/7/months", "delete from recoup.error_archive_month where status = 'KEPT'"),
    ("errors/7/months", _MONTH.format("status = 'KEPT'")),
    ("errors/7/retention", _MONTH.format("dropped_at = dropped_at - interval '2 years'")),
    ("errors/7/dropped-is-counted", _MONTH.format("rows = rows + 1")),
    ("errors/7/dropped-is-counted", _MONTH.format("digest = null")),
    ("errors/7/dropped-is-counted", "delete from recoup.error_event where error_id = {dropped}"),
    ("errors/8/disposition", _event("low", "RECORDED", "disposition = 'RETRY'")),
    ("errors/8/disposition", _event("high", "RECORDED", "disposition = 'PARKED'")),
    ("errors/8/disposition", _event("coded", "RECORDED", "disposition = 'RETRY'")),
    ("errors/8/disposition", _event("ignored", "RECORDED", "disposition = 'ARCHIVE'")),
    ("errors/8/disposition", _policy("severity,MEDIUM,disposition", '"ARCHIVE"')),
    ("errors/4/kept-reason", _error("withheld", "park_reason = null")),
    ("errors/4/kept-reason", _event("withheld", "RECORDED", "reason = 'DATA_QUALITY'")),
    ("errors/4/by-people", _error("asked", "parked_by = 'eve'")),
    ("errors/8/clamps", _error("low", "clamped_from = null")),
    ("errors/8/clamps", _error("waiting", "clamped_from = 'PARK'")),
    ("errors/8/ttl-override", _error("waiting", "ttl_tier = 'SHORT'")),
    ("errors/8/ttl-override", _error("high", "ttl_tier = 'SHORT'")),  # its hub says MEDIUM
    ("errors/8/ttl-override", _error("for_ever", "ttl_tier = 'LONG'")),
    ("errors/8/critical-parks", _event("critical", "RECORDED", "disposition = 'RETRY'")),
    ("errors/8/low-never-blocks", _event("low", "RECORDED", "disposition = 'PARKED'")),
    ("errors/9/hub-rules-first", _error("coded", "decided_by = 'table'")),
    ("errors/9/hub-rules-first", _error("critical", "decided_by = 'code rule'")),
    ("errors/9/hub-rules-first", _error("waiting", "severity = 'HIGH'")),
    ("laws/L1/steps/recoup.error", _event("waiting", "RECORDED", "authority = 'recoup_operator'")),
    ("laws/L1/error-authority", _event("waiting", "FAILED", "authority = 'recoup_operator'")),
    ("laws/L1/error-authority", _event("critical", "REVIEWED", "authority = 'recoup_hub'")),
    ("laws/L1/error-authority", _event("critical", "REVIEWED", "authority = 'recoup_executor'")),
    ("laws/L1/error-authority", _event("unparked", "UNPARKED", "authority = 'recoup_reviewer'")),
    ("laws/L1/error-authority", _event("cleared", "CLEARED", "authority = 'recoup_error_worker'")),
    ("laws/L1/steps/recoup.error", _event("expired", "ARCHIVED", "authority = 'recoup_reader'")),
    ("laws/L1/statuses", _error("waiting", "status = 'LOST'")),
    ("laws/L2/chain/recoup.error", _no_event("waiting", "RECORDED")),
    ("errors/2/state-machine", _event("waiting", "FAILED", "event_type = 'RECORDED'")),
    ("laws/L2/chain/recoup.error", _event("escalated", "ESCALATED", "from_status = 'ACTIVE'")),
    ("laws/L2/chain/recoup.error", _event("waiting", "FAILED", "logged_at = logged_at - interval '1 day'")),
    ("laws/L3/one-order", "update recoup.error_event set seq = (select min(seq) from cl.gate_zero_air) where seq ="
     " (select min(seq) from recoup.error_event)"),
    ("laws/L3/incarnations", _event("waiting", "FAILED", "incarnation = 7")),
    ("laws/L4/keys", "insert into recoup.error (error_table, error_id, outreach_id, error_message)"
     " select error_table, error_id, outreach_id, error_message from recoup.error where error_id = {waiting}"),
    ("laws/L5/late/recoup.error",
     "update recoup.late_result set unit_id = 'outreach.dol_errors/999999' where subject = 'recoup.error'"),
    ("laws/L5/late/recoup.error", "update recoup.late_result set unit_id = 'people.people_errors/' || {leased}, token ="
     " (select token from recoup.error_queue where unit = {leased}) where subject = 'recoup.error'"),
    ("laws/L7/nothing-to-come", _event("waiting", "FAILED", "logged_at = '2999-01-01'")),
    ("laws/L8/error-stamped", _error("waiting", "policy_version = 9")),
    ("laws/L8/error-stamped", _error("waiting", "policy_version = 1")),
    ("laws/L10/seals",
     "update recoup.error_event set reason = 'none' where seq = (select min(seq) from recoup.error_event)"),
    ("rebuild/recoup.error", _error("waiting", "status = 'PARKED'")),
    ("rebuild/recoup.error", _error("waiting", "retry_count = 2")),
    ("rebuild/recoup.error", _error("waiting", "disposition = 'PARKED'")),
    ("rebuild/recoup.error", _error("waiting", "updated_at = updated_at + interval '1 second'")),
    ("rebuild/recoup.error", _queue("leased", "token = null, worker = null, claimed_at = null")),
    ("rebuild/recoup.error", _error("fresh", "archived_at = now(), archive_reason = 'MANUAL'")),
    ("rebuild/recoup.error", _error("resolved", "archived_at = null, archive_reason = null")),
    ("rebuild/recoup.error", _archive("expired", "retry_count = 7")),
    ("rebuild/recoup.error", _archive("expired", "disposition = 'RETRY'")),
    ("rebuild/recoup.error", "delete from recoup.error where error_id = {fresh}"),
    ("rebuild/recoup.error", "delete from recoup.error_event where error_id = {fresh}"),
    ("rebuild/recoup.error_archive_month", _MONTH.format("rows = rows + 1")),
    ("rebuild/recoup.error_archive_month", _MONTH.format("digest = '\\x00'")),
    ("rebuild/recoup.error_archive_month", _CONTROL.format("to_status = 'KEPT'") + " and to_status = 'DROPPED'"),
    ("rebuild/recoup.error_archive_month", "delete from recoup.error_archive_month where status = 'DROPPED'"),
    ("rebuild/recoup.error_archive_month",
     "delete from recoup.control_log where subject = 'recoup.error_archive_month'"),
    ("rebuild/recoup.operation", _OPERATION.format("status = 'OPEN', done_at = null")),
    ("rebuild/recoup.operation", _OPERATION.format("verb = 'resolve'")),
    ("rebuild/recoup.operation", _OPERATION.format("items = items + 1")),
    ("operations/done", _ITEM.format("status = 'PENDING'")),
    ("operations/items", _OPERATION.format("items = items + 1")),
    ("operations/steps", "update recoup.operation set step_end = step_start + 1 where operation_id = {canary}"),
    ("rebuild/recoup.operation",
     "update recoup.operation set step = 7, why = 'all is well' where operation_id = {canary}"),
    ("operations/digest", _ITEM.format("unit = 'people.people_errors/1'")),
    ("operations/items",
     "delete from recoup.operation_item where operation_id = {operation} and place = 1"),
    ("rebuild/recoup.operation", "delete from recoup.operation where operation_id = {operation}"),
    ("errors/operations-recorded", _ITEM.format("unit = 'outreach.dol_errors/' || {fresh}")),
    ("rebuild/recoup.operation_item", _ITEM.format("refusal = 'none'")),
    ("rebuild/recoup.operation_item", _ITEM.format("ended_at = null")),
    ("errors/operations-recorded", _OPERATION.format("verb = 'resolve'")),
)  # fmt: skip

SCHEMA: tuple[tuple[str, str], ...] = (
    ("errors/3/tables", "alter table outreach.dol_errors rename to other_errors"),
    ("errors/3/tables", "alter table recoup.error detach partition people.people_errors"),
    ("errors/3/dead-tables",
     "create table outreach.blog_errors partition of recoup.error for values in ('outreach.blog_errors')"),
    ("errors/3/guards", "alter table outreach.dol_errors disable trigger a_guard_moves"),
    ("errors/3/guards",
     "create table public.more_errors partition of recoup.error for values in ('public.more_errors')"),
    ("errors/3/guards", "grant insert on outreach.dol_errors to recoup_hub"),
    ("errors/7/destination", "alter table recoup.error_archive detach partition outreach.dol_errors_archive"),
    ("errors/7/archive-guards", "drop trigger a_append_only_truncate on outreach.dol_errors_archive"),
    ("errors/7/archive-guards", "alter table people.people_errors_archive disable trigger a_only_recorders"),
    ("errors/7/archive-guards", "grant delete on recoup.error_archive to recoup_archiver"),
    ("laws/L1/guards", "alter table outreach.dol_errors disable trigger a_guard_exits"),
    ("laws/L2/followers", "drop function recoup.archive_errors_gone() cascade"),
    ("laws/L2/followers", "drop function recoup.rule_archive_months() cascade"),
    ("laws/L2/recorders", "drop trigger a_only_recorders on recoup.error_event"),
    ("laws/L3/append-only", "drop trigger a_append_only_truncate on recoup.error_event"),
    ("errors/3/insert-only", "alter table public.shq_master_error_log disable trigger a_append_only"),
)  # fmt: skip
