"""However many rows lie idle, ``why`` reads those that belong to its subject, by index: now, and at a past time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from company import acting
from hub import DOL
from plans import assert_reads_only, carried_out
from recoup import clock, why
from recoup.database import embedded
from recoup.database.connection import Transaction, connect
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused
from recoup.settings import Settings
from why.playing import SOURCES

IDLE = 20_000  # in each of two dozen tables: from here on, the planner chooses as it does for millions
MOST = 600  # rows that a node may handle: a page of find, a page of events
FILLED = (
    "recoup.error", "recoup.error_event", "recoup.claim_log", "recoup.pause_log", "recoup.control_log",
    "cl.gate_zero_intake", "cl.gate_zero_attempt", "cl.gate_zero_air", "cl.gate_zero_recovery", "cl.company_identity",
    "cl.sovereign_mint_air", "recovery.run", "recovery.run_trace", "recovery.failure_match", "recovery.candidate",
    "recovery.provenance", "recovery.evaluation", "partitions.partition_state", "partitions.schedule",
    "partitions.partition_event", "partitions.run", "partitions.attempt", "recoup.delivery", "recoup.delivery_event",
)  # fmt: skip
BIG = frozenset({*(name.split(".")[1] for name in FILLED), "dol_errors"})
# Every row has the same number in its id, so that what belongs together is known.
FILL = """
create temp table given as
select i, lpad(to_hex(i), 32, '0')::uuid as id, t.now_, t.now_ + i * interval '1 millisecond' as at
  from generate_series(1, {idle}) i, (select recoup.now() - interval '2 days' as now_) t;
insert into recoup.error (error_table, error_id, outreach_id, error_message, error_signature, category, disposition,
  status, ttl_tier, expires_at, retry_count, max_retries, next_retry_at, decided_by, policy_version, created_at,
  updated_at)
select 'outreach.dol_errors', i, id, 'idle', 's2-idle', 'TRANSIENT', 'RETRY', 'RETRY_PENDING', 'MEDIUM',
       at + interval '90 days', 1, 5, at + interval '9 days', 'table', 1, at, at from given;
insert into recoup.error_event (incarnation, logged_at, error_table, error_id, event_type, from_status, to_status,
  disposition, retry_count, reason, token, actor, actor_id, authority)
select 1, at, 'outreach.dol_errors', i, 'RECORDED', null, 'RETRY_PENDING', 'RETRY', 0, null, null::uuid, 'system', 'x',
       'recoup_hub' from given
union all
select 1, at + interval '1 hour', 'outreach.dol_errors', i, 'FAILED', 'RETRY_PENDING', 'RETRY_PENDING', 'RETRY', 1,
       'no', id, 'system', 'x', 'recoup_hub' from given;
insert into recoup.claim_log (incarnation, logged_at, subject, token, worker, lease_until, units, actor, actor_id,
  authority)
select 1, at + interval '50 minutes', 'recoup.error', id, 'w', at + interval '2 hours', array[i::text], 'system', 'x',
       'recoup_hub' from given;
insert into recoup.pause_log (incarnation, logged_at, event_type, scope, scope_id, reason, actor, actor_id, authority)
select 1, at, 'PAUSE', 'duty', 'd' || i, 'r', 'human', 'x', 'recoup_operator' from given;
insert into recoup.control_log (incarnation, logged_at, subject, key, event_type, to_status, facts, reason, actor,
  actor_id, authority)
select 1, at, 'cl.gate_zero_intake', id::text, 'BIRTH', 'PENDING', '{}', 'r', 'human', 'x', 'recoup_operator'
  from given;
insert into cl.gate_zero_intake (intake_id, company_name, status, created_at, updated_at)
select id, 'Idle ' || i, 'AUTHORIZED', at, at from given;
insert into cl.gate_zero_attempt (attempt_id, intake_id, attempt_number, status, worker, token, opened_at, lease_until,
  finished_at, policy_version, ended_with)
select id, id, 1, 'passed', 'w', id, at, at + interval '1 hour', at + interval '1 minute', 1, id from given;
insert into cl.gate_zero_air (entity_id, event_type, reason_code, actor, event_timestamp, incarnation, attempt_id,
  actor_id, authority)
