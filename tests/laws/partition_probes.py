"""The probes of partitions, their runs, schedules and logs."""

from __future__ import annotations

import extraction
from conformance.partition_cast import PARTITION_ROLES
from extraction import dispatched, failed, new_partition, publish, run_in, succeeded
from laws.probing import PROBES, check, key, law, quiet, recorded, refused, seen
from laws.rows import ID, LATER, NOW, insertion, put
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.partitions.lifecycle import RUN as RUN_LIFE

__all__ = ["PROBES"]

CONTROL_PLANE, EXTRACTOR, VALIDATOR = Authority.CONTROL_PLANE, Authority.EXTRACTOR, Authority.VALIDATOR
STATE, RUN, SCHEDULE = "partitions.partition_state", "partitions.run", "partitions.schedule"
ATTEMPT, EVENT, OVERRIDE = "partitions.attempt", "partitions.partition_event", "partitions.override_log"
SINK_ROLE = PARTITION_ROLES[-1]
SINK_TOLD = "select from recoup.control_log where subject = %s and key = %s and event_type = %s"
INFINITE, TIMES, LISTED = "'infinity'", "Times are times.", "It is a listed one."


def named(table: str, column: str, most: int, **also: str) -> None:
    """Neither empty nor endless."""
    for value in ("''", f"repeat('x', {most + 1})"):
        check(table, f"{table.split('.')[1]}_{column}_check", "It has letters, and an end.", **{**also, column: value})


# Partitions -----------------------------------------------------------------------------------------------------------

TRIED = {"attempt_count": "1"}
key(STATE, "partition_state_pkey", "A day of a query is one partition.", "source", "customer_id", "query_name",
    "logical_date")  # fmt: skip
key(STATE, "partition_state_id", "An id is one partition's.", "partition_id")
check(STATE, "partition_state_logical_date_check", "A day is a day.", logical_date=INFINITE)
check(STATE, "partition_state_status_check", LISTED, **TRIED, status="'lost'")
check(STATE, "partition_state_attempt_count_check", "Attempts count from none.", attempt_count="-1")
check(STATE, "partition_state_created_at_check", TIMES, created_at=INFINITE)
check(STATE, "partition_state_updated_at_check", TIMES, updated_at=INFINITE)
for part in ("source", "customer_id", "query_name"):
    for value in ("''", "'.'", "'..'", "repeat('x', 201)"):
        check(STATE, "partition_state_named", "Each part can be the name of a folder.", **{part: value})
check(STATE, "partition_state_current", "A success points at its run.", **TRIED, status="'success'")
check(STATE, "partition_state_message", "A failure has a message.", **TRIED, status="'failed'")
check(STATE, "partition_state_tried", "What failed was tried.", status="'failed'", error_message="'m'")


@law(STATE, "partition_state_accepted")
def what_is_current_was_accepted(tx: Transaction) -> None:
    """A partition points at an accepted attempt of its own."""
    with quiet(tx, STATE), quiet(tx, ATTEMPT):
        points = {**TRIED, "status": "'success'"}
        refused(tx, insertion(tx, STATE, {**points, "current_run_id": ID}), constraint="partition_state_accepted")
        others = put(tx, ATTEMPT, {"verdict": "'accepted'"})
        run = f"'{others['run_id']}'"
        refused(tx, insertion(tx, STATE, {**points, "current_run_id": run}), constraint="partition_state_accepted")


# Runs -----------------------------------------------------------------------------------------------------------------

OVER = {"ended_at": NOW, "lease_until": "null"}
LOST = {**OVER, "status": "'lost'", "reason": "'R'", "message": "'m'"}
PUBLISHED = {
    "status": "'published'", "sink_id": ID, "location": f"{ID}::text", "manifest_digest": "repeat('a', 64)",
    "format": "'jsonl'", "rows": "1", "bytes": "2", "published_at": NOW,
}  # fmt: skip
ACCEPTED = {**PUBLISHED, **OVER, "status": "'accepted'"}
REJECTED = {**ACCEPTED, "status": "'rejected'", "reason": "'R'", "message": "'m'", "error_signature": "'s'",
            "category": "'TRANSIENT'"}  # fmt: skip
