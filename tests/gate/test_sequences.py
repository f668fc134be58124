"""The event sequences of the documents, step by step, and everything that can happen to an attempt on its way.

Each step is a transaction of its own, as in operation. Time is simulated and is moved, not waited for.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import astuple
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from company import finish, new_intake, open_attempt
from recoup import gate
from recoup.database import embedded
from recoup.database.connection import Actor, Database, Transaction
from recoup.gate import Attempt, NewIntake
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup.refusals import InputRefused, LawRefused
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parent))
from desk import DAY, FAILURE, LEASE, TICK, WINDOW, Desk, outcome

HISTORY = """
SELECT event_type, reason_code, event_timestamp
FROM cl.gate_zero_air
WHERE entity_id = %s
ORDER BY event_timestamp ASC
"""


@pytest.fixture(scope="module")
def desk(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Desk]:
    """One database for this file: its freezes and sweeps meet no other test's rows."""
    with Database(server.uri(new_database()), settings) as database:
        yield Desk(database)


def told(desk: Desk, intake: UUID) -> list[tuple[str, str]]:
    """The history as the documents' own query tells it, after it was held to the grammar."""
    desk.word(intake)
    return [(event_type, reason) for event_type, reason, _ in desk.rows(HISTORY, intake)]


def standing(desk: Desk, intake: UUID) -> tuple[str, list[str], str | None, int | None]:
    """Status of the intake, statuses of its attempts, status and count of its recovery."""
    (row,) = desk.rows(
        "select i.status, array(select a.status from cl.gate_zero_attempt a where a.intake_id = i.intake_id"
        " order by a.attempt_number), r.status, r.attempt_count"
        " from cl.gate_zero_intake i left join cl.gate_zero_recovery r using (intake_id) where i.intake_id = %s",
        intake,
    )
    found: tuple[str, list[str], str | None, int | None] = row
    return found


def next_eligible_at(desk: Desk, intake: UUID) -> Any:
    ((at,),) = desk.rows("select next_eligible_at from cl.gate_zero_recovery where intake_id = %s", intake)
    return at


def drained(desk: Desk) -> None:
    """Nothing lapsed and nothing to freeze is left of earlier tests."""
    while desk.sweep():
        pass
    while desk.freeze().exhausted:
        pass


def refused(desk: Desk, intake: UUID) -> str:
    """The code with which opening an attempt is refused."""
    with pytest.raises(LawRefused) as caught:
        desk.open(intake)
    return caught.value.code


# The three examples -------------------------------------------------------------------------------------------------

START, RETRY = ("ATTEMPT", "START"), ("ATTEMPT", "RETRY")
PASS, AUTH = ("PASS", "CHECKS_PASSED"), ("AUTH", "EXISTENCE_CONFIRMED")
REENTER = ("REENTER", "RECOVERY_SUCCESS")
SPENT, CLOSED = ("EXHAUSTED", "MAX_ATTEMPTS_REACHED"), ("EXHAUSTED", "RECOVERY_WINDOW_CLOSED")


def fail(reason: ReasonCode = FAILURE) -> tuple[str, str]:
    return ("FAIL", str(reason))


def test_example_1_first_attempt_pass(desk: Desk) -> None:
    """ATTEMPT commits before the checks run; PASS and AUTH commit together with the authorised intake."""
    intake = desk.intake()
    assert told(desk, intake) == []
    assert standing(desk, intake) == ("PENDING", [], None, None)

    attempt = desk.open(intake)
    assert told(desk, intake) == [START]
    assert standing(desk, intake) == ("PENDING", ["open"], None, None)

    finished = desk.finish(attempt, None)
    assert (finished.attempt_id, finished.intake_id) == (attempt.attempt_id, intake)
    assert (finished.status, finished.reentered_as) == ("passed", None)
    assert told(desk, intake) == [START, PASS, AUTH]
    assert standing(desk, intake) == ("AUTHORIZED", ["passed"], None, None)


def test_example_2_first_attempt_fail_then_recovery_success(desk: Desk) -> None:
    """The failed intake is retried after 24 h; its pass makes a new intake and leaves the failure standing."""
    intake = desk.intake()
    desk.finish(desk.open(intake), ReasonCode.STATE_MISMATCH)
    assert told(desk, intake) == [START, fail(ReasonCode.STATE_MISMATCH)]
    assert standing(desk, intake) == ("FAILED", ["failed"], "ACTIVE", 1)

    desk.advance(DAY)
    attempt = desk.open(intake)
    assert attempt.attempt_number == 2
    assert told(desk, intake) == [START, fail(ReasonCode.STATE_MISMATCH), RETRY]
    assert standing(desk, intake) == ("FAILED", ["failed", "open"], "ACTIVE", 1)

    finished = desk.finish(attempt, None)
    assert finished.status == "passed"
    assert finished.reentered_as is not None
    assert told(desk, intake) == [START, fail(ReasonCode.STATE_MISMATCH), RETRY, PASS, AUTH, REENTER]
    assert standing(desk, intake) == ("REENTER_SUCCEEDED", ["failed", "passed"], "SUCCEEDED", 1)
    assert standing(desk, finished.reentered_as) == ("AUTHORIZED", [], None, None)


