"""Workers of recovery killed at random, many times over: no candidate is started twice, none is lost.

Workers are processes, and whoever is killed is killed by SIGKILL at no chosen moment and replaced. `make soak` starts
twenty thousand candidates and kills three hundred times, in each of the first two tests; `make test` has a small part
of that.
"""

from __future__ import annotations

import contextlib
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest

from hub import PEOPLE, TARGET, Hub
from recoup.database import embedded
from recoup.database.connection import Database
from recoup.errors.recording import NewError
from recoup.errors.vocabulary import Want
from recoup.recovery.executing import Executor
from recoup.settings import Settings
from recovery_ward import MINUTE, RETRY, SECOND, Ward

sys.path.insert(0, str(Path(__file__).parents[1] / "audit"))
from lively import audited, broken

sys.path.insert(0, str(Path(__file__).parent))
from crowding import Crowd

LONG, SHORT = (20_000, 300), (1_500, 30)  # candidates, and kills
LONG_ERRORS, SHORT_ERRORS = (6_000, 300), (600, 40)
WORKERS, INCIDENTS = 8, 7
STANDSTILL_S = 30  # nothing has happened for so long: it never will
POLL_S = 0.002
# A worker that dies takes at most so many with it; a second retry follows the first.
POLICY = """
[recovery]
claims_at_once = 4
skip_below = 0
[recovery.plan]
outside = ["retry_exponential", "retry_exponential"]
[recovery.actions.retry_exponential]
type = "retry"
is_automated = false
requires_approval = true
cost = 3
timeout_s = 5
"""
SCHEMA = """
create schema ward;
create table ward.effect (candidate_id uuid not null);
grant usage on schema ward to recoup_executor, recoup_reader;
grant insert on ward.effect to recoup_executor;
grant select on ward.effect to recoup_reader;
"""
STARTED = ("created", "action_selected", "confidence_updated", "approved", "executed")
SUCCEEDED, CRASHED = (*STARTED, "success"), (*STARTED, "failure", "crashed")


@pytest.fixture
def ward(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Ward]:
    name = new_database()
    with psycopg.connect(server.uri(name, admin=True)) as admin:
        admin.execute(SCHEMA)
    with Database(server.uri(name), settings) as database:
        yield Ward(database)


@pytest.fixture
def is_long(pytestconfig: pytest.Config, again: int) -> bool:
    """The long run is made once, however often the short one is repeated."""
    return int(pytestconfig.getoption("--times")) > 1 and again == 0


@pytest.fixture
def chance(seed: int, again: int) -> Random:
    return Random(f"killed recovery {seed} {again}")


@pytest.fixture
def crowd(ward: Ward, chance: Random, tmp_path: Path) -> Iterator[Crowd]:
    with Crowd(ward.db.conninfo, chance, tmp_path / "said") as crowd:
        yield crowd


def approved(ward: Ward, number: int) -> None:
    """So many candidates that may start."""
    ward.apply_policy(POLICY)
    ward.ingest(number, incidents=INCIDENTS)
    ward.open_scopes(max_attempts=2 * number, cost_limit=6 * number)
    ward.evaluate()
    assert ward.approve() == number


def started(ward: Ward) -> int:
    ((number,),) = ward.rows("select coalesce(sum(attempts_used), 0) from recovery.scope")
    return int(number)


def killed_while_they_start(ward: Ward, crowd: Crowd, number: int, kills: int) -> None:
    """Kill one whenever a share of the candidates has been started, until all have been."""
    with contextlib.closing(psycopg.connect(ward.db.conninfo, autocommit=True)) as watch:
        watch.execute("set role recoup_reader")
        so_far, since = 0, time.monotonic()
        while so_far < number:
            (found,) = watch.execute("select sum(attempts_used) from recovery.scope").fetchone() or (0,)
            if found != so_far:
                so_far, since = int(found), time.monotonic()
            assert time.monotonic() < since + STANDSTILL_S, f"{so_far} of {number} were started, and no more are"
            if so_far >= crowd.kills * number / (kills + 1):
                time.sleep(crowd.chance.uniform(0, 0.01))
                crowd.strike()
            else:
                time.sleep(POLL_S)
    crowd.rest()


