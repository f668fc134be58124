"""A lineage: the errors of one failure, each superseding the one before it, under the id of the first."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

import candidates
import product
from hub import DAY, DOL, LOG, MASTER, OPERATIONAL, SECOND, STRUCTURAL, Hub, NewHub
from recoup.audit.examine import audit
from recoup.database import embedded
from recoup.database.connection import connect
from recoup.errors import archive, erasing, listing
from recoup.errors.listing import Filter
from recoup.errors.lookup import ErrorKey
from recoup.errors.recording import NewError
from recoup.errors.vocabulary import Severity
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused
from tiers import REVIEWED

FORM_1 = (
    "n.error_table, n.error_id::text, n.outreach_id::text, n.work_key, n.error_code, n.error_signature, n.severity,"
    " n.category, n.ttl_tier, n.decided_by, n.clamped_from, n.overruled, n.policy_version::text, n.created_at::text,"
    " n.error_message, n.payload::text"
)
CONTENT = "laws/L6/content/recoup.error"


def again(hub: Hub, entity: uuid.UUID, times: int = 1, **more: Any) -> list[int]:
    """The same failure, so many times in one call."""
    new = [NewError(table=DOL, message=OPERATIONAL, outreach_id=entity, **more)] * times
    return [one.error_id for one in hub.record_all(new)]


def lineages(hub: Hub, *ids: int) -> list[int | None]:
    found = dict(
        hub.rows(
            "select error_id, lineage_id from recoup.error where error_id = any(%s)"
            " union all select error_id, lineage_id from recoup.error_archive where error_id = any(%s)",
            list(ids),
            list(ids),
        )
    )
    return [found[one] for one in ids]


def test_an_error_begins_its_own_lineage(hub: Hub) -> None:
    ids = [hub.record(), hub.record(severity=Severity.LOW), hub.record(table=MASTER), hub.record(table=LOG)]
    assert lineages(hub, *ids) == ids


@pytest.mark.parametrize("severity", [None, Severity.LOW, Severity.CRITICAL])
def test_what_supersedes_it_inherits_the_lineage(hub: Hub, severity: Severity | None) -> None:
    """Whatever the older one was: retried, parked, or never to be retried. Also after it has left for the archive."""
    entity = uuid.uuid4()
    (first,) = again(hub, entity, severity=severity)
    (second,) = again(hub, entity)
    hub.sweep_all()
    (third,) = again(hub, entity)
    assert lineages(hub, first, second, third) == [first] * 3
    assert hub.broken() == []


def test_rows_of_one_call_that_supersede_each_other_are_one_lineage(hub: Hub) -> None:
    """Of the error that was open before, or of the first of them; others of the call are not touched."""
    new, known = uuid.uuid4(), uuid.uuid4()
    (open_,) = again(hub, known)
    other = uuid.uuid4()
    failures = [new, known, other, new, known, new, other]
    ids = [
        one.error_id
        for one in hub.record_all([NewError(table=DOL, message=OPERATIONAL, outreach_id=of) for of in failures])
    ]
    assert lineages(hub, *ids) == [ids[0], open_, ids[2], ids[0], open_, ids[0], ids[2]]
    assert hub.broken() == []


def test_a_thousand_of_one_failure_in_one_call_are_one_lineage(hub: Hub) -> None:
    ids = again(hub, uuid.uuid4(), 1000)
    assert set(lineages(hub, *ids)) == {ids[0]}


def test_other_failures_of_an_entity_are_other_lineages(hub: Hub) -> None:
    entity = uuid.uuid4()
    one = again(hub, entity)[0]
    others = [hub.record(STRUCTURAL, outreach_id=entity), again(hub, entity, work_key="p-1")[0]]
    assert lineages(hub, one, *others) == [one, *others]


def test_an_expired_error_passes_nothing_on(hub: Hub) -> None:
    """Found open by a newer one, it is closed as expired and not superseded."""
    entity = uuid.uuid4()
    (first,) = again(hub, entity, severity=Severity.LOW)
    hub.advance(400 * DAY)
    second, third = again(hub, entity, 2, severity=Severity.LOW)
    assert hub.row(first)["archive_reason"] == "TTL_EXPIRED"
    assert lineages(hub, first, second, third) == [first, second, second]
    assert hub.broken() == []


def test_two_at_once_are_one_lineage(new_hub: NewHub) -> None:
    hub, entity = new_hub(), uuid.uuid4()
    with ThreadPoolExecutor(4) as pool:
        ids = sorted(one for made in pool.map(lambda _: again(hub, entity, 3), range(8)) for one in made)
    assert len({*lineages(hub, *ids)}) == 1
    assert lineages(hub, ids[0]) == [ids[0]]
    assert hub.broken() == []


def test_lists_and_one_error_show_it(hub: Hub) -> None:
    entity = uuid.uuid4()
    (first,) = again(hub, entity)
    (second,) = again(hub, entity)
    with hub.db.transaction(Authority.READER) as tx:
        (listed,) = listing.list_errors(tx, Filter(entities=(entity,)))
        assert (listed.error_id, listed.lineage_id) == (second, first)
        assert listing.show(tx, str(second)).row["lineage_id"] == first


# The digest at birth --------------------------------------------------------------------------------------------------


@pytest.fixture
def as_owner(new_hub: NewHub, server: embedded.Server) -> Callable[[Hub, str], None]:
    """Sends statements past the triggers, as one who may disable them."""

    def send(hub: Hub, statement: str) -> None:
        name = psycopg.conninfo.conninfo_to_dict(hub.db.conninfo)["dbname"]
        with psycopg.connect(server.uri(str(name), admin=True)) as admin:
            admin.execute("set session_replication_role = replica; set timezone = utc; set datestyle = iso, ymd")
            for (table,) in admin.execute(
                "select relid::regclass::text from pg_partition_tree('recoup.error')"
                " union all values ('recoup.error_event')"
            ).fetchall():
                admin.execute(f"alter table {table} disable trigger all")
            admin.execute(statement.encode())
            for (table,) in admin.execute(
                "select relid::regclass::text from pg_partition_tree('recoup.error')"
                " union all values ('recoup.error_event')"
            ).fetchall():
                admin.execute(f"alter table {table} enable trigger all")

    return send


def found(hub: Hub, *ids: str) -> set[str]:
    with connect(hub.db.conninfo, hub.db.settings) as connection:
        return {one.id for one in audit(connection, product.chosen(ids)) if not one.holds}


def of_an_older_release(error: int) -> str:
    """Makes a row and its birth as the release before lineages wrote them."""
    return (
        f"update recoup.error set lineage_id = null where error_id = {error};"
        " update recoup.error_event e set form = 1, digest = sha256(convert_to(array["
        f"{FORM_1}]::text, 'UTF8')) from recoup.error n where e.error_id = {error} and n.error_id = {error}"
        " and e.event_type = 'RECORDED'"
    )


def test_errors_of_an_older_release_stay_valid_and_are_their_own_lineage(
    new_hub: NewHub, as_owner: Callable[[Hub, str], None]
) -> None:
    """With the digest they were born with; also when a secret in them is erased, and when they are superseded."""
    hub, entity = new_hub(), uuid.uuid4()
    (old,) = again(hub, entity)
    erased = hub.record("password was tulip", severity=Severity.CRITICAL)
    as_owner(hub, of_an_older_release(old))
    as_owner(hub, of_an_older_release(erased))
    assert found(hub, CONTENT, "errors/7/lineage") == set()
    with hub.db.transaction(Authority.OPERATOR, reason="a test") as tx:
        erasing.erase(tx, [ErrorKey(DOL, erased)], secret="tulip")
    (newer,) = again(hub, entity)
    assert lineages(hub, old, newer, erased) == [None, old, None]
    with hub.db.transaction(Authority.READER) as tx:
        (listed,) = listing.list_errors(tx, Filter(text="password was"))
        assert listed.lineage_id == erased
    hub.advance(SECOND)
    hub.sweep_all()
    assert lineages(hub, old) == [None]
    assert found(hub, CONTENT, "errors/7/lineage", "errors/7/archived-as-it-was") == set()


@pytest.mark.parametrize("value", ["null", "error_id", "1"])
def test_a_lineage_that_was_changed_is_found(new_hub: NewHub, as_owner: Callable[[Hub, str], None], value: str) -> None:
    hub, entity = new_hub(), uuid.uuid4()
    hub.record()
    again(hub, entity)
    (second,) = again(hub, entity)
    as_owner(hub, f"update recoup.error set lineage_id = {value} where error_id = {second}")
    assert found(hub, CONTENT, "errors/7/lineage") == {CONTENT, "errors/7/lineage"}


def test_nobody_changes_a_lineage(hub: Hub) -> None:
    error = hub.record(severity=Severity.CRITICAL)
    for who in Authority:
        with pytest.raises(LawRefused, match="no right"), hub.db.transaction(who) as tx:
            tx.execute("update recoup.error set lineage_id = 1 where error_id = %s", (error,))


def test_by_sql_an_error_may_be_written_without_a_lineage_and_is_its_own(new_hub: NewHub) -> None:
    """As programs did before there were lineages."""
    hub = new_hub()
    like = hub.record(severity=Severity.LOW)
    columns = (
        "error_table, error_message, error_signature, category, disposition, status, ttl_tier, expires_at, max_retries,"
        " decided_by, policy_version, severity"
    )
    with hub.db.transaction(Authority.HUB) as tx:
        (written,) = tx.execute(
            f"insert into recoup.error ({columns}, outreach_id, created_at, updated_at) select {columns},"
            " gen_random_uuid(), recoup.now(), recoup.now() from recoup.error where error_id = %s"
            " returning error_id",
            (like,),
        ).fetchone() or (0,)
    assert lineages(hub, written) == [None]
    newer = hub.record(severity=Severity.LOW, outreach_id=hub.row(written)["outreach_id"])
    assert lineages(hub, newer) == [written]
    assert found(hub, CONTENT, "errors/7/lineage") == set()


# What recovery works on is not archived ---------------------------------------------------------------------------


@pytest.fixture
def holding(server: embedded.Server) -> Callable[[Hub, list[int]], None]:
    """Lets recovery keep these errors."""

    def hold(hub: Hub, kept: list[int]) -> None:
        name = psycopg.conninfo.conninfo_to_dict(hub.db.conninfo)["dbname"]
        with psycopg.connect(server.uri(str(name), admin=True)) as admin:
            candidates.hold(admin, DOL, kept)

    return hold


def test_the_archiver_leaves_what_recovery_works_on(new_hub: NewHub, holding: Callable[[Hub, list[int]], None]) -> None:
    """Only what expired, and for a bounded time: a closed error leaves. A lineage is known by its first error."""
    hub, entity = new_hub(), uuid.uuid4()
    first = hub.record(severity=Severity.CRITICAL, outreach_id=entity)
    hub.sweep_all()
    second = hub.record(severity=Severity.CRITICAL, outreach_id=entity)
    hub.sweep_all()
    kept, closed, free = (hub.record(severity=Severity.CRITICAL) for _ in range(3))
    hub.operate(f"status = 'RESOLVED', archived_at = recoup.now(), archive_reason = 'RESOLVED', {REVIEWED}", closed)
    hub.age(31 * DAY)
    holding(hub, [first, kept, closed])
    assert hub.sweep().gone == 2
    assert hub.sweep().gone == 0
    assert {row[0] for row in hub.rows("select error_id from recoup.error")} == {second, kept}
    with hub.db.transaction(Authority.ARCHIVER) as tx:
        assert (archive.leaving(tx), archive.lag(tx)) == ([], None)
    assert hub.archived(free)["archive_reason"] == "TTL_EXPIRED"
    for one in (second, kept):
        with pytest.raises(LawRefused, match="recovery works on it"), hub.db.transaction(Authority.ARCHIVER) as tx:
            tx.execute("delete from recoup.error where error_id = %s", (one,))
    hub.advance(14 * DAY)  # for so long, and no longer
    assert hub.sweep_all() == 2
    assert hub.broken() == []


def test_kept_errors_in_front_do_not_stop_the_sweep(new_hub: NewHub, holding: Callable[[Hub, list[int]], None]) -> None:
    """However many of them, and whatever the size of a batch."""
    hub = new_hub()
    new = [
        NewError(table=DOL, message=OPERATIONAL, severity=Severity.LOW, outreach_id=uuid.uuid4()) for _ in range(1500)
    ]
    front = [one.error_id for one in hub.record_all(new)]
    hub.advance(SECOND)
    behind = [one.error_id for one in hub.record_all([replaced(one) for one in new[:30]])]
    hub.advance(91 * DAY)
    holding(hub, front)
    assert hub.sweep(limit=20).gone == 20
    assert hub.sweep(limit=1000).gone == 10
    assert hub.sweep().gone == 0
    assert lineages(hub, *behind) == behind
    assert hub.rows("select count(*) from recoup.error") == [(1500,)]


def replaced(one: NewError) -> NewError:
    return NewError(table=one.table, message=one.message, severity=one.severity, outreach_id=uuid.uuid4())