def test_example_3_three_failures_then_exhausted(desk: Desk) -> None:
    """The third failure is the last: EXHAUSTED follows it in the same transaction, and nothing follows EXHAUSTED."""
    intake = desk.intake()
    failed = fail(ReasonCode.NO_LINKEDIN_COMPANY)

    desk.finish(desk.open(intake), ReasonCode.NO_LINKEDIN_COMPANY)
    assert told(desk, intake) == [START, failed]
    assert standing(desk, intake) == ("FAILED", ["failed"], "ACTIVE", 1)

    desk.advance(timedelta(hours=24))
    desk.finish(desk.open(intake), ReasonCode.NO_LINKEDIN_COMPANY)
    assert told(desk, intake) == [START, failed, RETRY, failed]
    assert standing(desk, intake) == ("FAILED", ["failed", "failed"], "ACTIVE", 2)

    desk.advance(timedelta(hours=72))
    desk.finish(desk.open(intake), ReasonCode.NO_LINKEDIN_COMPANY)
    assert told(desk, intake) == [START, failed, RETRY, failed, RETRY, failed, SPENT]
    assert standing(desk, intake) == ("EXHAUSTED", ["failed", "failed", "failed"], "EXHAUSTED", 3)

    ((transactions,),) = desk.rows(
        "select count(distinct xid) from (select xid from cl.gate_zero_air where entity_id = %s"
        " order by event_timestamp desc limit 2) as fail_and_exhausted",
        intake,
    )
    assert transactions == 1
    desk.advance(timedelta(days=365))
    assert told(desk, intake) == [START, failed, RETRY, failed, RETRY, failed, SPENT]


def test_a_fourth_attempt_is_refused_in_our_words(desk: Desk) -> None:
    """After the third the caller is told that the attempts are spent, as with any other refusal."""
    intake = desk.failed(times=3)
    desk.advance(timedelta(days=365))
    assert refused(desk, intake) == "attempts_spent"
    assert desk.word(intake) == "SFRFRFM"


def test_an_attempt_beside_an_open_one_is_refused_as_such(desk: Desk) -> None:
    """The second worker is told that the intake is being verified, and the first keeps its attempt."""
    intake = desk.intake()
    attempt = desk.open(intake)
    assert refused(desk, intake) == "attempt_open"
    assert desk.finish(attempt, None).status == "passed"


@pytest.mark.parametrize("passed_on", [1, 2])
def test_what_passed_is_not_tried_again(desk: Desk, passed_on: int) -> None:
    """AUTHORIZED and REENTER_SUCCEEDED are final, and so is the intake a re-entry made."""
    intake = desk.intake() if passed_on == 1 else desk.failed()
    desk.advance(DAY)
    finished = desk.finish(desk.open(intake), None)
    for done in filter(None, (intake, finished.reentered_as)):
        with pytest.raises(LawRefused):
            desk.open(done)
    assert desk.word(intake) == ("SPA" if passed_on == 1 else "SFRPAN")


# Waits --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("failures", "wait"), [(1, timedelta(hours=24)), (2, timedelta(hours=72))])
def test_the_wait_is_exact_to_the_microsecond(desk: Desk, failures: int, wait: timedelta) -> None:
    """Counted from the latest failure: refused a microsecond before, allowed at the instant."""
    intake = desk.failed(times=failures - 1) if failures > 1 else desk.intake()
    if failures > 1:
        desk.wait(intake)
    attempt = desk.open(intake)
    desk.advance(timedelta(seconds=47))  # checks take time; the wait begins when they failed, not when they began
    desk.finish(attempt)
    failed_at = [at for event_type, _, at in desk.rows(HISTORY, intake) if event_type == "FAIL"][-1]
    assert failed_at == desk.now()
    assert next_eligible_at(desk, intake) == failed_at + wait

    desk.advance(wait - TICK)
    assert refused(desk, intake) == "attempt_too_early"
    assert standing(desk, intake)[1] == ["failed"] * failures
    desk.advance(TICK)
    assert desk.open(intake).attempt_number == failures + 1


def test_a_refused_attempt_leaves_no_trace(desk: Desk) -> None:
    """Too early is not an attempt: no event, no row, no count."""
    intake = desk.failed()
    before = desk.rows("select * from cl.gate_zero_recovery where intake_id = %s", intake)
    assert refused(desk, intake) == "attempt_too_early"
    assert desk.word(intake) == "SF"
    assert desk.rows("select * from cl.gate_zero_recovery where intake_id = %s", intake) == before


@pytest.mark.parametrize("reason", ReasonCode)
def test_every_reason_is_told_and_remembered(desk: Desk, reason: ReasonCode) -> None:
    """FAIL carries the code, the recovery keeps the latest one, and all eight are retried alike."""
    intake = desk.intake()
    desk.finish(desk.open(intake), ReasonCode.STATE_MISSING)
    desk.advance(DAY)
    desk.finish(desk.open(intake), reason)
    assert told(desk, intake) == [START, fail(ReasonCode.STATE_MISSING), RETRY, fail(reason)]
    assert desk.rows("select failure_reason, status from cl.gate_zero_recovery where intake_id = %s", intake) == [
        (str(reason), "ACTIVE")
    ]


def test_an_unknown_reason_is_refused(desk: Desk) -> None:
    """The list is closed; the attempt stays open for a reason that is on it."""
    intake = desk.intake()
    attempt = desk.open(intake)
    with pytest.raises(psycopg.errors.CheckViolation):
        desk.finish(attempt, "BAD_WEATHER")  # type: ignore[arg-type]
    assert desk.word(intake) == "S"
    assert desk.finish(attempt, ReasonCode.TIMEOUT).status == "failed"


