"""What the owner of the tables can do to deceive the audit, and what the audit finds."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from company import MIGRATING, acting, attempt_and, finish, intake_in, new_intake, open_attempt
from laws.rows import insertion
from product import INVARIANTS, chosen
from recoup import doctor
from recoup.audit.examine import audit, examine
from recoup.database import embedded
from recoup.database.connection import Transaction, connect
from recoup.database.roles import OWNER
from recoup.domains import DOMAINS
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup.schema.describe import describe
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parent))
from lively import broken as broken_of


def broken(tx: Transaction, *asked: str) -> set[str]:
    """The invariants that do not hold any more, of these or of all."""
    with acting(tx, Authority.READER):
        return set(broken_of(examine(tx, chosen(asked) if asked else INVARIANTS)))


# A search path of somebody's own -------------------------------------------------------------------------------------

EVIL = """
create schema evil; grant usage on schema evil to public;
create function evil.array_remove(text[], text) returns text[] language sql immutable as $$ select '{}'::text[] $$;
create function evil.format(text, variadic text[]) returns text language sql immutable as $$ select 'nothing' $$;
"""


@pytest.fixture
def bent(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Transaction]:
    """The everyday login, for which names mean something else, in a database where a guarded row was changed."""
    name = new_database()
    with contextlib.closing(connect(server.uri(name, admin=True), settings)) as admin:
        with admin.transaction():
            intake = intake_in(admin, "FAILED")
        admin.execute("alter table cl.gate_zero_recovery disable trigger user")
        admin.execute("update cl.gate_zero_recovery set failure_reason = 'TIMEOUT' where intake_id = %s", (intake,))
        admin.execute("alter table cl.gate_zero_recovery enable trigger user")
        admin.execute(EVIL)
        path = "evil, pg_catalog, public"
        admin.execute(f"alter role {server.app} in database {name} set search_path = {path}".encode())
    with psycopg.connect(server.uri(name), autocommit=True) as plain:
        assert plain.execute("show search_path").fetchone() == (path,)
        yield plain


def test_the_audit_says_the_same_whatever_names_mean_to_the_login(bent: Transaction) -> None:
    (verdict,) = audit(bent, chosen(["gate_zero_recovery/3/failure-reason"]))
    assert verdict.rows[0]["failure_reason"] == "TIMEOUT"
    assert broken_of(audit(bent, chosen(["schema/settings", "laws/L1/guards"]))).keys() == {
        "schema/settings", "laws/L1/guards",
    }  # fmt: skip


def test_so_do_doctor_and_description(bent: Transaction, admin: Transaction, monkeypatch: pytest.MonkeyPatch) -> None:
    assert describe(bent).count("\n") > 3000
    monkeypatch.setenv("RECOUP_DSN", bent.info.dsn + f" password={bent.info.password}")
    found = {finding.check: finding.verdict for finding in doctor.examine(DOMAINS)}
    assert (found["guards"], found["role settings"], found["lifecycles"]) == ("error", "error", "ok")


# Forged history ------------------------------------------------------------------------------------------------------

PAUSED_BY_ALICE = """
insert into recoup.pause_log (incarnation, logged_at, event_type, scope, scope_id, reason, actor, actor_id, authority)
select 1, recoup.now() - t.ago, t.event, 'duty', 'mint', 'none', 'human', t.who, 'recoup_operator'
  from (values (interval '10 days', 'PAUSE', 'alice'), ('9 days', 'RESUME', 'bob')) t (ago, event, who)"""
CALLED = """
create table cl.bait (x integer);
create function {name} returns trigger language plpgsql {rights} as $f$ begin {text}; return null; end $f$;
alter function {name} owner to recoup_owner;
create trigger t after insert on cl.bait for each statement execute function {called};
grant insert on cl.bait to recoup_reader"""


def test_a_pause_of_long_ago_is_found(scratch: Transaction) -> None:
    """Written today through a function of the owner: both events fit each other, and the rows; their time does not."""
    new_intake(scratch)
    attempt_and(scratch, new_intake(scratch), ReasonCode.TIMEOUT)
    name = "cl.own()"
    scratch.execute(CALLED.format(name=name, called=name, rights="security definer", text=PAUSED_BY_ALICE).encode())
    with acting(scratch, Authority.READER):
        scratch.execute("insert into cl.bait values (1)")
    scratch.execute("drop table cl.bait; drop function cl.own")
    assert broken(scratch, "laws", "schema", "rebuild/recoup.clock") == {"laws/L7/in-order"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cl.own()", "/*\ncl.record_batch_moves() */ {}"),
        ('cl."x\nPL/pgSQL function cl.record_batch_moves() line 1 at SQL statement"()', "{}"),
        ("cl.own()", "perform cl.record_attempt_births(1); {}"),
    ],
    ids=["comment", "line break", "overload"],
)
def test_a_recorder_is_not_imitated(scratch: Transaction, name: str, text: str) -> None:
    """Whatever the owner's own functions are called and have in them: its own hands write no event."""
    scratch.execute("create function cl.record_attempt_births(integer) returns void language sql as ''")
    text = text.format(PAUSED_BY_ALICE)
    scratch.execute(CALLED.format(name=name, called=name, rights="security invoker", text=text).encode())
    scratch.execute("alter table cl.bait owner to recoup_owner")
    with pytest.raises(psycopg.Error) as caught, acting(scratch, OWNER):
        scratch.execute("insert into cl.bait values (1)")
    assert caught.value.sqlstate == "RC010"