key(RUN, "run_pkey", "An id is one run's.", "run_id", first=LOST)
key(RUN, "run_numbered", "A number is one run's of a partition.", "partition_id", "number", first=LOST, then=LOST)
key(RUN, "run_open", "A partition has one run under way.", "partition_id", then={"number": "2"})
key(RUN, "run_location", "What was published is not overwritten.", "sink_id", "location",
    first=PUBLISHED, then=PUBLISHED)  # fmt: skip
check(RUN, "run_number_check", "Runs count from one.", number="0")
check(RUN, "run_status_check", LISTED, status="'odd'", lease_until="null")
check(RUN, "run_lane_check", LISTED, lane="'odd'")
named(RUN, "pool", 100)
named(RUN, "worker", 200)
for column, also in (
    ("lease_until", {}), ("opened_at", {}), ("dispatched_at", {}), ("updated_at", {}), ("published_at", PUBLISHED),
    ("ended_at", LOST),
):  # fmt: skip
    check(RUN, f"run_{column}_check", TIMES, **{**also, column: INFINITE})
check(RUN, "run_validations_check", "Validations count from none.", validations="-1")
named(RUN, "location", 2000, **PUBLISHED)
for value in ("'ab'", "repeat('A', 64)"):
    check(RUN, "run_manifest_digest_check", "A digest is one.", **PUBLISHED | {"manifest_digest": value})
check(RUN, "run_format_check", LISTED, **PUBLISHED | {"format": "'csv'"})
check(RUN, "run_rows_check", "Rows count from none.", **PUBLISHED | {"rows": "-1"})
check(RUN, "run_bytes_check", "Bytes count from none.", **PUBLISHED | {"bytes": "-1"})
for column, most in (("reason", 100), ("rule", 500), ("message", 20000), ("error_signature", 200), ("validator", 500),
                     ("validator_version", 200), ("contract_digest", 200)):  # fmt: skip
    named(RUN, column, most, **REJECTED)
check(RUN, "run_category_check", LISTED, **REJECTED | {"category": "'ODD'"})
for column in ("sink_id", "location", "manifest_digest", "format", "rows", "bytes", "published_at"):
    check(RUN, "run_published_whole", "What is published is so as a whole.", **PUBLISHED | {column: "null"})
check(RUN, "run_published_whole", "What is open is not published.", **PUBLISHED | {"status": "'open'"})
check(RUN, "run_published_whole", "What is published was so.", status="'published'")
check(RUN, "run_published_whole", "What is accepted was published.", **OVER, status="'accepted'")
check(RUN, "run_ended", "What is open has not ended.", ended_at=NOW)
check(RUN, "run_ended", "What was lost ended.", **LOST | {"ended_at": "null"})
check(RUN, "run_ended", "What has ended is under no lease.", **LOST | {"lease_until": LATER})
for column in ("reason", "rule", "message", "error_signature"):
    check(RUN, "run_verdict", "Nothing is said of what was accepted.", **ACCEPTED, **{column: "'x'"})
for column in ("reason", "message", "error_signature", "category"):
    spoilt = REJECTED | {column: "null"}
    check(RUN, "run_verdict", "What is rejected has a reason.", **spoilt)
for column in ("reason", "message"):
    check(RUN, "run_verdict", "What is lost has a reason.", **LOST | {column: "null"})
    check(RUN, "run_verdict", "A reason has a message.", **{column: "'x'"})
check(RUN, "run_verdict", "What is lost broke no rule.", **LOST, rule="'x'")
check(RUN, "run_verdict", "What is open broke none.", rule="'x'")
for column in ("validator", "validator_version", "contract_digest"):
    check(RUN, "run_judged", "Only a verdict has a validator.", **{column: "'x'"})
check(RUN, "run_judged", "Only a verdict has a token.", **LOST, ended_with=ID)
check(RUN, "run_nothing", "What is rejected was published.", **REJECTED | dict.fromkeys(
    ("sink_id", "location", "manifest_digest", "format", "rows", "bytes", "published_at"), "null"))  # fmt: skip
check(RUN, "run_nothing", "Or there was nothing.", **REJECTED | {"reason": "'NOTHING_TO_VALIDATE'"})

# Schedules ------------------------------------------------------------------------------------------------------------

HELD = {"status": "'held'", "next_run_at": "null", "hold": "'PAUSED'", "held_at": NOW}
GIVEN_UP = {"status": "'terminal'", "next_run_at": "null", "terminal_causes": "'{AGE}'", "terminal_at": NOW,
            "terminal_policy": "1"}  # fmt: skip
