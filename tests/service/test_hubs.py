"""Keys of a hub: the database shows and changes the rows of that hub alone, through whatever table or function.

Every word of the other hub's rows has a marker. Nothing that a hub's key reads may have it.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from uuid import UUID

import psycopg
import pytest
from psycopg.sql import SQL, Identifier, Literal

import product
from recoup import deliveries, gate, pauses
from recoup.audit import audit
from recoup.database import embedded
from recoup.database.connection import NO_HUB, Database, connect
from recoup.errors import archive, listing, parking, promotion, recording, retrying
from recoup.errors.lookup import ErrorKey
from recoup.errors.recording import NewError
from recoup.lifecycles.declaration import Authority
from recoup.partitions import control_plane
from recoup.partitions.identity import Partition
from recoup.recovery import breakers, matches
from recoup.recovery.matches import NewFailure
from recoup.refusals import LawRefused, Refusal
from recoup.runs import running
from recoup.runs.running import NewRun
from recoup.service import keys
from recoup.service.acting import acting
from recoup.service.keys import Denied
from recoup.service.principal import Principal
from recoup.service.roles import WITHIN_HUBS, Role, authorities
from recoup.settings import Settings
from service.desk import Desk

HUBS = """
[service.hubs.outreach]
tables = ["outreach.dol_errors"]
sources = ["dol"]
[service.hubs.people]
tables = ["people.people_errors"]
sources = ["crm"]
"""
OURS, THEIRS = "outreach.dol_errors", "people.people_errors"
MARK = "M4RKER"
# What has nothing of a hub: the same for everybody.
OPEN = frozenset({
    "recoup.clock", "recoup.declaration_log", "recoup.domain", "recoup.duty_tally", "recoup.error_tally_mark",
    "recoup.follower", "recoup.incarnation", "recoup.lifecycle", "recoup.lifecycle_step", "recoup.log",
    "recoup.migration", "recoup.pausable", "recoup.policy", "recoup.policy_bound",
    "recoup.queue_form", "recoup.routine", "recoup.worker", "recovery.breaker", "partitions.sink",
})  # fmt: skip
SCOPED = (Role.VIEWER, Role.PRODUCER, Role.OPERATOR, Role.REVIEWER)


@dataclass(frozen=True)
class Ward:
    """A database with rows of two hubs, and a caller of each role of one of them."""

    desk: Desk
    entity: UUID  # blocked by both
    their_entity: UUID  # blocked by the other alone
    ours: ErrorKey
    theirs: ErrorKey
    callers: dict[Role, Principal]

    @property
    def db(self) -> Database:
        return self.desk.db


@pytest.fixture(scope="module")
def ward(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Ward]:
    with Database(server.uri(new_database()), settings) as db:
        desk = Desk(db)
        with db.transaction(Authority.OPERATOR) as tx:
            product.apply_policy(tx, HUBS, reason="two hubs")
        entity, their_entity = uuid.uuid4(), uuid.uuid4()
        with db.transaction(Authority.HUB) as tx:
            ours, theirs, _, over = recording.record(tx, [
                NewError(table=OURS, message="the EIN did not match", outreach_id=entity),
                NewError(table=THEIRS, message=f"{MARK} no such person", outreach_id=entity, payload={"who": MARK}),
                NewError(table=THEIRS, message=f"{MARK} no such company", outreach_id=their_entity),
                NewError(table=THEIRS, message=f"{MARK} it is over", outreach_id=uuid.uuid4()),
            ])  # fmt: skip
        with db.transaction(Authority.OPERATOR, reason="a test") as tx:
            parking.resolve(tx, [ErrorKey(THEIRS, over.error_id)])
        with db.transaction(Authority.ARCHIVER) as tx:
            assert archive.sweep(tx).gone == 1  # into a partition of this month, made now
        with db.transaction(Authority.MATCHER) as tx:
            matches.ingest(tx, [NewFailure(source=source, message=f"{word} it failed", key=f"{word} 1")
                                for source, word in (("dol", "our"), ("crm", MARK))])  # fmt: skip
        with db.transaction(Authority.CONTROL_PLANE) as tx:
            control_plane.enqueue(tx, [Partition(source, word, "q", date(2026, 1, 1))
                                       for source, word in (("dol", "our"), ("crm", MARK))])  # fmt: skip
        with db.transaction(Authority.RUNNER) as tx:
            running.queue(tx, [NewRun(kind="a job", source="crm", input={"who": MARK})])
        with db.transaction(Authority.HUB) as tx:
            gate.add_intakes(tx, [gate.NewIntake(company_name=MARK, state="TX")])
        with db.transaction(Authority.OPERATOR) as tx:
            deliveries.send(tx, "log", MARK, {})
        callers = {role: desk.caller(role, hub="outreach") for role in SCOPED}
        yield Ward(
            desk, entity, their_entity, ErrorKey(OURS, ours.error_id), ErrorKey(THEIRS, theirs.error_id), callers
        )  # fmt: skip


def relations(ward: Ward) -> list[str]:
    with ward.db.transaction(Authority.READER) as tx:
        return [row[0] for row in tx.execute(
            "select c.oid::regclass::text from pg_class c where c.relkind in ('r', 'p', 'v')"
            " and c.relowner = 'recoup_owner'::regrole order by 1")]  # fmt: skip


def test_every_table_is_limited_or_known_to_be_open(ward: Ward) -> None:
    """A table that is made later cannot be forgotten: archives of a month, tables of a policy, or of a new domain."""
    with ward.db.transaction(Authority.READER) as tx:
        unlimited = {row[0] for row in tx.execute(
            "select c.oid::regclass::text from pg_class c where c.relkind in ('r', 'p')"
            " and c.relowner = 'recoup_owner'::regrole and not (c.relrowsecurity and exists ("
            "   select from pg_policy p where p.polrelid = c.oid and p.polname = 'hub'))")}  # fmt: skip
    assert unlimited == OPEN


@pytest.mark.parametrize("role", SCOPED)
def test_a_hub_reads_nothing_of_another(ward: Ward, role: Role) -> None:
    """Every table and view, by every authority of the role; and its own rows are there."""
    words = SQL("select count(*) from {} t where t::text like {}")
    who = ward.callers[role]
    for authority in sorted(authorities(role) & WITHIN_HUBS):
        for name in relations(ward):
            table = Identifier(*name.split(".")) if "." in name else Identifier("public", name)
            try:
                with acting(ward.db, who, authority) as tx:
                    found = tx.execute(words.format(table, Literal(f"%{MARK}%"))).fetchone()
            except LawRefused as refusal:
                assert refusal.code == "authority_lacks_right", name
            else:
                assert found == (0,), f"{name} as {authority}"
        with acting(ward.db, who, authority) as tx:
            assert tx.execute("select array_agg(distinct error_table) from recoup.error").fetchone() == ([OURS],)
            assert tx.execute("select array_agg(distinct error_table) from recoup.error_event").fetchone() == ([OURS],)
            assert tx.execute("select array_agg(distinct source) from partitions.schedule").fetchone() == (["dol"],)
            assert tx.execute("select array_agg(distinct source) from recovery.failure_match").fetchone() == (["dol"],)


def test_no_caller_of_a_hub_acts_as_a_worker(ward: Ward) -> None:
    """Authorities that see every row are refused to them, and there is no other."""
    for who in ward.callers.values():
        for authority in authorities(who.role) - WITHIN_HUBS:
            with pytest.raises(Denied, match="belongs to no hub"), acting(ward.db, who, authority):
                pass
    with ward.db.transaction(Authority.READER) as tx:
        exempt = tx.execute("select distinct r::regrole::text from pg_policy p cross join unnest(p.polroles) r"
                            " where p.polname <> 'hub'").fetchall()  # fmt: skip
    assert {row[0] for row in exempt} == {one.role for one in Authority} - {one.role for one in WITHIN_HUBS}


def test_without_a_hub_every_row_is_there(ward: Ward) -> None:
    """Else the test above would say nothing."""
    with ward.db.transaction(Authority.READER) as tx:
        for name in (
            "recoup.error", "recoup.error_archive", "recovery.failure_match", "partitions.partition_state",
            "recovery.run", "cl.gate_zero_intake", "recoup.delivery",
        ):  # fmt: skip
            query = SQL("select count(*) from {} t where t::text like {}")
            found = tx.execute(query.format(Identifier(*name.split(".")), Literal(f"%{MARK}%"))).fetchone()
            assert found is not None
            assert found[0] > 0, name


def test_a_hub_that_the_policy_does_not_have_sees_nothing(ward: Ward) -> None:
    gone = Principal(key_id=None, name="eve", role=Role.OPERATOR, hub="gone")
    with acting(ward.db, gone, Authority.READER) as tx:
        assert tx.execute("select count(*) from recoup.error").fetchone() == (0,)
        assert tx.execute("select count(*) from partitions.schedule").fetchone() == (0,)


def test_what_forgets_to_say_who_acts_gets_nothing(ward: Ward) -> None:
    """The service opens its database so: a transaction that is nobody's sees no row of any hub."""
    with Database(ward.db.conninfo, ward.db.settings, hub=NO_HUB) as db:
        with db.transaction(Authority.READER) as tx:
            assert tx.execute("select count(*) from recoup.error").fetchone() == (0,)
            assert tx.execute("select count(*) from recoup.delivery").fetchone() == (0,)
        with acting(db, ward.desk.caller(Role.VIEWER), Authority.READER) as tx:
            assert tx.execute("select count(distinct error_table) from recoup.error").fetchone() == (2,)
        with acting(db, ward.callers[Role.VIEWER], Authority.READER) as tx:
            assert tx.execute("select count(distinct error_table) from recoup.error").fetchone() == (1,)
        key = ward.desk.key("viewer", hub="outreach")
        assert keys.authenticate(db, key.secret).hub == "outreach"


