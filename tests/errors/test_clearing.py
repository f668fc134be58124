"""A later success resolves what is open of the same work: by a hub, never what waits for a person."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest

from hub import DAY, DOL, MASTER, MINUTE, OPERATIONAL, PEOPLE, STRUCTURAL, TARGET, Hub
from recoup.client import Client
from recoup.database.connection import Database
from recoup.errors.capture import failures
from recoup.errors.clearing import Cleared, clear
from recoup.errors.retrying import Succeeded
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, LawRefused
from recoup.settings import Settings


def cleared(hub: Hub, *entities: UUID, table: str = DOL, **more: object) -> Cleared:
    with hub.db.transaction(Authority.HUB) as tx:
        return clear(tx, table, entities, **more)  # type: ignore[arg-type]


def test_what_is_open_is_resolved_and_blocks_no_longer(hub: Hub) -> None:
    entity, other = uuid.uuid4(), uuid.uuid4()
    ids = [hub.record(outreach_id=entity, code="A"), hub.record("another thing", outreach_id=entity, code="B")]
    stays = hub.record(outreach_id=other)
    assert cleared(hub, entity) == Cleared(resolved=tuple(ids))
    assert not hub.is_blocked(entity)
    assert hub.is_blocked(other)
    row = hub.row(ids[0])
    assert (row["status"], row["archive_reason"], row["next_retry_at"]) == ("RESOLVED", "RESOLVED", None)
    assert hub.events(ids[0]) == ["RECORDED", "CLEARED"]
    assert hub.row(stays)["status"] == "RETRY_PENDING"
    assert cleared(hub, entity) == Cleared(), "nothing is open any more"


def test_only_what_the_work_could_have_recorded_is_resolved(hub: Hub) -> None:
    """Its table, its code if one is given, its work key: without one, errors without one."""
    entity = uuid.uuid4()
    one = hub.record("a", outreach_id=entity, code="A")
    hub.record("b", outreach_id=entity, code="B")
    keyed = hub.record("a", outreach_id=entity, code="A", work_key="person 7")
    hub.record("a", outreach_id=entity, code="A", table=TARGET)
    assert cleared(hub, entity, code="A").resolved == (one,)
    assert cleared(hub, entity, code="A", work_key="person 7").resolved == (keyed,)
    open_ones = hub.rows(
        "select error_table, error_code from recoup.error where outreach_id = %s and archived_at is null order by 1",
        entity,
    )
    assert open_ones == [(TARGET, "A"), (DOL, "B")]


def test_what_waits_for_a_person_stays_and_is_named(hub: Hub) -> None:
    entity = uuid.uuid4()
    parked = hub.record(STRUCTURAL, outreach_id=entity)
    waiting = hub.record(OPERATIONAL, outreach_id=entity)
    assert cleared(hub, entity) == Cleared(resolved=(waiting,), parked=(parked,))
    assert hub.is_blocked(entity)


def test_what_failed_while_the_work_ran_stays(hub: Hub) -> None:
    entity = uuid.uuid4()
    before = hub.record("failed in the run before", outreach_id=entity)
    hub.advance(10 * MINUTE)
    meanwhile = hub.record("another run failed", outreach_id=entity)
    hub.advance(MINUTE)
    assert cleared(hub, entity, ran_for=5 * MINUTE) == Cleared(resolved=(before,), changed=(meanwhile,))


def test_a_retry_that_is_running_is_cut_off_and_its_result_is_late(hub: Hub) -> None:
    entity = uuid.uuid4()
    error = hub.record(outreach_id=entity)
    hub.advance(DAY)
    (mine,) = [one for one in hub.claim() if one.error_id == error]
    assert cleared(hub, entity).resolved == (error,)
    row = hub.row(error)
    assert (row["retry_count"], row["last_outcome"], row["token"], row["held"]) == (1, None, mine.token, None)
    (late,) = hub.finish([Succeeded(error_table=DOL, error_id=error, token=mine.token)])
    assert late.status == "late"
    assert hub.events(error) == ["RECORDED", "CLAIMED", "CLEARED"]


def test_by_hand_a_hub_resolves_neither_what_is_parked_nor_what_is_being_retried(hub: Hub) -> None:
    """The same as psql would: the guard knows the hub, whoever writes the statement."""
    by_hand = (
        "update recoup.error set status = 'RESOLVED', archived_at = recoup.now(), archive_reason = 'RESOLVED',"
        " next_retry_at = null, updated_at = recoup.now() where error_id = %s"
    )
    parked, running = hub.record(STRUCTURAL), hub.record(OPERATIONAL)
    hub.advance(DAY)
    hub.claim()
    for error, code in ((parked, "move_not_listed"), (running, "retry_under_way")):
        with pytest.raises(LawRefused) as refused, hub.db.transaction(Authority.HUB) as tx:
            tx.execute(by_hand, (error,))
        assert refused.value.code == code
    with pytest.raises(LawRefused) as refused, hub.db.transaction(Authority.ERROR_WORKER) as tx:
        tx.execute(by_hand, (hub.record(OPERATIONAL),))
    assert refused.value.code == "error_move"


def test_what_is_kept_for_ever_is_never_resolved(hub: Hub) -> None:
    with pytest.raises(InputRefused, match="forever"):
        cleared(hub, uuid.uuid4(), table=MASTER)
    with pytest.raises(InputRefused, match="not an error table"):
        cleared(hub, uuid.uuid4(), table="outreach.nothing")


def test_the_audit_finds_nothing_wrong_with_it(hub: Hub) -> None:
    entity = uuid.uuid4()
    hub.record(outreach_id=entity)
    hub.record("ignored", outreach_id=entity, severity="LOW")
    hub.advance(DAY)
    hub.claim()
    assert len(cleared(hub, entity).resolved) == 2
    hub.advance(DAY)
    hub.sweep()
    assert hub.broken() == []


# failures(…, clears=True) --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client(hub: Hub, settings: Settings) -> Iterator[Client]:
    with Client(hub.db.conninfo, settings) as client:
        yield client


def test_a_block_that_succeeds_clears_what_it_recorded_before(hub: Hub, client: Client) -> None:
    entity = uuid.uuid4()

    def run(*, fails: bool, clears: bool) -> failures:
        with failures(client, DOL, outreach_id=entity, clears=clears) as block:
            if fails:
                raise ConnectionError("the vendor is down")
        return block

    with pytest.raises(ConnectionError):
        run(fails=True, clears=True)
    hub.advance(MINUTE)
    assert run(fails=False, clears=False).cleared is None, "off unless it is asked for"
    assert client.errors.is_blocked(entity)
    done = run(fails=False, clears=True).cleared
    assert done is not None
    assert len(done.resolved) == 1
    assert not client.errors.is_blocked(entity)


def test_a_decorated_function_and_a_coroutine_clear_by_their_arguments(hub: Hub, client: Client) -> None:
    one, other = uuid.uuid4(), uuid.uuid4()
    ids = [
        hub.record(OPERATIONAL, table=PEOPLE, outreach_id=entity, work_key=key, code="EMAIL")
        for entity, key in ((one, "7"), (one, "8"), (other, "7"))
    ]
    hub.advance(MINUTE)
    about = {"outreach_id": lambda company, _: company, "work_key": lambda _, person: person}

    @failures(client, PEOPLE, code="EMAIL", clears=True, **about)  # type: ignore[arg-type]
    def find(company: UUID, person: str) -> str:
        return f"{person}@example.org"

    @failures(client, PEOPLE, code="EMAIL", clears=True, **about)  # type: ignore[arg-type]
    async def look(company: UUID, person: str) -> None:
        await asyncio.sleep(0)

    assert find(one, "7") == "7@example.org"
    asyncio.run(look(other, "7"))
    assert [hub.row(error)["status"] for error in ids] == ["RESOLVED", "RETRY_PENDING", "RESOLVED"]


def test_a_success_that_cannot_be_reported_is_still_a_success(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    nowhere = Database("postgresql://nobody@localhost:1/nothing", settings)
    with caplog.at_level(logging.ERROR, "recoup"), failures(nowhere, DOL, outreach_id=uuid.uuid4(), clears=True) as b:
        pass
    assert b.cleared is None
    assert "success was not reported" in caplog.text


def test_clears_needs_an_entity(client: Client) -> None:
    with pytest.raises(InputRefused, match="entity"):
        failures(client, DOL, clears=True)


def test_the_verb_alone(hub: Hub, client: Client) -> None:
    one, other = uuid.uuid4(), uuid.uuid4()
    ids = [hub.record(outreach_id=one), hub.record(outreach_id=other)]
    done = client.errors.cleared(DOL, [str(one), other], ran_for=timedelta(0), reason="imported again")
    assert sorted(done.resolved) == ids
    assert client.errors.show(ids[0]).events[-1].reason == "imported again"
