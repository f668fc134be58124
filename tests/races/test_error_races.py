"""The races of errors, many times each: one outcome, nothing lost or doubled, a clean audit.

All play in one database, one after the other, and each shows that either side came first. `make soak` plays two hundred
rounds of each, again and again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from random import Random
from typing import Any, TypeVar
from uuid import UUID

import pytest
from psycopg.rows import dict_row

from hub import (
    DAY,
    DOL,
    MINUTE,
    OPERATIONAL,
    ORPHANS,
    PEOPLE,
    SECOND,
    STRUCTURAL,
    TARGET,
    TRANSIENT,
    Hub,
    failed,
    succeeded,
)  # fmt: skip
from recoup.database import embedded
from recoup.database.connection import Database, Transaction, connect
from recoup.errors import archive, parking, promotion, recording
from recoup.errors.listing import Filter
from recoup.errors.lookup import ErrorKey
from recoup.errors.parking import Answer
from recoup.errors.recording import NewError
from recoup.errors.retrying import Claimed
from recoup.errors.subject import SUBJECT
from recoup.errors.verbs import Verb
from recoup.errors.vocabulary import Want
from recoup.lifecycles.declaration import Authority
from recoup.operations import begin, carry_on, find, many
from recoup.operations.verbs import Act
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parents[1] / "audit"))
from lively import audited, broken

sys.path.insert(0, str(Path(__file__).parent))
from racing import Match, held_back, together

LONG_ROUNDS, SHORT_ROUNDS = 200, 50
LONG_PAIRS, SHORT_PAIRS = 400, 300  # of an error and a promotion
DUE = 2000  # errors that are drained at once
CLAIMERS = 4
MAX_ACTORS = 8
Some = TypeVar("Some")


@pytest.fixture(scope="module")
def hub(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Hub]:
    """One database for all of them, with a connection for everybody, and a table of what was promoted."""
    name = new_database()
    with contextlib.closing(connect(server.uri(name, admin=True), settings)) as admin:
        admin.execute("create schema race")
        admin.execute("create table race.promoted (outreach_id uuid primary key)")
        admin.execute("grant usage on schema race to recoup_hub, recoup_operator")
        admin.execute("grant select, insert on race.promoted to recoup_hub, recoup_operator")
    with Database(server.uri(name), dataclasses.replace(settings, pool_max=MAX_ACTORS)) as database:
        yield Hub(database)


@pytest.fixture
def chance(request: pytest.FixtureRequest, seed: int, again: int) -> Random:
    return Random(f"{request.node.originalname} {seed} {again}")


@pytest.fixture
def is_long(pytestconfig: pytest.Config) -> bool:
    return int(pytestconfig.getoption("--times")) > 1


@pytest.fixture
def rounds(is_long: bool) -> int:
    return LONG_ROUNDS if is_long else SHORT_ROUNDS


@pytest.fixture
def pairs(is_long: bool) -> int:
    return LONG_PAIRS if is_long else SHORT_PAIRS


def entities(count: int) -> list[UUID]:
    return [uuid.uuid4() for _ in range(count)]


def shuffled(chance: Random, some: Sequence[Some]) -> list[Some]:
    return chance.sample(some, len(some))


def failures(of: Sequence[UUID], message: str = TRANSIENT, *, table: str = DOL, **more: Any) -> list[NewError]:
    return [NewError(table=table, message=message, outreach_id=entity, **more) for entity in of]


def keys(hub: Hub, errors: Sequence[NewError]) -> list[ErrorKey]:
    return [ErrorKey(*recorded) for recorded in hub.record_all(errors)]


def rows_of(hub: Hub, errors: Iterable[int]) -> list[dict[str, Any]]:
    with hub.db.transaction(Authority.READER) as tx, tx.cursor(row_factory=dict_row) as cursor:
        return cursor.execute("select * from recoup.error where error_id = any(%s)", (list(errors),)).fetchall()


def events_of(hub: Hub, errors: Iterable[int]) -> dict[int, list[str]]:
    return dict(
        hub.rows(
            "select error_id, array_agg(event_type order by seq) from recoup.error_event where error_id = any(%s)"
            " group by 1",
            list(errors),
        )
    )


def operate(hub: Hub, act: Act, errors: Sequence[ErrorKey]) -> list[Answer]:
    with hub.db.transaction(Authority.OPERATOR) as tx:
        return parking.carry_out(tx, act, errors)


# An error against a promotion ---------------------------------------------------------------------------------------

RECORDED, BY_HAND, PARKED, RETRIED = "recorded", "inserted by hand", "parked by a person", "retried by a person"
AMONG_MANY = "recorded among many"  # more than have a lock for each
MANY, VERY_MANY = 300, 1_000
HESITATION_S = 0.0005  # between the question and the promotion
INSERTED = """
insert into recoup.error (error_table, outreach_id, error_message, error_signature, category, disposition, status,
  ttl_tier, expires_at, max_retries, next_retry_at, retry_until, decided_by, policy_version, created_at, updated_at)