REQUESTED = {"requested_at": NOW, "requested_by": "'ann'"}
key(SCHEDULE, "schedule_pkey", "A partition has one schedule.", "partition_id")
check(SCHEDULE, "schedule_status_check", LISTED, status="'odd'", next_run_at="null")
check(SCHEDULE, "schedule_lane_check", LISTED, lane="'odd'")
for value in ("-1", "10"):
    check(SCHEDULE, "schedule_priority_check", "Priorities are from 0 to 9.", priority=value)
check(SCHEDULE, "schedule_backoff_strategy_check", LISTED, backoff_strategy="'odd'")
for column in ("dispatches", "attempts_seen", "granted_attempts"):
    check(SCHEDULE, f"schedule_{column}_check", "Counts begin at none.", **{column: "-1"})
for column, also in (
    ("next_run_at", {}), ("first_enqueued_at", {}), ("first_dispatched_at", {}), ("aged_from", {}), ("updated_at", {}),
    ("requested_at", REQUESTED), ("held_at", HELD), ("terminal_at", GIVEN_UP),
):  # fmt: skip
    check(SCHEDULE, f"schedule_{column}_check", TIMES, **{**also, column: INFINITE})
named(SCHEDULE, "requested_by", 500, **REQUESTED)
check(SCHEDULE, "schedule_hold_check", LISTED, **HELD | {"hold": "'ODD'"})
for value in ("'{ODD}'", "'{}'"):
    check(SCHEDULE, "schedule_terminal_causes_check", "A cause is a listed one.",
          **GIVEN_UP | {"terminal_causes": value})  # fmt: skip
check(SCHEDULE, "schedule_waits", "What waits does so until some time.", next_run_at="null")
check(SCHEDULE, "schedule_waits", "What is held does not.", **HELD | {"next_run_at": NOW})
check(SCHEDULE, "schedule_open", "What is open has a run.", status="'open'", next_run_at="null")
check(SCHEDULE, "schedule_held", "What is held is so for a reason.", **HELD | {"hold": "null", "held_at": "null"})
check(SCHEDULE, "schedule_held", "And since some time.", **HELD | {"held_at": "null"})
check(SCHEDULE, "schedule_held", "What waits is not held.", hold="'PAUSED'", held_at=NOW)
check(SCHEDULE, "schedule_terminal", "What is given up is so for a cause.",
      **GIVEN_UP | dict.fromkeys(("terminal_causes", "terminal_at", "terminal_policy"), "null"))  # fmt: skip
check(SCHEDULE, "schedule_terminal", "At some time.", **GIVEN_UP | {"terminal_at": "null"})
check(SCHEDULE, "schedule_terminal", "Under some policy.", **GIVEN_UP | {"terminal_policy": "null"})
check(SCHEDULE, "schedule_requested", "Somebody asks.", requested_at=NOW)
check(SCHEDULE, "schedule_requested", "At some time.", requested_by="'ann'")
check(SCHEDULE, "schedule_reprocesses", "What is given up is not reprocessed.", **GIVEN_UP, reprocesses="true")

# Logs -----------------------------------------------------------------------------------------------------------------

for log, name in ((ATTEMPT, "attempt"), (EVENT, "partition_event"), (OVERRIDE, "override_log")):
    key(log, f"{name}_pkey", "One order.", "seq")
    check(log, f"{name}_logged_at_check", TIMES, logged_at=INFINITE)
    check(log, f"{name}_actor_check", "Somebody of a known kind acted.", actor="'ghost'")
check(ATTEMPT, "attempt_number_check", "Attempts count from one.", number="0")
check(ATTEMPT, "attempt_verdict_check", LISTED, verdict="'maybe'")
check(EVENT, "partition_event_subject_check", LISTED, subject="'moon'")
key(ATTEMPT, "attempt_run", "A run is judged once.", "partition_id", "run_id", then={"number": "2"})
key(ATTEMPT, "attempt_number", "A number is one attempt's.", "partition_id", "number")


@law(ATTEMPT, "attempt_accepted")
def a_run_is_accepted_once(tx: Transaction) -> None:
    """What partitions point at is one attempt."""
    with quiet(tx, ATTEMPT):
        tx.execute("alter table partitions.attempt drop constraint attempt_run")  # it would answer first
        made = put(tx, ATTEMPT, {"verdict": "'accepted'"})
        again = {"verdict": "'accepted'", "number": "2", "partition_id": str(made["partition_id"]),
                 "run_id": f"'{made['run_id']}'"}  # fmt: skip
        refused(tx, insertion(tx, ATTEMPT, again), constraint="attempt_accepted")


