"""The database roles: one owner, one for each authority, and what a login is granted.

``recoup_owner`` owns every table and cannot log in. A login is a member of it only during the transaction of a
migration, because an owner can disable triggers. Roles belong to the whole cluster, not to a database.
"""

import contextlib
from collections.abc import Iterable, Iterator

from psycopg import Connection, errors
from psycopg.sql import SQL, Identifier

from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.refusals import MigrationRefused, ServerRefused

OWNER = "recoup_owner"
_TRIES = 20


def check_rights(connection: Transaction) -> None:
    """Refuse, before any role is created, a login that cannot let the owner create schemas in this database."""
    # Checked first: GRANT only warns if the login has another right, such as CONNECT, which everybody has.
    (may,) = connection.execute(
        "select has_database_privilege(current_user, current_database(), 'create with grant option')"
        " or exists (select from pg_roles r where r.rolname = %s and has_database_privilege(r.oid, d.oid, 'create'))"
        " from pg_database d where d.datname = current_database()",
        (OWNER,),
    ).fetchone() or (False,)
    if not may:
        raise _lacks_rights(connection, f"it may not create schemas in {connection.info.dbname}")


def ensure_roles(connection: Transaction, *, login: str) -> None:
    """Create missing roles, and grant ``login`` every authority. Safe to run from several places at once."""
    if not _exists(connection, login):
        raise MigrationRefused(
            "login_unknown",
            f"There is no login {login} on this server to grant the authorities to.",
            f"Check its name; or, as an administrator: CREATE ROLE {login} LOGIN NOINHERIT PASSWORD '…'.",
            login=login,
        )
    missing = [role for role in [OWNER, *(a.role for a in Authority)] if not _exists(connection, role)]
    with _rights_explained(connection):
        for role in missing:
            until_undisturbed(connection, SQL("create role {} nologin").format(Identifier(role)))
        for authority in Authority:
            if authority is not Authority.READER:
                grant_membership(connection, Authority.READER.role, of=authority.role, inherits=True)
            grant_membership(connection, authority.role, of=login, inherits=False)


@contextlib.contextmanager
def as_owner(connection: Transaction) -> Iterator[None]:
    """Act as the owner inside the caller's transaction. The membership begins and ends in it."""
    (superuser,) = connection.execute("select rolsuper from pg_roles where rolname = current_user").fetchone() or (
        False,
    )
    with _rights_explained(connection):
        if not superuser:
            connection.execute(SQL("grant {} to current_user").format(Identifier(OWNER)))
        connection.execute(
            SQL("grant create on database {} to {}").format(Identifier(connection.info.dbname), Identifier(OWNER))
        )
        connection.execute(SQL("set local role {}").format(Identifier(OWNER)))
    yield
    connection.execute("reset role")
    if not superuser:
        connection.execute(SQL("revoke {} from current_user").format(Identifier(OWNER)))


def grant_on_schemas(connection: Transaction, schemas: Iterable[str]) -> None:
    """Within :func:`as_owner`: let the owner create tables in existing schemas of others."""
    foreign = _closed(connection, schemas)
    if not foreign:
        return
    connection.execute("reset role")
    open_schemas(connection, foreign)
    connection.execute(SQL("set local role {}").format(Identifier(OWNER)))


def open_schemas(connection: Transaction, schemas: Iterable[str]) -> None:
    """As the login that owns these schemas: let our owner create tables in them, and the reader read them."""
    foreign = _closed(connection, schemas)
    with _rights_explained(connection):
        for schema in foreign:
            name = Identifier(schema)
            with _as_its_owner(connection, schema):
                connection.execute(SQL("grant usage, create on schema {} to {}").format(name, Identifier(OWNER)))
                connection.execute(
                    SQL("grant usage on schema {} to {}").format(name, Identifier(Authority.READER.role))
                )
    # Checked again: GRANT only warns if the login has another right, as everybody has on public.
    for schema in _closed(connection, foreign):
        raise MigrationRefused(
            "schema_not_lent",
            f"The login {connection.info.user} may not grant Recoup access to the schema {schema}.",
            f"As its owner: GRANT USAGE, CREATE ON SCHEMA {schema} TO {OWNER};"
            f" GRANT USAGE ON SCHEMA {schema} TO {Authority.READER.role}; then migrate again.",
            schema=schema, login=connection.info.user,
        )  # fmt: skip