def test_an_actor_is_named_also_when_nobody_says_who(desk: Desk) -> None:
    """actor may be null in the table and never is: told by the transaction, or system."""
    intake = desk.intake()
    for actor in (Actor("human", "ada"), Actor("ai", "checker-7"), Actor("", "")):
        with desk.db.transaction(Authority.GATE, actor=actor) as tx:
            (attempt,) = gate.open_attempts(tx, [intake], worker="w")
            gate.finish_attempts(tx, [outcome(attempt)])
        desk.wait(intake) if actor.kind else None
    actors = desk.rows(
        "select actor, actor_id from cl.gate_zero_air where entity_id = %s order by event_timestamp", intake
    )
    login = desk.rows("select session_user")[0][0]
    assert actors == [("human", "ada")] * 2 + [("ai", "checker-7")] * 2 + [("system", login)] * 3


# Re-entry -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failures", [1, 2])
def test_re_entry_makes_a_new_intake_of_the_same_company(desk: Desk, failures: int) -> None:
    """New row AUTHORIZED with reentered_from; REENTER names it; the original keeps its failures; one transaction."""
    batch = desk.batch()
    company = NewIntake(
        company_name="Zoë & Söhne", company_domain="zoe.example", linkedin_url="https://l.example/zoe", state="NY"
    )
    with desk.db.transaction(Authority.HUB) as tx:
        (intake,) = gate.add_intakes(tx, [company], batch_id=batch)
    for _ in range(failures):
        desk.finish(desk.open(intake))
        desk.wait(intake)
    attempt = desk.open(intake)
    desk.advance(timedelta(seconds=5))
    (finished,) = desk.report(outcome(attempt, None, payload_ref="s3://1"))
    new = finished.reentered_as

    rows = desk.rows("select * from cl.gate_zero_intake where reentered_from = %s", intake)
    assert len(rows) == 1
    assert desk.rows(
        "select batch_id, company_name, company_domain, linkedin_url, state, status, retry_of, created_at"
        " from cl.gate_zero_intake where intake_id = %s",
        new,
    ) == [(batch, *astuple(company), "AUTHORIZED", None, desk.now())]
    assert standing(desk, intake)[0] == "REENTER_SUCCEEDED"
    assert standing(desk, intake)[2:] == ("SUCCEEDED", failures)
    events = desk.rows(
        "select event_type, payload_ref, xid::text from cl.gate_zero_air where entity_id = %s"
        " order by event_timestamp desc limit 3", intake,
    )  # fmt: skip
    assert [event[:2] for event in events] == [
        ("REENTER", f"intake:{new}"), ("AUTH", "s3://1"), ("PASS", "s3://1"),
    ]  # fmt: skip
    assert len({event[2] for event in events}) == 1
    assert desk.rows("select 1 from cl.gate_zero_air where entity_id = %s", new) == []
    assert desk.rows("select 1 from cl.gate_zero_recovery where intake_id = %s", new) == []
    assert desk.word(intake) == "S" + "FR" * failures + "PAN"


# Crashed attempts ---------------------------------------------------------------------------------------------------


def test_a_lapsed_lease_is_a_failure_and_counts(desk: Desk) -> None:
    """Not a microsecond before the lease ends. Then FAIL with TIMEOUT, which points to the attempt."""
    drained(desk)
    intake = desk.intake()
    attempt = desk.open(intake, lease=timedelta(minutes=5))
    assert attempt.lease_until == desk.now() + timedelta(minutes=5)
    desk.advance(timedelta(minutes=5) - TICK)
    assert desk.sweep() == []
    desk.advance(TICK)
    assert desk.sweep() == [attempt.attempt_id]
    assert desk.sweep() == []

    assert told(desk, intake) == [START, fail(ReasonCode.TIMEOUT)]
    assert standing(desk, intake) == ("FAILED", ["crashed"], "ACTIVE", 1)
    assert desk.rows(
        "select payload_ref, event_timestamp, attempt_id from cl.gate_zero_air"
        " where entity_id = %s and event_type = 'FAIL'", intake,
    ) == [(f"attempt:{attempt.attempt_id}", attempt.lease_until, attempt.attempt_id)]  # fmt: skip
    assert next_eligible_at(desk, intake) == attempt.lease_until + timedelta(hours=24)


def test_the_third_crash_exhausts(desk: Desk) -> None:
    """An intake that kills its worker is not tried for ever; failed and crashed attempts count alike."""
    intake = desk.intake()
    for number in (1, 2, 3):
        desk.open(intake)
        desk.advance(LEASE)
        drained(desk)
        if number < 3:
            desk.wait(intake)
    timeout = fail(ReasonCode.TIMEOUT)
    assert told(desk, intake) == [START, timeout, RETRY, timeout, RETRY, timeout, SPENT]
    assert standing(desk, intake) == ("EXHAUSTED", ["crashed"] * 3, "EXHAUSTED", 3)


def test_a_sweep_takes_the_longest_lapsed_first_and_no_more_than_asked(desk: Desk) -> None:
    """Bounded pages; called again until nothing is left, every one of them has crashed once."""
    drained(desk)
    intakes = desk.intakes(5)
    attempts = [desk.open(intake, lease=timedelta(minutes=5 - n)) for n, intake in enumerate(intakes)]
    alive = desk.open(desk.intake(), lease=timedelta(hours=1))
    desk.advance(timedelta(minutes=5))
    assert set(desk.sweep(limit=2)) == {attempts[4].attempt_id, attempts[3].attempt_id}
    assert set(desk.sweep(limit=2)) == {attempts[2].attempt_id, attempts[1].attempt_id}
    assert desk.sweep(limit=2) == [attempts[0].attempt_id]
    assert desk.sweep(limit=2) == []
    assert desk.lawful(*intakes) == ["SF"] * 5
    assert desk.finish(alive, None).status == "passed"