select 'outreach.dol_errors', o, 'no match', 's2-0123456789abcdef01234567', 'OPERATIONAL', 'RETRY', 'RETRY_PENDING',
       'MEDIUM', t.now_ + interval '30 days', 5, t.now_ + interval '5 minutes', t.now_ + interval '7 days', 'table',
       recoup.policy_version(), t.now_, t.now_
  from unnest(%s::uuid[]) o, (select recoup.now() as now_ offset 0) t
"""


def prepared(hub: Hub, way: str, of: Sequence[UUID]) -> tuple[Authority, Callable[[Transaction], object]]:
    """What makes these entities blocked, in one transaction, and who does it."""
    match way:
        case "recorded":
            return Authority.HUB, lambda tx: recording.record(tx, failures(of))
        case "recorded among many":
            new = failures([*entities(MANY), *of])
            return Authority.HUB, lambda tx: recording.record(tx, new)
        case "inserted by hand":
            return Authority.HUB, lambda tx: tx.execute(INSERTED, (list(of),))
    quiet = keys(hub, failures(of, want=Want.ARCHIVE))  # ACTIVE: blocks nobody
    act = Act(verb=Verb.PARK, given={"reason": "wait"}) if way == PARKED else Act(verb=Verb.UNPARK)
    return Authority.OPERATOR, lambda tx: parking.carry_out(tx, act, quiet)


def promoted(tx: Transaction, of: Sequence[UUID]) -> set[UUID]:
    rows = tx.execute("select outreach_id from race.promoted where outreach_id = any(%s)", (list(of),))
    return {row[0] for row in rows}


def block(hub: Hub, authority: Authority, begin: Callable[[Transaction], object], of: Sequence[UUID]) -> set[UUID]:
    """Have errors block these, and see at the end of the same transaction which of them had moved on before."""
    with hub.db.transaction(authority) as tx:
        begin(tx)
        return promoted(tx, of)


def promote(hub: Hub, of: Sequence[UUID], *, locked: bool, beside: Sequence[UUID] = ()) -> None:
    """Have those move on that nothing blocks."""
    with hub.db.transaction(Authority.HUB) as tx:
        blocked = (
            promotion.blocked_locking(tx, [*of, *beside])
            if locked
            else {one.outreach_id for one in promotion.blocking(tx, of)}
        )  # fmt: skip
        time.sleep(HESITATION_S)
        tx.execute("insert into race.promoted select unnest(%s::uuid[])", ([one for one in of if one not in blocked],))


def slipped(hub: Hub, way: str, match: Match, *, locked: bool, beside: int = 0) -> set[UUID]:
    """One round. Those that moved on although an error, which never saw them do so, had begun to block them.

    Beside them so many others are promoted in the same transaction.
    """
    of = entities(match.chance.choice((1, 3)))
    authority, begin = prepared(hub, way, shuffled(match.chance, of))
    block_s, promote_s = match.offsets()
    seen, _ = together(
        held_back(block_s, partial(block, hub, authority, begin, of)),
        held_back(promote_s, partial(promote, hub, shuffled(match.chance, of), locked=locked, beside=entities(beside))),
    )
    assert all(hub.is_blocked(one) for one in of)
    with hub.db.transaction(Authority.HUB) as tx:
        moved = promoted(tx, of)
    match.came_first(not moved)
    assert seen <= moved
    return moved - set(seen)


def test_an_error_against_a_promotion(hub: Hub, chance: Random, pairs: int) -> None:
    """Whatever moved on had done so before its error came to be: it is there to be seen when the error is written.

    One entity or several, an error recorded, written by hand, or one that begins to block because a person moved it.
    """
    matches = {way: Match(chance) for way in (RECORDED, BY_HAND, PARKED, RETRIED, AMONG_MANY)}
    for way in islice(cycle(matches), pairs):
        assert slipped(hub, way, matches[way], locked=True) == set(), way
    assert {way: match.firsts for way, match in matches.items() if not match.both_ways} == {}


def test_an_error_against_a_promotion_of_very_many(hub: Hub, chance: Random, rounds: int) -> None:
    """The same, where a promotion has no lock for each entity."""
    matches = {way: Match(chance) for way in (RECORDED, PARKED, AMONG_MANY)}
    for way in islice(cycle(matches), rounds):
        assert slipped(hub, way, matches[way], locked=True, beside=VERY_MANY) == set(), way
    assert {way: match.firsts for way, match in matches.items() if not match.both_ways} == {}


def test_a_promotion_that_only_looks_is_passed(hub: Hub, chance: Random, pairs: int) -> None:
    """The race is real: asked without the lock, an error slips past sooner or later."""
    match = Match(chance)
    assert any(slipped(hub, RECORDED, match, locked=False) for _ in range(pairs))


STALL_S = 0.9  # after a second of waiting the server looks for deadlocks


def test_a_promotion_beside_an_operator_and_a_recorder(hub: Hub, chance: Random, rounds: int) -> None:
    """One parks the error that another supersedes, while a third would promote: all get through, unstalled."""
    hands, gate = Match(chance), Match(chance)
    stalls = 0
    for _ in range(rounds):
        (entity,) = of = entities(1)
        (old,) = keys(hub, failures(of, want=Want.ARCHIVE))
        answers: list[Answer] = []

        def park(tx: Transaction, old: ErrorKey = old, answers: list[Answer] = answers) -> None:
            answers += parking.park(tx, [old], reason="wait")

        park_s, record_s = hands.offsets()
        block_s, promote_s = gate.offsets()
        begun = time.monotonic()
        seen, new, _ = together(
            held_back(block_s + park_s, partial(block, hub, Authority.OPERATOR, park, of)),
            held_back(block_s + record_s, partial(hub.record, TRANSIENT, outreach_id=entity, want=Want.ARCHIVE)),
            held_back(promote_s, partial(promote, hub, of, locked=True)),
        )
        stalls += time.monotonic() - begun > STALL_S
        with hub.db.transaction(Authority.HUB) as tx:
            moved = promoted(tx, of)
        parked = answers[0].done
        assert hub.is_blocked(entity) is parked
        assert hub.row_of(entity)["error_id"] == new
        assert not parked or seen == moved
        assert hub.events(old.error_id) == ["RECORDED", *(["PARKED"] if parked else []), "SUPERSEDED"]
        hands.came_first(parked)
        gate.came_first(not moved)
    assert hands.both_ways
    assert gate.both_ways
    assert stalls <= rounds // 20, "a busy machine stalls some; those who wait for each other, many"


# Claimers -----------------------------------------------------------------------------------------------------------


def test_claimers_drain_what_is_due(hub: Hub, chance: Random, again: int) -> None:
    """Four at once, wave after wave, with mixed outcomes: each due error once, none left, every ended retry counted."""
    due = {key.error_id for key in keys(hub, failures(entities(DUE), table=PEOPLE))}
    ended: Counter[int] = Counter()

    def drain(number: int) -> list[int]:
        mind, mine = Random(f"{chance.random()} {number}"), list[int]()
        while some := hub.claim(limit=mind.randint(1, 60), worker=f"claimer {number}", tables=[PEOPLE]):
            done = hub.finish([succeeded(one) if mind.random() < 0.4 else failed(one) for one in some])
            assert {one.status for one in done} <= {"RESOLVED", "RETRY_PENDING", "PARKED"}
            mine += [one.error_id for one in some]
        return mine

    for wave in range(5):
        hub.advance(MINUTE)
        shares = together(*(partial(drain, number) for number in range(CLAIMERS)))
        assert sorted(one for share in shares for one in share) == sorted(due), "each once, and all of them"
        assert wave > 0 or all(shares), "all four had a share"
        ended.update(due)
        rows = hub.rows("select error_id, retry_count, status from recoup.error where error_id = any(%s)", list(ended))
        assert {row[0]: row[1] for row in rows} == ended
        due = {row[0] for row in rows if row[2] == "RETRY_PENDING"}
    assert due == set()
    ((retries,),) = hub.rows("select sum(retry_count) from recoup.error where error_id = any(%s)", list(ended))
    logged = (
        "select count(*) from recoup.error_event where event_type in ('SUCCEEDED', 'FAILED') and error_id = any(%s)"
    )
    assert hub.rows(logged, list(ended)) == [(retries,)] == [(ended.total(),)]


# A newer error of the same failure ----------------------------------------------------------------------------------


def due_error(hub: Hub) -> tuple[UUID, int]:
    """An entity, and its one error, which is due."""
    entity = uuid.uuid4()
    error = hub.record(TRANSIENT, table=TARGET, outreach_id=entity)
    hub.advance(2 * SECOND)
    return entity, error


def done_with(hub: Hub, new: int) -> None:
    """So that it is not due in the next round."""
    assert operate(hub, Act(verb=Verb.RESOLVE), [ErrorKey(TARGET, new)])[0].done


def claim_due(hub: Hub) -> list[Claimed]:
    return hub.claim(tables=[TARGET])


def chained(hub: Hub, entity: UUID, old: int, new: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The old one and the new one, which is the only one that is open; their counts never fall."""
    opened = hub.rows("select error_id from recoup.error where outreach_id = %s and archived_at is null", entity)
    assert opened == [(new,)]
    before, after = hub.row(old), hub.row(new)
    events = hub.events(old)
    ends = sum(events.count(end) for end in ("FAILED", "LAPSED", "SUCCEEDED"))
    cut_off = "CLAIMED" in events and ends == 0  # the retry that was under way when it was superseded
    assert before["retry_count"] == ends + cut_off
    return before, after


