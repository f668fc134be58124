"""One decision over many: what is previewed is what is done, each error once, however often it is interrupted."""

from __future__ import annotations

import threading
import uuid
from typing import Any

import pytest

from hub import DOL, HOUR, OPERATIONAL, ORPHANS, STRUCTURAL, URLS, Hub
from recoup.database.connection import Actor
from recoup.errors import parking
from recoup.errors.listing import Filter
from recoup.errors.lookup import ErrorKey
from recoup.errors.recording import NewError, record
from recoup.errors.subject import SUBJECT
from recoup.errors.verbs import Verb
from recoup.lifecycles.declaration import Authority
from recoup.operations import Act, Operation, many
from recoup.operations.batches import BATCH, Q
from recoup.refusals import InputRefused, LawRefused

ADA = Actor("human", "ada")
WAITING = (
    "select count(*) from pg_locks l join pg_stat_activity a using (pid)"
    " where not l.granted and a.datname = current_database()"
)
TIMES = "select count(*) from recoup.error_event where error_id = any(%s) and event_type = %s group by error_id"


def some(hub: Hub, count: int, message: str = STRUCTURAL, **more: Any) -> tuple[Filter, list[int]]:
    """Errors with a code of their own, and the filter that means them."""
    code = more.setdefault("code", uuid.uuid4().hex)
    new = {"table": DOL, "message": message} | more
    recorded = hub.record_all(NewError(**new, outreach_id=uuid.uuid4()) for _ in range(count))
    return Filter(codes=(code,)), [one.error_id for one in recorded]


def begin(hub: Hub, asked: Filter, **act: Any) -> uuid.UUID:
    with hub.db.transaction(Authority.OPERATOR, actor=ADA) as tx:
        given = {"reason": "fixed"} | act
        return many.begin(tx, SUBJECT, Act(verb=given.pop("verb", Verb.RESOLVE), given=given), asked)


def carry_on(hub: Hub, operation: uuid.UUID, **more: Any) -> Operation:
    return many.carry_on(hub.db, SUBJECT, operation, actor=ADA, **more)


def find(hub: Hub, operation: uuid.UUID) -> Operation:
    with hub.db.transaction(Authority.READER) as tx:
        return many.find(tx, operation)


def stands(hub: Hub, errors: list[int]) -> list[str]:
    query = "select status from recoup.error where error_id = any(%s) order by error_id"
    return [row[0] for row in hub.rows(query, errors)]


def test_a_preview_counts_and_changes_nothing(hub: Hub) -> None:
    """By table and status, with the newest of them."""
    asked, errors = some(hub, 7)
    some(hub, 2, OPERATIONAL, code=asked.codes[0])
    some(hub, 3, table=ORPHANS, code=asked.codes[0])
    with hub.db.transaction(Authority.READER) as tx:
        found = many.preview(tx, SUBJECT, Act(verb=Verb.RESOLVE), asked)
    assert found.rows == 12
    assert [(*group.place.values(), group.rows) for group in found.groups] == [
        (DOL, "PARKED", 7),
        (DOL, "RETRY_PENDING", 2),
        (ORPHANS, "PARKED", 3),
    ]
    assert found.refused == {}
    assert set(stands(hub, errors)) == {"PARKED"}


def test_what_was_previewed_is_done_in_batches(hub: Hub) -> None:
    """Each error and its result in one transaction; the reason is in every event."""
    asked, errors = some(hub, BATCH + 20)
    told: list[tuple[int, int]] = []
    operation = begin(hub, asked)
    assert set(stands(hub, errors)) == {"PARKED"}
    ended = carry_on(hub, operation, progress=lambda done, of: told.append((done, of)))
    assert told == [(BATCH, BATCH + 20), (BATCH + 20, BATCH + 20)]
    assert (ended.status, ended.items, ended.done, ended.refused, ended.pending) == ("DONE", 520, 520, 0, 0)
    assert (ended.requested_by, ended.done_at, ended.act) == (
        "ada", hub.now(), Act(verb=Verb.RESOLVE, given={"reason": "fixed"}),
    )  # fmt: skip
    assert ended.filter == {"codes": list(asked.codes)}
    assert set(stands(hub, errors)) == {"RESOLVED"}
    reasons = hub.rows(
        "select distinct reason, actor_id from recoup.error_event where error_id = any(%s) and event_type = 'RESOLVED'",
        errors,
    )
    assert reasons == [("fixed", "ada")]
    ((batches,),) = hub.rows(
        "select count(distinct xid) from recoup.error_event where error_id = any(%s) and event_type = 'RESOLVED'",
        errors,
    )
    assert batches == 2


