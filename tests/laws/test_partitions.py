"""What holds for a table holds for its parts: a statement that names a part fires the triggers of that part alone."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest
from psycopg.sql import SQL

from company import (
    ERRORS,
    MASTER_LOG,
    acting,
    advance,
    claimed_error,
    error_in,
    new_error,
    room_in_archive,
    without_window,
)
from laws.probing import REPLICATED
from laws.rows import NOW, insertion, put, relation
from recoup.database.connection import Transaction
from recoup.database.roles import OWNER
from recoup.errors.lifecycle import ERROR
from recoup.errors.policy import ErrorPolicy
from recoup.lifecycles.declaration import Authority

NO_RIGHT = "42501"
ACTORS: tuple[Authority | str | None, ...] = (*Authority, OWNER, None)
ARCHIVES = "recoup.error_archive"
LEVELS = {  # the archives of all tables, of one, and the month in which there is something
    "all": f"select '{ARCHIVES}'",
    "table": f"select '{ERRORS}_archive'",
    "month": f"select tableoid::regclass::text from {ARCHIVES} order by error_id desc limit 1",
}
TRIGGERS = """
  select format('%%I.%%I', n.nspname, c.relname), p.level, array(
           select format('%%s %%s %%s %%s', t.tgname, t.tgfoid::regproc, t.tgenabled,
                         row(t.tgtype, t.tgargs, t.tgoldtable, t.tgnewtable))
             from pg_trigger t where t.tgrelid = p.relid and not t.tgisinternal order by t.tgname)
    from pg_partition_tree(%s) p
    join pg_class c on c.oid = p.relid
    join pg_namespace n on n.oid = c.relnamespace
   order by p.level, 1
