"""``tx=``: recording and asking in the caller's own transaction, with the caller's own rights before and after."""

from __future__ import annotations

import uuid
from uuid import UUID

import psycopg
import pytest
from psycopg import IsolationLevel, RawCursor, errors
from psycopg.conninfo import make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg.types.string import TextLoader

from hub import DOL
from library.conftest import Program
from pooler import NO_PGBOUNCER, PGBOUNCER, bouncing
from recoup import Authority, NewError, failures
from recoup.client import Client
from recoup.database import embedded
from recoup.refusals import InputRefused, LawRefused, MigrationRefused

SETTINGS = "select current_user, current_setting('search_path'), current_setting('TimeZone'), current_setting('role')"


def failing(entity: UUID, message: str = "the EIN did not match") -> NewError:
    return NewError(table=DOL, outreach_id=entity, message=message)


def test_recording_commits_with_the_callers_own_writes(client: Client, program: Program) -> None:
    kept, lost = uuid.uuid4(), uuid.uuid4()
    with program.connect() as own:
        own.execute("insert into app.filings values ('12-345')")
        (recorded,) = client.errors.record([failing(kept)], tx=own)
        own.execute("insert into app.filings values ('12-346')")  # as themselves again
        assert not client.errors.is_blocked(kept), "it is not committed yet"
        assert client.errors.is_blocked(kept, tx=own)
    with program.connect() as own:
        client.errors.record(table=DOL, outreach_id=str(lost), message="x", tx=own)
        own.rollback()
    assert client.errors.is_blocked(kept)
    assert not client.errors.is_blocked(lost)
    assert client.errors.show(recorded).row["outreach_id"] == kept


def test_a_promotion_and_its_gate_are_one_transaction(client: Client, program: Program) -> None:
    free, blocked = uuid.uuid4(), uuid.uuid4()
    client.errors.record(table=DOL, outreach_id=blocked, message="no filing")
    with program.connect() as own:
        stopped = client.errors.blocked_locking([free, blocked], tx=own)
        assert stopped == {blocked}
        own.execute("insert into app.promoted values (%s)", (free,))
        with program.connect() as other, pytest.raises(LawRefused) as refused:
            other.execute("set recoup.promotion_wait = 'none'")
            client.errors.record([failing(free)], tx=other)
        assert refused.value.code == "entity_held"
    assert free in program.promoted()
    client.errors.record([failing(free)])  # the lock ended with the transaction


def test_the_connection_is_as_it_was_whatever_it_was(client: Client, program: Program) -> None:
    """Role, path, zone, rows, cursors, loaders: the caller's before and after, ours in between."""
    entity = uuid.uuid4()
    with program.connect(row_factory=dict_row, cursor_factory=RawCursor) as own:
        own.execute("set search_path = app")
        own.execute("set timezone = 'Asia/Tokyo'")
        own.execute("set datestyle = 'German'")
        own.execute("set client_encoding = 'LATIN1'")
        own.adapters.register_loader("uuid", TextLoader)
        before = own.execute(SETTINGS).fetchone()
        client.errors.record(table=DOL, outreach_id=entity, message="größer", code="EIN", tx=own)
        ((found,),) = [[one.outreach_id for one in client.errors.blocking([entity], tx=own)]]
        assert found == entity
        assert client.errors.blocked_locking([entity], tx=own) == {entity}
        assert own.execute(SETTINGS).fetchone() == before
        assert own.execute("select current_setting('recoup.actor_id', true) as who").fetchone() == {"who": ""}
        assert own.execute("select note from promoted where note = $1", ("x",)).fetchall() == []
    assert client.errors.list(entities=entity)[0].error_message == "größer"


def test_a_role_of_the_callers_own_comes_back(client: Client, program: Program) -> None:
    with program.connect() as own:
        own.execute("set role recoup_reader")
        client.errors.record([failing(uuid.uuid4())], tx=own)
        assert own.execute("select current_user").fetchone() == ("recoup_reader",)