def test_the_set_is_frozen_when_it_is_asked_for(hub: Hub) -> None:
    """What fails afterwards is not in it; what left meanwhile is refused, with its reason."""
    asked, errors = some(hub, 5)
    operation = begin(hub, asked)
    _, later = some(hub, 1, code=asked.codes[0])
    with hub.db.transaction(Authority.OPERATOR) as tx:
        parking.archive(tx, [ErrorKey(DOL, errors[0])])
    hub.sweep_all()
    with hub.db.transaction(Authority.OPERATOR) as tx:
        parking.resolve(tx, [ErrorKey(DOL, errors[1])])
    ended = carry_on(hub, operation)
    assert (ended.items, ended.done, ended.refused) == (5, 3, 2)
    assert ended.refusals == {
        "error_archived: It is archived.": 1,
        "error_over: It is closed (RESOLVED), and will be archived.": 1,
    }
    assert stands(hub, later) == ["PARKED"]


def test_refusals_are_counted_by_reason(hub: Hub) -> None:
    """Tables that do not allow it take none of the others with them."""
    asked, errors = some(hub, 3, OPERATIONAL)
    some(hub, 4, OPERATIONAL, table=URLS, code=asked.codes[0])
    ended = carry_on(hub, begin(hub, asked, verb=Verb.PARK, reason="DATA_QUALITY"))
    assert (ended.done, ended.refused) == (3, 4)
    assert list(ended.refusals.values()) == [4]
    assert "park_not_allowed" in next(iter(ended.refusals))
    assert set(stands(hub, errors)) == {"PARKED"}


class Killed(BaseException):
    """The process is gone."""


def test_killed_at_any_batch_it_is_carried_on_with(hub: Hub) -> None:
    """The same results, and nothing twice."""
    asked, errors = some(hub, 2 * BATCH + 1)
    operation = begin(hub, asked, verb=Verb.UNPARK)

    def kill(done: int, of: int) -> None:
        raise Killed

    for done in (BATCH, 2 * BATCH, 2 * BATCH + 1):
        with pytest.raises(Killed):
            carry_on(hub, operation, progress=kill)
        assert (find(hub, operation).done, find(hub, operation).status) == (done, "OPEN")
    ended = carry_on(hub, operation)
    assert (ended.status, ended.done, ended.refused) == ("DONE", 2 * BATCH + 1, 0)
    counts = hub.rows(TIMES, errors, "UNPARKED")
    assert counts == [(1,)] * (2 * BATCH + 1)
    assert carry_on(hub, operation) == ended


def test_a_batch_that_is_rolled_back_leaves_errors_and_items_as_they_were(hub: Hub) -> None:
    """Neither is written without the other."""
    asked, errors = some(hub, 3)
    operation = begin(hub, asked)
    with pytest.raises(Killed), hub.db.transaction(Authority.OPERATOR) as tx:
        rows = tx.execute(Q["take"], {"operation": operation, "limit": 2}).fetchall()
        parking.resolve(tx, [ErrorKey(unit.split("/")[0], int(unit.split("/")[1])) for _, unit in rows])
        raise Killed
    assert find(hub, operation).pending == 3
    assert set(stands(hub, errors)) == {"PARKED"}


def test_two_carry_on_with_one_operation(hub: Hub) -> None:
    """Each takes what the other has not; together they do everything once."""
    asked, errors = some(hub, 3 * BATCH)
    operation = begin(hub, asked)
    first_batch, second_done = threading.Event(), threading.Event()

    def wait_once(done: int, of: int) -> None:
        if not first_batch.is_set():
            first_batch.set()
            assert second_done.wait(60)

    thread = threading.Thread(target=lambda: carry_on(hub, operation, progress=wait_once))
    thread.start()
    assert first_batch.wait(60)
    ended = carry_on(hub, operation)
    second_done.set()
    thread.join(60)
    assert (ended.status, ended.done) == ("DONE", 3 * BATCH)
    counts = hub.rows(TIMES, errors, "RESOLVED")
    assert counts == [(1,)] * (3 * BATCH)