def test_functions_show_no_more_than_tables(ward: Ward) -> None:
    with acting(ward.db, ward.callers[Role.OPERATOR], Authority.READER) as tx:
        assert {error.error_table for error in listing.list_errors(tx, listing.Filter(), archived=True)} == {OURS}
        assert [found.error_table for found in promotion.blocking(tx, [ward.entity, ward.their_entity])] == [OURS]
        with pytest.raises(Refusal) as refusal:
            listing.show(tx, str(ward.theirs.error_id))
    assert refusal.value.code == "error_unknown"


def test_the_gate_looks_at_every_table_and_tells_a_hub_only_who(ward: Ward) -> None:
    with acting(ward.db, ward.callers[Role.PRODUCER], Authority.HUB) as tx:
        assert promotion.is_blocked(tx, ward.their_entity)
        assert not promotion.is_blocked(tx, uuid.uuid4())
        assert promotion.blocking(tx, [ward.their_entity]) == []
        owners = promotion.blocking_owners(tx, [ward.their_entity, uuid.uuid4()])
        assert list(owners) == [ward.their_entity]
        assert all(owners[ward.their_entity])
        assert promotion.blocked_locking(tx, [ward.their_entity, uuid.uuid4()]) == {ward.their_entity}
        # Still within its hub.
        assert tx.execute("select array_agg(distinct error_table) from recoup.error").fetchone() == ([OURS],)