def test_a_result_counts_to_the_end_of_its_lease_whether_a_sweep_came_by_or_not(desk: Desk) -> None:
    """Late is a matter of the lease, not of who comes first."""
    drained(desk)
    intakes = desk.intakes(2)
    in_time, late = (desk.open(intake) for intake in intakes)
    desk.advance(LEASE - TICK)
    assert desk.finish(in_time, None).status == "passed"
    desk.advance(TICK)
    assert desk.finish(late, None).status == "late"
    assert len(late_results(desk, late.attempt_id)) == 1
    assert desk.sweep() == [late.attempt_id]
    assert desk.lawful(*intakes) == ["SPA", "SF"]


def test_a_result_that_comes_before_its_claim_is_committed_is_not_taken_for_late(desk: Desk) -> None:
    """There is no such attempt yet, and whoever reports is told so; reported again, it counts."""
    intake = desk.intake()
    with desk.db.transaction(Authority.GATE) as tx:
        (attempt,) = gate.open_attempts(tx, [intake], worker="somebody")
        with pytest.raises(LawRefused, match="no attempt"):
            desk.finish(attempt, None)
    assert desk.finish(attempt, None).status == "passed"
    assert late_results(desk, attempt.attempt_id) == []


def late_results(desk: Desk, attempt_id: UUID) -> list[Any]:
    return desk.rows(
        "select subject, token, result, received_at, actor_id from recoup.late_result where unit_id = %s::text"
        " order by late_result_id",
        attempt_id,
    )


@pytest.mark.parametrize("reason", [None, ReasonCode.STATE_MISMATCH])
def test_the_late_result_of_a_swept_attempt_is_stored_and_not_applied(desk: Desk, reason: ReasonCode | None) -> None:
    """Passed or failed: what the sweep said stands, and what the worker said can be read."""
    drained(desk)
    intake = desk.intake()
    attempt = desk.open(intake)
    desk.advance(LEASE)
    assert desk.sweep() == [attempt.attempt_id]
    before = desk.rows("select * from cl.gate_zero_recovery where intake_id = %s", intake)

    (finished,) = desk.report(outcome(attempt, reason, payload_ref="s3://9"))
    assert finished.status == "late"
    assert (finished.intake_id, finished.reentered_as) == (None, None)
    assert told(desk, intake) == [START, fail(ReasonCode.TIMEOUT)]
    assert desk.rows("select * from cl.gate_zero_recovery where intake_id = %s", intake) == before
    result = {"status": "failed" if reason else "passed", "reason_code": reason, "payload_ref": "s3://9"}
    assert late_results(desk, attempt.attempt_id) == [
        ("cl.gate_zero_attempt", attempt.token, result, desk.now(), "tester")
    ]


def test_a_wrong_token_ends_nothing(desk: Desk) -> None:
    """Knowing an attempt's id is not holding it; the holder's own result still counts."""
    intake = desk.intake()
    attempt = desk.open(intake)
    stranger = Attempt(
        attempt_id=attempt.attempt_id, intake_id=intake, attempt_number=1, token=uuid.uuid4(),
        lease_until=attempt.lease_until,
    )  # fmt: skip
    assert desk.finish(stranger, None).status == "late"
    assert desk.word(intake) == "S"
    assert [row[1] for row in late_results(desk, attempt.attempt_id)] == [stranger.token]
    assert desk.finish(attempt).status == "failed"
    assert desk.word(intake) == "SF"


def test_a_token_ends_its_attempt_once(desk: Desk) -> None:
    """Reported again, because the answer was lost, it is recognised; with another outcome it is late."""
    intake = desk.intake()
    attempt = desk.open(intake)
    first = desk.finish(attempt)
    assert first.status == "failed"
    assert desk.finish(attempt) == first
    assert desk.finish(attempt, None).status == "late"
    assert desk.finish(attempt, ReasonCode.STATE_MISSING).status == "late"
    assert desk.word(intake) == "SF"
    assert len(late_results(desk, attempt.attempt_id)) == 2


def test_a_saved_intake_that_is_reported_again_reenters_once(desk: Desk) -> None:
    intake = desk.intake()
    desk.finish(desk.open(intake))
    desk.wait(intake)
    attempt = desk.open(intake)
    first = desk.finish(attempt, None)
    assert first.reentered_as is not None
    assert desk.finish(attempt, None) == first


def test_the_token_of_an_earlier_attempt_does_not_end_a_later_one(desk: Desk) -> None:
    """The worker that was declared dead comes back while another one is at it."""
    drained(desk)
    intake = desk.intake()
    dead = desk.open(intake)
    desk.advance(LEASE)
    desk.sweep()
    desk.wait(intake)
    alive = desk.open(intake)
    assert desk.finish(dead, None).status == "late"
    assert standing(desk, intake)[1] == ["crashed", "open"]
    assert desk.finish(alive).status == "failed"
    assert desk.word(intake) == "SFRF"


def test_an_unknown_attempt_is_refused(desk: Desk) -> None:
    """A result of nothing known here is a caller's mistake: it is told, and nothing is written."""
    stranger = Attempt(
        attempt_id=uuid.uuid4(), intake_id=uuid.uuid4(), attempt_number=1, token=uuid.uuid4(), lease_until=desk.now()
    )
    with pytest.raises(LawRefused) as caught:
        desk.finish(stranger, None)
    assert caught.value.code == "attempt_unknown"
    assert late_results(desk, stranger.attempt_id) == []