@pytest.mark.parametrize("autocommit", [False, True])
def test_a_refusal_leaves_the_callers_transaction_as_it_was(
    client: Client, program: Program, *, autocommit: bool
) -> None:
    entity = uuid.uuid4()
    with program.connect(autocommit=autocommit) as own, own.transaction():
        own.execute("insert into app.promoted values (%s, 'kept')", (entity,))
        before = own.execute(SETTINGS).fetchone()
        with pytest.raises(InputRefused, match="not an error table"):
            client.errors.record([NewError(table="outreach.nothing", message="x")], tx=own)
        with pytest.raises(LawRefused) as refused:
            client.errors._call(Authority.HUB, lambda on: on.execute("delete from recoup.error"), tx=own)
        assert refused.value.code == "authority_lacks_right"
        assert own.info.transaction_status == TransactionStatus.INTRANS
        assert own.execute(SETTINGS).fetchone() == before
    assert entity in program.promoted()


def test_in_autocommit_a_call_is_a_transaction_of_its_own(client: Client, program: Program) -> None:
    entity = uuid.uuid4()
    with program.connect(autocommit=True) as own:
        client.errors.record([failing(entity)], tx=own)
        assert own.info.transaction_status == TransactionStatus.IDLE
        assert own.execute("select current_user").fetchone() == (program.login,)
    assert client.errors.is_blocked(entity)


def test_the_locking_gate_is_refused_where_its_lock_would_be_released_at_once(client: Client, program: Program) -> None:
    with program.connect(autocommit=True) as own:
        with pytest.raises(InputRefused, match="autocommit") as refused:
            client.errors.blocked_locking([uuid.uuid4()], tx=own)
        with own.transaction():
            assert client.errors.blocked_locking([uuid.uuid4()], tx=own) == set()
    assert refused.value.code == "lock_outside_transaction"
    with pytest.raises(InputRefused, match="Without a transaction"):
        client.errors.blocked_locking([uuid.uuid4()], tx=None)


def test_a_login_that_may_not_act_is_told_the_grant(client: Client, program: Program) -> None:
    with psycopg.connect(program.stranger()) as own:
        own.execute("select 1")
        with pytest.raises(MigrationRefused) as refused:
            client.errors.record([failing(uuid.uuid4())], tx=own)
        assert own.execute("select 1").fetchone() == (1,)
        grant = refused.value.next_step.split(": ", 1)[1].split(";")[0]
        assert refused.value.facts["role"] == "recoup_hub"
        with psycopg.connect(program.admin_uri, autocommit=True) as admin:
            admin.execute(grant.encode())  # as printed
        own.rollback()  # a session notices a grant with its next transaction
        client.errors.record([failing(uuid.uuid4())], tx=own)


def test_a_failed_transaction_a_pipeline_and_a_wrong_isolation_are_refused_in_words(
    client: Client, program: Program
) -> None:
    with program.connect() as own:
        with pytest.raises(errors.UndefinedTable):
            own.execute("select * from app.nothing")
        with pytest.raises(InputRefused, match="failed earlier"):
            client.errors.record([failing(uuid.uuid4())], tx=own)
        own.rollback()
        with own.pipeline(), pytest.raises(InputRefused, match="pipeline"):
            client.errors.record([failing(uuid.uuid4())], tx=own)
        own.rollback()
        own.isolation_level = IsolationLevel.SERIALIZABLE
        with pytest.raises(LawRefused) as refused:
            client.errors.record([failing(uuid.uuid4())], tx=own)
        assert refused.value.code == "isolation_level"


def test_a_savepoint_that_is_rolled_back_takes_only_its_own(client: Client, program: Program) -> None:
    kept, lost = uuid.uuid4(), uuid.uuid4()
    with program.connect() as own:
        client.errors.record([failing(kept)], tx=own)
        with own.transaction(force_rollback=True):
            client.errors.record([failing(lost)], tx=own)
            client.errors.blocked_locking([lost], tx=own)
    assert (client.errors.is_blocked(kept), client.errors.is_blocked(lost)) == (True, False)