def test_the_gate_leaves_the_hub_as_it_was_when_it_fails(ward: Ward) -> None:
    with acting(ward.db, ward.callers[Role.PRODUCER], Authority.HUB) as tx:
        with pytest.raises(psycopg.Error), tx.transaction():
            tx.execute("select * from recoup.blocking_owners(array[null]::uuid[])")
        assert tx.execute("select current_setting('recoup.hub')").fetchone() == ("outreach",)


def test_a_hub_records_into_its_tables_alone(ward: Ward) -> None:
    who = ward.callers[Role.PRODUCER]
    with acting(ward.db, who, Authority.HUB) as tx:
        (made,) = recording.record(tx, [NewError(table=OURS, message="it timed out", outreach_id=uuid.uuid4())])
    assert made.error_id
    with pytest.raises(LawRefused) as refusal, acting(ward.db, who, Authority.HUB) as tx:
        recording.record(tx, [NewError(table=THEIRS, message="it timed out", outreach_id=uuid.uuid4())])
    assert refusal.value.code == "hub_may_not"


def test_a_hub_reports_failures_of_its_sources_alone(ward: Ward) -> None:
    who = ward.callers[Role.PRODUCER]
    with acting(ward.db, who, Authority.MATCHER) as tx:
        matches.ingest(tx, [NewFailure(source="dol", message="again", key="our 2")])
    for failure in (NewFailure(source="crm", message="x", key="x"), NewFailure(source=THEIRS, message="x", key="x")):
        with pytest.raises(LawRefused) as refusal, acting(ward.db, who, Authority.MATCHER) as tx:
            matches.ingest(tx, [failure])
        assert refusal.value.code == "hub_may_not"