def test_a_single_statement_with_an_unknown_id_writes_nothing(desk: Desk) -> None:
    """What it did stands when it returns, so it is refused inside: an unknown intake, or attempt, beside known ones."""
    known, unknown = desk.open(desk.intake()), uuid.uuid4()
    fresh = desk.intake()
    with pytest.raises(LawRefused) as caught, desk.db.one_statement(Authority.GATE) as tx:
        gate.open_attempts(tx, [fresh, unknown], worker="one")
    assert (caught.value.code, caught.value.facts["missing"]) == ("intake_unknown", [str(unknown)])
    with pytest.raises(LawRefused) as caught, desk.db.one_statement(Authority.GATE) as tx:
        gate.finish_attempts(tx, [outcome(known, None), outcome(known._replace(attempt_id=unknown), None)])
    assert (caught.value.code, caught.value.facts["missing"]) == ("attempt_unknown", [str(unknown)])
    assert (desk.lawful(fresh), standing(desk, known.intake_id)[1]) == ([""], ["open"])


# Freeze -------------------------------------------------------------------------------------------------------------


def in_every_standing(desk: Desk, batch: str) -> dict[str, UUID]:
    """Intakes of one batch, one in each situation a freeze may find."""
    spent = desk.failed(times=3, batch_id=batch)
    saved = desk.failed(batch_id=batch)
    desk.wait(saved)
    desk.finish(desk.open(saved), None)
    authorized = desk.intake(batch_id=batch)
    desk.finish(desk.open(authorized), None)
    twice = desk.failed(times=2, batch_id=batch)
    once = desk.failed(batch_id=batch)
    return {
        "spent": spent, "saved": saved, "authorized": authorized, "once": once, "twice": twice,
        "pending": desk.intake(batch_id=batch),
    }  # fmt: skip


def test_the_freeze_ends_what_is_active_and_nothing_else(desk: Desk) -> None:
    """Not a microsecond before the window closes. Then every ACTIVE recovery of the batch, with its true reason."""
    drained(desk)
    batch = desk.batch()
    found = in_every_standing(desk, batch)
    closes_at = desk.complete(batch)
    assert closes_at == desk.now() + WINDOW
    desk.advance(WINDOW - TICK)
    assert desk.freeze() == gate.Frozen(batches=(), exhausted=())
    desk.advance(TICK)
    frozen = desk.freeze()
    assert frozen.batches == (batch,)
    assert set(frozen.exhausted) == {found["once"], found["twice"]}

    assert told(desk, found["once"]) == [START, fail(), CLOSED]
    assert told(desk, found["twice"]) == [START, fail(), RETRY, fail(), CLOSED]
    assert standing(desk, found["twice"]) == ("EXHAUSTED", ["failed", "failed"], "EXHAUSTED", 2)
    assert desk.lawful(*(found[name] for name in ("spent", "saved", "authorized", "pending"))) == [
        "SFRFRFM", "SFRPAN", "SPA", "",
    ]  # fmt: skip
    assert desk.rows("select status, frozen_at from cl.gate_zero_batch where batch_id = %s", batch) == [
        ("FROZEN", closes_at)
    ]
    ((at, attempt_id),) = desk.rows(
        "select event_timestamp, attempt_id from cl.gate_zero_air where entity_id = %s and event_type = 'EXHAUSTED'",
        found["once"],
    )
    assert (at, attempt_id) == (closes_at, None)


def test_a_second_freeze_does_nothing(desk: Desk) -> None:
    """Idempotent: no event, no batch, no recovery a second time, on the same day or a year later."""
    batch = desk.batch(completed=True)
    intake = desk.failed(batch_id=batch)
    desk.advance(WINDOW)
    drained(desk)
    assert desk.word(intake) == "SFW"
    for later in (timedelta(0), timedelta(days=365)):
        if later:
            desk.advance(later)
        assert desk.freeze() == gate.Frozen(batches=(), exhausted=())
    assert desk.word(intake) == "SFW"


def test_a_freeze_is_bounded_and_is_called_again(desk: Desk) -> None:
    """No more recoveries end in one call than asked; the calls together end all of them, once."""
    drained(desk)
    batch = desk.batch(completed=True)
    intakes = desk.intakes(7, batch_id=batch)
    desk.report(*(outcome(attempt) for attempt in desk.open_all(intakes)))
    desk.advance(WINDOW)
    ended: list[UUID] = []
    sizes = []
    while exhausted := desk.freeze(limit=3).exhausted:
        sizes.append(len(exhausted))
        ended.extend(exhausted)
    assert sizes == [3, 3, 1]
    assert sorted(ended) == sorted(intakes)
    assert desk.lawful(*intakes) == ["SFW"] * 7


def test_a_paused_batch_is_frozen_too(desk: Desk) -> None:
    """Paused is not exhausted, and does not hold the window open either."""
    drained(desk)
    batch = desk.batch(completed=True)
    intake = desk.failed(batch_id=batch)
    desk.pause(batch)
    desk.advance(WINDOW)
    assert desk.freeze() == gate.Frozen(batches=(batch,), exhausted=(intake,))
    assert desk.word(intake) == "SFW"
    assert desk.resume(batch)
    assert desk.word(intake) == "SFW"


@pytest.mark.parametrize(
    ("failures", "reason", "word"),
    [
        (1, FAILURE, "SFRFW"),
        (2, FAILURE, "SFRFRFM"),
        (1, None, "SFRPAN"),
        (2, None, "SFRFRPAN"),
    ],
)
def test_an_attempt_in_flight_is_left_alone_by_the_freeze(
    desk: Desk, failures: int, reason: ReasonCode | None, word: str
) -> None:
    """It may finish: a pass saves the company, a failure is the last, with the reason that is true."""
    drained(desk)
    batch = desk.batch(completed=True)
    intake = desk.failed(times=failures, batch_id=batch)
    desk.wait(intake)
    attempt = desk.open(intake, lease=timedelta(days=30))
    desk.advance(WINDOW)
    assert desk.freeze() == gate.Frozen(batches=(batch,), exhausted=())
    assert standing(desk, intake) == ("FAILED", ["failed"] * failures + ["open"], "ACTIVE", failures)
    desk.finish(attempt, reason)
    assert desk.word(intake) == word
    assert desk.freeze() == gate.Frozen(batches=(), exhausted=())