select id, 'ATTEMPT', 'START', 'system', at, 1, id, 'x', 'recoup_gate' from given
union all
select id, 'PASS', 'CHECKS_PASSED', 'system', at + interval '1 minute', 1, id, 'x', 'recoup_gate' from given;
insert into cl.gate_zero_recovery (intake_id, failure_reason, next_eligible_at, status, created_at, updated_at)
select id, 'TIMEOUT', at, 'SUCCEEDED', at, at from given;
insert into cl.company_identity (sovereign_company_id, intake_id, company_name, minted_at)
select id, id, 'Idle', at + interval '2 minutes' from given;
insert into cl.sovereign_mint_air (entity_id, actor, event_timestamp, incarnation, sovereign_company_id, actor_id,
  authority)
select id, 'system', at + interval '2 minutes', 1, id, 'x', 'recoup_mint' from given;
insert into recovery.run (run_id, kind, source, status, owner, token, created_at, started_at, heartbeat_at, finished_at,
  crash_reason)
select id, 'k' || i % 9, 's', 'crashed', 'x', id, at, at, at, at + interval '1 hour', 'silent' from given;
insert into recovery.run_trace (incarnation, logged_at, run_id, event_type, from_status, to_status, facts, actor,
  actor_id, authority)
select 1, at, id, 'started', null, 'running', '{}'::jsonb, 'system', 'x', 'recoup_runner' from given
union all
select 1, at + interval '1 hour', id, 'crashed', 'running', 'crashed', '{}'::jsonb, 'system', 'x',
       'recoup_orphan_recovery' from given;
insert into recovery.failure_match (failure_match_id, incident_id, source, idempotency_key, subject_kind, subject_ref,
  error_message, error_signature, category, digest, evaluate_at, match_until, policy_version, created_at, updated_at)
select id, id, 's', i::text, 'run', id::text, 'idle', 's2-idle', 'TRANSIENT', '\\x00', at, at + interval '30 days', 1,
       at, at from given;
insert into recovery.evaluation (failure_match_id, evaluation_no, rules, fired, recommended_action, weight, facts,
  policy_version, evaluated_at)
select id, 1, 'plan', '{plan.run}', 'retry', 1, '{}', 1, at from given;
insert into recovery.candidate (candidate_id, failure_match_id, incident_id, error_signature, subject_kind, decide_by,
  policy_version, created_at, updated_at)
select id, id, id, 's2-idle', 'run', at + interval '9 days', 1, at, at from given;
insert into recovery.provenance (incarnation, logged_at, event_type, candidate_id, failure_match_id, incident_id,
  number, to_status, policy_version, actor, actor_id, authority)
select 1, at, e.type, case when e.type = 'created' then id end, id, id, case e.type when 'rule_evaluated' then 1 end,
       e.status, 1, 'system', 'x', 'recoup_matcher'
  from given, (values ('match_created', 'new'), ('rule_evaluated', 'done'), ('created', 'pending')) e (type, status);
insert into partitions.partition_state (source, customer_id, query_name, logical_date, partition_id, status,
  attempt_count, error_message, created_at, updated_at)
select 's' || i % 40, 'c' || i, 'q', '2026-01-01', i, 'failed', 1, 'm', at, at from given;
insert into partitions.schedule (partition_id, source, query_name, status, lane, next_run_at, backoff_strategy,
  first_enqueued_at, updated_at)
select i, 's' || i % 40, 'q', 'waiting', 'fresh', at + interval '9 days', 'steps', at, at from given;
insert into partitions.run (run_id, partition_id, number, turn, status, lane, pool, reprocesses, worker, token, reason,
  message, policy_version, opened_at, dispatched_at, ended_at, updated_at)
select id, i, 1, i, 'lost', 'fresh', 'default', false, 'w', id, 'R', 'm', 1, at, at, at, at from given;
insert into partitions.attempt (incarnation, logged_at, partition_id, run_id, number, verdict, policy_version,
  opened_at, actor, actor_id, authority)
select 1, at, i, id, 1, 'rejected', 1, at, 'system', 'x', 'recoup_validator' from given;
insert into partitions.partition_event (incarnation, logged_at, subject, partition_id, run_id, event_type, to_status,
  facts, actor, actor_id, authority)
select 1, at, e.subject, i, case e.subject when 'run' then id end, e.type, e.status, '{}', 'system', 'x', 'recoup_hub'
  from given, (values ('partition', 'enqueued', 'pending'), ('schedule', 'scheduled', 'waiting'),
                      ('run', 'lost', 'lost'), ('partition', 'rejected', 'failed')) e (subject, type, status);