def test_a_newer_error_against_a_claim(hub: Hub, chance: Random, rounds: int) -> None:
    """The claim has the old one and is fenced, and its retry counts; or there is nothing to claim."""
    match = Match(chance)
    for _ in range(rounds):
        entity, old = due_error(hub)
        claim_s, record_s = match.offsets()
        claims, new = together(
            held_back(claim_s, partial(claim_due, hub)),
            held_back(record_s, partial(hub.record, TRANSIENT, table=TARGET, outreach_id=entity)),
        )
        match.came_first(bool(claims))
        before, after = chained(hub, entity, old, new)
        assert (before["archive_reason"], before["superseded_by"]) == ("SUPERSEDED", new)
        assert [one.error_id for one in claims] == [old] * len(claims)
        assert (before["retry_count"], after["retry_count"]) == (len(claims), len(claims))
        assert [hub.succeed(one) for one in claims] == ["late"] * len(claims)
        assert hub.row(new)["status"] == "RETRY_PENDING"
        done_with(hub, new)
    assert match.both_ways


@pytest.mark.parametrize("succeeds", [False, True], ids=["failed", "succeeded"])
def test_a_newer_error_against_an_outcome(hub: Hub, chance: Random, succeeds: bool, rounds: int) -> None:
    """The outcome counts, or it comes late and the retry counts as failed. What was resolved leaves nothing behind."""
    match = Match(chance)
    for _ in range(rounds // 2):
        entity, old = due_error(hub)
        (claimed,) = claim_due(hub)
        finish_s, record_s = match.offsets()
        status, new = together(
            held_back(finish_s, partial(hub.succeed if succeeds else hub.fail, claimed)),
            held_back(record_s, partial(hub.record, TRANSIENT, table=TARGET, outreach_id=entity)),
        )
        match.came_first(status != "late")
        before, after = chained(hub, entity, old, new)
        assert before["retry_count"] == 1
        if status == "RESOLVED":
            assert (before["archive_reason"], after["retry_count"], after["created_at"]) == ("RESOLVED", 0, hub.now())
        else:
            assert status in ("late", "RETRY_PENDING")
            assert (before["archive_reason"], after["retry_count"]) == ("SUPERSEDED", 1)
            assert after["created_at"] == before["created_at"]
        done_with(hub, new)
    assert match.both_ways


def test_a_newer_error_against_a_lapse(hub: Hub, chance: Random, rounds: int) -> None:
    """The retry that outlived its lease counts once, by the first of the two."""
    match = Match(chance)
    for _ in range(rounds):
        entity, old = due_error(hub)
        (claimed,) = claim_due(hub)
        hub.advance(6 * MINUTE)
        lapse_s, record_s = match.offsets()
        lapsed, new = together(
            held_back(lapse_s, hub.lapse),
            held_back(record_s, partial(hub.record, TRANSIENT, table=TARGET, outreach_id=entity)),
        )
        match.came_first(lapsed == 1)
        before, after = chained(hub, entity, old, new)
        assert (before["retry_count"], after["retry_count"]) == (1, 1)
        assert before["last_outcome"] == after["last_outcome"] == ("LAPSED" if lapsed else "FAILED")
        assert hub.lapse() == 0
        assert hub.rows("select count(*) from recoup.late_result where token = %s", claimed.token) == [(0,)]
        assert hub.fail(claimed) == "late"
        done_with(hub, new)
    assert match.both_ways


def test_recorders_of_the_same_failures(hub: Hub, chance: Random, rounds: int) -> None:
    """Three at once, each with all of them in another order, some of them open before: one is open of each at the end.

    Nobody is refused, and none of them deadlocks.
    """
    lasts: Counter[int] = Counter()
    for _ in range(rounds):
        of = entities(3)
        errors = [*failures(of), *failures(of, table=TARGET)]
        hub.record_all(chance.sample(errors, 3))
        recorders = [partial(hub.record_all, shuffled(chance, errors)) for _ in range(3)]
        done = together(*(held_back(chance.uniform(0, 0.003), recorder) for recorder in recorders))
        newest = {
            (table, entity): error
            for error, table, entity in hub.rows(
                "select error_id, error_table, outreach_id from recoup.error"
                " where outreach_id = any(%s) and archived_at is null",
                of,
            )
        }
        assert len(newest) == len(errors)
        ((rows, superseded),) = hub.rows(
            "select count(*), count(superseded_by) from recoup.error where outreach_id = any(%s)", of
        )
        assert (rows, superseded) == (3 + 3 * len(errors), 3 + 2 * len(errors))
        lasts.update(
            number for number, recorded in enumerate(done) if {one.error_id for one in recorded} >= set(newest.values())
        )
        operate(hub, Act(verb=Verb.RESOLVE), [ErrorKey(table, error) for (table, _), error in newest.items()])
    assert len(lasts) == 3, "each of them came last once"


def test_newer_errors_against_outcomes_in_sets(hub: Hub, chance: Random, rounds: int) -> None:
    """A set of outcomes and a set of newer errors about the same failures wait for each other; neither is refused."""
    match = Match(chance)
    for _ in range(rounds):
        of = entities(5)
        hub.record_all(failures(of, table=TARGET))
        hub.advance(2 * SECOND)
        claimed = claim_due(hub)
        assert len(claimed) == len(of)
        finish_s, record_s = match.offsets()
        ended, _ = together(
            held_back(finish_s, partial(hub.finish, [failed(one) for one in shuffled(chance, claimed)])),
            held_back(record_s, partial(hub.record_all, failures(shuffled(chance, of), table=TARGET))),
        )
        match.came_first(ended[0].status != "late")
        counts = hub.rows(
            "select count(*), min(retry_count), max(retry_count) from recoup.error"
            " where outreach_id = any(%s) and archived_at is null",
            of,
        )
        assert counts == [(len(of), 1, 1)]
        hub.advance(MINUTE)
        hub.finish([succeeded(one) for one in claim_due(hub)])
    assert match.both_ways


# Against the time when an error expires -----------------------------------------------------------------------------


def expiring(hub: Hub, count: int, message: str, **more: Any) -> Iterator[tuple[UUID, int]]:
    """Errors that expire one after the other, two seconds apart; each is reported a second before, nothing else is."""
    told = []
    for _ in range(count):
        entity = uuid.uuid4()
        told.append((entity, hub.record(message, outreach_id=entity, **more)))
        hub.advance(2 * SECOND)
    hub.advance(20 * DAY)
    hub.raise_tiers()  # what is parked does not expire before its last tier
    hub.advance(10 * DAY - 2 * count * SECOND - SECOND)
    hub.raise_tiers()  # nor before the end of that is marked
    for one in told:
        hub.sweep_all()
        before = hub.now()
        yield one
        assert hub.now() == before + 2 * SECOND, "the round let it expire"


def expire_and_sweep(hub: Hub) -> int:
    hub.advance(2 * SECOND)
    return hub.sweep().gone


def left_once(hub: Hub, error: int) -> dict[str, Any]:
    """It is in the archive, once, and nowhere else."""
    assert hub.rows("select from recoup.error where error_id = %s", error) == []
    assert hub.rows("select count(*) from recoup.error_archive where error_id = %s", error) == [(1,)]
    assert hub.events(error).count("ARCHIVED") == 1
    return hub.archived(error)


def test_an_unparking_against_the_time_when_it_expires(hub: Hub, chance: Random, rounds: int) -> None:
    """It left, and the unparking is refused; or it is unparked, and kept for its retries."""
    match = Match(chance)
    for _, error in expiring(hub, rounds, STRUCTURAL):
        unpark_s, sweep_s = match.offsets()
        (answer,), _ = together(
            held_back(unpark_s, partial(operate, hub, Act(verb=Verb.UNPARK), [ErrorKey(DOL, error)])),
            held_back(sweep_s, partial(expire_and_sweep, hub)),
        )
        match.came_first(answer.done)
        hub.sweep_all()
        if answer.done:
            assert hub.row(error)["status"] == "RETRY_PENDING"
            assert hub.events(error) == ["RECORDED", "SLA_BREACHED", "ESCALATED", "SLA_BREACHED", "UNPARKED"]
        else:
            assert answer.refused == "error_archived"
            row = left_once(hub, error)
            assert (row["archive_reason"], row["was_blocking"]) == ("TTL_EXPIRED", True)
            assert row["final_disposition"] == "PARKED"
            assert hub.events(error) == ["RECORDED", "SLA_BREACHED", "ESCALATED", "SLA_BREACHED", "ARCHIVED"]
    assert match.both_ways


def test_a_newer_error_against_the_sweep(hub: Hub, chance: Random, rounds: int) -> None:
    """Either of them ends the old one, once. It was never to be retried: the new one inherits nothing."""
    match = Match(chance)
    for entity, old in expiring(hub, rounds, OPERATIONAL, want=Want.ARCHIVE):
        record_s, sweep_s = match.offsets()
        new, *_ = together(
            held_back(record_s, partial(hub.record, OPERATIONAL, outreach_id=entity)),
            held_back(sweep_s, partial(expire_and_sweep, hub)),
            held_back(sweep_s, hub.sweep),
        )
        hub.sweep_all()
        row = left_once(hub, old)
        match.came_first(hub.events(old) != ["RECORDED", "ARCHIVED"])
        assert hub.row_of(entity)["error_id"] == new
        assert row["archive_reason"] == ("TTL_EXPIRED" if row["superseded_by"] is None else "SUPERSEDED")
        assert row["superseded_by"] in (None, new)
        assert hub.row(new)["created_at"] > row["created_at"]
        operate(hub, Act(verb=Verb.RESOLVE), [ErrorKey(DOL, new)])
    assert match.both_ways


def test_a_resolution_against_two_sweeps(hub: Hub, chance: Random, rounds: int) -> None:
    """Resolved and then archived, or archived and the resolution refused."""
    match = Match(chance)
    for _, error in expiring(hub, rounds, OPERATIONAL, want=Want.ARCHIVE):
        resolve_s, sweep_s = match.offsets()
        (answer,), *_ = together(
            held_back(resolve_s, partial(operate, hub, Act(verb=Verb.RESOLVE), [ErrorKey(DOL, error)])),
            held_back(sweep_s, partial(expire_and_sweep, hub)),
            held_back(sweep_s, hub.sweep),
        )
        match.came_first(answer.done)
        hub.sweep_all()
        assert left_once(hub, error)["archive_reason"] == ("RESOLVED" if answer.done else "TTL_EXPIRED")
        assert answer.done or answer.refused == "error_archived"
    assert match.both_ways


# Bulk operations ----------------------------------------------------------------------------------------------------


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "BATCH", 3)


