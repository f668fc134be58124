"""Whoever comes with psql, under whichever authority: what is not theirs, or not true, is refused by the database.

Each deed is tried in the situation that it needs, by the authority that comes nearest to being allowed to.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest

import extraction
from company import acting, advance
from extraction import dispatched, failed, new_partition, publish, run_in, run_of, succeeded
from product import pause
from recoup.database.connection import Transaction
from recoup.database.roles import OWNER
from recoup.lifecycles.declaration import Authority

CONTROL_PLANE, EXTRACTOR, VALIDATOR = Authority.CONTROL_PLANE, Authority.EXTRACTOR, Authority.VALIDATOR
EXECUTOR = Authority.EXECUTOR  # asks for candidates by a request, and by nothing else
STRANGERS = (Authority.CONSUMER, Authority.OPERATOR, Authority.HUB, Authority.READER)
NO_RIGHT = "42501"
Situation = Callable[[Transaction], Any]


def said(tx: Transaction, who: Authority | str | None, statement: str, key: object) -> str:
    """done, or the SQLSTATE of the refusal. Nothing is left of it."""
    try:
        with tx.transaction(force_rollback=True), acting(tx, who):
            tx.execute(statement.encode(), {"key": key})
    except psycopg.Error as error:
        return f"{error.sqlstate} {(error.diag.message_detail or '')}"
    return "done"


def refused(tx: Transaction, who: Authority | str | None, statement: str, key: object, *states: str) -> None:
    heard = said(tx, who, statement, key)
    assert heard[:5] in states, heard


def run_set(change: str) -> str:
    return f"update partitions.run set {change} from (select recoup.now() as now_) t where run_id = %(key)s"


def schedule_set(change: str) -> str:
    return f"update partitions.schedule set {change} from (select recoup.now() as now_) t where partition_id = %(key)s"


def state_set(change: str) -> str:
    return f"update partitions.partition_state set {change} where partition_id = %(key)s"


def open_run(tx: Transaction) -> Any:
    return run_in(tx, "open")


def unstarted(tx: Transaction) -> Any:
    return dispatched(tx, new_partition(tx), starts=False).run_id


def published(tx: Transaction) -> Any:
    return run_in(tx, "published")


def unvalidated(tx: Transaction) -> Any:
    """Dispatched to be validated again, and not started."""
    return dispatched(tx, extraction.released(tx), starts=False).run_id


def expired(tx: Transaction) -> Any:
    run = published(tx)
    advance(tx, 2 * extraction.LEASE)
    return run


def expired_open(tx: Transaction) -> Any:
    run = open_run(tx)
    advance(tx, 2 * extraction.LEASE)
    return run


def expired_unstarted(tx: Transaction) -> Any:
    run = unstarted(tx)
    advance(tx, 2 * extraction.LEASE)
    return run


def released(tx: Transaction) -> Any:
    """To be validated again, and not due yet."""
    partition = new_partition(tx)
    assert extraction.lose(tx, publish(tx, dispatched(tx, partition)), "VALIDATOR_GONE") == "released"
    extraction.follow(tx, partition)
    return run_of(tx, partition)


ENDED = "ended_at = t.now_, lease_until = null, updated_at = t.now_"
ACCEPT = f"status = 'accepted', reason = null, message = null, ended_with = token, {ENDED}"
SAID = "message = 'm', error_signature = 's', category = 'TRANSIENT'"
PUBLISH = (
    "status = 'published', sink_id = gen_random_uuid(), location = 'l' || run_id, manifest_digest = repeat('a', 64),"
    " format = 'jsonl', rows = 1, bytes = 1, published_at = t.now_, updated_at = t.now_"
)
AGAIN = (
    "token = gen_random_uuid(), lease_until = t.now_ + interval '1 minute', validations = validations + 1,"
    " dispatched_at = t.now_, updated_at = t.now_"
)

# Runs: who, in which situation, sets what; and the answer.
RUNS: dict[str, tuple[Authority, Situation, str, str]] = {
    "extractor accepts its own run": (EXTRACTOR, published, "status = 'accepted'", "23514"),
    "control plane accepts": (CONTROL_PLANE, published, f"status = 'accepted', {ENDED}", "RC002"),
    "control plane rejects": (
        CONTROL_PLANE, published, f"status = 'rejected', reason = 'R', {SAID}, {ENDED}", NO_RIGHT,
    ),
    "validator accepts what is not published": (VALIDATOR, open_run, ACCEPT, "23514|RC002"),
    "validator rejects what is not published": (
        VALIDATOR, open_run, f"status = 'rejected', reason = 'R', ended_with = token, {SAID}, {ENDED}", "23514|RC142",
    ),
    "a verdict under another token": (VALIDATOR, published, ACCEPT.replace("= token", "= gen_random_uuid()"), "RC143"),
    "a verdict without a token": (VALIDATOR, published, ACCEPT.replace("= token", "= null"), "RC143"),
    "a verdict before the start": (VALIDATOR, unvalidated, ACCEPT, "RC143"),
    "a verdict after the lease": (VALIDATOR, expired, ACCEPT, "RC143"),
    "a verdict on what waits to be validated again": (VALIDATOR, released, ACCEPT, "RC143"),
    "a verdict of yesterday": (
        VALIDATOR, published, ACCEPT.replace("ended_at = t.now_", "ended_at = t.now_ - interval '1 day'"), "RC142",
    ),
    "a second verdict": (VALIDATOR, lambda tx: run_in(tx, "rejected"), ACCEPT, "RC002|23514|RC006"),
    "a verdict that is taken back": (
        VALIDATOR, lambda tx: run_in(tx, "accepted"), f"status = 'rejected', reason = 'R', {SAID}", "RC002",
    ),
    "rejected for want of data too soon": (
        VALIDATOR, open_run, f"status = 'rejected', reason = 'NOTHING_TO_VALIDATE', {SAID}, {ENDED}", "RC142",
    ),
    "rejected for want of data that is there": (
        VALIDATOR, published, f"status = 'rejected', reason = 'NOTHING_TO_VALIDATE', {SAID}, {ENDED}", "23514|RC142",
    ),
    "rejected for a lost validator too soon": (
        VALIDATOR, published, f"status = 'rejected', reason = 'VALIDATOR_LOST', {SAID}, {ENDED}", "RC142",
    ),
    "published twice": (EXTRACTOR, published, PUBLISH, "RC002"),
    "published without a start": (EXTRACTOR, unstarted, PUBLISH, "RC142"),
    "published after the lease": (EXTRACTOR, expired_open, PUBLISH, "RC143"),
    "published by the validator": (VALIDATOR, open_run, PUBLISH, NO_RIGHT),
    "published tomorrow": (
        EXTRACTOR, open_run, PUBLISH.replace("t.now_", "t.now_ + interval '1 day'"), "RC142",
    ),
    "what was published is exchanged": (EXTRACTOR, published, "location = 'elsewhere'", "RC002"),
    "what was published is exchanged by the validator": (VALIDATOR, published, "manifest_digest = null", NO_RIGHT),
    "started under another token": (
        EXTRACTOR, unstarted, "started_with = gen_random_uuid(), updated_at = t.now_", "RC142",
    ),
    "started twice": (EXTRACTOR, open_run, "started_with = token, updated_at = t.now_", "RC142"),
    "the start is forgotten": (EXTRACTOR, open_run, "started_with = null, updated_at = t.now_", "RC142"),
    "started by the control plane": (CONTROL_PLANE, unstarted, "started_with = token, updated_at = t.now_", "RC142"),
    "started after the lease": (
        EXTRACTOR, expired_unstarted,
        "started_with = token, updated_at = t.now_", "RC143",
    ),
    "an extractor starts a validation": (EXTRACTOR, unvalidated, "started_with = token, updated_at = t.now_", "RC002"),
    "a validator extends its lease": (
        VALIDATOR, unvalidated,
        "started_with = token, lease_until = lease_until + interval '1 day', updated_at = t.now_", "RC142",
    ),
    "a new token for an open run": (CONTROL_PLANE, open_run, "token = gen_random_uuid(), updated_at = t.now_", "RC143"),
    "a new token for a live validation": (CONTROL_PLANE, published, AGAIN, "RC143"),
    "validated again before it is due": (CONTROL_PLANE, released, AGAIN, "RC141"),
    "an old token lives again": (
        CONTROL_PLANE, released, "lease_until = t.now_ + interval '1 minute', updated_at = t.now_", "RC142",
    ),
    "an expired lease lives again": (
        CONTROL_PLANE, expired, "lease_until = t.now_ + interval '1 minute', updated_at = t.now_", "RC143",
    ),
    "a lease is cut": (
        CONTROL_PLANE, published, "lease_until = lease_until - interval '1 minute', updated_at = t.now_", "RC142",
    ),
    "a lease without an end": (
        CONTROL_PLANE, published, "lease_until = t.now_ + interval '1 year', updated_at = t.now_", "RC142",
    ),
    "released without a reason": (CONTROL_PLANE, published, "lease_until = null, updated_at = t.now_", "RC142"),
    "another worker": (CONTROL_PLANE, open_run, "worker = 'eve', updated_at = t.now_", "RC143"),
    "another turn": (CONTROL_PLANE, published, "turn = turn + 1, updated_at = t.now_", "RC143"),
    "another count of validations": (CONTROL_PLANE, published, "validations = 3, updated_at = t.now_", "RC143"),
    "a message for a live run": (
        CONTROL_PLANE, open_run, "reason = 'R', message = 'm', updated_at = t.now_", "RC142",
    ),
    "lost without a reason": (CONTROL_PLANE, open_run, f"status = 'lost', {ENDED}", "23514"),
    "reopened": (
        CONTROL_PLANE, lambda tx: run_in(tx, "lost"),
        "status = 'open', ended_at = null, reason = null, message = null, lease_until = t.now_ + interval '1 minute'",
        "RC002",
    ),
    "another partition": (CONTROL_PLANE, open_run, "partition_id = 0", NO_RIGHT),
}  # fmt: skip


@pytest.mark.parametrize("deed", RUNS)
def test_what_is_not_true_of_a_run_is_refused(scratch: Transaction, deed: str) -> None:
    who, situation, change, answers = RUNS[deed]
    refused(scratch, who, run_set(change), situation(scratch), *answers.split("|"))


ASKED = "requested_at = t.now_, requested_by = recoup.acting_id()"
EARLIER = ASKED.replace("t.now_", "t.now_ - interval '1 day'")
NOW_ = "updated_at = t.now_"
WAITS = f"status = 'waiting', next_run_at = t.now_, {NOW_}"
FREE = "hold = null, held_at = null, terminal_causes = null, terminal_at = null, terminal_policy = null"
LIFTED = f"{WAITS}, {FREE}, {ASKED}, aged_from = null, dispatches = 0"
MARK = (
    "status = 'terminal', next_run_at = null, terminal_causes = '{MARKED}', terminal_at = t.now_,"
    f" terminal_policy = recoup.policy_version(), {NOW_}"
)


def unfollowed(make: Callable[..., int]) -> Situation:
    return lambda tx: make(tx, follows=False)


def later(make: Situation) -> Situation:
    """A moment after the last request."""

    def made(tx: Transaction) -> Any:
        partition = make(tx)
        advance(tx, timedelta(seconds=1))
        return partition

    return made


# Schedules, by the control plane itself: what it says of them is true, and what somebody asks for is on record.
SCHEDULES: dict[str, tuple[Situation, str, str]] = {
    "given up, though tried once": (failed, MARK.replace("MARKED", "ATTEMPTS"), "RC145"),
    "given up, though young": (failed, MARK.replace("MARKED", "AGE"), "RC145"),
    "given up under another policy": (
        failed, MARK.replace("MARKED", "AGE").replace("recoup.policy_version()", "0"), "RC145",
    ),
    "given up before it failed": (new_partition, f"{MARK}, {ASKED}", "RC144|RC145"),
    "given up after it succeeded": (succeeded, f"{MARK}, {ASKED}", "RC002"),
    "marked by nobody": (failed, MARK, "RC144"),
    "marked by a program": (failed, f"{MARK}, {ASKED}", "RC144"),
    "given up an hour ago": (
        failed, MARK.replace("terminal_at = t.now_", "terminal_at = t.now_ - interval '1 hour'"), "RC144",
    ),
    "made older": (failed, f"aged_from = '2000-01-01', {NOW_}", "RC144"),
    "made younger": (failed, f"aged_from = t.now_ + interval '1 day', {NOW_}", "RC144"),
    "forgotten to have been dispatched": (failed, f"first_dispatched_at = null, {NOW_}", "RC144|RC006"),
    "another cause afterwards": (extraction.terminal, f"terminal_causes = '{{AGE}}', {NOW_}", "RC144"),
    "one more cause afterwards": (extraction.terminal, f"terminal_causes = '{{MARKED,AGE}}', {NOW_}", "RC144"),
    "another time afterwards": (
        extraction.terminal, f"terminal_at = terminal_at - interval '1 day', {NOW_}", "RC144",
    ),
    "lifted by nobody": (later(extraction.terminal), LIFTED.replace(f", {ASKED}", ""), "RC144"),
    "lifted without a reason": (later(extraction.terminal), LIFTED, "RC144"),
    "lifted, and as old as before": (later(extraction.terminal), LIFTED.replace(", aged_from = null", ""), "RC144"),
    "attempts granted to what is not given up": (failed, f"granted_attempts = 7, {ASKED}, {NOW_}", "RC144"),
    "granted attempts taken back": (failed, f"granted_attempts = -1, {NOW_}", "23514|RC007"),
    "asked in another's name": (failed, f"{WAITS}, requested_at = t.now_, requested_by = 'somebody else'", "RC144"),
    "asked yesterday": (
        failed, f"{WAITS}, {EARLIER}", "RC144",
    ),
    "a request is forgotten": (
        later(extraction.reprocessing), f"requested_at = null, requested_by = null, {NOW_}", "RC007",
    ),
    "sooner, and nobody asked": (failed, f"next_run_at = t.now_, {NOW_}", "RC144"),
    "another way, and nobody asked": (failed, f"alternative = '{{}}', {NOW_}", "RC144"),
    "for a candidate, and nobody asked": (failed, f"candidate_id = gen_random_uuid(), {NOW_}", "RC144"),
    "released from an operator's hold by nobody": (extraction.held, f"{WAITS}, {FREE}", "RC144"),
    "another hold": (extraction.held, f"hold = 'PAUSED', {NOW_}", "RC144"),
    "an operator's hold without a structural failure": (
        failed, f"status = 'held', hold = 'OPERATOR', held_at = t.now_, next_run_at = null, {NOW_}", "RC145",
    ),
    "held since yesterday": (
        failed, f"status = 'held', hold = 'PAUSED', held_at = t.now_ - interval '1 day', next_run_at = null, {NOW_}",
        "RC144",
    ),
    "reprocessed by nobody": (succeeded, f"{WAITS}, reprocesses = true", "RC144"),
    "retried after a success": (succeeded, f"{WAITS}, {ASKED}", "RC144"),
    "reprocessed before a success": (failed, f"reprocesses = true, {NOW_}", "RC144"),
    "reprocessing turned into a retry": (extraction.reprocessing, f"reprocesses = false, {NOW_}", "RC144"),
    "done before it is": (failed, f"status = 'idle', next_run_at = null, {NOW_}", "RC145"),
    "followed while it runs": (
        lambda tx: dispatched(tx, new_partition(tx)).partition_id, f"{WAITS}, run_id = null", "RC145",
    ),
    "a lost dispatch is not counted": (unfollowed(extraction.lost), f"{WAITS}, run_id = null", "RC145"),
    "a lost dispatch is done": (unfollowed(extraction.lost), f"status = 'idle', {NOW_}", "RC145"),
    "an accepted run is retried": (
        unfollowed(succeeded), f"{WAITS}, run_id = null, attempts_seen = 1", "RC145",
    ),
    "attempts that were not seen": (unfollowed(failed), f"{WAITS}, run_id = null, attempts_seen = 0", "RC145"),
    "dispatches are forgotten": (extraction.lost, f"dispatches = 0, {NOW_}", "RC144"),
    "attempts are forgotten": (failed, f"attempts_seen = 0, {NOW_}", "RC007"),
    "another run": (failed, f"run_id = gen_random_uuid(), {NOW_}", "RC144"),
    "opened without a run": (
        new_partition, f"status = 'open', run_id = gen_random_uuid(), next_run_at = null, {NOW_}", "RC012",
    ),
    "due in the past": (
        unfollowed(extraction.lost),
        f"status = 'waiting', next_run_at = t.now_ - interval '1 hour', run_id = null, dispatches = 1, {NOW_}", "RC144",
    ),
    "changed yesterday": (failed, "lane = 'backfill', updated_at = t.now_ - interval '1 day'", "RC144|RC007"),
    "another source": (failed, f"source = 'other', {NOW_}", NO_RIGHT),
}  # fmt: skip


@pytest.mark.parametrize("deed", SCHEDULES)
def test_what_is_not_true_of_a_schedule_is_refused(scratch: Transaction, deed: str) -> None:
    situation, change, answers = SCHEDULES[deed]
    refused(scratch, CONTROL_PLANE, schedule_set(change), situation(scratch), *answers.split("|"))


def test_a_terminal_decision_is_lifted_with_a_reason_and_not_without(scratch: Transaction) -> None:
    """Also by hand, and by whoever presents the request as it should be."""
    partition = later(extraction.terminal)(scratch)
    for reason, why in ((None, "reason"), ("", "reason"), ("the source is back", None)):
        scratch.execute("select set_config('recoup.reason', %s, true)", (reason,))
        heard = said(scratch, CONTROL_PLANE, schedule_set(LIFTED), partition)
        assert heard == "done" if why is None else f'"why": "{why}"' in heard, heard


STATES: dict[str, tuple[Situation, str]] = {
    "requeued": (failed, "status = 'pending'"),
    "accepted": (failed, "status = 'success', current_run_id = gen_random_uuid(), error_message = null"),
    "the pointer is moved back": (
        succeeded, "current_run_id = current_run_id, attempt_count = attempt_count + 1",
    ),
    "the count is shortened": (failed, "attempt_count = 0, status = 'pending'"),
    "the message is changed": (failed, "error_message = 'fine'"),
    "another partition": (failed, "customer_id = 'other'"),
}  # fmt: skip


@pytest.mark.parametrize("deed", STATES)
def test_no_partition_is_changed_by_hand(scratch: Transaction, deed: str) -> None:
    """Not by the authorities whose steps change it, not by strangers, and not by the owner or a superuser."""
    situation, change = STATES[deed]
    partition = situation(scratch)
    scratch.execute("alter table partitions.partition_state drop constraint partition_state_accepted")
    for who in (*STRANGERS, EXTRACTOR):
        refused(scratch, who, state_set(change), partition, NO_RIGHT)
    for actor in (VALIDATOR, CONTROL_PLANE, EXECUTOR, OWNER, None):
        refused(scratch, actor, state_set(change), partition, "RC002", "RC012", NO_RIGHT)


@pytest.mark.parametrize("who", [*STRANGERS, EXECUTOR, EXTRACTOR, VALIDATOR], ids=str)
def test_only_the_control_plane_requeues(scratch: Transaction, who: Authority) -> None:
    """Neither by the schedule, nor by a run, nor by the function that asks for a retry."""
    partition = failed(scratch)
    extraction.due(scratch, partition)
    for statement in (
        schedule_set(f"{WAITS}, {ASKED}"),
        "insert into partitions.run (partition_id, number, lane, pool, reprocesses, worker, token, lease_until,"
        " policy_version, opened_at, dispatched_at, updated_at) select %(key)s, 2, 'fresh', 'default', false, 'w',"
        " gen_random_uuid(), now_ + interval '1 minute', recoup.policy_version(), now_, now_, now_"
        " from (select recoup.now() as now_) t",
        "select partitions.ask(array[%(key)s::bigint], 'retry', 1, null, null, null, null, null, true)",
        "select partitions.dispatch('default', 1, 'w', null, interval '1 minute', true)",
    ):
        # The executor may write some of a schedule, for what follows from a request; by hand the guard refuses it.
        refused(scratch, who, statement, partition, *((NO_RIGHT, "RC002") if who is EXECUTOR else (NO_RIGHT,)))


BORN = (
    "insert into partitions.run (partition_id, number, lane, pool, reprocesses, worker, token, lease_until,"
    " started_with, policy_version, opened_at, dispatched_at, updated_at)"
    " select %(key)s, {number}, '{lane}', 'default', {reprocesses}, 'w', t.token, {lease}, {started}, {policy}, {at},"
    " {at}, {at} from (select recoup.now() as now_, gen_random_uuid() as token) t"
)
TRUE = {
    "number": "1", "lane": "fresh", "reprocesses": "false", "lease": "now_ + interval '1 minute'", "started": "null",
    "policy": "recoup.policy_version()", "at": "now_",
}  # fmt: skip
UNTRUE = {
    "number": ("2", "RC141"), "lane": ("backfill", "RC141"), "reprocesses": ("true", "RC141"),
    "lease": ("now_ - interval '1 minute'", "RC141"), "started": ("gen_random_uuid()", "RC141"),
    "policy": ("0", "RC141"), "at": ("now_ - interval '1 hour'", "RC141"),
}  # fmt: skip


@pytest.mark.parametrize("what", UNTRUE)
def test_a_dispatch_by_hand_is_what_the_schedule_says(scratch: Transaction, what: str) -> None:
    partition = new_partition(scratch)
    assert said(scratch, CONTROL_PLANE, BORN.format(**TRUE), partition) == "done"
    value, answer = UNTRUE[what]
    refused(scratch, CONTROL_PLANE, BORN.format(**TRUE | {what: value}), partition, answer)


@pytest.mark.parametrize("situation", [
    lambda tx: dispatched(tx, new_partition(tx)).partition_id, succeeded, extraction.held, extraction.terminal,
], ids=["open", "idle", "held", "terminal"])  # fmt: skip
def test_nothing_is_dispatched_that_does_not_wait(scratch: Transaction, situation: Situation) -> None:
    """By hand or not: the unique index would refuse a second one that is open, and the rule speaks of the rest."""
    refused(scratch, CONTROL_PLANE, BORN.format(**TRUE | {"number": "2"}), situation(scratch), "RC141", "23505")


def test_nothing_is_dispatched_while_its_source_is_paused(scratch: Transaction) -> None:
    partition, again = new_partition(scratch), extraction.released(scratch)
    with acting(scratch, Authority.OPERATOR):
        for one in (partition, again):
            pause(scratch, "partition-source", extraction.source_of(scratch, one), reason="look")
    refused(scratch, CONTROL_PLANE, BORN.format(**TRUE), partition, "RC141")
    refused(scratch, CONTROL_PLANE, run_set(AGAIN), run_of(scratch, again), "RC141")


LOGS = {
    "attempt": "(incarnation, logged_at, partition_id, run_id, number, verdict, policy_version, opened_at, actor,"
    " actor_id, authority) values (1, recoup.now(), %(key)s, gen_random_uuid(), 9, 'accepted', 1, recoup.now(),"
    " 'human', 'mallory', 'recoup_validator')",
    "partition_event": "(incarnation, logged_at, subject, partition_id, event_type, to_status, actor, actor_id,"
    " authority) values (1, recoup.now(), 'partition', %(key)s, 'accepted', 'success', 'human', 'mallory', 'x')",
    "override_log": "(incarnation, logged_at, command, partitions, before, after, actor, actor_id, authority)"
    " values (1, recoup.now(), 'retry', array[%(key)s::bigint], '{}', '{}', 'human', 'mallory', 'x')",
}


@pytest.mark.parametrize("log", LOGS)
def test_nobody_writes_or_changes_the_logs(scratch: Transaction, log: str) -> None:
    partition = failed(scratch)
    extraction.ask(scratch, partition, "retry")
    for deed in (
        f"insert into partitions.{log} {LOGS[log]}", f"update partitions.{log} set actor_id = 'x'",
        f"delete from partitions.{log}", f"truncate partitions.{log} cascade",
    ):  # fmt: skip
        for who in (*STRANGERS, EXECUTOR, EXTRACTOR, VALIDATOR, CONTROL_PLANE):
            refused(scratch, who, deed, partition, NO_RIGHT)
        for actor in (OWNER, None):
            refused(scratch, actor, deed, partition, "RC008", "RC009", "RC010", "23503")


def test_a_late_verdict_of_an_older_run_moves_nothing(scratch: Transaction) -> None:
    """By the product's verbs: it is stored, and the pointer, the count and the attempts are as before."""
    partition = succeeded(scratch)
    assert extraction.ask(scratch, partition, "reprocess") == "asked"
    older = publish(scratch, dispatched(scratch, partition))
    advance(scratch, 2 * extraction.LEASE)
    assert extraction.lose(scratch, older, "VALIDATOR_GONE") == "released"
    extraction.follow(scratch, partition)
    extraction.due(scratch, partition)
    assert extraction.judge(scratch, dispatched(scratch, partition)) == "accepted"
    query = "select current_run_id, attempt_count, status from partitions.partition_state where partition_id = %s"
    before = scratch.execute(query, (partition,)).fetchone()
    assert extraction.judge(scratch, older, "no") == "late"
    assert extraction.judge(scratch, older) == "late"
    assert scratch.execute(query, (partition,)).fetchone() == before
    assert before is not None
    assert before[1] == 2


def test_a_validator_is_gone_twice_for_the_same_reason(scratch: Transaction) -> None:
    """Each loss is told, also when it is the same again before its lease has ended."""
    partition = new_partition(scratch)
    publish(scratch, run := dispatched(scratch, partition))
    for _ in range(2):
        assert extraction.lose(scratch, run, "SINK_UNAVAILABLE", "no space") == "released"
        extraction.follow(scratch, partition)
        extraction.due(scratch, partition)
        run = dispatched(scratch, partition)
    assert extraction.judge(scratch, run) == "accepted"
