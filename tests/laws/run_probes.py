"""The probes of runs and of their trace."""

from __future__ import annotations

from company import acting, new_run, run_in
from laws.probing import PROBES, check, key, law, refused, seen
from laws.rows import ID, LATER, NOW
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.runs import running

__all__ = ["PROBES"]

RUNNER = Authority.RUNNER
RUN, TRACE = "recovery.run", "recovery.run_trace"
BEGUN = {"started_at": NOW, "token": ID, "heartbeat_at": NOW}
ENDED = {**BEGUN, "status": "'succeeded'", "finished_at": NOW, "ended_with": ID}

key(RUN, "run_pkey", "An id is one run's.", "run_id")
key(RUN, "run_retry_of", "A run is retried once.", "retry_of",
    first={"retry_of": ID, "candidate_id": ID}, then={"candidate_id": ID})  # fmt: skip
check(RUN, "run_status_check", "A status is a listed one.", **BEGUN, status="'gone'")
check(RUN, "run_named_check", "A run is of a kind.", kind="''")
check(RUN, "run_named_check", "Its source has a name that can be read.", source="repeat('x', 201)")
check(RUN, "run_retry_check", "A retry is a candidate's.", retry_of=ID)
check(RUN, "run_retry_check", "A candidate's run is a retry.", candidate_id=ID)
check(RUN, "run_queued_check", "What is queued was queued once.", queued_at="null")
check(RUN, "run_started_check", "What waits has not begun.", started_at=NOW)
check(RUN, "run_started_check", "What runs has a token.", **BEGUN | {"status": "'running'", "token": "null"})
check(RUN, "run_ended_check", "What ended did so at some time.", **ENDED | {"finished_at": "null"})
check(RUN, "run_ended_check", "It was ended with a token.", **ENDED | {"ended_with": "null"})
check(RUN, "run_ended_check", "A crash has a reason.", status="'crashed'", finished_at=NOW)
check(RUN, "run_ended_check", "A result is that of an end.", result="'1'")
key(TRACE, "run_trace_pkey", "One order.", "seq")
check(TRACE, "run_trace_event_type_check", "An event is a listed one.", event_type="'beaten'")
check(TRACE, "run_trace_actor_check", "Somebody of a known kind acted.", actor="'nobody'")
check(TRACE, "run_trace_logged_at_check", "Times are times.", logged_at="'infinity'")


@law(RUN, "recovery.rule_run_births", "insert")
def a_run_begins_now(tx: Transaction) -> None:
    """A run is not created in the future, nor by a worker that there is not."""
    row = "insert into recovery.run (kind, source, status, owner, worker_id, created_at, queued_at) values"
    rule = "recovery.rule_run_births"
    refused(tx, f"{row} ('k', 'k', 'queued', 'x', null, {LATER}, {LATER})", who=RUNNER, by=rule, sqlstate="RC101")
    refused(tx, f"{row} ('k', 'k', 'queued', 'x', {ID}, {NOW}, {NOW})", who=RUNNER, by=rule, sqlstate="RC100")


@law(RUN, "recovery.record_run_births", "insert")
def a_run_that_begins_is_in_the_trace(tx: Transaction) -> None:
    """The start of a run is recorded."""
    seen(tx, "select from recovery.run_trace where run_id = %s and event_type = 'started'", new_run(tx).run_id)


@law(RUN, "recovery.record_run_moves", "update")
def what_becomes_of_a_run_is_in_the_trace(tx: Transaction) -> None:
    """An end is recorded, and so is a note."""
    seen(tx, "select from recovery.run_trace where run_id = %s and event_type = 'failed'", run_in(tx, "failed"))
    run = new_run(tx)
    with acting(tx, RUNNER):
        running.note(tx, run.run_id, run.token, "half of it")
    seen(tx, "select from recovery.run_trace where run_id = %s and reason = 'half of it'", run.run_id)