def asked_for(hub: Hub, act: Act, *codes: str) -> UUID:
    with hub.db.transaction(Authority.OPERATOR) as tx:
        return begin(tx, SUBJECT, act, Filter(codes=codes))


def results(hub: Hub, operation: UUID) -> dict[int, str]:
    """What became of each of its errors, when it is done."""
    with hub.db.transaction(Authority.READER) as tx:
        found = find(tx, operation)
    assert (found.status, found.pending) == ("DONE", 0)
    items = hub.rows(
        "select split_part(unit, '/', 2)::bigint, status from recoup.operation_item where operation_id = %s", operation
    )
    assert len(items) == found.items
    return dict(items)


@pytest.mark.usefixtures("small_batches")
def test_two_operators_with_overlapping_operations(hub: Hub, chance: Random, rounds: int) -> None:
    """What both mean is done by one of them and refused to the other; two may carry on with one operation."""
    match = Match(chance)
    for _ in range(rounds):
        ours, both, theirs = (f"{uuid.uuid4()}" for _ in range(3))
        errors = [error for code in (ours, both, theirs) for error in failures(entities(4), STRUCTURAL, code=code)]
        recorded = hub.record_all(shuffled(chance, errors))
        resolving = asked_for(hub, Act(verb=Verb.RESOLVE), ours, both)
        archiving = asked_for(hub, Act(verb=Verb.ARCHIVE), both, theirs)
        resolve_s, archive_s = match.offsets()
        together(
            held_back(resolve_s, partial(carry_on, hub.db, SUBJECT, resolving)),
            held_back(archive_s, partial(carry_on, hub.db, SUBJECT, archiving)),
            held_back(archive_s, partial(carry_on, hub.db, SUBJECT, archiving)),
        )
        resolved, archived = results(hub, resolving), results(hub, archiving)
        for error, history in events_of(hub, {one.error_id for one in recorded}).items():
            assert [done[error] for done in (resolved, archived) if error in done].count("DONE") == 1
            assert history == ["RECORDED", "RESOLVED" if resolved.get(error) == "DONE" else "RETIRED"]
        match.came_first(resolved[min(resolved.keys() & archived.keys())] == "DONE")
    assert match.both_ways