"""


def said(tx: Transaction, statement: object) -> str:
    """What the database answers to a statement, which is undone."""
    try:
        with tx.transaction(force_rollback=True):
            tx.execute(statement)  # type: ignore[call-overload]
    except psycopg.Error as error:
        return error.sqlstate or "?"
    return "done"


@pytest.fixture
def archived(scratch: Transaction) -> Transaction:
    """There is a month of an archive with an error in it, and an error that is kept for ever."""
    error = error_in(scratch, "RESOLVED")
    room_in_archive(scratch, error)
    with acting(scratch, Authority.ARCHIVER):
        assert scratch.execute("delete from recoup.error where error_id = %s", (error,)).rowcount == 1
    new_error(scratch, table=MASTER_LOG, want=None)
    return scratch


@pytest.mark.parametrize("root", ["recoup.error", "recoup.error_archive"])
def test_every_part_has_the_triggers_of_the_whole(archived: Transaction, root: str) -> None:
    """Those and always on, or for what is replicated; only what is kept for ever has two more."""
    found = archived.execute(TRIGGERS, (root,)).fetchall()
    (_, level, whole), *parts = found
    assert level == 0
    assert whole
    assert len(parts) > 5
    assert {level for _, level, _ in parts} == ({1} if root == "recoup.error" else {1, 2})
    for part, _, triggers in parts:
        more = set(triggers) - set(whole)
        assert set(whole) <= set(triggers), part
        assert {one.split()[1] for one in more} == ({"recoup.append_only"} if part == MASTER_LOG else set()), part
        assert {one.split()[1] for one in triggers if one.split()[2] != "A"} == {REPLICATED}, part
        assert all(one.split()[2] == "R" for one in triggers if one.split()[1] == REPLICATED), part


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("actor", ACTORS)
def test_an_archive_is_closed_at_every_level(archived: Transaction, level: str, actor: Authority | str | None) -> None:
    """Nobody writes to it, changes it or empties it by hand: neither the whole, nor a table's, nor a month's."""
    (table,) = archived.execute(LEVELS[level].encode()).fetchone() or ("",)
    into = insertion(archived, ARCHIVES, {"archived_at": NOW}).as_string(archived)
    into = into.replace('"recoup"."error_archive"', table, 1)
    written, changed = (NO_RIGHT, NO_RIGHT) if isinstance(actor, Authority) else ("RC010", "RC009")
    with acting(archived, actor):
        assert said(archived, into) == written
        assert said(archived, f"do $$ begin {into}; end $$") == written
        assert said(archived, f"update {table} set archived_by = 'x'") == changed
        assert said(archived, f"delete from {table}") == changed
        assert said(archived, f"truncate {table}") == changed


@pytest.mark.parametrize("actor", ACTORS)
@pytest.mark.parametrize("table", ["recoup.error", MASTER_LOG])
def test_what_is_kept_for_ever_stays_as_it_is(archived: Transaction, table: str, actor: Authority | str | None) -> None:
    """By whoever, the archiver included, and whichever of its names it is called by."""
    mine = f"where error_table = '{MASTER_LOG}'"
    # Through the whole, some authorities may update and one may delete: the rows answer.
    may_update = {move.authority for move in ERROR.moves} | {Authority.ARCHIVER}
    privileged = not isinstance(actor, Authority)
    whole = table == "recoup.error"
    with acting(archived, actor):
        updated = said(archived, f"update {table} set updated_at = updated_at {mine}")
        deleted = said(archived, f"delete from {table} {mine}")
        truncated = said(archived, f"truncate {table}")
    assert updated == ("RC009" if privileged or (whole and actor in may_update) else NO_RIGHT)
    assert deleted == ("RC009" if privileged or (whole and actor is Authority.ARCHIVER) else NO_RIGHT)
    assert truncated in (("RC008", "RC009") if privileged else (NO_RIGHT,))


@pytest.mark.parametrize("table", ErrorPolicy.shipped().tables)
def test_a_row_lies_in_the_table_that_it_names(scratch: Transaction, table: str) -> None:
    """Also for whoever switches the triggers off."""
    other = ERRORS if table != ERRORS else MASTER_LOG
    scratch.execute(SQL("alter table {} disable trigger all").format(relation(table)))
    assert said(scratch, insertion(scratch, table, {"error_table": f"'{other}'"})) == "23514"
    assert put(scratch, table)["error_table"] == table


def test_an_error_leaves_and_is_archived_by_one_statement(scratch: Transaction) -> None:
    """Not before its time; then the row, the archive and the log change together, or not at all."""
    leased, kept, over = claimed_error(scratch), new_error(scratch), error_in(scratch, "RESOLVED")
    without_window(scratch, kept)
    room_in_archive(scratch, over)
    leave = "delete from recoup.error where error_id = any('{{{}}}')"
    with acting(scratch, Authority.ARCHIVER):
        assert said(scratch, leave.format(kept)) == "RC050"
        # One that may not leave holds up the whole statement.
        assert said(scratch, leave.format(f"{kept},{over}")) == "RC050"
        assert scratch.execute(leave.format(over).encode()).rowcount == 1
    advance(scratch, timedelta(days=60))
    with acting(scratch, Authority.ARCHIVER):
        assert said(scratch, leave.format(leased)) == "RC050"
        # Without room in the archive nothing leaves.
        assert said(scratch, leave.format(kept)) == "23514"
    room_in_archive(scratch, kept)
    with acting(scratch, Authority.ARCHIVER):
        assert scratch.execute(leave.format(kept).encode()).rowcount == 1
    rows = scratch.execute(
        "select a.error_id, a.status, a.archive_reason, a.was_blocking, l.event_type, l.from_status, l.to_status,"
        " l.reason from recoup.error_archive a join recoup.error_event l using (error_table, error_id)"
        " where error_id = any(%s) and event_type = 'ARCHIVED' order by error_id",
        ([kept, over],),
    ).fetchall()
    assert rows == sorted(
        [
            (kept, "ARCHIVED", "TTL_EXPIRED", True, "ARCHIVED", "RETRY_PENDING", "ARCHIVED", "TTL_EXPIRED"),
            (over, "ARCHIVED", "RESOLVED", False, "ARCHIVED", "RESOLVED", "ARCHIVED", "RESOLVED"),
        ]
    )
    assert scratch.execute("select from recoup.error where error_id = any(%s)", ([kept, over],)).rowcount == 0


def test_the_recorder_of_exits_on_a_table_of_ones_own_archives_nothing(archived: Transaction) -> None:
    """Its rows would be forged: the recorder knows its tables."""
    archived.execute("create temporary table bait (like recoup.error including defaults)")
    archived.execute(
        "create trigger t after delete on bait referencing old table as old_rows for each statement"
        " execute function recoup.archive_errors_gone()"
    )
    archived.execute(
        insertion(archived, "recoup.error", {}).as_string(archived).replace('"recoup"."error"', "bait").encode()
    )
    assert said(archived, "delete from bait") == "RC010"