# Raw sinks ------------------------------------------------------------------------------------------------------------

SINK = "partitions.sink"
OUT = {"status": "'unavailable'", "cause": "'full'", "message": "'m'", "host": "'h'", "outage_at": NOW,
       "checked_at": NOW}  # fmt: skip
key(SINK, "sink_pkey", "An id is one sink's.", "sink_id")
key(SINK, "sink_name", "A name is one sink's.", "name")
check(SINK, "sink_status_check", LISTED, status="'odd'")
named(SINK, "name", 100)
named(SINK, "registered_by", 500)
for column, most in (("cause", 100), ("message", 2000), ("host", 300)):
    named(SINK, column, most, **OUT)
for column, also in (
    ("registered_at", {}), ("updated_at", {}), ("outage_at", OUT), ("checked_at", OUT),
    ("restored_at", {**OUT, "status": "'available'"}),
):  # fmt: skip
    check(SINK, f"sink_{column}_check", TIMES, **{**also, column: INFINITE})
check(SINK, "sink_outage", "An outage has a cause.", **OUT | {"cause": "null"})
check(SINK, "sink_outage", "What is out has an outage.", status="'unavailable'")
check(SINK, "sink_outage", "What is available has none.", **OUT | {"status": "'available'"})
check(SINK, "sink_outage", "It ends after it began.",
      **OUT | {"status": "'available'", "restored_at": f"{NOW} - interval '1 hour'"})  # fmt: skip


@law(SINK, "partitions.rule_sinks", "insert")
def a_sink_is_registered_by_whoever_acts(tx: Transaction) -> None:
    """Nobody registers one in another's name."""
    row = (
        "insert into partitions.sink (sink_id, name, registered_at, registered_by, updated_at)"
        f" values ({ID}, {ID}::text, {NOW}, 'somebody else', {NOW})"
    )
    refused(tx, row, who=Authority.OPERATOR, by="partitions.rule_sinks", sqlstate="RC149")


@law(SINK, "partitions.rule_sinks", "update")
def an_outage_begins_when_it_is_reported(tx: Transaction) -> None:
    """Not an hour before."""
    change = (
        "update partitions.sink set status = 'unavailable', cause = 'full', message = 'm', host = 'h',"
        f" outage_at = {NOW} - interval '1 hour', checked_at = {NOW}, updated_at = {NOW} where sink_id = %s"
    )
    sink = SINK_ROLE.brought(tx, "available")
    refused(tx, change, (sink,), who=CONTROL_PLANE, by="partitions.rule_sinks", sqlstate="RC149")


@law(SINK, "recoup.record_control", "insert")
def a_sink_that_is_registered_is_logged(tx: Transaction) -> None:
    """BIRTH is in the control log."""
    seen(tx, SINK_TOLD, SINK, str(SINK_ROLE.brought(tx, "available")), "BIRTH")


@law(SINK, "recoup.record_control", "update")
def an_outage_is_logged(tx: Transaction) -> None:
    """MOVE is in the control log."""
    seen(tx, SINK_TOLD, SINK, str(SINK_ROLE.brought(tx, "unavailable")), "MOVE")


# Rules ----------------------------------------------------------------------------------------------------------------


@law(STATE, "partitions.rule_partition_births", "insert")
def a_partition_comes_with_its_schedule(tx: Transaction) -> None:
    """Nobody enqueues one that would never be dispatched."""
    row = (
        "insert into partitions.partition_state (source, customer_id, query_name, logical_date, created_at, updated_at)"
        f" values ({ID}::text, 'c', 'q', '2026-01-01', {NOW}, {NOW})"
    )
    refused(tx, row, who=CONTROL_PLANE, by="partitions.rule_partition_births", sqlstate="RC140")


@law(SCHEDULE, "partitions.rule_schedule_births", "insert")
def a_schedule_comes_with_its_partition(tx: Transaction) -> None:
    """Nothing is scheduled that is not there."""
    row = (
        "insert into partitions.schedule (partition_id, source, query_name, lane, next_run_at, backoff_strategy,"
        f" first_enqueued_at, updated_at) values (0, 's', 'q', 'fresh', {NOW}, 'none', {NOW}, {NOW})"
    )
    refused(tx, row, who=CONTROL_PLANE, by="partitions.rule_schedule_births", sqlstate="RC140")


