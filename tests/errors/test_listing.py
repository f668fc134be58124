"""Reading errors: lists by filter, one error in full with its history, and counts that add up."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from hub import DAY, DOL, HOUR, LOG, MINUTE, OPERATIONAL, PEOPLE, STRUCTURAL, TABLES, TRANSIENT, URLS, Hub
from recoup.database import embedded
from recoup.errors import counting, listing, lookup, parking
from recoup.errors.counting import TableStats
from recoup.errors.listing import Filter, Listed, Shown
from recoup.errors.lookup import ErrorKey
from recoup.errors.recording import NewError
from recoup.errors.rendering import HAPPENED, history, status
from recoup.errors.vocabulary import Category, Severity, Want
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused


def listed(hub: Hub, asked: Filter, *, limit: int = 1000, archived: bool = False) -> list[Listed]:
    with hub.db.transaction(Authority.READER) as tx:
        return listing.list_errors(tx, asked, limit=limit, archived=archived)


def ids(hub: Hub, *, archived: bool = False, **asked: Any) -> set[int]:
    return {one.error_id for one in listed(hub, Filter(**asked), archived=archived)}


def shown(hub: Hub, name: object) -> Shown:
    with hub.db.transaction(Authority.READER) as tx:
        return listing.show(tx, str(name))


def resolve(hub: Hub, error_id: int, table: str = DOL) -> None:
    with hub.db.transaction(Authority.OPERATOR, reason="mended") as tx:
        assert parking.resolve(tx, [ErrorKey(table, error_id)])[0].done


def test_every_filter_finds_what_fits_and_nothing_else(new_hub: Callable[[], Hub]) -> None:
    """Of two errors that differ in one thing, the one that was asked for."""
    hub = new_hub()
    old = hub.record(STRUCTURAL, severity=Severity.MEDIUM, code="A")
    hub.advance(2 * HOUR)
    new = hub.record(TRANSIENT, table=PEOPLE, severity=Severity.HIGH, code="B")
    row = hub.row(old)
    assert ids(hub) == {old, new}
    one_thing: tuple[tuple[str, Any], ...] = (
        ("tables", (DOL,)), ("statuses", ("PARKED",)), ("codes", ("A",)), ("signatures", (row["error_signature"],)),
        ("severities", (Severity.MEDIUM,)), ("categories", (Category.STRUCTURAL,)), ("entities", (row["outreach_id"],)),
        ("older_than", HOUR), ("parked_longer_than", HOUR), ("text", row["error_message"][3:12].upper()), ("text", "a"),
    )  # fmt: skip
    for name, value in one_thing:
        assert ids(hub, **{name: value}) == {old}, name
    assert ids(hub, newer_than=HOUR) == {new}
    assert ids(hub, parked_longer_than=3 * HOUR) == set()
    assert ids(hub, codes=("A", "B")) == {old, new}
    assert ids(hub, codes=("A",), tables=(PEOPLE,)) == set()


def test_newest_first_over_all_tables(hub: Hub) -> None:
    """And no more than were asked for."""
    made = [hub.record(table=table) for table in (*TABLES, *TABLES)]
    found = listed(hub, Filter(), limit=10)
    assert [one.error_id for one in found] == sorted(made, reverse=True)[:10]


def test_what_is_over_is_listed_when_it_is_asked_for(hub: Hub) -> None:
    """Waiting for the archiver, and in the archive."""
    code = uuid.uuid4().hex
    waiting, gone, open_ = (hub.record(code=code) for _ in range(3))
    resolve(hub, gone)
    hub.sweep_all()
    resolve(hub, waiting)
    assert ids(hub, codes=(code,)) == {open_}
    assert ids(hub, codes=(code,), archived=True) == {waiting, gone, open_}
    assert ids(hub, codes=(code,), statuses=("ARCHIVED",)) == {gone}


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (Filter(tables=("outreach.nothing",)), "table_unknown"),
        (Filter(tables=("outreach.bit_errors",)), "table_dead"),
        (Filter(tables=("a\0b",)), "table_unknown"),
        (Filter(codes=("a\0b",)), "text_has_nul"),
        (Filter(text="a\0b"), "text_has_nul"),
    ],
)
def test_what_makes_no_sense_is_refused(hub: Hub, asked: Filter, code: str) -> None:
    """Instead of an empty list that looks like good news."""
    with pytest.raises(InputRefused) as refused:
        listed(hub, asked)
    assert refused.value.code == code


def test_a_look_reads_no_more_than_it_shows(new_hub: Callable[[], Hub], server: embedded.Server) -> None:
    """The newest of a large table come along its primary key."""
    hub = new_hub()
    hub.record_all(NewError(table=DOL, message=OPERATIONAL, outreach_id=uuid.uuid4()) for _ in range(20_000))
    with psycopg.connect(server.uri(str(conninfo_to_dict(hub.db.conninfo)["dbname"]), admin=True)) as admin:
        admin.execute(f"analyze {DOL}")
    with hub.db.transaction(Authority.READER) as tx:
        given = {**listing.given(tx, Filter()), "archived": False, "limit": 10, "after": 2**63 - 1}
        query = "explain (analyze, timing off) " + listing.matching("list_live").as_string(tx)
        plan = "\n".join(row[0] for row in tx.execute(query.encode(), given))
    assert "dol_errors_pkey" in plan
    assert "Seq Scan on dol_errors" not in plan
    assert "actual rows=20000" not in plan


def test_the_history_of_an_error(hub: Hub) -> None:
    """From its record to the archive, in words, with who and why; a retry is one line once it has ended."""
    error_id = hub.record(TRANSIENT, severity=Severity.HIGH, payload={"traceback": "Traceback:\n  line 1"})
    hub.advance(MINUTE)
    claimed = hub.claim_one(error_id)
    found = shown(hub, error_id)
    assert history(error_id, found.events)[-1][1:3] == ("retry 1", "started")
    assert status(found.row, found.read_at).startswith("being retried by hub until ")
    assert found.next_step == f'wait for the result, or stop the retry: recoup errors park {error_id} --reason "…"'
    hub.fail(claimed, "no route to host")
    found = shown(hub, error_id)
    assert re.match("waiting for retry 2, due in .* \\(1 of 5 retries used\\)", status(found.row, found.read_at))
    with hub.db.transaction(Authority.OPERATOR) as tx:
        parking.park(tx, [ErrorKey(DOL, error_id)], reason="ask the vendor")
    found = shown(hub, f"{DOL}/{error_id}")
    assert found.row["error_message"] == TRANSIENT
    assert (found.blocks, found.traceback, found.owner) == (True, "Traceback:\n  line 1", "dol-hub")
    assert status(found.row, found.read_at) == "parked 0s ago by tester: ask the vendor (1 of 5 retries used)"
    assert found.next_step == f'fix the cause, then: recoup errors unpark {error_id} --reason "…"'
    assert "its severity HIGH decides" in found.explanation[0]
    resolve(hub, error_id)
    found = shown(hub, error_id)
    assert "Closed at" in " ".join(found.explanation)
    assert (found.blocks, found.next_step) == (False, "nothing to do: it is closed")
    hub.sweep_all()
    found = shown(hub, error_id)
    assert found.row["status"] == "ARCHIVED"
    assert [line[1:3] for line in history(error_id, found.events)] == [
        ("recorded", "RETRY_PENDING"), ("retry 1", "failed: no route to host"), ("parked", "ask the vendor"),
        ("resolved", "mended"), ("archived", "RESOLVED"),
    ]  # fmt: skip


def test_a_superseded_error_is_part_of_the_history(hub: Hub) -> None:
    """With its retries; and a report that alone would be archived says why it is parked."""
    entity = uuid.uuid4()
    first = hub.record(TRANSIENT, outreach_id=entity)
    hub.advance(MINUTE)
    hub.fail(hub.claim_one(first), "no route to host")
    second = hub.record(TRANSIENT, outreach_id=entity)
    with hub.db.transaction(Authority.OPERATOR) as tx:
        parking.park(tx, [ErrorKey(DOL, second)], reason="ask the vendor")
    hub.sweep_all()
    third = hub.record(TRANSIENT, outreach_id=entity, severity=Severity.LOW)
    found = shown(hub, third)
    assert [(one.error_id, one.retry_count) for one in found.superseded] == [(second, 1), (first, 1)]
    lines = [line.detail for line in history(third, found.events)]
    assert f"failed: no route to host (error {first})" in lines
    assert f"by error {third} (error {second})" in lines
    assert f"but error {second} of the same failure was parked" in " ".join(found.explanation)
    assert found.row["status"] == "PARKED"
    assert f"It replaces error {first}" in " ".join(shown(hub, second).explanation)


def test_occurrences_are_counted(hub: Hub) -> None:
    """Of one table, entity, signature and work key, live, closed and archived; when first and when last."""
    entity, begun = uuid.uuid4(), hub.now()
    made = []
    for number in range(4):
        made.append(hub.record(TRANSIENT, outreach_id=entity))
        hub.advance(MINUTE)
        if number == 1:
            hub.sweep_all()
    others = [
        hub.record(TRANSIENT, outreach_id=entity, work_key="other"),
        hub.record(STRUCTURAL, outreach_id=entity),
        hub.record(TRANSIENT, outreach_id=entity, table=PEOPLE),
    ]
    found = {one.error_id: one for one in listed(hub, Filter(entities=(entity,)), archived=True)}
    assert [found[error_id].occurrences for error_id in (*made, *others)] == [4, 4, 4, 4, 1, 1, 1]
    assert {found[error_id].first_seen_at for error_id in made} == {begun}
    assert [found[error_id].last_seen_at for error_id in made] == [begun + n * MINUTE for n in range(4)]
    last = shown(hub, made[-1])
    assert (last.occurrences, last.first_seen_at, last.last_seen_at) == (4, begun, begun + 3 * MINUTE)


def test_owners_are_listed(hub: Hub) -> None:
    """To whom it is assigned or escalated, or the owner of its table."""
    plain, assigned, escalated = hub.record(STRUCTURAL), hub.record(STRUCTURAL), hub.record(STRUCTURAL)
    with hub.db.transaction(Authority.OPERATOR) as tx:
        parking.assign(tx, [ErrorKey(DOL, assigned)], to="ada")
        parking.escalate(tx, [ErrorKey(DOL, escalated)], reason="old", to="lead")
    found = {one.error_id: one.owner for one in listed(hub, Filter(tables=(DOL,)))}
    assert [found[one] for one in (plain, assigned, escalated)] == ["dol-hub", "ada", "lead"]


def test_every_event_has_its_words(hub: Hub) -> None:
    """A new kind of event must be told as well."""
    ((allowed,),) = hub.rows(
        "select pg_get_constraintdef(oid) from pg_constraint where conname = 'error_event_event_type_check'"
    )
    assert set(HAPPENED) == set(re.findall("'([A-Z_]+)'", allowed))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"want": Want.ARCHIVE}, "the caller chose"),
        ({"want": Want.IGNORE}, "IGNORE, which its table does not allow"),
        ({"code": "VENDOR_API_CHANGED"}, "the policy has a rule for code VENDOR_API_CHANGED"),
        ({"table": PEOPLE, "code": "MISSING_NAME"}, "its table has a rule for code MISSING_NAME"),
        ({"message": STRUCTURAL}, "STRUCTURAL errors are not retried automatically"),
        ({}, "no rule matched, the table's default applies"),
        ({"table": LOG, "outreach_id": None}, "It has no entity"),
        ({}, "It blocks its entity"),
        ({"table": URLS, "want": Want.RETRY}, "does not block its entity"),
    ],
)
def test_the_decision_is_explained(hub: Hub, more: dict[str, Any], words: str) -> None:
    """Each way to be decided has its sentence."""
    assert words in " ".join(shown(hub, hub.record(**more)).explanation)


def test_counts_add_up(new_hub: Callable[[], Hub]) -> None:
    """Open ones by where they stand; due, overdue, at work and lapsed; and what the archiver has to do."""
    hub = new_hub()

    def stats() -> dict[str, TableStats]:
        with hub.db.transaction(Authority.READER) as tx:
            return {one.error_table: one for one in counting.stats(tx)}

    assert set(stats()) == set(TABLES)
    assert {one.open for one in stats().values()} == {0}
    hub.record(TRANSIENT)
    hub.record(OPERATIONAL)
    parked_at = hub.now()
    parked = hub.record(STRUCTURAL)
    hub.record(want=Want.ARCHIVE)
    hub.record(table=LOG)
    hub.advance(MINUTE)
    assert stats()[LOG].ignored == 1
    assert stats()[LOG].blocking == 0
    dol = stats()[DOL]
    assert (dol.open, dol.retry_pending, dol.parked, dol.to_archive, dol.blocking) == (4, 2, 1, 1, 3)
    assert (dol.due_now, dol.overdue, dol.retrying, dol.for_the_archiver) == (1, 0, 0, 0)
    assert dol.oldest_parked_at == parked_at
    hub.claim(limit=1, lease=HOUR)
    assert (stats()[DOL].due_now, stats()[DOL].retrying, stats()[DOL].lapsed) == (0, 1, 0)
    hub.advance(2 * HOUR)
    assert stats()[DOL].lapsed == 1
    hub.advance(8 * DAY)
    assert stats()[DOL].overdue == 1
    with hub.db.transaction(Authority.OPERATOR) as tx:
        parking.escalate(tx, [ErrorKey(DOL, parked)], reason="old")
    assert (stats()[DOL].parked, stats()[DOL].escalated) == (0, 1)
    resolve(hub, parked)
    assert (stats()[DOL].for_the_archiver, stats()[DOL].archived) == (1, {})
    hub.sweep_all()
    assert (stats()[DOL].for_the_archiver, stats()[DOL].archived) == (0, {"RESOLVED": 1})
    hub.advance(timedelta(days=60))
    assert stats()[DOL].for_the_archiver == stats()[DOL].open == 3


def test_names_mean_errors(hub: Hub) -> None:
    """By id, or by table and id; live or archived; each with its own refusal."""
    error_id, gone = hub.record(), hub.record(table=PEOPLE)
    resolve(hub, gone, PEOPLE)
    hub.sweep_all()
    with hub.db.transaction(Authority.READER) as tx:
        names = [str(gone), f"{DOL}/{error_id}", str(error_id)]
        assert lookup.keys(tx, names) == [(PEOPLE, gone), (DOL, error_id), (DOL, error_id)]
        for name, code in (
            (f"{PEOPLE}/{error_id}", "error_unknown"), (str(2**62), "error_unknown"), (str(2**63), "error_name"),
            ("9" * 400, "error_name"), ("-1", "error_name"), ("", "error_name"), ("x", "error_name"),
            (f"{DOL}/", "error_name"), ("a\0b/1", "error_name"), ("١٢", "error_name"),
        ):  # fmt: skip
            with pytest.raises(InputRefused) as refused:
                lookup.keys(tx, [name])
            assert refused.value.code == code, name
