"""The schema under version control is the schema that migrations make; and it explains itself."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable, Iterator

import pytest

from recoup.database import embedded
from recoup.database.connection import Transaction, connect
from recoup.database.roles import OWNER
from recoup.domains import DOMAINS
from recoup.schema.describe import SCHEMA_FILE, describe
from recoup.settings import Settings

OURS = "select oid from pg_namespace where nspowner = 'recoup_owner'::regrole"
TABLES = "relkind in ('r', 'p', 'v', 'm') and relowner = 'recoup_owner'::regrole"


@pytest.fixture(scope="module")
def connection(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Transaction]:
    """A superuser's connection to a freshly migrated database with the real clock."""
    name = new_database(simulated_from=None)
    with contextlib.closing(connect(server.uri(name, admin=True), settings)) as connection:
        yield connection


def test_the_schema_file_is_what_migrations_make(connection: Transaction) -> None:
    """On every supported version, to the letter: whoever changes the schema shows the change to the reviewer."""
    kept = SCHEMA_FILE.read_text(encoding="utf-8")
    made = describe(connection)
    changes = difflib.unified_diff(
        kept.splitlines(), made.splitlines(), SCHEMA_FILE.name, "a freshly migrated database", lineterm="", n=1
    )
    assert made == kept, "\n".join(
        [f"{SCHEMA_FILE.name} is not what the migrations make. Write it anew with `make schema`.", *changes]
    )


def test_the_clock_makes_no_difference(connection: Transaction, admin: Transaction) -> None:
    """A simulated database has the same schema, but for a body that is left out for that reason."""
    assert describe(admin, as_shipped=DOMAINS) == describe(connection)


def test_describing_changes_nothing(connection: Transaction) -> None:
    """It may be called inside a transaction, whose settings stay as they were."""
    with connection.transaction():
        connection.execute("set local search_path = cl, recoup")
        inside = describe(connection)
        assert connection.execute("show search_path").fetchone() == ("cl, recoup",)
    assert inside == describe(connection)
    assert "comment on table" not in describe(connection, owner="nobody_of_that_name")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("alter table cl.gate_zero_air disable trigger a_append_only", "disable trigger a_append_only;"),
        ("alter table cl.gate_zero_air enable trigger a_append_only", None),
        ("grant delete on cl.gate_zero_air to recoup_gate", "grant delete on table cl.gate_zero_air to recoup_gate;"),
        ("grant select (seq) on cl.gate_zero_air to public", "grant select (seq) on table cl.gate_zero_air to public;"),
        ("grant select on cl.gate_zero_air to recoup_hub with grant option", "recoup_hub with grant option;"),
        ("revoke select on cl.gate_zero_air from recoup_reader", None),
        ("grant execute on function recoup.present_incarnation() to public", "recoup.present_incarnation() to public;"),
        ("alter table cl.gate_zero_air owner to recoup_admin", "alter table cl.gate_zero_air owner to recoup_admin;"),
        ("alter function recoup.append_only() owner to recoup_admin", "append_only() owner to recoup_admin;"),
        ("alter table cl.gate_zero_air alter column actor set default 'ai'", "actor text default 'ai'::text,"),
        ("alter table cl.gate_zero_air alter column batch_id set not null", "batch_id text not null,"),
        ("alter table cl.gate_zero_air drop constraint gate_zero_air_seq_key", None),
        ("alter table cl.gate_zero_air set (fillfactor = 70)", ") with (fillfactor=70);"),
        ("drop index cl.gate_zero_air_fail", None),
        ("comment on index cl.gate_zero_air_fail is 'Odd.'", "comment on index cl.gate_zero_air_fail is 'Odd.';"),
        ("comment on column cl.gate_zero_air.seq is null", None),
        ("alter sequence recoup.event_seq cache 7", "start 1 cache 7;"),
        ("alter function recoup.append_only() security definer", "SECURITY DEFINER"),
        ("alter function cl.record_batch_moves() reset search_path", None),
        ("create type recoup.mood as enum ('well')", "-- also: type recoup.mood"),
        ("create policy odd on recoup.clock", "create policy odd on recoup.clock as permissive for all to public;"),
        ("create view recoup.odd as select 1 as one", "create view recoup.odd (\n  one integer\n) as -- query "),
        ("alter table public.shq_error_log disable trigger a_guard_exits", "disable trigger a_guard_exits;"),
        ("alter table public.shq_error_log alter column severity set default 'LOW'", "severity text default 'LOW'"),
        ("alter table public.shq_error_log add constraint odd check (retry_count = 0)", "odd CHECK (retry_count = 0)"),
        ("grant update on public.shq_error_log to recoup_hub", "update on table public.shq_error_log to recoup_hub;"),
        ("drop index public.shq_error_log_open", None),
        ("drop index recoup.error_leaving", None),
        ("alter table public.shq_error_log owner to recoup_admin", None),
        ("alter table recoup.error detach partition public.shq_error_log", None),
        ("create policy odd on public.shq_error_log", "create policy odd on public.shq_error_log as permi"),
        ("create rule odd as on delete to public.shq_error_log do instead nothing", "-- also: rule odd on public.shq_"),
        ("create table public.more (); alter table public.more owner to recoup_owner", "create table public.more ("),
        ("create table recoup.t (k text) partition by list (k); create table recoup.p partition of recoup.t default",
         "partition of recoup.t DEFAULT;"),
    ],
)  # fmt: skip
def test_every_kind_of_change_shows(connection: Transaction, change: str, line: str | None) -> None:
    """What is not in the description could be changed, or lost in a restore, without anybody noticing."""
    with connection.transaction(force_rollback=True):
        before = describe(connection)
        connection.execute(change.encode())
        after = describe(connection)
    assert after != before
    if line is not None:
        assert after.count(line) > before.count(line)


def test_every_table_and_column_has_a_comment(connection: Transaction) -> None:
    """The database explains itself to whoever opens it with another tool."""
    silent = connection.execute(f"""
        select c.oid::regclass::text || coalesce('.' || a.attname, '')
          from pg_class c
          left join lateral (select 0 as attnum, null as attname union all
                             select attnum, attname from pg_attribute
                              where attrelid = c.oid and attnum > 0 and not attisdropped
                                and not c.relispartition) a on true  -- a partition's are its parent's
         where {TABLES}
           and coalesce(case a.attnum when 0 then obj_description(c.oid, 'pg_class')
                                      else col_description(c.oid, a.attnum) end, '') = ''
        union all
        select oid::regprocedure::text from pg_proc
         where pronamespace in ({OURS}) and coalesce(obj_description(oid, 'pg_proc'), '') = ''
        union all
        select nspname::text from pg_namespace
         where oid in ({OURS}) and coalesce(obj_description(oid, 'pg_namespace'), '') = ''
    """).fetchall()
    assert not silent, f"without a comment: {', '.join(name for (name,) in silent)}"


def test_all_of_it_belongs_to_the_owner(connection: Transaction) -> None:
    """And whatever the owner has is in the description, also in schemas of others."""
    text = describe(connection)
    assert f"create schema recoup authorization {OWNER};" in text
    lines = [line for line in text.splitlines() if " owner to " in line]
    assert lines
    assert all(line.startswith("alter table public.") and line.endswith(f" owner to {OWNER};") for line in lines)
    owned = connection.execute(
        "select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace"
        f" where {TABLES}"
    ).fetchall()
    assert "public.shq_error_log" in {name for (name,) in owned}
    assert [name for (name,) in owned if f" {name} (\n" not in text] == []
