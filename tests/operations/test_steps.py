"""Operations with a canary: step by step, watched, for who began them; whoever goes on with them, however often."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

import product
from hub import DOL, HOUR, MINUTE, SECOND, STRUCTURAL, Hub
from recoup.audit import audit
from recoup.database import embedded
from recoup.database.connection import Actor, connect
from recoup.errors import parking
from recoup.errors.lookup import ErrorKey
from recoup.errors.recording import NewError
from recoup.errors.subject import SUBJECT
from recoup.errors.verbs import Verb
from recoup.lifecycles.declaration import Authority
from recoup.operations import Act, Operation, Outcomes, Step, many, steps
from recoup.operations.batches import BATCH
from recoup.operations.lifecycle import OperationStatus
from recoup.operations.steps import Canary, Held, judged
from recoup.recovery.review import SUBJECT as CANDIDATES
from recoup.refusals import InputRefused, LawRefused
from recoup.worker.loop import WorkerLoop

ADA = Actor("human", "ada")
DUTY = "error-canary"
UNPARK = Act(verb=Verb.UNPARK, given={"reason": "the registry is back"})
UNPARKED = "select count(*) from recoup.error_event where event_type = 'UNPARKED' group by error_id"


@dataclass(frozen=True)
class Ramp:
    """An operation with a canary over parked errors, and what is done about it."""

    hub: Hub
    errors: Sequence[int]
    operation: uuid.UUID

    @property
    def now(self) -> Operation:
        with self.hub.db.transaction(Authority.READER) as tx:
            return many.find(tx, self.operation)

    @property
    def gone(self) -> int:
        """How many errors are not parked any more, or were parked again."""
        ((count,),) = self.hub.rows("select count(*) from recoup.error_event where event_type = 'UNPARKED'")
        return int(count)

    def work(self) -> int:
        """One turn of a worker that does nothing else."""
        duties = [duty for duty in product.DUTIES if duty.name == DUTY]
        return WorkerLoop(self.hub.db, duties, name="w-1").run_once()[DUTY]

    def retried(self, *, failing: int = 0) -> int:
        """Every retry that is due ends: the first of them fail, the others succeed."""
        claimed = self.hub.claim()
        for number, one in enumerate(claimed):
            self.hub.fail(one) if number < failing else self.hub.succeed(one)
        return len(claimed)

    def resume(self) -> bool:
        with self.hub.db.transaction(Authority.OPERATOR, actor=ADA, reason="looked into it") as tx:
            return product.resume(tx, "operation", str(self.operation), reason="looked into it")


def ramp(hub: Hub, count: int, first: int, *, act: Act = UNPARK, actor: Actor = ADA, **more: Any) -> Ramp:
    recorded = hub.record_all(
        NewError(table=DOL, message=STRUCTURAL, code="E1", outreach_id=uuid.uuid4()) for _ in range(count)
    )
    errors = [one.error_id for one in recorded]
    units = [f"{DOL}/{error}" for error in errors]
    with hub.db.transaction(Authority.OPERATOR, actor=actor) as tx:
        operation = many.begin(tx, SUBJECT, act, units, canary=first, **more)
    return Ramp(hub, errors, operation)


def whole(hub: Hub) -> None:
    """Nothing that the audit knows of operations and errors is broken."""
    assert hub.broken() == []
    asked = [one for one in product.chosen(()) if one.id.startswith(("operations/", "rebuild/recoup.op", "laws/L6"))]
    with connect(hub.db.conninfo, hub.db.settings) as connection:
        assert [f"{v.id}: {v.rows[:2]}" for v in audit(connection, asked) if not v.holds] == []


def test_good_steps_grow_until_all_have_gone(hub: Hub) -> None:
    """5, 10, 20, and what is left; each only after the outcomes of the one before, for the person who began it."""
    found = ramp(hub, 40, 5)
    seen = []
    while found.now.status == "OPEN":
        found.work()
        seen.append((found.now.step, found.gone))
        assert found.work() == 0  # outcomes are open: nothing to do
        found.retried()
    assert seen == [(1, 5), (2, 15), (3, 35), (4, 40)]
    assert (found.now.status, found.now.done, found.now.pending) == ("DONE", 40, 0)
    assert hub.rows(UNPARKED) == [(1,)] * 40
    said = "select distinct actor, actor_id, reason from recoup.error_event where event_type = 'UNPARKED'"
    assert hub.rows(said) == [("human", "ada", "the registry is back")]
    with hub.db.transaction(Authority.READER) as tx:
        told = steps.story(tx, found.operation)
    assert [one.why for one in told if one.why][::2][:2] == [
        "The first 5 go.", "Step 1: 5 succeeded, 0 failed.",
    ]  # fmt: skip
    assert {one.actor_id for one in told} == {"ada", "w-1"}
    whole(hub)


def test_a_step_that_fails_stops_it(hub: Hub) -> None:
    """The rest stays parked, and the operation says why; as soon as it is clear, not when the last outcome is there."""
    found = ramp(hub, 100, 5)
    found.work()
    claimed = hub.claim()
    hub.fail(claimed[0])
    assert found.work() == 0  # one of five is what the policy allows
    hub.fail(claimed[1])
    found.work()
    assert (found.now.status, found.gone) == ("STOPPED", 5)
    why = "2 of 5 of step 1 failed (40%; the policy allows 20%): stopped. 95 more are left as they are."
    assert found.now.why == why
    logged = "select reason, actor_id from recoup.control_log where to_status = 'STOPPED'"
    assert hub.rows(logged) == [(why, "w-1")]
    parked = hub.rows("select count(*) from recoup.error where status = 'PARKED'")
    found.retried()
    assert found.work() == 0
    assert parked == [(97,)] == hub.rows("select count(*) from recoup.error where status = 'PARKED'")
    whole(hub)


def test_a_person_resumes_it_with_the_next_step(hub: Hub) -> None:
    """As large as the last one, which does not count any more."""
    found = ramp(hub, 30, 4)
    found.work()
    found.retried(failing=4)
    found.work()
    assert found.now.status == "STOPPED"
    assert found.resume()
    assert (found.now.status, found.now.step, found.now.step_start, found.now.step_end) == ("OPEN", 2, 4, 8)
    assert found.now.why == "Resumed by ada: looked into it"
    assert not found.resume()
    found.work()
    assert found.gone == 8
    found.retried()
    found.work()
    assert (found.now.step, found.gone) == (3, 16)
    whole(hub)


@pytest.mark.parametrize("ending", ["OPEN", "STOPPED"])
def test_a_person_cancels_it(hub: Hub, ending: str) -> None:
    """What went has gone; the rest is as it was, for good."""
    found = ramp(hub, 9, 3)
    found.work()
    found.retried(failing=3 if ending == "STOPPED" else 0)
    if ending == "STOPPED":
        found.work()
    assert found.now.status == ending
    with hub.db.transaction(Authority.OPERATOR, actor=ADA) as tx:
        assert steps.cancel(tx, found.operation, reason="not today: password=hunter2.") == 6
    assert (found.now.status, found.now.why) == (
        "CANCELLED", "Cancelled by ada: not today: password=[redacted] 6 are left as they are.",
    )  # fmt: skip
    assert found.work() == 0
    assert not found.resume()
    with pytest.raises(LawRefused) as refused, hub.db.transaction(Authority.OPERATOR) as tx:
        steps.cancel(tx, found.operation, reason="again")
    assert refused.value.code == "operation_over"
    assert found.gone == 3
    whole(hub)


def test_outcomes_that_do_not_come_pause_it(hub: Hub) -> None:
    """After an hour, counted from when all of the step had gone; a person who resumes it goes on without them."""
    found = ramp(hub, 20, 5)
    found.work()
    hub.succeed(hub.claim(limit=1)[0])
    hub.advance(HOUR - SECOND)
    assert found.work() == 0
    hub.advance(SECOND)
    found.work()
    assert (found.now.status, found.gone) == ("PAUSED", 5)
    assert found.now.why == (
        "4 of 5 of step 1 have no outcome after 1h 00m: paused. 15 more are left as they are."
    )  # fmt: skip
    found.retried()
    assert found.work() == 0
    assert found.resume()
    found.work()
    assert (found.now.status, found.now.step, found.gone) == ("OPEN", 2, 10)
    whole(hub)


def test_a_pause_of_a_person_continues_with_the_same_step(hub: Hub) -> None:
    """The kill switch stops it at once. Resumed, the step is watched as before."""
    found = ramp(hub, 20, 5)
    for scope, name in (("operation", str(found.operation)), ("global", None), ("duty", DUTY)):
        with hub.db.transaction(Authority.OPERATOR) as tx:
            product.pause(tx, scope, name, reason="look into it")
        assert (found.work(), found.gone) == (0, 0)
        with hub.db.transaction(Authority.OPERATOR) as tx:
            product.resume(tx, scope, name, reason="looked")
    found.work()
    found.retried()
    with hub.db.transaction(Authority.OPERATOR) as tx:
        product.pause(tx, "operation", str(found.operation), reason="look into it")
    assert found.work() == 0
    assert found.resume()
    assert (found.now.step, found.now.why) == (1, "The first 5 go.")
    found.work()
    assert (found.now.step, found.gone) == (2, 15)


def test_a_step_of_which_nothing_went_is_no_success(hub: Hub) -> None:
    """Refused items are neither: where nothing else is left, it waits for a person."""
    found = ramp(hub, 9, 3)
    with hub.db.transaction(Authority.OPERATOR) as tx:
        parking.resolve(tx, [ErrorKey(DOL, error) for error in found.errors[:3]])
    found.work()
    assert (found.now.status, found.now.refused, found.gone) == ("PAUSED", 3, 0)
    assert found.now.why == "None of the 3 of step 1 has an outcome: paused. 6 more are left as they are."
    assert found.resume()
    found.work()
    assert (found.now.step, found.gone) == (2, 3)
    whole(hub)


def test_some_refused_ones_do_not_count(hub: Hub) -> None:
    """Of 5, 3 went: one that fails of these is a third."""
    found = ramp(hub, 20, 5)
    with hub.db.transaction(Authority.OPERATOR) as tx:
        parking.resolve(tx, [ErrorKey(DOL, error) for error in found.errors[:2]])
    found.work()
    found.retried(failing=1)
    found.work()
    assert found.now.why is not None
    assert found.now.why.startswith("1 of 3 of step 1 failed (33%")


def test_a_rate_spreads_the_items(hub: Hub) -> None:
    """So many per minute over all steps; six seconds' after a wait for outcomes, a minute's after one for a worker."""
    found = ramp(hub, 100, 20, rate=30)
    counts = []
    for _ in range(4):
        found.work()
        counts.append(found.gone)
        hub.advance(10 * SECOND)
    assert counts == [1, 6, 11, 16]
    found.work()
    assert found.gone == 20
    hub.advance(10 * MINUTE)
    found.retried()
    found.work()
    assert (found.now.step, found.gone) == (2, 20 + 3 + 1)  # those of six seconds, and the next in its turn
    hub.advance(10 * MINUTE)
    found.work()
    assert found.gone == 24 + 30 + 1  # those of a minute, and the next in its turn


@pytest.mark.parametrize("rate", [30, 60, 600])
def test_what_is_fixed_drains_at_the_rate(hub: Hub, rate: int) -> None:
    """Within a tenth of it, steps and waits for outcomes included: a worker comes every five seconds."""
    count = 10 * rate  # ten minutes of it
    found = ramp(hub, count, 5, rate=rate)
    begun = hub.now()
    while found.now.status == "OPEN":
        found.work()
        found.retried()
        hub.advance(5 * SECOND)
    assert (found.now.status, found.gone) == ("DONE", count)
    assert 0.9 * rate <= count / ((hub.now() - begun) / MINUTE) <= 1.1 * rate
    ((fastest,),) = hub.rows(
        "select max(went) from (select count(*) over (order by logged_at range between interval '59.999 s' preceding"
        " and current row) as went from recoup.error_event where event_type = 'UNPARKED') m"
    )
    assert fastest <= 1.1 * rate, "in no minute faster"
    assert hub.rows(UNPARKED) == [(1,)] * count


def test_a_step_at_a_rate_stops_while_items_of_it_wait(hub: Hub) -> None:
    """What could not change the verdict any more does not go."""
    found = ramp(hub, 100, 20, rate=60)
    found.work()
    hub.advance(6 * SECOND)
    found.work()
    gone = found.gone
    assert gone < 20
    found.retried(failing=5)
    hub.advance(6 * SECOND)
    found.work()
    assert (found.now.status, found.gone) == ("STOPPED", gone)
    assert found.resume()
    assert (found.now.step_start, found.now.step_end) == (gone, gone + 20)
    whole(hub)


@pytest.mark.parametrize(
    ("outcome", "counted"),
    [
        ("succeed", (1, 0, 0)),
        ("resolve", (1, 0, 0)),
        ("fail", (0, 1, 0)),
        ("park", (0, 1, 0)),
        ("record again", (0, 1, 0)),
        ("archive", (0, 1, 0)),
        ("claim", (0, 0, 1)),
        ("nothing", (0, 0, 1)),
    ],
)
def test_what_counts_as_an_outcome(hub: Hub, outcome: str, counted: tuple[int, int, int]) -> None:
    """Also once the archiver has moved it."""
    found = ramp(hub, 2, 1)
    found.work()
    error = found.errors[0]
    key = [ErrorKey(DOL, error)]
    if outcome in ("succeed", "fail", "claim"):
        claimed = hub.claim_one(error)
        if outcome != "claim":
            hub.succeed(claimed) if outcome == "succeed" else hub.fail(claimed)
    elif outcome == "record again":
        entity = hub.row(error)["outreach_id"]
        hub.record_all([NewError(table=DOL, message=STRUCTURAL, code="E1", outreach_id=entity)])
    elif outcome != "nothing":
        with hub.db.transaction(Authority.OPERATOR, reason="a test") as tx:
            parking.carry_out(tx, Act(verb=outcome, given={"reason": "a test"}), key)
    for _ in range(2):
        with hub.db.transaction(Authority.READER) as tx:
            counts = SUBJECT.outcomes[Verb.UNPARK](tx, Step(found.operation, 0, 1))
        assert counts == Outcomes(*counted)
        hub.sweep_all()


def test_a_large_step_goes_in_batches(hub: Hub) -> None:
    """And is watched once all of it has gone."""
    found = ramp(hub, 2 * BATCH, BATCH + 20)
    with hub.db.transaction(Authority.OPERATOR) as tx:
        assert steps.advance(tx, SUBJECT, found.operation) == BATCH
    assert (found.gone, found.now.watch_until) == (BATCH, None)
    found.work()
    assert (found.gone, found.now.watch_until) == (BATCH + 20, hub.now() + HOUR)


class Killed(BaseException):
    """The process is gone."""


def test_a_process_that_dies_in_a_step_leaves_it_to_the_next(hub: Hub) -> None:
    """Neither is an item done twice, nor is the step taken as gone."""
    found = ramp(hub, 20, 5)
    with pytest.raises(Killed), hub.db.transaction(Authority.OPERATOR) as tx:
        assert steps.advance(tx, SUBJECT, found.operation) == 5
        raise Killed
    assert (found.gone, found.now.pending) == (0, 20)
    found.work()
    found.retried()
    with pytest.raises(Killed), hub.db.transaction(Authority.OPERATOR) as tx:
        assert steps.advance(tx, SUBJECT, found.operation) == 1  # the next step
        raise Killed
    assert found.now.step == 1
    found.work()
    assert (found.now.step, found.gone) == (2, 15)
    assert hub.rows(UNPARKED) == [(1,)] * 15
    whole(hub)


def test_two_processes_continue_one_one_operation(hub: Hub) -> None:
    """While one does, the other leaves it alone; together they do every step once."""
    found = ramp(hub, 50, 5)
    with hub.db.transaction(Authority.OPERATOR) as tx:
        assert steps.advance(tx, SUBJECT, found.operation) == 5
        assert found.work() == 0
    assert found.work() == 0
    ended, both = threading.Event(), threading.Barrier(3)

    def continue_all() -> None:
        both.wait(60)
        while not ended.is_set():
            steps.continue_one(hub.db, SUBJECT, found.operation)

    threads = [threading.Thread(target=continue_all) for _ in range(2)]
    for thread in threads:
        thread.start()
    both.wait(60)
    for _ in range(10_000):
        if found.now.status == "DONE":
            break
        found.retried()
    ended.set()
    for thread in threads:
        thread.join(60)
    assert (found.now.status, found.now.step) == ("DONE", 4)
    assert hub.rows(UNPARKED) == [(1,)] * 50
    sizes = (
        "select (facts ->> 'step_end')::integer from recoup.control_log where facts ? 'step_end' group by 1 order by 1"
    )
    assert hub.rows(sizes) == [(5,), (15,), (35,), (50,)]
    whole(hub)


@pytest.mark.parametrize(
    ("first", "more", "code"),
    [
        (0, {}, "canary_unusable"),
        (-1, {}, "canary_unusable"),
        (steps.MAX_FIRST + 1, {}, "canary_unusable"),
        (1, {"rate": 0}, "rate_unusable"),
        (3, {}, "canary_too_large"),
        (4, {}, "canary_too_large"),
        (1, {"act": Act(verb=Verb.RESOLVE, given={"reason": "x"})}, "canary_not_offered"),
    ],
)
def test_a_canary_that_makes_no_sense_is_refused(hub: Hub, first: int, more: dict[str, Any], code: str) -> None:
    """Before anything is written."""
    with pytest.raises(InputRefused) as refused:
        ramp(hub, 3, first, **more)
    assert refused.value.code == code
    assert hub.rows("select count(*) from recoup.operation") == [(0,)]


def test_a_change_of_the_policy_is_for_new_operations(hub: Hub) -> None:
    """What an operation began with is kept with it, with the version of the policy."""
    found = ramp(hub, 20, 2)
    hub.apply_policy("[operations]\ncanary_growth = 5\ncanary_failed_share = 0.9")
    found.work()
    found.retried(failing=1)
    found.work()
    assert found.now.status == "STOPPED"
    other = ramp(hub, 20, 2)
    assert other.now.canary is not None
    assert found.now.canary is not None
    assert (other.now.canary["growth"], found.now.canary["growth"]) == (5, 2)
    assert other.now.canary["policy_version"] == found.now.canary["policy_version"] + 1


FORGED = "update recoup.operation_item set status = 'DONE', ended_at = recoup.now() where place = %s"


def test_the_database_holds_the_rest_back(hub: Hub) -> None:
    """From every writer: older programs, and SQL by hand."""
    found = ramp(hub, 9, 3)
    for change in (
        FORGED.replace("%s", "4"),
        "update recoup.operation set step = 3, step_start = 3, step_end = 9",
        "update recoup.operation set step = 2, step_start = 3, step_end = 9",  # 1 to 3 have no results
        "update recoup.operation set step_end = 9",
        "update recoup.operation set canary = null",
    ):
        with pytest.raises(LawRefused), hub.db.transaction(Authority.OPERATOR) as tx:
            tx.execute(change.encode())
    with hub.db.transaction(Authority.OPERATOR) as tx:
        steps.cancel(tx, found.operation, reason="not today")
    with pytest.raises(LawRefused, match="is CANCELLED"), hub.db.transaction(Authority.OPERATOR) as tx:
        tx.execute(FORGED, (1,))


BEGUN = (
    "insert into recoup.operation (subject, verb, arguments, filter, items, digest, requested_at, requested_by, canary,"
    " step, step_start, step_end, next_at) values ('recovery.candidate', 'approve', '{}', '{}', 9, sha256(''),"
    " recoup.now(), %s, jsonb_build_object('first', 1, 'actor', %s::text, 'authority', %s::text,"
    " 'growth', 2, 'failed_share', 0.2, 'wait_s', 60, 'rate_per_minute', 0, 'policy_version', 1), 1, 0, 1,"
    " recoup.now())"
)


def test_nobody_begins_it_for_others_or_with_what_their_login_may_not(hub: Hub, server: embedded.Server) -> None:
    """A worker goes on under the name and the authority of who began it: these are not theirs to choose."""
    for given in (("eve", "human", "recoup_operator"), ("ada", "system", "recoup_operator"),
                  ("ada", "human", "recoup_nobody"), ("ada", "human", None)):  # fmt: skip
        with pytest.raises(LawRefused, match="begins with"), hub.db.transaction(Authority.OPERATOR, actor=ADA) as tx:
            tx.execute(BEGUN, given)
    name = psycopg.conninfo.conninfo_to_dict(hub.db.conninfo)["dbname"]
    with psycopg.connect(server.uri(str(name), admin=True), autocommit=True) as admin:
        admin.execute("create role only_operator login")
        admin.execute("grant recoup_operator to only_operator")
        admin.execute("set session authorization only_operator")
        admin.execute("set role recoup_operator")
        admin.execute(
            "select set_config('recoup.actor_kind', 'human', false), set_config('recoup.actor_id', 'x', false)"
        )
        with pytest.raises(psycopg.Error, match="that login only_operator has"):
            admin.execute(BEGUN, ("x", "human", "recoup_reviewer"))
        admin.execute(BEGUN, ("x", "human", "recoup_operator"))
        admin.execute("reset session authorization")
    ((forged,),) = hub.rows("select operation_id from recoup.operation")
    with pytest.raises(LawRefused, match="was begun as recoup_operator"):
        steps.continue_one(hub.db, CANDIDATES, forged)


# The verdict, without a database --------------------------------------------------------------------------------------

CANARY = Canary(first=10, growth=2, failed_share=0.2, wait_s=3600, rate_per_minute=0, policy_version=1, actor="human",
                authority="recoup_operator")  # fmt: skip
HELD = Held(uuid.uuid4(), "recoup.error", "unpark", {}, 100, "ada", CANARY, 1, 0, 10)
OPEN, PAUSED, STOPPED, *_ = OperationStatus


@pytest.mark.parametrize(
    ("counts", "waiting", "overdue", "status"),
    [
        (Outcomes(10, 0, 0), False, False, OPEN),
        (Outcomes(8, 2, 0), False, True, OPEN),  # the share is not passed
        (Outcomes(7, 3, 0), False, False, STOPPED),
        (Outcomes(0, 3, 7), False, False, STOPPED),  # whatever the others come to
        (Outcomes(0, 2, 8), False, False, None),
        (Outcomes(9, 0, 1), False, False, None),
        (Outcomes(9, 0, 1), False, True, PAUSED),
        (Outcomes(0, 3, 7), False, True, STOPPED),
        (Outcomes(0, 0, 0), False, False, PAUSED),
        (Outcomes(0, 1, 0), False, False, STOPPED),  # the others were refused
        (Outcomes(0, 1, 0), True, False, None),  # the others have not gone yet
        (Outcomes(0, 3, 0), True, False, STOPPED),
        (Outcomes(3, 0, 0), True, False, None),
    ],
)
def test_the_verdict_on_a_step(counts: Outcomes, waiting: bool, overdue: bool, status: OperationStatus | None) -> None:
    verdict = judged(HELD, counts, waiting=waiting, overdue=overdue)
    assert (verdict and verdict.status) == status