insert into recoup.delivery (delivery_id, route, subject, body, dedup_key, origin, candidate_id, policy_version,
  created_at, updated_at, next_try_at)
select id, 'log', 's', '{}', i::text, 'candidate', id, 1, at, at, at + interval '9 days' from given;
insert into recoup.delivery_event (incarnation, logged_at, delivery_id, route, to_status, attempts, next_try_at, actor,
  actor_id, authority)
select 1, at, id, 'log', 'queued', 0, at, 'system', 'x', 'recoup_executor' from given;
"""


@pytest.fixture(scope="module")
def crowd(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Transaction]:
    with contextlib.closing(connect(server.uri(new_database(), admin=True), settings)) as connection:
        connection.execute("set statement_timeout = 0")
        for table in (*FILLED, DOL):
            connection.execute(f"alter table {table} disable trigger all".encode())  # no rules, no recorders
        connection.execute(FILL.replace("{idle}", str(IDLE)).encode())
        for table in (*FILLED, DOL):
            connection.execute(f"alter table {table} enable trigger all".encode())
        connection.execute("vacuum analyze")
        yield connection


MIDDLE = f"{IDLE // 2:032x}"
SUBJECTS = {
    f"entity:{MIDDLE}": 3,
    f"error:{IDLE // 2}": 3,
    f"error:outreach.dol_errors/{IDLE // 2}": 3,
    f"company:{MIDDLE}": 5,
    f"identity:{MIDDLE}": 5,
    f"run:{MIDDLE}": 6,
    f"match:{MIDDLE}": 6,
    f"candidate:{MIDDLE}": 6,
    f"partition:s{IDLE // 2 % 40}/c{IDLE // 2}/q/2026-01-01": 4,
}


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("subject", SUBJECTS)
def test_why_reads_what_belongs_to_its_subject(crowd: Transaction, subject: str, kept: bool) -> None:
    for at in (None, timedelta(hours=1)):
        with carried_out(crowd, kept=kept) as plans:
            with acting(crowd, Authority.READER):
                answer = why.why(crowd, subject, SOURCES, at=at)
            assert (answer.subject is not None, len(answer.events)) == (True, SUBJECTS[subject]), answer
            assert_reads_only(plans.take(), MOST, big=BIG)


def test_an_id_alone_is_looked_up_in_every_domain_by_its_indexes(crowd: Transaction) -> None:
    """It may be anything. Here it is of several things, which the refusal lists."""
    with carried_out(crowd, kept=False) as plans:
        with acting(crowd, Authority.READER), pytest.raises(InputRefused) as caught:
            why.why(crowd, MIDDLE, SOURCES)
        assert caught.value.code == "why_ambiguous"
        assert len(caught.value.facts["found"]) >= 6  # type: ignore[arg-type]
        assert_reads_only(plans.take(), MOST, big=BIG)


def test_the_number_of_statements_does_not_grow_with_the_rows(
    crowd: Transaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer about one row and one about five hundred take about as many."""
    sent: list[object] = []
    execute = psycopg.Cursor.execute

    def counted(cursor: Any, query: Any, *given: Any, **more: Any) -> Any:
        sent.append(query)
        return execute(cursor, query, *given, **more)

    def statements(subject: str) -> int:
        sent.clear()
        with acting(crowd, Authority.READER):
            why.why(crowd, subject, SOURCES)
        return len(sent)

    monkeypatch.setattr(psycopg.Cursor, "execute", counted)
    with crowd.transaction(force_rollback=True):
        few = statements(f"entity:{MIDDLE}")
        for table in ("recoup.error", DOL):
            crowd.execute(f"alter table {table} disable trigger all".encode())
        crowd.execute(
            "update recoup.error set outreach_id = %s, work_key = error_id::text where error_id <= 600", (MIDDLE,)
        )
        assert 10 < statements(f"entity:{MIDDLE}") <= few + 3


def test_the_clock_is_the_databases(crowd: Transaction) -> None:
    with crowd.transaction(), acting(crowd, Authority.READER):
        now: datetime = clock.read(crowd).now
        assert why.why(crowd, f"entity:{MIDDLE}", SOURCES).at == now