@pytest.mark.usefixtures("small_batches")
def test_an_operation_against_recorders_of_the_same_failures(hub: Hub, chance: Random, rounds: int) -> None:
    """Each item has one result. What was parked stays parked in its successor; what was superseded is refused."""
    match = Match(chance)
    for _ in range(rounds):
        code, of = f"{uuid.uuid4()}", entities(6)
        old = {one.error_id for one in hub.record_all(failures(of, table=TARGET, code=code))}
        parking_ = asked_for(hub, Act(verb=Verb.PARK, given={"reason": "wait"}), code)
        park_s, record_s = match.offsets()
        together(
            held_back(park_s, partial(carry_on, hub.db, SUBJECT, parking_)),
            held_back(record_s, partial(hub.record_all, failures(shuffled(chance, of), table=TARGET, code=code))),
        )
        became = results(hub, parking_)
        assert became.keys() == old
        histories, successors = events_of(hub, old), rows_of(hub, {row["superseded_by"] for row in rows_of(hub, old)})
        for error, result in became.items():
            parked = ["PARKED"] if result == "DONE" else []
            assert histories[error] == ["RECORDED", *parked, "SUPERSEDED"]
        stand = Counter(row["status"] for row in successors)
        assert stand["PARKED"] == list(became.values()).count("DONE")
        assert stand.total() == stand["PARKED"] + stand["RETRY_PENDING"] == len(of)
        operate(hub, Act(verb=Verb.RESOLVE), [ErrorKey(TARGET, row["error_id"]) for row in successors])
        match.came_first(became[min(became)] == "DONE")
    assert match.both_ways


