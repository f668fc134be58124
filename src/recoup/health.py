"""What ``recoup doctor`` looks at: each check is a function that finds something, or finds it well."""

from __future__ import annotations

import contextlib
import difflib
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import psycopg

from recoup.database import access
from recoup.database.connection import Transaction, connect, where
from recoup.database.describe import SCHEMA_FILE, describe
from recoup.database.migrate import check_schema, lifecycle_rows
from recoup.database.roles import OWNER
from recoup.lifecycles.declaration import Authority
from recoup.lifecycles.registry import LIFECYCLES
from recoup.refusals import Refusal
from recoup.settings import Settings, load

DISK_LEAST_BYTES = 1_000_000_000
OPEN_TRANSACTION_LONG_S = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One check: well, worth a look, or broken; and what to do about it."""

    check: str
    verdict: str  # well, look, broken
    found: str
    next_step: str = ""


def examine(*, demo: bool = False) -> list[Finding]:
    """Run the checks in order. What a later one needs and an earlier one found broken is not tried."""
    findings: list[Finding] = []
    try:
        settings = load()
        findings.append(Finding(check="settings", verdict="well", found="all known and within bounds"))
        uri = _server(settings, demo=demo, findings=findings)
        with contextlib.closing(connect(uri, settings)) as connection:
            version = connection.info.server_version
            found = f"PostgreSQL {version // 10000}.{version % 10000} at {where(uri)}"
            findings.append(Finding(check="server", verdict="well", found=found))
            check_schema(connection)
            findings.append(Finding(check="schema", verdict="well", found="the one this program knows"))
            for check in CHECKS:
                findings.extend(check(connection))
    except Refusal as refusal:
        check_name = _NAMES[len(findings)] if len(findings) < len(_NAMES) else "checks"
        findings.append(
            Finding(check=check_name, verdict="broken", found=refusal.happened, next_step=refusal.next_step)
        )
    return findings


_NAMES = ("settings", "server", "schema")


def _server(settings: Settings, *, demo: bool, findings: list[Finding]) -> str:
    uri = access.uri(settings, demo=demo)
    if settings.dsn is None:
        free = shutil.disk_usage(settings.home).free
        if free < DISK_LEAST_BYTES:
            findings.insert(
                0,
                Finding(
                    check="disk",
                    verdict="look",
                    found=f"{free:,} bytes are left where {settings.home} stands",
                    next_step="Make room: a full disk stops the server.",
                ),
            )
    return uri


def _login(connection: Transaction) -> Iterator[Finding]:
    """The everyday login may take every authority, inherits none, and is not the owner."""
    missing = [a.value for a in Authority if not _may_become(connection, a.role)]
    if missing:
        yield Finding(
            check="login",
            verdict="broken",
            found=f"{connection.info.user} may not act as {', '.join(missing)}",
            next_step="Run recoup migrate with RECOUP_ADMIN_DSN set to a login that may grant roles.",
        )
        return
    (superuser, inherits, owner) = connection.execute(
        "select r.rolsuper, pg_has_role(r.oid, %s, 'usage'), pg_has_role(r.oid, %s, 'member')"
        " from pg_roles r where r.rolname = current_user",
        (Authority.GATE.role, OWNER),
    ).fetchone() or (False, False, False)
    if superuser or owner:
        yield Finding(
            check="login",
            verdict="look",
            found=f"{connection.info.user} is {'a superuser' if superuser else 'a member of ' + OWNER}: it could"
            " switch the guards off",
            next_step="Use a plain login for everyday work, and RECOUP_ADMIN_DSN for migrations.",
        )
    elif inherits:
        yield Finding(
            check="login",
            verdict="look",
            found=f"{connection.info.user} has the rights of every authority without taking one",
            next_step=f"ALTER ROLE {connection.info.user} NOINHERIT;",
        )
    else:
        yield Finding(check="login", verdict="well", found=f"{connection.info.user} takes authorities, and has none")


def _may_become(connection: Transaction, role: str) -> bool:
    try:
        with connection.transaction(force_rollback=True):
            connection.execute("select set_config('role', %s, true)", (role,))
    except psycopg.errors.InsufficientPrivilege:
        return False
    return True


def _guards(connection: Transaction) -> Iterator[Finding]:
    """Every guarded table, and every partition of one, has its four guards, always on."""
    rows = _read(
        connection,
        """
        select l.subject, t.relid::regclass::text
          from recoup.lifecycle l
         cross join lateral (select to_regclass(l.subject) as relid
                             union select relid from pg_partition_tree(to_regclass(l.subject))) t
         cross join unnest(array['a_guard_births', 'a_guard_moves', 'a_guard_exits', 'a_guard_truncate']) guard (name)
         where not exists (select from pg_trigger g
                            where g.tgrelid = t.relid and g.tgname = guard.name and g.tgenabled = 'A')
         group by 1, 2 order by 1, 2
        """,
    )
    if rows:
        tables = ", ".join(str(row[1] or row[0]) for row in rows)
        yield Finding(
            check="guards",
            verdict="broken",
            found=f"missing or switched off on {tables}",
            next_step="Find out who did it and what was written meanwhile; then reinstall them:"
            " delete from recoup.routine, and run recoup migrate.",
        )
    else:
        yield Finding(check="guards", verdict="well", found="on every guarded table, always on")


def _roles(connection: Transaction) -> Iterator[Finding]:
    """Owner and authorities are what a transaction becomes, not somebody: they log in nowhere and rule over nothing."""
    rows = connection.execute(
        "select rolname from pg_roles where rolname = any(%s)"
        " and (rolsuper or rolcanlogin or rolcreaterole or rolbypassrls or rolreplication) order by 1",
        ([OWNER, *(authority.role for authority in Authority)],),
    ).fetchall()
    if rows:
        names = ", ".join(row[0] for row in rows)
        yield Finding(
            check="roles",
            verdict="broken",
            found=f"may log in, or have rights over the server: {names}",
            next_step=f"ALTER ROLE {rows[0][0]} NOLOGIN NOSUPERUSER NOCREATEROLE NOBYPASSRLS NOREPLICATION;",
        )
    else:
        yield Finding(check="roles", verdict="well", found="owner and authorities log in nowhere")


def _children(connection: Transaction) -> Iterator[Finding]:
    """A table that inherits from a log is read with it, and has none of its triggers."""
    rows = connection.execute(
        "select i.inhrelid::regclass::text from pg_inherits i join pg_class p on p.oid = i.inhparent"
        " join pg_namespace s on s.oid = p.relnamespace join pg_roles o on o.oid = s.nspowner"
        " where o.rolname = %s and p.relkind = 'r' order by 1",
        (OWNER,),
    ).fetchall()
    if rows:
        yield Finding(
            check="children",
            verdict="broken",
            found=f"tables inherit from ours: {', '.join(row[0] for row in rows)}",
            next_step="Their rows pass for ours, unguarded. Find out who made them; ALTER TABLE … NO INHERIT.",
        )
    else:
        yield Finding(check="children", verdict="well", found="no table inherits from ours")


def _objects(connection: Transaction) -> Iterator[Finding]:
    """Tables, constraints, triggers, functions and grants are what this program made."""
    expected = SCHEMA_FILE.read_text(encoding="utf-8").splitlines()
    found = describe(connection, as_shipped=True).splitlines()
    changes = [
        line for line in difflib.unified_diff(expected, found, lineterm="", n=0) if line[:3] not in ("---", "+++")
    ]
    lines = [line for line in changes if not line.startswith("@@")]
    if lines:
        yield Finding(
            check="objects",
            verdict="broken",
            found=f"{len(lines)} lines differ from what was made (+ new, - missing), first: {lines[0].strip()[:200]}",
            next_step="Find out who changed the schema by hand, and put it back.",
        )
    else:
        yield Finding(check="objects", verdict="well", found="tables, constraints, functions and grants as made")


def _lifecycles(connection: Transaction) -> Iterator[Finding]:
    """What the guard reads is what this program declares."""
    declared = lifecycle_rows(LIFECYCLES)
    same = all(
        _read(
            connection,
            f"select not exists ((table recoup.{table} except select * from given)"
            f" union all (select * from given except table recoup.{table}))"
            f" from (select) x",
            table,
            declared[table],
        )
        == [(True,)]
        for table in ("lifecycle", "lifecycle_step")
    )
    yield Finding(
        check="lifecycles",
        verdict="well" if same else "broken",
        found="as declared" if same else "the guard's tables differ from the declaration",
        next_step="" if same else "Run: recoup migrate",
    )


def _clock(connection: Transaction) -> Iterator[Finding]:
    ((status, now),) = _read(connection, "select status, recoup.now() from recoup.clock")
    yield Finding(check="clock", verdict="well", found=f"{status}, {now:%Y-%m-%d %H:%M:%S} UTC")


def _waiting(connection: Transaction) -> Iterator[Finding]:
    """A transaction that stays open for long keeps old rows alive and holds its locks."""
    ((longest,),) = connection.execute(
        "select coalesce(extract(epoch from max(clock_timestamp() - xact_start)), 0)::bigint"
        " from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"
    ).fetchall()
    if longest > OPEN_TRANSACTION_LONG_S:
        yield Finding(
            check="transactions",
            verdict="look",
            found=f"one has been open for {longest // 60} minutes",
            next_step="Look for it in pg_stat_activity, and end it if nobody waits for it.",
        )
    else:
        yield Finding(check="transactions", verdict="well", found="none open for long")


def _batches(connection: Transaction) -> Iterator[Finding]:
    """A batch that nobody declares complete is never frozen."""
    found = _read(
        connection,
        "select batch_id, imported_at from cl.gate_zero_batch where completed_at is null and imported_at <= ("
        " select recoup.now() - make_interval(hours => 24 * (figures -> 'gate' ->> 'batch_open_alert_days')::integer)"
        "   from recoup.policy order by version desc limit 1) order by imported_at limit 1",
    )
    if found:
        ((batch, imported_at),) = found
        yield Finding(
            check="batches",
            verdict="look",
            found=f"batch {batch}, imported {imported_at:%Y-%m-%d}, is not declared complete: it is never frozen",
            next_step=f"When everything is in: recoup gate complete {batch}",
        )
    else:
        yield Finding(check="batches", verdict="well", found="none waits for its completion for long")


def _error_tables(connection: Transaction) -> Iterator[Finding]:
    """A table that the policy lists takes no errors before a migration has made it."""
    missing = _read(
        connection,
        "select k from jsonb_object_keys(recoup.error_policy() -> 'tables') k where to_regclass(k) is null order by k",
    )
    names = ", ".join(str(name) for (name,) in missing)
    yield Finding(
        check="error tables",
        verdict="look" if missing else "well",
        found=f"not made yet: {names}" if missing else "all of the policy's are made",
        next_step="Run: recoup migrate" if missing else "",
    )


def _read(
    connection: Transaction, query: str, table: str | None = None, given: list[dict[str, object]] | None = None
) -> list[tuple[object, ...]]:
    """Rows as the reader sees them; ``given`` stands in the query as rows of a table of ours."""
    with connection.transaction(force_rollback=True):
        connection.execute("select set_config('role', %s, true)", (Authority.READER.role,))
        if table is None:
            return connection.execute(query).fetchall()
        prefix = f"with given as (select * from jsonb_populate_recordset(null::recoup.{table}, %s::jsonb)) "
        return connection.execute(prefix + query, (json.dumps(given),)).fetchall()


CHECKS: tuple[Callable[[Transaction], Iterator[Finding]], ...] = (
    _login,
    _roles,
    _guards,
    _children,
    _objects,
    _lifecycles,
    _clock,
    _waiting,
    _batches,
    _error_tables,
)
