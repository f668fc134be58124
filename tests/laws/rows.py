"""A row of every table that satisfies all its constraints, so that a probe can spoil one thing and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from psycopg.sql import SQL, Composable, Identifier, Literal

from company import ERRORS, acting, new_archive_month, new_intake, new_operation
from keyring import key_in
from recoup.database.connection import Transaction
from recoup.errors.policy import ErrorPolicy
from recoup.lifecycles.declaration import Authority

# SQL, a value, or what makes the row that a column refers to and returns its key.
Value = str | Literal | Callable[[Transaction], Any]
Row = Mapping[str, Value]

NOW = "recoup.now()"
LATER = "recoup.now() + interval '1 minute'"
ID = "gen_random_uuid()"
ZEROS = "sha256('')"


def a_worker(tx: Transaction) -> Any:
    with acting(tx, Authority.RUNNER):
        (worker,) = tx.execute(
            "insert into recoup.worker (name, host, pid, recoup_version, duties, started_at, heartbeat_at)"
            " values ('w', 'h', 1, '1', '{}', recoup.now(), recoup.now()) returning worker_id"
        ).fetchone() or (None,)
    return worker


def archived_long_ago(tx: Transaction) -> str:
    """A time for which there is room in the archive."""
    if tx.execute("select from recoup.error_archive_month where month = '1990-01-01'").rowcount == 0:
        new_archive_month(tx)
    return "1990-01-15 12:00+00"


AN_ERROR: Row = {
    "error_table": f"'{ERRORS}'", "error_id": "nextval('recoup.error_seq')", "outreach_id": ID, "error_message": "'m'",
    "error_signature": "'s2-000000000000000000000000'", "category": "'TRANSIENT'", "disposition": "'ARCHIVE'",
    "status": "'ACTIVE'",
    "ttl_tier": "'SHORT'", "expires_at": LATER, "max_retries": "5", "decided_by": "'table'", "policy_version": "1",
    "created_at": NOW, "updated_at": NOW,
}  # fmt: skip
SAMPLES: dict[str, Row] = {
    "cl.gate_zero_batch": {"batch_id": f"{ID}::text", "imported_at": NOW},
    "recoup.processed": {
        "incarnation": "1", "logged_at": NOW, "error_table": f"'{ERRORS}'", "period_from": NOW, "period_to": NOW,
        "count": "7", "idempotency_key": f"{ID}::text", "actor": "'human'", "actor_id": "'mallory'",
        "authority": "'recoup_hub'",
    },
    "recoup.audit_result": {
        "incarnation": "1", "started_at": NOW, "finished_at": NOW, "selected": "'{}'", "checked": "3", "held": "1",
        "not_checked": "1", "broken": "1", "broken_rows": """'{"laws/L1": 7}'""", "recoup_version": "'1'",
        "actor": "'human'", "actor_id": "'mallory'", "authority": "'recoup_operator'",
    },
    "cl.gate_zero_intake": {"intake_id": ID, "company_name": "'Acme'"},
    "cl.gate_zero_attempt": {
        "attempt_id": ID, "intake_id": new_intake, "attempt_number": "1", "worker": "'w'", "opened_at": NOW,
        "lease_until": LATER,
    },
    "cl.gate_zero_recovery": {
        "recovery_id": ID, "intake_id": new_intake, "failure_reason": "'TIMEOUT'", "next_eligible_at": LATER,
    },
    "cl.gate_zero_air": {
        "air_event_id": ID, "entity_id": ID, "event_type": "'AUTH'", "reason_code": "'EXISTENCE_CONFIRMED'",
        "actor": "'human'", "event_timestamp": NOW, "incarnation": "1", "actor_id": "'mallory'",
        "authority": "'recoup_gate'",
    },
    "cl.gate_zero_evidence": {
        "attempt_id": ID, "check_number": "1", "check_name": "'dns'", "finding": "'passed'", "message": "'m'",
        "duration_ms": "1", "recorded_at": NOW,
    },
    "cl.company_identity": {
        "sovereign_company_id": ID, "intake_id": new_intake, "company_name": "'Acme'", "minted_at": NOW,
    },
    "cl.sovereign_mint_air": {
        "air_event_id": ID, "entity_id": ID, "actor": "'human'", "event_timestamp": NOW, "incarnation": "1",
        "sovereign_company_id": ID, "actor_id": "'mallory'", "authority": "'recoup_mint'",
    },
    "recoup.clock": {"only_row": "true", "status": "'simulated'", "at": "timestamptz '2026-01-01'"},
    "recoup.content_log": {
        "incarnation": "1", "logged_at": NOW, "subject": "'s'", "event_type": "'BIRTH'", "form": "1", "keys": "'{k}'",
        "digests": f"array[{ZEROS}]", "actor": "'human'", "actor_id": "'mallory'", "authority": "'recoup_hub'",
    },
    "recoup.control_log": {
        "incarnation": "1", "logged_at": NOW, "subject": "'laws'", "key": "'k'", "event_type": "'MOVE'",
        "from_status": "'a'", "to_status": "'b'", "facts": "'{}'", "reason": "'r'", "actor": "'human'",
        "actor_id": "'mallory'", "authority": "'x'",
    },
    "recoup.declaration_log": {
        "incarnation": "1", "logged_at": NOW, "event_type": "'ADDED'", "declared_in": "'laws'", "row": "'{}'",
    },
    "recoup.duty_tally": {
        "worker_id": a_worker, "duty": "'laws'", "runs": "0", "done": "0", "failures": "0", "last_run_at": NOW,
    },
    "recoup.error": AN_ERROR,
    **{table: {**AN_ERROR, "error_table": f"'{table}'"} for table in ErrorPolicy.shipped().tables},
    "recoup.error_archive": {
        **AN_ERROR, "status": "'ARCHIVED'", "archived_at": archived_long_ago, "archive_reason": "'MANUAL'",
        "archived_by": "'mallory'", "final_disposition": "'ARCHIVE'", "was_blocking": "false",
        "retry_count": "0", "escalation_level": "0",
    },
    "recoup.error_archive_month": {"error_table": f"'{ERRORS}'", "month": "date '1990-02-01'", "made_at": NOW},
    "recoup.error_redaction": {
        "error_table": f"'{ERRORS}'", "error_id": "1", "error_message": "'[redacted]'", "digest": ZEROS,
        "redacted_at": NOW,
    },
    "recoup.retry_traceback": {
        "error_table": f"'{ERRORS}'", "error_id": "1", "retry": "1", "token": ID, "traceback": "'Traceback'",
        "recorded_at": NOW,
    },
    "recoup.delivery": {
        "delivery_id": ID, "route": "'log'", "subject": "'s'", "body": "'{}'", "dedup_key": f"{ID}::text",
        "origin": "'operator'", "policy_version": "1",
    },
    "recoup.alert": {
        "alert_id": ID, "rule": f"{ID}::text", "key": "'overall'", "signal": "'s'", "unit": "'count'",
        "severity": "'HIGH'", "action": "'a'", "threshold": "1", "value": "2", "policy_version": "1",
    },
    "recoup.alert_event": {
        "incarnation": "1", "logged_at": NOW, "alert_id": ID, "rule": "'r'", "key": "'k'", "to_status": "'firing'",
        "notices": "0", "routes": "'{}'", "unsent": "0", "actor": "'human'", "actor_id": "'mallory'",
        "authority": "'x'",
    },
    "recoup.silence": {
        "silence_id": ID, "rule": "'r'", "key": "'k'", "until": LATER, "reason": "'r'", "created_by": "'x'",
        "created_at": NOW,
    },
    "recoup.api_key": {
        "key_id": ID, "name": f"{ID}::text", "role": "'viewer'", "created_by": "'x'", "created_at": NOW,
        "prefix": f"translate(left({ID}::text, 8), '0189', 'ghij')",
        "secret_hash": f"sha256(convert_to({ID}::text, 'UTF8'))",
    },
    "recoup.api_key_use": {"key_id": key_in, "last_used_at": NOW},
    "recoup.session": {
        "session_id": ID, "token_hash": f"sha256(convert_to({ID}::text, 'UTF8'))", "name": "'x'", "role": "'local'",
        "is_link": "false", "created_at": NOW, "expires_at": LATER,
    },
    "recoup.idempotency": {
        "slot": "0", "principal": "'x'", "key": f"{ID}::text", "method": "'POST'", "path": "'/'",
        "digest": "sha256('x')",
    },
    "recoup.rate_bucket": {"principal": f"{ID}::text", "tokens": "1", "refilled_at": NOW},
    "recoup.denied_call": {
        "minute": NOW, "address": "'*'", "key_prefix": "''", "refusal": "'x'", "calls": "1",
    },
    "recoup.alert_gauge": {"rule": f"{ID}::text", "key": "'k'", "unit": "'count'", "facts": "'{}'"},
    "recoup.alert_round": {"one": "true"},
    "recoup.error_tally": {
        "slot": NOW, "error_table": f"{ID}::text", "flags": "1", "events": "1", "last_at": NOW,
    },
    "recoup.error_tally_mark": {"one": "true"},
    "recoup.delivery_queue": {"unit": ID, "wake_at": NOW},
    "recoup.delivery_event": {
        "incarnation": "1", "logged_at": NOW, "delivery_id": ID, "route": "'log'", "to_status": "'queued'",
        "attempts": "0", "next_try_at": NOW, "actor": "'human'", "actor_id": "'mallory'", "authority": "'x'",
    },
    "recoup.error_event": {
        "incarnation": "1", "logged_at": NOW, "error_table": f"'{ERRORS}'", "error_id": "1", "event_type": "'REVIEWED'",
        "disposition": "'RETRY'", "retry_count": "0", "actor": "'human'", "actor_id": "'mallory'", "authority": "'x'",
    },
    "recoup.operation": {
        "operation_id": ID, "subject": "'recoup.error'", "verb": "'park'", "arguments": "'{}'", "filter": "'{}'",
        "items": "0", "digest": ZEROS, "requested_at": NOW, "requested_by": "'x'",
    },
    "recoup.operation_item": {
        "operation_id": new_operation, "place": "1", "unit": f"'{ERRORS}/1'",
    },
    "recovery.run": {
        "run_id": ID, "kind": "'import'", "source": "'import'", "status": "'queued'", "owner": "'x'", "created_at": NOW,
        "queued_at": NOW,
    },
    "recovery.run_trace": {
        "incarnation": "1", "logged_at": NOW, "run_id": ID, "event_type": "'note'", "from_status": "'running'",
        "to_status": "'running'", "facts": "'{}'", "actor": "'human'", "actor_id": "'mallory'", "authority": "'x'",
    },
    "recovery.incident": {
        "incident_id": ID, "source": f"{ID}::text", "error_signature": "'s'", "opened_at": NOW,
    },
    "recovery.failure_match": {
        "failure_match_id": ID, "incident_id": ID, "source": "'s'", "idempotency_key": f"{ID}::text",
        "subject_kind": "'outside'", "subject_ref": "'r'", "error_message": "'m'", "error_signature": "'s'",
        "category": "'TRANSIENT'", "digest": ZEROS, "evaluate_at": NOW, "match_until": LATER, "policy_version": "1",
        "created_at": NOW, "updated_at": NOW,
    },
    "recovery.match_queue": {"unit": ID, "wake_at": NOW},
    "recovery.evaluation": {
        "failure_match_id": ID, "evaluation_no": "1", "rules": "'plan'", "fired": "'{new}'", "weight": "1",
        "facts": "'{}'", "policy_version": "1", "evaluated_at": NOW,
    },
    "recovery.scope": {
        "scope_id": ID, "incident_id": ID, "allowed_actions": "'{a}'", "max_attempts": "3", "cost_limit": "3",
        "least_cost": "1", "ttl_seconds": "60", "expires_at": LATER, "opened_by": "'x'", "reason": "'r'",
        "policy_version": "1", "opened_at": NOW,
    },
    "recovery.candidate": {
        "candidate_id": ID, "failure_match_id": ID, "incident_id": ID, "error_signature": "'s'",
        "subject_kind": "'outside'", "decide_by": LATER, "policy_version": "1", "created_at": NOW, "updated_at": NOW,
    },
    "recovery.lease": {"token": ID, "worker": "'w'", "lease_until": LATER, "candidates": f"array[{ID}]"},
    "recovery.experience": {
        "action_name": "'a'", "source": "'s'", "category": "''", "day": "'2026-01-01'", "succeeded": "1", "ended": "2",
    },
    "recovery.breaker": {
        "name": f"{ID}::text", "status": "'open'", "parts": "'{table:x}'", "wait_s": "1", "max_wait_s": "1",
        "opened_at": NOW, "open_until": LATER, "opened_by": "'ann'", "reason": "'r'",
    },
    "recovery.task": {
        "task_id": ID, "incident_id": ID, "action_name": "'a'", "owner": "'o'", "subject": "'s'", "due_at": LATER,
        "created_at": NOW,
    },
    "recovery.config": {
        "key": "'k' || replace(gen_random_uuid()::text, '-', '')", "version": "1", "value": "'1'", "set_by": "'x'",
        "reason": "'r'", "set_at": NOW,
    },
    "recovery.provenance": {
        "incarnation": "1", "logged_at": NOW, "event_type": "'created'", "incident_id": ID, "actor": "'human'",
        "actor_id": "'mallory'", "authority": "'x'",
    },
    "partitions.partition_state": {
        "source": f"{ID}::text", "customer_id": "'c'", "query_name": "'q'", "logical_date": "'2026-01-01'",
        "created_at": NOW, "updated_at": NOW,
    },
    "partitions.run": {
        "run_id": ID, "partition_id": "nextval('partitions.partition_seq')", "number": "1", "lane": "'fresh'",
        "pool": "'p'", "reprocesses": "false", "worker": "'w'", "token": ID, "lease_until": LATER,
        "policy_version": "1", "opened_at": NOW, "dispatched_at": NOW, "updated_at": NOW,
    },
    "partitions.schedule": {
        "partition_id": "nextval('partitions.partition_seq')", "source": "'s'", "query_name": "'q'", "lane": "'fresh'",
        "next_run_at": NOW, "backoff_strategy": "'steps'", "first_enqueued_at": NOW, "updated_at": NOW,
    },
    "partitions.attempt": {
        "incarnation": "1", "logged_at": NOW, "partition_id": "nextval('partitions.partition_seq')", "run_id": ID,
        "number": "1", "verdict": "'rejected'", "policy_version": "1", "opened_at": NOW, "actor": "'human'",
        "actor_id": "'mallory'", "authority": "'x'",
    },
    "partitions.partition_event": {
        "incarnation": "1", "logged_at": NOW, "subject": "'partition'", "partition_id": "1", "event_type": "'x'",
        "to_status": "'pending'", "actor": "'human'", "actor_id": "'mallory'", "authority": "'x'",
    },
    "partitions.override_log": {
        "incarnation": "1", "logged_at": NOW, "command": "'retry'", "partitions": "'{1}'", "before": "'{}'",
        "after": "'{}'", "actor": "'human'", "actor_id": "'mallory'", "authority": "'x'",
    },
    "partitions.sink": {
        "sink_id": ID, "name": f"{ID}::text", "registered_at": NOW, "registered_by": "'x'", "updated_at": NOW,
    },
    "partitions.requeue_request": {
        "candidate_id": ID, "partition_id": "1", "verb": "'retry'", "approver": "'ann'", "requested_at": NOW,
    },
    "partitions.backfill_item": {
        "place": "1", "backfill_id": ID, "partition_id": "nextval('partitions.partition_seq')", "found": "'pending'",
        "status": "'waiting'", "planned_at": NOW,
    },
    "partitions.backfill": {
        "backfill_id": ID, "selection": "'{}'", "reason": "'r'", "requested_by": "'x'", "priority": "5",
        "reprocess": "false", "with_terminal": "false", "expected": "1", "policy_version": "1", "created_at": NOW,
        "updated_at": NOW,
    },
    "recoup.incarnation": {"incarnation": "1000000", "system_identifier": "1", "began_at": "now()"},
    "recoup.late_result": {
        "subject": "'laws'", "unit_id": ID, "token": ID, "result": "'{}'", "received_at": NOW, "actor_id": "'x'",
    },
    "recoup.claim_log": {
        "incarnation": "1", "logged_at": NOW, "subject": "'laws'", "token": ID, "worker": "'w'", "lease_until": LATER,
        "units": "'{laws/1/1}'", "actor": "'system'", "actor_id": "'x'", "authority": "'x'",
    },
    "recoup.queue_form": {"wake_at": NOW},
    "recoup.error_queue": {
        "unit": "9000000001", "part": f"'{ERRORS}'", "wake_at": NOW, "category": "'TRANSIENT'", "max_retries": "5",
    },
    "recoup.lifecycle": {
        "subject": "'laws.sample'", "key": "'{}'", "status_column": "'status'", "frozen": "'{}'", "once": "'{}'",
        "rising": "'{}'", "domain": "'gate'",
    },
    "recoup.domain": {
        "name": "'laws'", "epoch": "1", "release": "1", "digest": "''", "recoup_version": "'0'", "applied_at": "now()",
        "applied_by": "'x'",
    },
    "recoup.follower": {
        "domain": "'platform'", "subject": "'recoup.clock'", "event": "'insert'", "place": "'b'",
        "function": "'laws.rule'", "arguments": "'{}'",
    },
    "recoup.log": {"log": "'laws.sample'", "domain": "'gate'", "at": "'at'", "canon": "0", "recorders": "'{}'"},
    "recoup.pausable": {"domain": "'gate'", "scope": "'laws'", "name": "'sample'"},
    "recoup.policy_bound": {"path": "'{laws,sample}'", "domain": "'gate'", "least": "0", "most": "1"},
    "recoup.lifecycle_step": {
        "subject": "'recoup.clock'", "kind": "'birth'", "to_status": "'stopped'", "authority": "'gate'",
        "counts": "false", "requires": "'{}'", "through": "'{}'", "says": "'x'", "domain": "'platform'",
    },
    "recoup.migration": {
        "name": "'laws'", "checksum": "''", "applied_at": "now()", "applied_by": "'x'", "recoup_version": "'0'",
    },
    "recoup.pause": {
        "scope": "'duty'", "scope_id": "'laws'", "status": "'PAUSED'", "changed_at": NOW, "changed_by": "'x'",
        "reason": "'r'",
    },
    "recoup.pause_log": {
        "incarnation": "1", "logged_at": NOW, "event_type": "'PAUSE'", "scope": "'batch'", "scope_id": "'b'",
        "reason": "'r'", "actor": "'human'", "actor_id": "'mallory'", "authority": "'x'",
    },
    "recoup.policy": {
        "version": "(select max(version) + 1 from recoup.policy)", "document": "''",
        "figures": "(select figures from recoup.policy where version = 1)",
        "reason": "'r'", "incarnation": "1", "applied_at": "timestamptz '2000-01-01'", "actor": "'human'",
        "actor_id": "'mallory'", "authority": "'x'",
    },
    "recoup.routine": {
        "name": "'laws'", "checksum": "''", "applied_at": "now()", "applied_by": "'x'", "recoup_version": "'0'",
    },
    "recoup.seal": {
        "number": "1000000", "log": "'recoup.pause_log'", "canon": "1", "incarnation": "1", "system_identifier": "1",
        "since": "'1:1:'", "after_seq": "0", "last_seq": "0", "closes": "true", "rows": "0", "rows_digest": ZEROS,
        "sealed_at": NOW, "actor_id": "'mallory'", "previous": ZEROS, "digest": ZEROS,
    },
    "recoup.subscription": {"name": "'laws'", "log": "'cl.gate_zero_air'", "created_at": NOW},
    "recoup.worker": {
        "worker_id": ID, "name": "'w'", "host": "'h'", "pid": "1", "recoup_version": "'1'", "duties": "'{}'",
        "started_at": NOW, "heartbeat_at": NOW,
    },
}  # fmt: skip

# What has to go before the row fits: there is one clock, one round of alerts, and one mark of what is counted.
ROOM = {
    "recoup.clock": "delete from recoup.clock",
    "recoup.alert_round": "delete from recoup.alert_round",
    "recoup.error_tally_mark": "delete from recoup.error_tally_mark",
}


def sample(table: str) -> Row:
    if table not in SAMPLES:
        raise LookupError(f"{table} has no sample row: give it one in tests/laws/rows.py.")
    return SAMPLES[table]


def key_column(table: str) -> str:
    """The first column of a sample is its key, or leads it."""
    return next(iter(sample(table)))


def relation(table: str) -> Identifier:
    return Identifier(*table.split("."))


def insertion(tx: Transaction, table: str, changes: Row) -> Composable:
    """INSERT of the sample row with some columns changed."""
    columns = {**sample(table), **changes}
    # Rows with an identity of the server's making can be given one, so that two can be given the same.
    return SQL("insert into {} ({}) overriding system value values ({})").format(
        relation(table),
        SQL(", ").join(map(Identifier, columns)),
        SQL(", ").join(_in_sql(tx, value) for value in columns.values()),
    )


def _in_sql(tx: Transaction, value: Value) -> Composable:
    if isinstance(value, str):
        return SQL(value)
    return value if isinstance(value, Literal) else Literal(value(tx))


def put(tx: Transaction, table: str, changes: Row | None = None) -> dict[str, Any]:
    """Insert the sample row, changed like that, and return all its columns and where it lies (``ctid``)."""
    statement = SQL("{} returning ctid::text, *").format(insertion(tx, table, changes or {}))
    cursor = tx.execute(statement)
    row = cursor.fetchone()
    assert row is not None
    return dict(zip((column.name for column in cursor.description or ()), row, strict=True))