def test_what_somebody_else_is_at_is_left_to_them(hub: Hub) -> None:
    """It is not done until they are."""
    asked, _ = some(hub, 4)
    operation = begin(hub, asked)
    with hub.db.transaction(Authority.OPERATOR) as tx:
        assert len(tx.execute(Q["take"], {"operation": operation, "limit": 3}).fetchall()) == 3
        meanwhile = carry_on(hub, operation)
        assert (meanwhile.status, meanwhile.done, meanwhile.pending) == ("OPEN", 1, 3)
    assert carry_on(hub, operation).status == "DONE"


def test_every_verb_keeps_its_arguments(hub: Hub) -> None:
    """An operation that is carried on with does what was asked for then."""
    asked, (error_id,) = some(hub, 1)
    act = SUBJECT.act(Verb.ESCALATE, reason="no answer", to="bob", level=3)
    operation = begin(hub, asked, verb=act.verb, **act.given)
    assert find(hub, operation).act == act
    carry_on(hub, operation)
    row = hub.row(error_id)
    assert (row["escalation_level"], row["escalated_to"], row["escalation_reason"]) == (3, "bob", "no answer")
    for verb, more in ((Verb.ASSIGN, {"to": "eve"}), (Verb.REVIEW, {}), (Verb.ARCHIVE, {})):
        assert carry_on(hub, begin(hub, asked, verb=verb, **more)).done == 1


def test_operations_are_listed_newest_first(hub: Hub) -> None:
    """With how far each is."""
    asked, _ = some(hub, 2)
    first = begin(hub, asked, verb=Verb.REVIEW)
    carry_on(hub, first)
    hub.advance(HOUR)
    second = begin(hub, asked)
    with hub.db.transaction(Authority.READER) as tx:
        found = many.operations(tx, limit=2)
    assert [(one.operation_id, one.status, one.pending) for one in found] == [(second, "OPEN", 2), (first, "DONE", 0)]


def test_nothing_fits(hub: Hub) -> None:
    """An operation over nothing is done when it is begun."""
    ended = carry_on(hub, begin(hub, Filter(codes=(uuid.uuid4().hex,))))
    assert (ended.status, ended.items) == ("DONE", 0)


def test_everything_at_once_is_not_meant(hub: Hub) -> None:
    """A filter that says nothing is refused, and so is an operation that there is not."""
    with pytest.raises(InputRefused) as refused:
        begin(hub, Filter())
    assert refused.value.code == "filter_empty"
    with pytest.raises(InputRefused) as refused:
        find(hub, uuid.uuid4())
    assert refused.value.code == "operation_unknown"


def test_too_many_are_refused_before_anything_is_written(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound of one statement."""
    asked, _ = some(hub, 6)
    monkeypatch.setattr(many, "MAX_ITEMS", 5)
    before = hub.rows("select count(*) from recoup.operation")
    with pytest.raises(InputRefused) as refused:
        begin(hub, asked)
    assert refused.value.code == "operation_too_large"
    assert hub.rows("select count(*) from recoup.operation") == before


@pytest.mark.parametrize(
    "change",
    ["status = 'DONE', done_at = recoup.now(), items = 7", "verb = 'park'", "status = 'OPEN', done_at = null"],
)
def test_what_was_decided_is_not_rewritten(hub: Hub, change: str) -> None:
    """Not even by an operator."""
    asked, _ = some(hub, 1)
    operation = begin(hub, asked)
    carry_on(hub, operation)
    with pytest.raises(LawRefused), hub.db.transaction(Authority.OPERATOR) as tx:
        tx.execute(f"update recoup.operation set {change} where operation_id = %s".encode(), (operation,))


def test_a_deadlock_with_a_recording_hub_is_tried_again(hub: Hub) -> None:
    """A hub that records the same failures has them in its own order. Its records stand, and so do our results."""
    code = uuid.uuid4().hex
    first, second = (NewError(table=DOL, message=STRUCTURAL, outreach_id=uuid.uuid4(), code=code) for _ in range(2))
    hub.record_all([first, second])
    operation = begin(hub, Filter(codes=(code,)))
    ended: list[Operation] = []
    thread = threading.Thread(target=lambda: ended.append(carry_on(hub, operation)))
    with hub.db.transaction(Authority.HUB) as tx:
        record(tx, [second])
        thread.start()
        while hub.rows(WAITING) == [(0,)]:
            assert thread.is_alive()
        record(tx, [first])  # waits for whoever waits for us
    thread.join(60)
    assert (ended[0].status, ended[0].refused) == ("DONE", 2)
    assert hub.rows("select deadlocks > 0 from pg_stat_database where datname = current_database()") == [(True,)]