def test_an_attempt_that_crashes_in_a_frozen_batch_is_the_last(desk: Desk) -> None:
    """FAIL with TIMEOUT, then EXHAUSTED, written by the sweep."""
    drained(desk)
    batch = desk.batch(completed=True)
    intake = desk.failed(batch_id=batch)
    desk.wait(intake)
    attempt = desk.open(intake, lease=timedelta(days=20))
    desk.advance(timedelta(days=20))
    desk.freeze()
    assert desk.sweep() == [attempt.attempt_id]
    assert told(desk, intake) == [START, fail(), RETRY, fail(ReasonCode.TIMEOUT), CLOSED]


@pytest.mark.parametrize("frozen", [False, True])
def test_a_first_failure_after_the_window_ends_at_once(desk: Desk, frozen: bool) -> None:
    """A first attempt may still be made; there is no second chance left, whether or not the freeze has run."""
    batch = desk.batch(completed=True)
    failing, passing = desk.intakes(2, batch_id=batch)
    desk.advance(WINDOW)
    if frozen:
        desk.freeze()
    desk.finish(desk.open(failing))
    desk.finish(desk.open(passing), None)
    assert told(desk, failing) == [START, fail(), CLOSED]
    assert standing(desk, failing) == ("EXHAUSTED", ["failed"], "EXHAUSTED", 1)
    assert desk.word(passing) == "SPA"


def test_a_retry_is_refused_from_the_end_of_the_window_on(desk: Desk) -> None:
    """Also before the freeze was carried out: a microsecond earlier it opens, at the instant it does not."""
    drained(desk)
    batch = desk.batch()
    first, second = desk.intakes(2, batch_id=batch)
    desk.report(*(outcome(attempt) for attempt in desk.open_all([first, second])))
    desk.complete(batch)
    desk.advance(WINDOW - TICK)
    attempt = desk.open(first)
    desk.advance(TICK)
    assert refused(desk, second) == "batch_window_closed"
    desk.freeze()
    assert refused(desk, second) == "attempts_spent"
    desk.finish(attempt, None)
    assert desk.lawful(first, second) == ["SFRPAN", "SFW"]


def test_without_a_completed_batch_nothing_is_ever_frozen(desk: Desk) -> None:
    """No batch, or a batch nobody declared complete: ten years later the second chance is still there."""
    drained(desk)
    open_batch = desk.batch()
    intakes = [desk.failed(batch_id=open_batch), desk.failed()]
    desk.advance(timedelta(days=3650))
    assert desk.freeze() == gate.Frozen(batches=(), exhausted=())
    assert desk.lawful(*intakes) == ["SF", "SF"]
    desk.report(*(outcome(attempt, None) for attempt in desk.open_all(intakes)))
    assert desk.lawful(*intakes) == ["SFRPAN", "SFRPAN"]


def test_completing_twice_does_not_move_the_window(desk: Desk) -> None:
    """The second call tells what the first one set."""
    batch = desk.batch()
    first = desk.complete(batch)
    desk.advance(DAY)
    assert desk.complete(batch) == first
    assert desk.rows("select batch_freeze_at from cl.gate_zero_batch where batch_id = %s", batch) == [(first,)]


# Pause --------------------------------------------------------------------------------------------------------------


def test_a_pause_stops_every_retry_and_nothing_else(desk: Desk) -> None:
    """No retry opens; first attempts do; what is in flight finishes; other batches go on; a resume lets all go on."""
    batch, other = desk.batch(), desk.batch()
    due, in_flight, elsewhere = (desk.failed(batch_id=name) for name in (batch, batch, other))
    desk.advance(DAY)
    attempt = desk.open(in_flight)
    assert desk.pause(batch)

    assert refused(desk, due) == "batch_paused"
    assert desk.word(due) == "SF"
    first = desk.intake(batch_id=batch)
    desk.finish(desk.open(first))
    assert desk.word(first) == "SF"
    assert desk.finish(attempt, None).status == "passed"
    assert desk.word(in_flight) == "SFRPAN"
    assert desk.open(elsewhere).attempt_number == 2

    assert desk.resume(batch)
    assert desk.open(due).attempt_number == 2


def test_a_failure_in_flight_under_a_pause_waits_its_usual_wait(desk: Desk) -> None:
    """Paused is not exhausted: the count rises by the one failure, and the third attempt comes after the resume."""
    batch = desk.batch()
    intake = desk.failed(batch_id=batch)
    desk.advance(DAY)
    attempt = desk.open(intake)
    desk.pause(batch)
    desk.advance(timedelta(seconds=1))
    desk.finish(attempt)
    assert next_eligible_at(desk, intake) == desk.now() + timedelta(hours=72)
    desk.advance(timedelta(hours=72))
    assert refused(desk, intake) == "batch_paused"
    assert standing(desk, intake) == ("FAILED", ["failed", "failed"], "ACTIVE", 2)
    desk.resume(batch)
    assert desk.open(intake).attempt_number == 3