# A new policy -------------------------------------------------------------------------------------------------------

NARROW = '[errors.tables."outreach.dol_errors"]\nallowed = ["ARCHIVE"]\ndefault = "ARCHIVE"\n'
WIDE = ""


def test_a_new_policy_against_recorders(hub: Hub, chance: Random, rounds: int) -> None:
    """Each error is decided by the policy that it names, and by no older one once a newer one was answered for.

    Nobody is refused: who decided by the old one, and comes to write when the new one forbids it, decides anew.
    """
    match = Match(chance)

    def apply_then_record(text: str) -> tuple[int, int]:
        hub.apply_policy(text)
        ((version,),) = hub.rows("select recoup.policy_version()")
        return version, hub.record()

    for text in islice(cycle((NARROW, WIDE)), rounds):
        record_s, apply_s = match.offsets()
        one, others, (version, after) = together(
            held_back(record_s, hub.record),
            held_back(record_s, partial(hub.record_all, failures(entities(20), OPERATIONAL))),
            held_back(apply_s, partial(apply_then_record, text)),
        )
        made = {one, after, *(other.error_id for other in others)}
        by = {row["error_id"]: row for row in rows_of(hub, made)}
        assert by.keys() == made
        assert by[after]["policy_version"] == version
        assert {row["policy_version"] for row in by.values()} <= {version - 1, version}
        for row in by.values():
            is_narrow = (row["policy_version"] == version) == (text == NARROW)
            assert row["disposition"] == ("ARCHIVE" if is_narrow else "RETRY")
        match.came_first(by[one]["policy_version"] < version)
    assert match.both_ways


