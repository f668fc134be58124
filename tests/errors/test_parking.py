"""What people do with errors: each verb from each status, its answer for each error, and who comes second."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from hub import DAY, DOL, LOG, MASTER, OPERATIONAL, ORPHANS, SECOND, STRUCTURAL, URLS, Hub
from recoup.database import embedded
from recoup.database.connection import Actor
from recoup.errors import parking
from recoup.errors.lookup import ErrorKey
from recoup.errors.parking import Answer
from recoup.errors.recording import NewError
from recoup.errors.retrying import Claimed
from recoup.errors.subject import SUBJECT
from recoup.errors.verbs import Verb
from recoup.errors.vocabulary import Severity, Want
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, LawRefused

GONE = 2**62


def act(hub: Hub, verb: str, *errors: int, table: str = DOL, why: str | None = None, **more: Any) -> list[Answer]:
    with hub.db.transaction(Authority.OPERATOR, actor=Actor("human", "ada"), reason=why) as tx:
        done: list[Answer] = getattr(parking, verb)(tx, [ErrorKey(table, one) for one in errors], **more)
    return done


def only(hub: Hub, verb: str, error_id: int, **more: Any) -> str | None:
    """What one error was refused with, or None: it was done."""
    (answer,) = act(hub, verb, error_id, **more)
    assert answer.done is (answer.refused is None)
    assert answer.done or (answer.happened and answer.next_step)
    return answer.refused


def parked(hub: Hub) -> int:
    error_id = hub.record(STRUCTURAL)
    assert hub.row(error_id)["status"] == "PARKED"
    return error_id


def active(hub: Hub) -> int:
    error_id = hub.record(want=Want.ARCHIVE)
    assert hub.row(error_id)["status"] == "ACTIVE"
    return error_id


def leased(hub: Hub) -> tuple[int, Claimed]:
    error_id = hub.record()
    hub.advance(hub.row(error_id)["next_retry_at"] - hub.now())
    return error_id, hub.claim_one(error_id)


def last_event(hub: Hub, error_id: int) -> tuple[Any, ...]:
    found: tuple[Any, ...] = hub.rows(
        "select event_type, from_status, to_status, reason, actor_id from recoup.error_event"
        " where error_id = %s order by seq desc limit 1",
        error_id,
    )[0]
    return found


def test_parking_stops_the_retries(hub: Hub) -> None:
    """Who, when and why are kept; nothing is due any more, and the entity stays blocked."""
    error_id = hub.record()
    assert only(hub, "park", error_id, reason="EXTERNAL_DEPENDENCY") is None
    row = hub.row(error_id)
    assert (row["status"], row["disposition"], row["next_retry_at"]) == ("PARKED", "PARKED", None)
    assert (row["parked_at"], row["parked_by"], row["park_reason"]) == (hub.now(), "ada", "EXTERNAL_DEPENDENCY")
    assert last_event(hub, error_id) == ("PARKED", "RETRY_PENDING", "PARKED", "EXTERNAL_DEPENDENCY", "ada")
    assert hub.is_blocked(row["outreach_id"])
    assert only(hub, "park", error_id, reason="again") == "parked_already"


def test_parking_begins_to_block(hub: Hub) -> None:
    """What nobody did anything about may be taken up again."""
    error_id = active(hub)
    assert not hub.is_blocked(hub.row(error_id)["outreach_id"])
    assert only(hub, "park", error_id, reason="the customer called") is None
    assert hub.is_blocked(hub.row(error_id)["outreach_id"])


@pytest.mark.parametrize("verb", ["park", "resolve", "archive"])
def test_a_retry_under_way_is_cut_off_and_counted(hub: Hub, verb: str) -> None:
    """Its worker comes late: stored, and not applied."""
    error_id, claimed = leased(hub)
    more = {"reason": "stop it"} if verb == "park" else {}
    assert only(hub, verb, error_id, **more) is None
    row = hub.row(error_id)
    assert (row["retry_count"], row["token"], row["held"], row["last_outcome"]) == (1, claimed.token, None, None)
    assert hub.succeed(claimed) == "late"
    assert hub.row(error_id) == row


def test_an_unparked_error_has_one_more_retry(hub: Hub) -> None:
    """Now, without a window; who parked it and why is over, and its place among the tiers is kept."""
    error_id = parked(hub)
    only(hub, "escalate", error_id, reason="urgent", to="bob", level=3)
    with hub.db.transaction(Authority.OPERATOR) as tx:
        parking.assign(tx, [ErrorKey(DOL, error_id)], to="eve")
    assert only(hub, "unpark", error_id, why="mended") is None
    row = hub.row(error_id)
    assert (row["status"], row["disposition"], row["max_retries"]) == ("RETRY_PENDING", "RETRY", 1)
    assert (row["next_retry_at"], row["retry_until"]) == (hub.now(), None)
    assert {row[name] for name in ("parked_at", "parked_by", "park_reason")} == {None}
    assert (row["escalation_level"], row["escalated_to"], row["assigned_to"]) == (3, "bob", "eve"), "its place is kept"
    assert last_event(hub, error_id) == ("UNPARKED", "ESCALATED", "RETRY_PENDING", "mended", "ada")
    assert hub.fail(hub.claim_one(error_id)) == "PARKED"
    assert only(hub, "unpark", error_id) is None
    assert hub.row(error_id)["max_retries"] == 2


def test_unparking_never_takes_retries_away(hub: Hub) -> None:
    """Parked before its time, it has what was left."""
    error_id = hub.record()
    budget = hub.row(error_id)["max_retries"]
    only(hub, "park", error_id, reason="wait")
    only(hub, "unpark", error_id)
    assert hub.row(error_id)["max_retries"] == budget > 1
    assert hub.fail(hub.claim_one(error_id)) == "RETRY_PENDING"


def test_what_nobody_did_anything_about_is_retried(hub: Hub) -> None:
    """A person has it retried; and not twice."""
    error_id = active(hub)
    assert only(hub, "unpark", error_id) is None
    assert only(hub, "unpark", error_id) == "retry_pending_already"
    assert hub.claim_one(error_id).error_id == error_id


@pytest.mark.parametrize("again", [False, True], ids=["itself", "a_newer_one"])
def test_what_has_expired_is_unparked_while_it_is_there_and_kept_for_its_retries(
    new_hub: Callable[[], Hub], again: bool
) -> None:
    """As long as it blocks, a person can act on it; and the next sweep does not undo that."""
    hub, entity = new_hub(), uuid.uuid4()
    error_id = hub.record(outreach_id=entity, severity=Severity.HIGH)
    hub.advance(7 * DAY + SECOND)
    assert hub.close_windows() == 1
    assert hub.row(error_id)["expires_at"] < hub.now()
    if again:
        error_id = hub.record(outreach_id=entity, severity=Severity.HIGH)
    assert hub.sweep_all() == again, "the one that was superseded"
    assert hub.is_blocked(entity)
    assert only(hub, "unpark", error_id) is None
    row = hub.row(error_id)
    assert (row["status"], row["expires_at"]) == ("RETRY_PENDING", hub.now() + 7 * DAY)
    assert hub.sweep_all() == 0
    assert hub.succeed(hub.claim_one(error_id)) == "RESOLVED"
    assert hub.broken() == []


@pytest.mark.parametrize(
    ("verb", "table", "code"),
    [("park", URLS, "park_not_allowed"), ("park", LOG, "park_not_allowed"), ("unpark", ORPHANS, "retry_not_allowed")],
)
def test_a_table_has_the_last_word(hub: Hub, verb: str, table: str, code: str) -> None:
    """Refused with what it allows, and what to do instead; the row stays as it was."""
    error_id = hub.record(table=table)
    before = hub.row(error_id)
    (answer,) = act(hub, verb, error_id, table=table, **({"reason": "x"} if verb == "park" else {}))
    assert answer.refused == code
    assert table in str(answer.happened)
    assert hub.row(error_id) == before


@pytest.mark.parametrize("make", [parked, active, Hub.record, lambda hub: leased(hub)[0]])
def test_whatever_is_open_can_be_resolved(hub: Hub, make: Callable[[Hub], int]) -> None:
    """It blocks no longer, and never moves again."""
    error_id = make(hub)
    assert only(hub, "resolve", error_id, why="mended by hand") is None
    row = hub.row(error_id)
    assert (row["status"], row["archived_at"], row["archive_reason"]) == ("RESOLVED", hub.now(), "RESOLVED")
    assert row["next_retry_at"] is None
    assert not hub.is_blocked(row["outreach_id"])
    assert last_event(hub, error_id)[3:] == ("mended by hand", "ada")
    for verb, more in EVERY_VERB.items():
        assert only(hub, verb, error_id, **more) == "error_over"


EVERY_VERB: dict[str, dict[str, Any]] = {
    "park": {"reason": "x"}, "unpark": {}, "resolve": {}, "escalate": {"reason": "x"}, "assign": {"to": "bob"},
    "review": {}, "archive": {},
}  # fmt: skip


def test_every_verb_is_tried() -> None:
    """Those of the list are all there are."""
    assert set(EVERY_VERB) == set(Verb)


def test_escalation_goes_up_level_by_level(hub: Hub) -> None:
    """To the owner of the tier unless somebody is named; never down, and not past the last."""
    error_id = parked(hub)
    assert only(hub, "escalate", error_id, reason="no answer") is None
    row = hub.row(error_id)
    assert (row["status"], row["disposition"], row["escalation_level"]) == ("ESCALATED", "PARKED", 2)
    assert (row["escalated_at"], row["escalated_to"], row["escalation_reason"]) == (hub.now(), "dol-lead", "no answer")
    assert hub.is_blocked(row["outreach_id"])
    assert only(hub, "escalate", error_id, reason="down", level=1) == "escalated_already"
    assert only(hub, "escalate", error_id, reason="still none", to="bob") is None
    assert hub.row(error_id)["escalation_level"] == 3
    assert hub.row(error_id)["escalated_to"] == "bob"
    assert hub.events(error_id) == ["RECORDED", "ESCALATED", "ESCALATED"]
    assert only(hub, "escalate", error_id, reason="higher") == "escalated_already"
    assert only(hub, "escalate", hub.record(), reason="x") == "not_parked"


def test_assigned_and_reviewed(hub: Hub) -> None:
    """In any status; the status stays."""
    for error_id in (parked(hub), active(hub), hub.record()):
        status = hub.row(error_id)["status"]
        assert only(hub, "assign", error_id, to="bob") is None
        assert only(hub, "assign", error_id, to="bob") == "assigned_already"
        assert only(hub, "review", error_id, why="looked at it") is None
        row = hub.row(error_id)
        assert (row["status"], row["assigned_to"], row["last_reviewed_at"]) == (status, "bob", hub.now())
        assert hub.events(error_id)[-2:] == ["ASSIGNED", "REVIEWED"]


def test_archived_by_hand(hub: Hub) -> None:
    """As it stands: it blocks no longer, and the archiver comes for it."""
    error_id = hub.record()
    entity = hub.row(error_id)["outreach_id"]
    assert only(hub, "archive", error_id, why="the company is gone") is None
    assert not hub.is_blocked(entity)
    assert last_event(hub, error_id) == ("RETIRED", "RETRY_PENDING", "RETRY_PENDING", "the company is gone", "ada")
    hub.sweep_all()
    assert hub.archived(error_id)["archive_reason"] == "MANUAL"
    assert only(hub, "archive", error_id) == "error_archived"


@pytest.mark.parametrize("verb", list(EVERY_VERB))
def test_what_is_kept_for_ever_stays_as_it_is(hub: Hub, verb: str) -> None:
    """Every verb is refused with words, and not by a trigger that takes the others with it."""
    error_id, other = hub.record(table=MASTER), parked(hub)
    keys = [ErrorKey(MASTER, error_id), ErrorKey(DOL, other)]
    with hub.db.transaction(Authority.OPERATOR) as tx:
        first, _ = getattr(parking, verb)(tx, keys, **EVERY_VERB[verb])
    assert first.refused == "table_insert_only"
    assert hub.row(error_id)["archived_at"] is None


def test_each_error_has_its_own_answer(hub: Hub) -> None:
    """In the order given; also what is not there, is named twice, or can be no id."""
    good, over, other = parked(hub), parked(hub), parked(hub)
    act(hub, "resolve", over)
    given = (other, GONE, over, good, -1, 2**80, good)
    answers = act(hub, "unpark", *given)
    assert [answer.error_id for answer in answers] == list(given)
    unknown = "error_unknown"
    assert [a.refused for a in answers] == [None, unknown, "error_over", None, unknown, unknown, None]
    assert hub.events(good) == ["RECORDED", "UNPARKED"]
    (elsewhere,) = act(hub, "resolve", good, table=URLS)
    assert elsewhere.refused == unknown
    assert act(hub, "resolve", good, table="nobody's\0table")[0].refused == unknown
    assert act(hub, "resolve") == []


def test_tables_are_mixed_in_one_call(hub: Hub) -> None:
    """One statement over all of them."""
    keys = [ErrorKey(table, hub.record(table=table)) for table in (URLS, DOL, LOG, ORPHANS)]
    with hub.db.transaction(Authority.OPERATOR) as tx:
        assert all(answer.done for answer in parking.resolve(tx, keys))
    assert {hub.row(key.error_id)["status"] for key in keys} == {"RESOLVED"}


def test_what_the_database_refuses_takes_no_others_with_it(new_hub: Callable[[], Hub], server: embedded.Server) -> None:
    """A rule that the library does not know of: the answer is the database's, and the others are done."""
    hub = new_hub()
    errors = [parked(hub) for _ in range(5)]
    with psycopg.connect(server.uri(str(conninfo_to_dict(hub.db.conninfo)["dbname"]), admin=True)) as admin:
        admin.execute(
            "create function public.stays() returns trigger language plpgsql as $$ begin raise exception using"
            " errcode = 'RC049', message = 'this one stays', hint = 'leave it', detail = '{}'; end $$;"
            f" create trigger stays before update on {DOL} for each row when (old.error_id = {errors[2]})"
            " execute function public.stays()"
        )
    answers = act(hub, "resolve", *errors)
    assert [answer.refused for answer in answers] == [None, None, "error_move", None, None]
    assert answers[2].happened == "this one stays"
    assert [hub.row(one)["status"] for one in errors] == ["RESOLVED"] * 2 + ["PARKED"] + ["RESOLVED"] * 2