def test_a_hub_enqueues_and_runs_for_its_sources_alone(ward: Ward) -> None:
    with acting(ward.db, ward.callers[Role.OPERATOR], Authority.CONTROL_PLANE) as tx:
        control_plane.enqueue(tx, [Partition("dol", "our", "q", date(2026, 1, 2))])
    with pytest.raises(LawRefused, match="row of the hub") as refusal:  # noqa: SIM117
        with acting(ward.db, ward.callers[Role.OPERATOR], Authority.CONTROL_PLANE) as tx:
            control_plane.enqueue(tx, [Partition("crm", "x", "q", date(2026, 1, 2))])
    assert refusal.value.code == "hub_may_not"
    with pytest.raises(LawRefused, match="row of the hub"):  # noqa: SIM117
        with acting(ward.db, ward.callers[Role.PRODUCER], Authority.RUNNER) as tx:
            running.queue(tx, [NewRun(kind="a job", source="crm")])


def test_a_person_of_a_hub_works_on_its_errors_alone(ward: Ward) -> None:
    who = ward.callers[Role.OPERATOR]
    with acting(ward.db, who, Authority.OPERATOR, reason="a test") as tx:
        both = [ward.ours, ward.theirs]
        for answers in (
            parking.park(tx, both, reason="a test"),
            parking.assign(tx, both, to="ada"),
            parking.review(tx, both),
            parking.unpark(tx, both),
        ):
            mine, other = answers
            assert (mine.done, other.done, other.refused) == (True, False, "error_unknown")
    with ward.db.transaction(Authority.READER) as tx:
        rows = tx.execute("select actor_id from recoup.error_event where error_id = %s and event_type <> 'RECORDED'",
                          (ward.ours.error_id,)).fetchall()  # fmt: skip
        assert {row[0] for row in rows} == {who.name}
        untouched = tx.execute("select count(*) from recoup.error_event where error_id = %s", (ward.theirs.error_id,))
        assert untouched.fetchone() == (1,)


@pytest.mark.parametrize("role", SCOPED)
def test_no_statement_changes_a_row_of_another_hub(ward: Ward, role: Role) -> None:
    """By every authority of the role: an update finds no such row, or is refused."""
    for authority in authorities(role) & WITHIN_HUBS:
        for statement in (
            "update recoup.error set updated_at = updated_at where error_id = %s",
            "delete from recoup.error where error_id = %s",
            "update people.people_errors set status = 'RESOLVED' where error_id = %s",
            "update recovery.failure_match set wakes = wakes where source = 'crm' and %s > 0",
            "update partitions.schedule set priority = priority where source = 'crm' and %s > 0",
        ):
            try:
                with acting(ward.db, ward.callers[role], authority) as tx:
                    assert tx.execute(statement, (ward.theirs.error_id,)).rowcount == 0
            except LawRefused as refusal:
                assert refusal.code == "authority_lacks_right", statement