# Months -------------------------------------------------------------------------------------------------------------


def test_sweeps_in_a_new_month_while_an_old_one_is_dropped(hub: Hub, chance: Random, rounds: int) -> None:
    """Two sweeps make the month between them, and each error leaves once; a concurrent drop drops one old month."""
    makers: Counter[bool] = Counter()
    kept = "select error_table || to_char(month, ' YYYY-MM') from recoup.error_archive_month where status = 'KEPT'"
    for number in range(rounds):
        hub.advance(31 * DAY)
        hub.sweep_all()
        errors = keys(hub, failures(entities(6), table=ORPHANS))
        operate(hub, Act(verb=Verb.ARCHIVE), errors)
        before = {row[0] for row in hub.rows(kept)}
        one, two, dropped = together(
            held_back(chance.uniform(0, 0.002), partial(hub.sweep, limit=4)),
            held_back(chance.uniform(0, 0.002), partial(hub.sweep, limit=4)),
            held_back(chance.uniform(0, 0.004), partial(drop_month, hub)),
        )
        makers[one.gone > two.gone] += 1
        assert one.gone + two.gone + hub.sweep_all() == len(errors)
        for error in errors:
            left_once(hub, error.error_id)
        gone = before - {row[0] for row in hub.rows(kept)}
        assert gone == ({f"{dropped.error_table} {dropped.month:%Y-%m}"} if dropped else set())
        assert number < 26 or dropped is not None
    assert len(makers) == 2


def test_a_month_waits_for_the_last_error_that_belongs_there(hub: Hub) -> None:
    """However long the archiver was paused: it is not dropped before all that was over then has left."""
    errors = keys(hub, failures(entities(2), table=ORPHANS))
    operate(hub, Act(verb=Verb.ARCHIVE), errors)
    ((month,),) = hub.rows("select date_trunc('month', recoup.now() at time zone 'UTC')::date")
    with hub.db.transaction(Authority.ARCHIVER) as tx:
        assert archive.sweep(tx, only=archive.Leaving(*errors[0])).gone == 1
    hub.advance(800 * DAY)
    while drop_month(hub):
        """Those before it, and those of other tables."""
    assert hub.sweep_all() >= 1
    left_once(hub, errors[1].error_id)
    dropped = drop_month(hub)
    assert dropped is not None
    assert (dropped.error_table, dropped.month) == (ORPHANS, month)


def drop_month(hub: Hub) -> archive.Dropped | None:
    with hub.db.transaction(Authority.ARCHIVER) as tx:
        return archive.drop_month(tx)


def test_the_audit_finds_nothing_after_all_that(hub: Hub) -> None:
    """Every promise of the documents, asked of the rows that the races above left behind."""
    assert broken(audited(hub.db)) == {}