def test_of_two_operators_the_second_is_told(hub: Hub) -> None:
    """Sets that overlap, in opposite orders: no deadlock, each error is done once, by one of them."""
    errors = [ErrorKey(DOL, parked(hub)) for _ in range(40)]
    answers: dict[str, list[Answer]] = {}
    begin = threading.Barrier(2)

    def operate(name: str, mine: list[ErrorKey]) -> None:
        begin.wait(30)
        with hub.db.transaction(Authority.OPERATOR, actor=Actor("human", name)) as tx:
            answers[name] = parking.resolve(tx, mine)

    threads = [
        threading.Thread(target=operate, args=("ada", errors)),
        threading.Thread(target=operate, args=("bob", errors[::-1])),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    done = {name: {a.error_id for a in given if a.done} for name, given in answers.items()}
    assert {len(done["ada"]), len(done["bob"])} == {0, 40}
    late = answers["ada"] if not done["ada"] else answers["bob"]
    assert {answer.refused for answer in late} == {"error_over"}


def test_only_an_operator_does_it(hub: Hub) -> None:
    """A hub has its own verbs. The database says so for each error."""
    error_id = parked(hub)
    with pytest.raises(LawRefused, match="no right"), hub.db.transaction(Authority.HUB) as tx:
        parking.resolve(tx, [ErrorKey(DOL, error_id)])
    assert hub.row(error_id)["status"] == "PARKED"


@pytest.mark.parametrize("text", ["", " ", "a\0b", "x" * 2001, "é" * 1001])
def test_a_reason_is_some_words(text: str) -> None:
    """Refused before anything is sent."""
    with pytest.raises(InputRefused) as refused:
        SUBJECT.act(Verb.PARK, reason=text)
    assert refused.value.code == "reason_unusable"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"verb": Verb.PARK}, "reason_missing"),
        ({"verb": Verb.ESCALATE}, "reason_missing"),
        ({"verb": Verb.ASSIGN}, "owner_missing"),
        ({"verb": Verb.ASSIGN, "to": ""}, "name_unusable"),
        ({"verb": Verb.ESCALATE, "reason": "x", "level": 4}, "escalation_level"),
        ({"verb": Verb.ESCALATE, "reason": "x", "level": 0}, "escalation_level"),
    ],
)
def test_an_act_without_its_words_is_refused(given: dict[str, Any], code: str) -> None:
    """Each says what is missing."""
    with pytest.raises(InputRefused) as refused:
        SUBJECT.act(given.pop("verb"), **given)
    assert refused.value.code == code


def test_what_is_recorded_meanwhile_keeps_what_a_person_said(hub: Hub) -> None:
    """Parked by hand and failing again, it stays parked, and the newer one has the park reason."""
    entity = uuid.uuid4()
    error_id = hub.record(outreach_id=entity)
    only(hub, "park", error_id, reason="ask the vendor")
    hub.record_all([NewError(table=DOL, message=OPERATIONAL, outreach_id=entity, severity=Severity.HIGH)])
    row = hub.row_of(entity)
    assert (row["status"], row["park_reason"], row["parked_by"]) == ("PARKED", "ask the vendor", "ada")
    assert only(hub, "unpark", error_id) == "error_over"