def nothing_is_left(ward: Ward) -> None:
    """Time and the expiry: what died with its worker has failed, and no lease is left."""
    ward.advance(6 * MINUTE)
    while ward.expire():
        """Each is a lease."""
    assert ward.rows("select count(*) from recovery.lease") == [(0,)]
    assert ward.rows("select count(*) from recovery.candidate where finished_at is null") == [(0,)]
    ward.accounted()


def recovered(ward: Ward, crashed: int, effect: Executor) -> None:
    """What died is followed by a second try, which nobody kills. Then every match is recovered from."""
    ward.settle()
    assert ward.approve() == crashed
    ward.execute({RETRY: effect})
    ward.settle()
    nothing_is_left(ward)
    assert set(ward.counts("recovery.failure_match")) == {"recovered"}
    assert broken(audited(ward.db)) == {}


def test_killed_with_effects_in_this_database(ward: Ward, crowd: Crowd, is_long: bool) -> None:
    """Start, effect and outcome are one transaction: every candidate succeeds, and has its row, once."""
    number, kills = LONG if is_long else SHORT
    approved(ward, number)
    for _ in range(WORKERS):
        crowd.born("execute here")
    killed_while_they_start(ward, crowd, number, kills)
    assert crowd.kills >= kills
    nothing_is_left(ward)
    assert ward.counts("recovery.candidate") == {"succeeded": number}
    assert ward.stories() == {SUCCEEDED: number}
    assert started(ward) == number
    effects = Counter(one for (one,) in ward.rows("select candidate_id from ward.effect"))
    assert set(effects.values()) == {1}
    assert set(effects) == {one for (one,) in ward.rows("select candidate_id from recovery.candidate")}
    recovered(ward, 0, Executor(lambda *_: None))


def test_killed_with_effects_outside(ward: Ward, crowd: Crowd, is_long: bool, tmp_path: Path) -> None:
    """Each is started once, whoever dies. What died with its worker has failed, whether its effect was made or not.

    At least nine of ten succeed at once, and all of the others by their follow-up.
    """
    number, kills = LONG if is_long else SHORT
    approved(ward, number)
    keys = tmp_path / "keys"
    keys.touch()
    for _ in range(WORKERS):
        crowd.born("execute outside", str(keys))
    killed_while_they_start(ward, crowd, number, kills)
    assert crowd.kills >= kills
    nothing_is_left(ward)
    ended = ward.counts("recovery.candidate")
    assert ended["succeeded"] >= 0.9 * number
    assert 0 < ended["failed"] <= 4 * crowd.kills
    assert ward.stories() == {SUCCEEDED: ended["succeeded"], CRASHED: ended["failed"]}
    assert started(ward) == number == sum(ended.values())
    made = Counter(keys.read_text().split())
    assert set(made.values()) == {1}
    done = ward.rows("select idempotency_key from recovery.candidate where status = 'succeeded'")
    assert {key for (key,) in done} <= set(made)
    assert ward.rows("select count(*) from recoup.late_result") == [(0,)]
    recovered(ward, ended["failed"], Executor(lambda *_: None))


# Awaited outcomes ---------------------------------------------------------------------------------------------------

# Every scope opens by itself; evaluations that were left behind are made again soon, and never stuck.
AWAITING = """
[errors.retry.OPERATIONAL]
max_retries = 1
[recovery]
skip_below = 0
evaluation_lease_s = 60
candidate_lease_s = 5
evaluation_failures_max = 100
[recovery.scope]
max_attempts = 100000
cost_limit = 100000
opens_by_itself = true
[recovery.subjects.park_reasons]
"*" = ["MAX_RETRIES_EXCEEDED", "ESCALATION_REQUIRED", "NON_RETRYABLE_ERROR"]
"""
VICTIMS = ("match-subjects", "recovery-wake", "recovery-evaluate", "evaluation-expiry", "candidate-expiry")
AWAITED = (*STARTED, "effect_made")