def test_one_of_ours_may_be_given_too(client: Client) -> None:
    entity = uuid.uuid4()
    with client.transaction(Authority.READER) as tx:
        client.errors.record([failing(entity)], tx=tx)
        assert tx.execute("select current_user").fetchone() == ("recoup_reader",)
    assert client.errors.is_blocked(entity)


def test_who_acts_is_told_and_not_left_behind(client: Client, program: Program) -> None:
    with program.connect() as own:
        one = client.errors.record(table=DOL, outreach_id=uuid.uuid4(), message="x", tx=own)
        (parked,) = client.errors.park(one, reason="asked", actor="ada", tx=own)
        assert parked.done
        other = client.errors.record(table=DOL, outreach_id=uuid.uuid4(), message="x", actor="dol-hub", tx=own)
    assert [event.actor_id for event in client.errors.show(one).events] == [client.settings.actor, "ada"]
    assert [event.actor_id for event in client.errors.show(other).events] == ["dol-hub"]


def test_failures_inside_a_promotion_of_ones_own_does_not_wait_for_itself(client: Client, program: Program) -> None:
    entity = uuid.uuid4()
    with program.connect() as own:
        client.errors.blocked_locking([entity], tx=own)
        with pytest.raises(ValueError, match="x") as caught, failures(client, DOL, outreach_id=entity):
            raise ValueError("x")
    assert "around that transaction" in caught.value.__notes__[0]
    with pytest.raises(ValueError, match="x"), failures(client, DOL, outreach_id=entity):
        raise ValueError("x")
    assert client.errors.is_blocked(entity), "it was committed, so nothing is in the way"


@pytest.mark.skipif(PGBOUNCER is None, reason=NO_PGBOUNCER)
def test_behind_a_pooler_each_transaction_is_the_callers_again(client: Client, server: embedded.Server) -> None:
    """The sessions are the pooler's: nothing of ours may stay in them."""
    entity, other = uuid.uuid4(), uuid.uuid4()
    with bouncing(server, "transaction", "") as folder:
        uri = make_conninfo(client.conninfo, host=folder, port="6432")
        for autocommit in (False, True):
            with psycopg.connect(uri, autocommit=autocommit, prepare_threshold=None) as own:
                client.errors.record([failing(entity)], tx=own)
                assert own.execute("select current_user").fetchone() == (server.app,)
        with psycopg.connect(uri, prepare_threshold=None) as own:
            assert client.errors.blocked_locking([entity, other], tx=own) == {entity}
            with pytest.raises(ValueError, match="x") as caught, failures(client, DOL, outreach_id=other):
                raise ValueError("x")
    assert "around that transaction" in caught.value.__notes__[0]


def test_a_right_that_is_missing_on_ones_own_table_names_role_table_and_page(client: Client, program: Program) -> None:
    """Written as an authority of Recoup, somebody's own table is out of reach: the refusal says what helps."""
    with pytest.raises(LawRefused) as refused, client.transaction(Authority.HUB) as tx:
        tx.execute("insert into app.promoted values (gen_random_uuid())")
    assert "recoup_hub" in refused.value.happened
    assert "GRANT USAGE ON SCHEMA app TO recoup_hub" in refused.value.next_step
    assert "docs/howto/ask-before-you-promote.md" in refused.value.next_step
    with program.connect() as own:
        own.execute("grant usage on schema app to recoup_hub")
    with pytest.raises(LawRefused, match="table promoted") as refused, client.transaction(Authority.HUB) as tx:
        tx.execute("insert into app.promoted values (gen_random_uuid())")
    assert "ON promoted TO recoup_hub" in refused.value.next_step
