"""For every invariant of runs, what breaks it. Names in braces are those of the cast (lively_runs.py)."""

from __future__ import annotations


def _run(of: str, change: str) -> str:
    return f"update recovery.run set {change} where run_id = {{{of}}}"


def _event(of: str, event_type: str, change: str) -> str:
    return f"update recovery.run_trace set {change} where run_id = {{{of}}} and event_type = '{event_type}'"


ROWS: tuple[tuple[str, str], ...] = (
    ("recovery/EC-2", _run("run_running", "heartbeat_at = heartbeat_at - interval '2 hours'")),
    ("recovery/EC-2", "update recoup.worker set status = 'lost', ended_at = (select max(last_run_at)"
     " - interval '2 hours' from recoup.duty_tally where duty = 'orphaned-runs') where name = 'ada'; "
     + _run("run_queued", "worker_id = (select worker_id from recoup.worker where name = 'ada')")),
    ("recovery/PB-S1", _run("run_queued", "retry_of = {run_running}, candidate_id = gen_random_uuid()")),
    ("recovery/PB-S1", _run("run_queued", "retry_of = {run_succeeded}, candidate_id = gen_random_uuid()")),
    ("recovery/PB-S1", _run("run_queued", "retry_of = {run_failed}")),
    ("recovery/PB-S1", _run("run_queued", "retry_of = {run_queued}, candidate_id = gen_random_uuid()")),
    ("recovery/PB-S1", _run("run_queued", "retry_of = {run_failed}, candidate_id = gen_random_uuid(), input = '1'")),
    ("recovery/PB-S1", _run("run_queued", "candidate_id = gen_random_uuid()")),
    ("recovery/PB-S2", _run("run_silent", "crash_reason = 'tired'")),
    ("recovery/PB-S2", _run("run_silent", "status = 'running'")),
    ("recovery/PB-S2", _run("run_running", "status = 'crashed', crash_reason = 'x', finished_at = recoup.now()")),
    ("recovery/PB-S2", _event("run_unclaimed", "crashed", "authority = 'recoup_runner'")),
    ("recovery/P2/run", _run("run_succeeded", "result = '{{\"rows\": 4}}'")),
    ("recovery/P2/run", _run("run_succeeded", "status = 'failed'")),
    ("recovery/P2/run", _run("run_failed", "message = 'yes'")),
    ("recovery/P2/run", _run("run_failed", "finished_at = finished_at + interval '1 second'")),
    ("recovery/P2/run", _run("run_failed", "ended_with = gen_random_uuid()")),
    ("recovery/P2/run", _run("run_silent", "heartbeat_at = heartbeat_at + interval '1 second'")),
    ("recovery/P3", "delete from recovery.run where run_id = {run_silent}"),
    ("recovery/P3", "delete from recovery.run_trace where run_id = {run_silent}"),
    ("runs/trace/agrees", _run("run_running", "owner = 'mallory'")),
    ("runs/trace/agrees", _run("run_running", "worker_id = null")),
    ("runs/trace/agrees", _run("run_running", "token = gen_random_uuid()")),
    ("runs/trace/agrees", _run("run_running", "started_at = started_at - interval '1 second'")),
    ("runs/trace/agrees", _run("run_running", "note = 'ended'")),
    ("runs/trace/agrees", _run("run_running", "notes = 7")),
    ("laws/L5/late-runs", "update recoup.late_result set unit_id = {run_queued}::text || 'x'"
     " where subject = 'recovery.run'"),
    ("laws/L5/late-runs", _run("run_silent", "finished_at = finished_at + interval '1 hour'")),
)  # fmt: skip