def park(hub: Hub, number: int) -> None:
    """Errors of several tables that are parked from the first."""
    hub.record_all(
        NewError(
            table=(PEOPLE, TARGET)[place % 2],
            message="the EIN did not match",
            outreach_id=uuid.uuid4(),
            want=Want.PARK,
        )
        for place in range(number)
    )


def awaited(ward: Ward) -> int:
    """How many outcomes of retries are known."""
    ((ended,),) = ward.rows(
        "select count(*) from recovery.candidate where action_name = %s and finished_at is not null", RETRY
    )
    return int(ended)


def standing(ward: Ward) -> list[Any]:
    """Where those stand whose outcome is not known."""
    return ward.rows(
        "select e.status, m.status, m.evaluation_failures, left(m.last_failure, 200), c.status, q.token is not null,"
        " m.evaluate_at <= recoup.now(), count(*)"
        "  from recoup.error e"
        "  left join recovery.failure_match m on m.subject_ref = e.error_table || '/' || e.error_id"
        "  left join recovery.match_queue q on q.unit = m.failure_match_id"
        "  left join recovery.candidate c on c.failure_match_id = m.failure_match_id and c.action_name = %s"
        " where c.finished_at is null group by 1, 2, 3, 4, 5, 6, 7",
        RETRY,
    )


def test_evaluators_killed_while_outcomes_are_awaited(ward: Ward, crowd: Crowd, is_long: bool) -> None:
    """Each candidate ends once, as its error did: RESOLVED, it succeeded; PARKED again, it failed.

    Of a failed one the match has its follow-up, which waits for a person; of the others it is recovered.
    """
    number, kills = LONG_ERRORS if is_long else SHORT_ERRORS
    hub = Hub(ward.db)
    ward.apply_policy(AWAITING)
    for role in (*VICTIMS, "recovery-evaluate", "approve", "execute ours", "retry errors"):
        crowd.born(role)
    while crowd.kills < kills:
        park(hub, number // kills)
        time.sleep(crowd.chance.uniform(0, 0.1))
        crowd.strike(*VICTIMS)
        ward.advance(SECOND)
    so_far, since = 0, time.monotonic()
    number = number // kills * kills
    while so_far < number:
        ward.advance(SECOND)
        if (found := awaited(ward)) != so_far:
            so_far, since = found, time.monotonic()
        assert time.monotonic() < since + STANDSTILL_S, f"{so_far} of {number} outcomes are known: {standing(ward)}"
        time.sleep(0.05)
    crowd.rest()
    ward.advance(MINUTE)
    ward.settle()
    as_its_error_says(ward, number)
    assert ward.match() == ward.wake() == 0
    ward.accounted()
    assert broken(audited(ward.db)) == {}


def as_its_error_says(ward: Ward, number: int) -> None:
    """Candidates, matches, events and errors all tell the same."""
    found = ward.rows(
        "select e.status, m.status, c.status, c.error, n.status, n.action_name, count(*)"
        "  from recoup.error e"
        "  left join recovery.failure_match m on m.subject_ref = e.error_table || '/' || e.error_id"
        "  left join recovery.candidate c on c.failure_match_id = m.failure_match_id and c.action_name = %s"
        "  left join recovery.candidate n on n.failure_match_id = m.failure_match_id"
        "   and n.action_name is distinct from c.action_name"
        " group by 1, 2, 3, 4, 5, 6 order by 1",
        RETRY,
    )
    ((resolved,),) = ward.rows("select count(*) from recoup.error where error_id %% 2 = 0")
    assert found == [
        ("PARKED", "evaluated", "failed", "UNIT_FAILED", "pending", "manual_intervention", number - resolved),
        ("RESOLVED", "recovered", "succeeded", None, None, None, resolved),
    ]
    told = Counter(
        {
            (*AWAITED, "success"): resolved,
            (*AWAITED, "failure"): number - resolved,
            STARTED[:3]: number - resolved,
        }
    )
    # One that gets its scope later than its action is selected and rated once more.
    found_told: Counter[tuple[str, ...]] = Counter()
    for story, count in ward.stories().items():
        found_told[tuple(dict.fromkeys(story))] += count
    assert found_told == told
    ((ends,),) = ward.rows("select count(*) from recovery.provenance where event_type = 'match_ended'")
    assert ends == resolved