def test_who_paused_and_resumed_and_why_is_logged(desk: Desk) -> None:
    """Actor and reason of both, in the pause log; nothing of it in the AIR. A second pause changes and logs nothing."""
    batch = desk.batch()
    paused_at = desk.now()
    assert desk.pause(batch, reason="directory is down", by=Actor("human", "ada"))
    assert not desk.pause(batch, reason="me too", by=Actor("human", "eve"))
    assert desk.rows(
        "select paused_at, paused_by, pause_reason from cl.gate_zero_batch where batch_id = %s", batch
    ) == [(paused_at, "ada", "directory is down")]
    desk.advance(timedelta(hours=1))
    assert desk.resume(batch, reason="it is back", by=Actor("ai", "watch"))
    assert not desk.resume(batch)
    assert desk.rows(
        "select event_type, reason, actor, actor_id, authority, logged_at from recoup.pause_log"
        " where scope = 'batch' and scope_id = %s order by seq", batch,
    ) == [
        ("PAUSE", "directory is down", "human", "ada", "recoup_operator", paused_at),
        ("RESUME", "it is back", "ai", "watch", "recoup_operator", paused_at + timedelta(hours=1)),
    ]  # fmt: skip
    assert desk.rows("select 1 from cl.gate_zero_air where batch_id = %s", batch) == []


def test_a_pause_needs_a_reason_and_a_batch_that_exists(desk: Desk) -> None:
    """And so does everything else that names a batch."""
    batch = desk.batch()
    with pytest.raises(InputRefused) as caught:
        desk.pause(batch, reason="  ")
    assert caught.value.code == "reason_missing"
    for act in (
        lambda: desk.pause("no such batch"),
        lambda: desk.resume("no such batch"),
        lambda: desk.complete("no such batch"),
        lambda: desk.intake(batch_id="no such batch"),
    ):
        with pytest.raises(InputRefused) as caught:
            act()
        assert caught.value.code == "batch_unknown"
    with pytest.raises(InputRefused) as caught, desk.db.transaction(Authority.HUB) as tx:
        gate.create_batch(tx, batch)
    assert caught.value.code == "batch_exists"


# What may be tried now ----------------------------------------------------------------------------------------------


def offered(desk: Desk, *intakes: UUID) -> list[UUID]:
    with desk.db.transaction(Authority.READER) as tx:
        return [found.intake_id for found in gate.eligible(tx, limit=100_000) if found.intake_id in intakes]


def test_what_is_offered_is_due_and_longest_due_first(desk: Desk) -> None:
    """From next_eligible_at on, to the microsecond; never what is ended."""
    early = desk.failed()
    desk.advance(timedelta(minutes=1))
    late = desk.failed()
    spent = desk.failed(times=3)
    desk.advance_to(next_eligible_at(desk, late) + DAY)
    again = desk.failed()
    assert offered(desk, early, late, spent, again) == [early, late]
    desk.advance(timedelta(hours=24) - TICK)
    assert offered(desk, again) == []
    desk.advance(TICK)
    assert offered(desk, again) == [again]
    with desk.db.transaction(Authority.READER) as tx:
        assert len(gate.eligible(tx, limit=2)) == 2


@pytest.mark.parametrize("hindrance", ["open", "paused", "closed"])
def test_what_is_offered_can_be_opened(desk: Desk, hindrance: str) -> None:
    """Opening is all or none: one offer that would be refused holds up its whole page, and for ever when paused."""
    drained(desk)
    batch = desk.batch(completed=True)
    intake = desk.failed(batch_id=batch)
    desk.advance(DAY)
    match hindrance:
        case "open":
            desk.open(intake)
        case "paused":
            desk.pause(batch)
        case "closed":
            desk.advance(WINDOW)
    assert offered(desk, intake) == []


# Sets ---------------------------------------------------------------------------------------------------------------


def test_mixed_outcomes_go_in_one_call(desk: Desk) -> None:
    """First and later attempts, passed, failed, exhausted, late, with and without batch, each as if it were alone."""
    drained(desk)
    batch, closing = desk.batch(), desk.batch(completed=True)
    last = desk.failed(times=2, batch_id=batch)
    desk.wait(last)
    retried, saved, ending = desk.failed(batch_id=batch), desk.failed(), desk.failed(batch_id=closing)
    desk.advance(DAY)
    intakes = [*desk.intakes(2), last, retried, saved, ending]
    attempts = desk.open_all(intakes, lease=timedelta(days=30))
    gone = desk.open(desk.intake(), lease=timedelta(seconds=1))
    desk.advance(WINDOW)
    drained(desk)
    assert [attempt.intake_id for attempt in attempts] == intakes

    reasons = [None, ReasonCode.TIMEOUT, FAILURE, ReasonCode.STATE_MISSING, None, FAILURE]
    results = desk.report(*map(outcome, attempts, reasons), outcome(gone, None))
    by_attempt = {result.attempt_id: result for result in results}
    assert [by_attempt[attempt.attempt_id].status for attempt in (*attempts, gone)] == [
        "passed", "failed", "failed", "failed", "passed", "failed", "late",
    ]  # fmt: skip
    assert [r.attempt_id for r in results if r.reentered_as] == [attempts[4].attempt_id]
    assert desk.lawful(*intakes, gone.intake_id) == ["SPA", "SF", "SFRFRFM", "SFRF", "SFRPAN", "SFRFW", "SF"]
    assert desk.rows("select failure_reason from cl.gate_zero_recovery where intake_id = %s", retried) == [
        ("STATE_MISSING",)
    ]