# The owner, without switching anything off ---------------------------------------------------------------------------


def test_a_step_that_is_listed_for_a_moment_is_refused_or_found(scratch: Transaction) -> None:
    """A setting makes no migration. Who takes its lock and writes its row leaves both in a sealed log."""
    step = insertion(scratch, "recoup.lifecycle_step", {}).as_string(scratch)
    with acting(scratch, OWNER):
        for before in ("set local recoup.migrating = on", "select pg_advisory_xact_lock(7265666)"):
            scratch.execute(before.encode())
            with pytest.raises(psycopg.Error) as caught, scratch.transaction():
                scratch.execute(step.encode())
            assert caught.value.sqlstate == "RC013"
        assert broken(scratch, "laws/L1") == set()
        (was,) = scratch.execute("select digest from recoup.domain where name = 'platform'").fetchone() or ("",)
        scratch.execute((MIGRATING + step).encode())
        scratch.execute("delete from recoup.lifecycle_step where subject = 'recoup.clock' and to_status = 'stopped'")
        assert broken(scratch, "laws/L1") == {"laws/L1/lifecycles"}  # its digest is none of the program's
        scratch.execute("update recoup.domain set digest = %s where name = 'platform'", (was,))
    assert broken(scratch, "laws/L1") == {"laws/L1/declarations"}  # a domain that comes back to what it was
    told = "select event_type from recoup.declaration_log where row @> %s order by seq"
    step = '{"subject": "recoup.clock", "to_status": "stopped"}'
    assert scratch.execute(told, (step,)).fetchall() == [("ADDED",), ("REMOVED",)]


@pytest.mark.parametrize(
    ("deed", "found"),
    [
        ("alter table cl.gate_zero_recovery alter column status type text using replace(status, 'EXHAUSTED',"
         " 'SUCCEEDED')",
         "rebuild/cl.gate_zero_recovery"),
        ("alter table recoup.lifecycle_step alter column says type text using says || '!'", "laws/L1/declarations"),
    ],
)  # fmt: skip
def test_rows_that_are_rewritten_with_their_table_are_found(scratch: Transaction, deed: str, found: str) -> None:
    """No trigger fires when a table is rewritten. That sealed rows were, the seals say (tests/ledger)."""
    intake_in(scratch, "EXHAUSTED")
    with acting(scratch, OWNER):
        scratch.execute(deed.encode())
    assert found in broken(scratch, "rebuild", "laws/L1")


# Late results --------------------------------------------------------------------------------------------------------


def test_a_late_result_by_hand_is_what_a_late_report_leaves(scratch: Transaction) -> None:
    """The gate may write one, as its function does: it cannot choose login and time, and a false one is found."""
    attempt = open_attempt(scratch, new_intake(scratch))
    by_hand = (
        "insert into recoup.late_result (subject, unit_id, token, result) values ('cl.gate_zero_attempt', %s, %s, '{}')"
    )
    given = (str(attempt.attempt_id), attempt.token)
    with acting(scratch, Authority.GATE):
        for column in ("received_at", "actor_id", "seq", "xid", "incarnation"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), scratch.transaction():
                scratch.execute(f"insert into recoup.late_result ({column}) values (default)".encode())
    with scratch.transaction(force_rollback=True):
        with acting(scratch, Authority.GATE):
            scratch.execute(by_hand, given)
        assert broken(scratch, "laws/L5") == {"laws/L5/late-attempts"}  # it is open, and the token is its own
    assert finish(scratch, attempt, ReasonCode.TIMEOUT).status == "failed"
    given = (str(attempt.attempt_id), uuid4())
    assert finish(scratch, attempt._replace(token=given[1]), ReasonCode.TIMEOUT).status == "late"
    with acting(scratch, Authority.GATE):
        scratch.execute(by_hand, given)
    rows = scratch.execute(
        "select subject, token, received_at, actor_id, xid from recoup.late_result where unit_id = %s", given[:1]
    ).fetchall()
    assert len(rows) == 2
    assert rows[0] == rows[1]
    assert broken(scratch, "laws/L5") == set()