@law(RUN, "partitions.rule_run_births", "insert")
def nothing_is_dispatched_before_its_time(tx: Transaction) -> None:
    """The control plane itself waits for the backoff."""
    row = (
        "insert into partitions.run (partition_id, number, lane, pool, reprocesses, worker, token, lease_until,"
        f" policy_version, opened_at, dispatched_at, updated_at) values (%s, 2, 'fresh', 'default', false, 'w', {ID},"
        f" {LATER}, recoup.policy_version(), {NOW}, {NOW}, {NOW})"
    )
    refused(tx, row, (failed(tx),), who=CONTROL_PLANE, by="partitions.rule_run_births", sqlstate="RC141",
            words="its next run is at")  # fmt: skip


@law(RUN, "partitions.rule_run_moves", "update")
def nothing_is_rejected_for_want_of_a_result_too_soon(tx: Transaction) -> None:
    """A lost dispatch is no attempt before the last one."""
    change = (
        "update partitions.run set status = 'rejected', reason = 'NOTHING_TO_VALIDATE', message = 'm',"
        " error_signature = 's', category = 'TRANSIENT', lease_until = null, ended_at = t.now_, updated_at = t.now_"
        " from (select recoup.now() as now_) t where run_id = %s"
    )
    refused(tx, change, (run_in(tx, "open"),), who=VALIDATOR, by="partitions.rule_run_moves", sqlstate="RC142")


@law(SCHEDULE, "partitions.rule_schedule_moves", "update")
def a_run_that_is_under_way_is_not_over(tx: Transaction) -> None:
    """The control plane follows what ended, and nothing else."""
    change = (
        "update partitions.schedule set status = 'waiting', run_id = null, next_run_at = t.now_, updated_at = t.now_"
        " from (select recoup.now() as now_) t where partition_id = %s"
    )
    partition = dispatched(tx, new_partition(tx)).partition_id
    refused(tx, change, (partition,), who=CONTROL_PLANE, by="partitions.rule_schedule_moves", sqlstate="RC145",
            words="its run is under way")  # fmt: skip


# Recorders and consequences -------------------------------------------------------------------------------------------

for role in PARTITION_ROLES:
    if role.life not in (RUN_LIFE, SINK_ROLE.life):  # a run's first move leaves it in its status
        recorded(role)

TOLD = "select from partitions.partition_event where run_id = %s and subject = 'run' and event_type = %s"


@law(RUN, "partitions.record_run_births", "insert")
def a_dispatch_is_recorded(tx: Transaction) -> None:
    """With its worker and its token."""
    run = dispatched(tx, new_partition(tx))
    seen(tx, f"{TOLD} and token = %s and reason = 'test-worker'", run.run_id, "dispatched", run.token)


@law(RUN, "partitions.record_run_moves", "update")
def what_becomes_of_a_run_is_recorded(tx: Transaction) -> None:
    """By whom, and what it published."""
    run = publish(tx, dispatched(tx, new_partition(tx)))
    seen(tx, f"{TOLD} and authority = %s and facts ->> 'rows' = '3'", run.run_id, "published", EXTRACTOR.role)


@law(RUN, "partitions.settle_run_births", "insert")
def a_dispatch_opens_the_schedule(tx: Transaction) -> None:
    """In the statement that opens the run."""
    run = dispatched(tx, new_partition(tx))
    seen(tx, "select from partitions.schedule where partition_id = %s and status = 'open' and run_id = %s",
         run.partition_id, run.run_id)  # fmt: skip


@law(RUN, "partitions.settle_run_moves", "update")
def a_verdict_decides_the_partition(tx: Transaction) -> None:
    """In the statement that ends the run."""
    seen(tx, "select from partitions.partition_state where partition_id = %s and status = 'success'"
         " and attempt_count = 1 and current_run_id is not null", succeeded(tx, follows=False))  # fmt: skip


@law(SCHEDULE, "partitions.settle_schedules", "update")
def what_is_dispatched_again_is_pending(tx: Transaction) -> None:
    """Or asked for again."""
    again, asked = failed(tx), failed(tx)
    extraction.due(tx, again)
    dispatched(tx, again)
    extraction.ask(tx, asked, "retry")
    for partition in (again, asked):
        seen(tx, "select from partitions.partition_state where partition_id = %s and status = 'pending'", partition)