# What stops and starts the work of everybody, each as a statement of the operator's own.
PAUSED = (
    "insert into recoup.pause (scope, scope_id, status, changed_at, changed_by, reason) values (%s, %s, 'PAUSED',"
    " recoup.now(), recoup.acting_id(), 'x') on conflict (scope, scope_id) do update set status = 'PAUSED',"
    " changed_at = excluded.changed_at, changed_by = excluded.changed_by, reason = 'x'"
)
RESUMED = (
    "update recoup.pause set status = 'RUNNING', changed_at = greatest(changed_at, recoup.now()),"
    " changed_by = recoup.acting_id() where scope = %s and scope_id = %s"
)
OF_ALL = [("global", "everything"), ("duty", "seal"), ("table", THEIRS), ("table", "recoup.error"),
          ("table", "cl.gate_zero_attempt"), ("partition-source", "crm"), ("action", "notify_ops")]  # fmt: skip


OF_OTHERS = (("table", THEIRS), ("partition-source", "crm"), ("action", "notify_ops"))


@pytest.mark.parametrize(("scope", "name"), OF_ALL)
def test_a_hub_pauses_and_resumes_nothing_of_others(ward: Ward, scope: str, name: str) -> None:
    who, other = ward.callers[Role.OPERATOR], ward.desk.caller(Role.OPERATOR)
    with pytest.raises(LawRefused) as refusal, acting(ward.db, who, Authority.OPERATOR) as tx:
        tx.execute(PAUSED.encode(), (scope, name))
    assert refusal.value.code == "hub_may_not"
    with acting(ward.db, other, Authority.OPERATOR) as tx:
        assert tx.execute(PAUSED.encode(), (scope, name)).rowcount == 1
    try:
        if (scope, name) in OF_OTHERS:  # it does not see it, so there is nothing that it could resume
            with acting(ward.db, who, Authority.OPERATOR) as tx:
                assert tx.execute(RESUMED.encode(), (scope, name)).rowcount == 0
                assert (scope, name) not in [(one.scope, one.scope_id) for one in pauses.pauses(tx)]
        else:
            with pytest.raises(LawRefused) as refusal, acting(ward.db, who, Authority.OPERATOR) as tx:
                tx.execute(RESUMED.encode(), (scope, name))
            assert refusal.value.code == "hub_may_not"
            with acting(ward.db, who, Authority.OPERATOR) as tx:  # it stops the hub's work, too
                assert (scope, name) in [(one.scope, one.scope_id) for one in pauses.pauses(tx)]
        with acting(ward.db, other, Authority.OPERATOR) as tx:
            assert (scope, name) in [(one.scope, one.scope_id) for one in pauses.pauses(tx)]
    finally:
        with acting(ward.db, other, Authority.OPERATOR) as tx:
            assert tx.execute(RESUMED.encode(), (scope, name)).rowcount == 1
    with pytest.raises(LawRefused) as refusal, acting(ward.db, who, Authority.OPERATOR) as tx:
        tx.execute(PAUSED.encode(), (scope, name))  # again: an update
    assert refusal.value.code == "hub_may_not"


def test_a_hub_pauses_its_own_tables_and_sources(ward: Ward) -> None:
    for scope, name in (("table", OURS), ("partition-source", "dol")):
        for statement in (PAUSED, RESUMED):
            with acting(ward.db, ward.callers[Role.OPERATOR], Authority.OPERATOR) as tx:
                assert tx.execute(statement.encode(), (scope, name)).rowcount == 1
    gone = Principal(key_id=None, name="eve", role=Role.OPERATOR, hub="gone")
    with pytest.raises(LawRefused) as refusal, acting(ward.db, gone, Authority.OPERATOR) as tx:
        tx.execute(PAUSED.encode(), ("table", OURS))
    assert refusal.value.code == "hub_may_not"


