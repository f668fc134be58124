"""The ground for errors: raw's twins of the error tables, their archives and their log, and the rows to work on.

Raw is partitioned as ours is, by table, its archive by table and month; with the same checks, indexes and fill factor,
and no triggers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from psycopg.sql import SQL, Identifier

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors.tables import insert_only, is_global
from recoup.policy import document
from recoup.policy.errors import Errors
from recoup_bench.ground import Ground
from recoup_bench.workload import OURS, RAW

Q = load("recoup_bench", "error_ground.sql")
FILLED = ("recoup.error", "recoup.error_event")  # through the parent, so that the triggers of partitions do not run
BLOCKING = ("outreach.dol_errors", "outreach.company_target_errors", "people.people_errors")


def policy() -> Errors:
    """What a scratch database goes by: the figures that Recoup comes with."""
    return document.default().errors


def twin_tables(ground: Ground) -> None:
    """Make raw's side. A table of raw has the name of ours, in schema raw."""
    execute = ground.admin.execute
    execute("create schema raw")
    execute("create table raw.error_event (like recoup.error_event including all)")
    execute("create table raw.error (like recoup.error including all) partition by list (error_table)")
    execute("create table raw.error_archive (like recoup.error_archive including all) partition by list (error_table)")
    for name, table in policy().tables.items():
        raw, open_ = in_raw(name), Identifier(f"{name.split('.')[1]}_open")
        execute(Q["make"].format(raw=raw, name=name))
        execute(Q["index"].format(raw=raw, open=open_, unique=SQL("" if insert_only(table) else "unique")))
        if not is_global(name):
            execute(Q["need_entity"].format(raw=raw))
        execute(Q["make_archive"].format(archive=in_raw(f"{name}_archive"), name=name))


def make_months(ground: Ground, table: str) -> None:
    """Raw's archive of this month and the next, which ours makes by itself; nobody knows when a run is over."""
    for (month,) in ground.admin.execute(Q["months"]).fetchall():
        name = f"{table}_archive"
        ground.admin.execute(
            Q["make_month"].format(archive=in_raw(name), part=in_raw(f"{name}_{month:%Y%m}"), month=str(month))
        )


def in_raw(table: str) -> Identifier:
    """Raw's twin of an error table."""
    return Identifier("raw", table.split(".")[1])


@contextlib.contextmanager
def filling(ground: Ground, *, lean: bool = False) -> Iterator[Transaction]:
    """A transaction in which errors are put into ours by plain SQL. Lean: millions of them, and no WAL."""
    with ground.unguarded(FILLED) as tx:
        parts = tx.execute(Q["partitions"]).fetchall() if lean else []
        for schema, table in parts:
            tx.execute(SQL("alter table {} set unlogged").format(Identifier(schema, table)))
            # An index that is not ready is not written to; it is built at the end, at once.
            tx.execute(Q["rest_indexes"], {"table": f"{schema}.{table}"})
        yield tx
        for schema, table in parts:
            tx.execute(SQL("reindex table {}").format(Identifier(schema, table)))


def fill(ground: Ground, query: SQL, given: Mapping[str, Any], *, raw: bool = True) -> None:
    """Put errors into ours, with the events of their births, and copy them to raw in the same order."""
    (last,) = ground.admin.execute(Q["last_error"]).fetchone() or (0,)
    with filling(ground) as tx:
        tx.execute(query, given)
        tx.execute(Q["fill_births"], {"after": last})
    for table in ("error", "error_event") if raw else ():
        columns = ground.columns(f"recoup.{table}")
        ground.admin.execute(
            Q["copy"].format(raw=Identifier("raw", table), ours=Identifier("recoup", table), columns=columns),
            {"after": last},
        )


def tidy(ground: Ground, *, raw: bool = True) -> None:
    """Vacuum and analyse both sides alike."""
    for schema in ("recoup", "raw") if raw else ("recoup",):
        for table in ("error", "error_event", "error_archive"):
            ground.vacuum(Identifier(schema, table))


def tallies(ground: Ground) -> Mapping[str, Mapping[str, int]]:
    """Errors, archived ones and events of both sides, by what they must agree on."""
    return {OURS: _tally(ground.admin, "recoup"), RAW: _tally(ground.admin, "raw")}


def _tally(connection: Transaction, schema: str) -> Mapping[str, int]:
    tables = ("error", "error_archive", "error_event")
    rows = connection.execute(Q["tally"].format(**{table: Identifier(schema, table) for table in tables}))
    return dict(rows.fetchall())