def test_several_hundred_go_in_one_call(desk: Desk) -> None:
    """Three rounds of 600: every intake has its own history, and every number adds up."""
    drained(desk)
    intakes = desk.intakes(600)
    alive = list(intakes)
    for round_ in (1, 2, 3):
        attempts = desk.open_all(alive)
        assert [a.intake_id for a in attempts] == alive
        assert {a.attempt_number for a in attempts} == {round_}
        assert len({a.token for a in attempts}) == len(alive)
        results = desk.report(*(outcome(a, None if n % 3 == 0 else FAILURE) for n, a in enumerate(attempts)))
        assert len(results) == len(alive)
        alive = [a.intake_id for n, a in enumerate(attempts) if n % 3]
        if round_ < 3:
            desk.wait(alive[0])
    words = desk.lawful(*intakes)
    assert {word: words.count(word) for word in set(words)} == {
        "SPA": 200, "SFRPAN": 134, "SFRFRPAN": 89, "SFRFRFM": 177,
    }  # fmt: skip
    ((new,),) = desk.rows("select count(*) from cl.gate_zero_intake where reentered_from = any(%s)", intakes)
    assert new == 134 + 89


def test_the_same_attempt_twice_in_one_call_is_refused(desk: Desk) -> None:
    """Two outcomes for one attempt contradict each other even when they agree: nothing of the call is applied."""
    intakes = desk.intakes(2)
    first, second = desk.open_all(intakes)
    for outcomes in ([outcome(first), outcome(second), outcome(first)], [outcome(first), outcome(first, None)]):
        with pytest.raises(InputRefused) as caught:
            desk.report(*outcomes)
        assert caught.value.code == "outcome_twice"
    assert desk.lawful(*intakes) == ["S", "S"]


def test_the_same_intake_twice_in_one_call_is_one_attempt(desk: Desk) -> None:
    """Asking twice for the same is asking for it."""
    first, second = desk.intakes(2)
    attempts = desk.open_all([first, second, first])
    assert [a.intake_id for a in attempts] == [first, second]
    assert desk.lawful(first, second) == ["S", "S"]


def test_nothing_asked_is_nothing_done(desk: Desk) -> None:
    """Empty calls are answered, not refused."""
    assert desk.open_all([]) == []
    assert desk.report() == []


def test_opening_is_all_or_none(desk: Desk) -> None:
    """One that may not be opened, for whatever reason, or does not exist: none of the others is opened either."""
    batch = desk.batch()
    paused = desk.failed(batch_id=batch)
    desk.advance(DAY)
    desk.pause(batch)
    waiting = desk.failed()
    fresh = desk.intakes(3)
    for bad, code in ((waiting, "attempt_too_early"), (paused, "batch_paused")):
        with pytest.raises(LawRefused) as law:
            desk.open_all([*fresh[:2], bad, fresh[2]])
        assert law.value.code == code
    unknown = uuid.uuid4()
    with pytest.raises(LawRefused) as caught:
        desk.open_all([*fresh, unknown])
    assert caught.value.code == "intake_unknown"
    assert caught.value.facts["missing"] == [str(unknown)]
    assert desk.lawful(*fresh) == ["", "", ""]
    assert [a.attempt_number for a in desk.open_all(fresh)] == [1, 1, 1]


def test_reporting_is_all_or_none(desk: Desk) -> None:
    """One outcome the database refuses, and none of the call's outcomes is written."""
    intakes = desk.intakes(3)
    attempts = desk.open_all(intakes)
    reasons: list[Any] = [None, "BAD_WEATHER", FAILURE]
    with pytest.raises(psycopg.errors.CheckViolation):
        desk.report(*map(outcome, attempts, reasons))
    assert desk.lawful(*intakes) == ["S", "S", "S"]
    assert (
        desk.rows(
            "select 1 from recoup.late_result where unit_id = any(%s::uuid[]::text[])", [a.attempt_id for a in attempts]
        )
        == []
    )


def test_a_lease_that_ends_before_it_begins_is_refused(desk: Desk) -> None:
    """A lease of nothing would be swept before its worker looked."""
    intake = desk.intake()
    for lease in (timedelta(0), timedelta(seconds=-1), timedelta(days=31)):
        with pytest.raises(InputRefused) as caught:
            desk.open(intake, lease=lease)
        assert caught.value.code == "lease_length"
    assert desk.word(intake) == ""


def test_histories_are_told_intake_by_intake(desk: Desk) -> None:
    """The library's history says of several intakes what the printed query says of each."""
    intakes = [desk.failed(times=2), desk.failed(), desk.intake()]
    with desk.db.transaction(Authority.READER) as tx:
        events = gate.history(tx, intakes)
    for intake in intakes:
        mine = [(e.event_type, e.reason_code, e.event_timestamp) for e in events if e.intake_id == intake]
        assert mine == desk.rows(HISTORY, intake)
    with desk.db.transaction(Authority.READER) as tx, pytest.raises(LawRefused):
        gate.find_intakes(tx, [uuid.uuid4()])


def test_a_clock_that_was_set_back_holds_nobody_up(scratch: Transaction) -> None:
    """A server's clock may be corrected by some seconds: an attempt still ends, behind its beginning."""
    intake = new_intake(scratch)
    attempt = open_attempt(scratch, intake)
    # A simulated clock only moves forward; so the attempt and its intake are moved instead.
    for table, columns in (("attempt", ("opened_at", "lease_until")), ("intake", ("created_at", "updated_at"))):
        scratch.execute(f"alter table cl.gate_zero_{table} disable trigger user")
        later = ", ".join(f"{column} = {column} + interval '10 seconds'" for column in columns)
        scratch.execute(f"update cl.gate_zero_{table} set {later} where intake_id = %s", (intake,))
        for (name,) in scratch.execute(
            "select tgname from pg_trigger where tgrelid = %s::regclass and not tgisinternal",
            (f"cl.gate_zero_{table}",),
        ).fetchall():
            scratch.execute(f"alter table cl.gate_zero_{table} enable always trigger {name}")
    assert finish(scratch, attempt, ReasonCode.TIMEOUT).status == "failed"