def test_a_hub_opens_and_closes_no_breaker_of_others(ward: Ward) -> None:
    # Its own table alone is not enough: a breaker that is not listed is also for a kind of runs of that name.
    other, names = ward.desk.caller(Role.OPERATOR), (THEIRS, "crm", OURS)
    for who in (ward.callers[Role.OPERATOR], Principal(key_id=None, name="probe", role=Role.OPERATOR, hub="outreach")):
        for name in names:
            with pytest.raises(LawRefused) as refusal, acting(ward.db, who, Authority.OPERATOR) as tx:
                breakers.open_breaker(tx, name, reason="ours first")
            assert refusal.value.code == "hub_may_not"
            with acting(ward.db, other, Authority.OPERATOR) as tx:
                breakers.open_breaker(tx, name, reason="it is down")
            with pytest.raises(LawRefused) as refusal, acting(ward.db, who, Authority.OPERATOR) as tx:
                breakers.close_breaker(tx, name)
            assert refusal.value.code == "hub_may_not"
            with acting(ward.db, other, Authority.OPERATOR) as tx:
                breakers.close_breaker(tx, name)


def test_a_claim_of_a_hub_takes_its_own_probe_and_ends_no_other(ward: Ward) -> None:
    """The unit that tries another hub's table has succeeded; only who sees it may say so."""
    db, desk = ward.db, ward.desk
    with db.transaction(Authority.OPERATOR) as tx:
        for name in (OURS, THEIRS):
            breakers.open_breaker(tx, name, reason="it is down")
    with db.transaction(Authority.HUB) as tx:
        recording.record(tx, [NewError(table=table, message="it timed out", code="TIMEOUT", outreach_id=uuid.uuid4())
                              for table in (OURS, THEIRS)])  # fmt: skip
    desk.advance(timedelta(minutes=30))
    with db.transaction(Authority.HUB) as tx:
        (theirs,) = retrying.claim(tx, limit=9, tables=[THEIRS], worker="they", lease=timedelta(minutes=1))
    with db.transaction(Authority.HUB) as tx:
        done = retrying.Succeeded(error_table=THEIRS, error_id=theirs.error_id, token=theirs.token)
        assert retrying.finish(tx, [done])[0].status == "RESOLVED"
    desk.advance(timedelta(minutes=5))
    with acting(db, ward.callers[Role.PRODUCER], Authority.HUB) as tx:
        assert len(retrying.claim(tx, limit=9, tables=[OURS], worker="we", lease=timedelta(minutes=1))) == 1
        assert tx.execute("select name, status from recovery.breaker where name = any(%s) order by name",
                          ([OURS, THEIRS],)).fetchall() == [(OURS, "half_open"), (THEIRS, "half_open")]  # fmt: skip
        reopened = (
            "update recovery.breaker set status = 'open', wait_s = least(wait_s::bigint * 2, max_wait_s), open_until ="
            " recoup.now() + make_interval(secs => least(wait_s::bigint * 2, max_wait_s)), probe_subject = null,"
            " probe_unit = null, probe_token = null, probe_until = null where name = %s"
        )
        with pytest.raises(psycopg.Error, match="has not ended like that"), tx.transaction():
            tx.execute(reopened.encode(), (THEIRS,))
    with db.transaction(Authority.EVALUATOR) as tx:
        tx.execute("select recovery.settle_probes()")
        found = tx.execute("select status from recovery.breaker where name = %s", (THEIRS,)).fetchone()
    assert found == ("closed",)


def test_what_hubs_do_leaves_everything_sound(ward: Ward) -> None:
    """Recorders and consequences did their part within a hub: the audit finds nothing."""
    with acting(ward.db, ward.callers[Role.PRODUCER], Authority.HUB) as tx:
        (made,) = recording.record(tx, [NewError(table=OURS, message="one more", outreach_id=uuid.uuid4())])
    with acting(ward.db, ward.callers[Role.OPERATOR], Authority.OPERATOR, reason="done") as tx:
        (answer,) = parking.resolve(tx, [ErrorKey(OURS, made.error_id)])
    assert answer.done
    with contextlib.closing(connect(ward.db.conninfo, ward.db.settings)) as connection:
        assert [f"{one.id}: {one.rows[:2]}" for one in audit(connection, product.INVARIANTS) if not one.holds] == []