@contextlib.contextmanager
def _as_its_owner(connection: Transaction, schema: str) -> Iterator[None]:
    """Before PostgreSQL 16 a login with NOINHERIT has the rights of its roles only while it acts as one."""
    row = connection.execute(
        "select pg_get_userbyid(nspowner) from pg_namespace where nspname = %s"
        " and current_setting('server_version_num')::integer < 160000 and pg_has_role(nspowner, 'member')",
        (schema,),
    ).fetchone()
    if row is None:
        yield
        return
    connection.execute(SQL("set role {}").format(Identifier(str(row[0]))))
    yield
    connection.execute("reset role")


def _closed(connection: Transaction, schemas: Iterable[str]) -> list[str]:
    """Existing schemas of others to which the owner or the reader has no access."""
    rows = connection.execute(
        "select nspname from pg_namespace where nspname = any(%s) and nspowner <> to_regrole(%s)"
        " and not (has_schema_privilege(%s, oid, 'create') and has_schema_privilege(%s, oid, 'usage'))"
        " order by 1",
        (list(schemas), OWNER, OWNER, Authority.READER.role),
    ).fetchall()
    return [str(name) for (name,) in rows]


def _exists(connection: Transaction, role: str) -> bool:
    return connection.execute("select from pg_roles where rolname = %s", (role,)).rowcount > 0


def grant_membership(connection: Transaction, role: str, *, of: str, inherits: bool) -> None:
    # The login must not inherit: a session that takes no authority has no rights. Before PostgreSQL 16 this is a
    # property of the login, NOINHERIT, which `recoup doctor` checks.
    if connection.execute(
        "select from pg_auth_members m join pg_roles r on r.oid = m.roleid join pg_roles u on u.oid = m.member"
        " where r.rolname = %s and u.rolname = %s and (to_jsonb(m) ->> 'set_option') is distinct from 'false'",
        (role, of),
    ).rowcount:
        return
    option = SQL("")
    if connection.info.server_version >= 160000:
        option = SQL(" with inherit true" if inherits else " with inherit false, set true")
    until_undisturbed(connection, SQL("grant {} to {}{}").format(Identifier(role), Identifier(of), option))


def until_undisturbed(connection: Connection[tuple[object, ...]], statement: object) -> None:
    """Retry: two sessions that create one role at the same moment collide in the catalogue."""
    for _ in range(_TRIES):
        try:
            connection.execute(statement)  # type: ignore[call-overload]
        except errors.DuplicateObject:
            return
        except (errors.UniqueViolation, errors.InternalError_):
            continue  # the other session is not done yet
        else:
            return
    connection.execute(statement)  # type: ignore[call-overload]


@contextlib.contextmanager
def _rights_explained(connection: Transaction) -> Iterator[None]:
    try:
        yield
    except errors.InsufficientPrivilege as error:
        raise _lacks_rights(connection, error.diag.message_primary) from error


def _lacks_rights(connection: Transaction, said: str | None) -> ServerRefused:
    user = connection.info.user
    return ServerRefused(
        "login_lacks_rights",
        f"The login {user} may not prepare the database: {said}.",
        f"As an administrator: ALTER ROLE {user} CREATEROLE;"
        f" ALTER DATABASE {connection.info.dbname} OWNER TO {user};"
        " or set RECOUP_ADMIN_DSN to a login that has these rights. If the roles were created by another login,"
        f" that one must: GRANT {OWNER} TO {user} WITH ADMIN OPTION, INHERIT FALSE, SET FALSE.",
        login=user,
    )
