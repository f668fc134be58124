"""Health checks of the schema itself: login, roles, guards, objects, declarations, clock."""

from collections.abc import Iterator, Sequence

import psycopg

from recoup.database.connection import Transaction
from recoup.database.releases import installed
from recoup.database.roles import OWNER
from recoup.domain import Domain
from recoup.health import CheckResult, judged, read
from recoup.lifecycles.declaration import Authority
from recoup.schema import declarations
from recoup.schema.describe import SCHEMA_FILE, differences

OPEN_TRANSACTION_LONG_S = 3600


def login(connection: Transaction) -> Iterator[CheckResult]:
    """The everyday login may switch to every authority, inherits none, and is not the owner."""
    missing = [a.value for a in Authority if not _may_become(connection, a.role)]
    if missing:
        yield CheckResult(
            check="login",
            verdict="error",
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
        yield CheckResult(
            check="login",
            verdict="warning",
            found=f"{connection.info.user} is {'a superuser' if superuser else 'a member of ' + OWNER}: it could"
            " disable the guards",
            next_step="Use a plain login for everyday work, and RECOUP_ADMIN_DSN for migrations.",
        )
    elif inherits:
        yield CheckResult(
            check="login",
            verdict="warning",
            found=f"{connection.info.user} has the rights of every authority without switching to one",
            next_step=f"ALTER ROLE {connection.info.user} NOINHERIT;",
        )
    else:
        yield CheckResult(
            check="login",
            verdict="ok",
            found=f"{connection.info.user} may switch to every authority, and inherits none",
        )


def _may_become(connection: Transaction, role: str) -> bool:
    try:
        with connection.transaction(force_rollback=True):
            connection.execute("select set_config('role', %s, true)", (role,))
    except psycopg.errors.InsufficientPrivilege:
        return False
    return True


def guards(connection: Transaction) -> Iterator[CheckResult]:
    """Every guarded table, partition and queue has its guards, enabled and matching the declaration."""
    rows = read(
        connection,
        """
        select t.relid::regclass::text
          from recoup.lifecycle l
         cross join lateral (
           select 'a_guard_truncate', 'recoup.guard_truncate', l.subject
           union all
           select format('a_guard_%ss', kind), recoup.guard_of(l.subject, kind), l.subject
             from unnest(array['birth', 'move', 'exit']) kind
           union all
           select g.name, g.function, l.queue ->> 'table'
             from (values ('a_guard_queue', 'recoup.guard_queue'), ('a_guard_claims', 'recoup.guard_claims'),
                          ('c_record_claims', 'recoup.record_claims')) g (name, function)
            where l.queue is not null) guard (name, function, relation)
         cross join lateral (select to_regclass(guard.relation) as relid
                             union select relid from pg_partition_tree(to_regclass(guard.relation))) t
         where not exists (select from pg_trigger g
                            where g.tgrelid = t.relid and g.tgname = guard.name and g.tgenabled = 'A'
                              and g.tgfoid = to_regproc(guard.function))
        union
        select c.oid::regclass::text from pg_class c
         where c.relowner = to_regrole('recoup_owner') and c.relkind in ('r', 'p')
           and not exists (select from pg_trigger g
                            where g.tgrelid = c.oid and g.tgenabled = 'R' and g.tgtype = 31 and g.tgqual is null
                              and g.tgfoid = to_regproc('recoup.refuse_replicated'))
        union
        select w.function from recoup.lifecycle l cross join lateral recoup.written(l) w where not w.is_there
         order by 1
        """,
    )
    yield judged(
        "guards",
        "enabled on every guarded table",
        f"missing, disabled or not matching the declaration: {', '.join(str(row[0]) for row in rows)}"
        if rows
        else None,
        "Find out who did it and what was written meanwhile; then restore them: recoup migrate",
    )


def roles(connection: Transaction) -> Iterator[CheckResult]:
    """Owner and authorities cannot log in and have no rights over the server: a transaction switches to them."""
    rows = connection.execute(
        "select rolname from pg_roles where rolname = any(%s)"
        " and (rolsuper or rolcanlogin or rolcreaterole or rolbypassrls or rolreplication) order by 1",
        ([OWNER, *(authority.role for authority in Authority)],),
    ).fetchall()
    yield judged(
        "roles",
        "owner and authorities cannot log in",
        f"can log in, or have rights over the server: {', '.join(row[0] for row in rows)}" if rows else None,
        f"ALTER ROLE {rows[0][0] if rows else ''} NOLOGIN NOSUPERUSER NOCREATEROLE NOBYPASSRLS NOREPLICATION;",
    )


def children(connection: Transaction) -> Iterator[CheckResult]:
    """A table that inherits from a log is read with it, and has no triggers."""
    rows = connection.execute(
        "select i.inhrelid::regclass::text from pg_inherits i join pg_class p on p.oid = i.inhparent"
        " join pg_namespace s on s.oid = p.relnamespace join pg_roles o on o.oid = s.nspowner"
        " where o.rolname = %s and p.relkind = 'r' order by 1",
        (OWNER,),
    ).fetchall()
    yield judged(
        "children",
        "no table inherits from ours",
        f"tables inherit from ours: {', '.join(row[0] for row in rows)}" if rows else None,
        "Their rows count as ours, unguarded. Find out who created them; ALTER TABLE … NO INHERIT.",
    )


def objects(connection: Transaction, domains: Sequence[Domain]) -> Iterator[CheckResult]:
    """Tables, constraints, triggers, functions and grants are as created by this version."""
    if other := _newer(connection, domains) or _beyond(domains):
        yield CheckResult(check="objects", verdict="ok", found=f"not compared: {other}")
        return
    lines, comments = differences(connection, domains)
    changed = lines or comments
    kind = "lines" if lines else "comments"
    yield judged(
        "objects",
        "tables, constraints, functions and grants are as created by this version",
        f"{len(changed)} {kind} differ from this version (+ new, - missing), first: {changed[0].strip()[:200]}"
        if changed
        else None,
        "Find out who changed the schema by hand, and restore it." if lines else "Nothing depends on comments.",
        verdict="error" if lines else "warning",
    )


def declared(connection: Transaction, domains: Sequence[Domain]) -> Iterator[CheckResult]:
    """The stored declarations match this program."""
    if newer := _newer(connection, domains):
        yield CheckResult(check="lifecycles", verdict="ok", found=f"not compared: {newer}")
        return
    with connection.transaction(force_rollback=True):
        connection.execute("select set_config('role', %s, true)", (Authority.READER.role,))
        wrong = [
            f"{domain.name}: {', '.join(tables)}"
            for domain in domains
            if (tables := declarations.differing(connection, domain, domains))
        ]
    wrong_tables = f"these tables differ from the program: {'; '.join(wrong)}" if wrong else None
    yield judged("lifecycles", "the stored declarations match this program", wrong_tables, "Run: recoup migrate")


def _beyond(domains: Sequence[Domain]) -> str | None:
    """Domains that are not in the shipped schema."""
    shipped = SCHEMA_FILE.read_text(encoding="utf-8")
    beyond = [d.name for d in domains if any(f"create table {life.table} (" not in shipped for life in d.lifecycles)]
    return f"the shipped schema does not contain {', '.join(beyond)}" if beyond else None


def _newer(connection: Transaction, domains: Sequence[Domain]) -> str | None:
    """Why a schema cannot be compared with this program: it has a newer release, or one more domain."""
    with connection.transaction(force_rollback=True):
        connection.execute("select set_config('role', %s, true)", (Authority.READER.role,))
        found = installed(connection)
    ours = {domain.name: domain.release for domain in domains}
    beyond = [str(there) for name, there in found.items() if there.release > ours.get(name, 0)]
    return f"the database has {', '.join(beyond)}" if beyond else None


def clock(connection: Transaction) -> Iterator[CheckResult]:
    ((status, now),) = read(connection, "select status, recoup.now() from recoup.clock")
    yield CheckResult(check="clock", verdict="ok", found=f"{status}, {now:%Y-%m-%d %H:%M:%S} UTC")


def waiting(connection: Transaction) -> Iterator[CheckResult]:
    """A transaction that stays open for long prevents VACUUM and keeps its locks."""
    ((longest,),) = connection.execute(
        "select coalesce(extract(epoch from max(clock_timestamp() - xact_start)), 0)::bigint"
        " from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"
    ).fetchall()
    yield judged(
        "transactions",
        "no long-running transaction",
        f"one transaction has been open for {longest // 60} minutes" if longest > OPEN_TRANSACTION_LONG_S else None,
        "Find it in pg_stat_activity, and end it if it is not needed.",
        verdict="warning",
    )
