"""The database roles: one owner, one per authority, and what a login gets.

``recoup_owner`` owns every table and cannot log in. Nobody is its member but for the length of one migration's
transaction, because an owner can disable triggers. Roles belong to the whole cluster and outlive a database.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from psycopg import Connection, errors
from psycopg.sql import SQL, Identifier

from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.refusals import MigrationRefused

OWNER = "recoup_owner"
_TRIES = 20


def check_rights(connection: Transaction) -> None:
    """Refuse, before any role is made, a login that cannot let the owner make schemas in this database."""
    # Asked and not tried: GRANT only warns where the login has another right, as everybody has that to connect.
    (may,) = connection.execute(
        "select has_database_privilege(current_user, current_database(), 'create with grant option')"
        " or exists (select from pg_roles r where r.rolname = %s and has_database_privilege(r.oid, d.oid, 'create'))"
        " from pg_database d where d.datname = current_database()",
        (OWNER,),
    ).fetchone() or (False,)
    if not may:
        raise _lacks_rights(connection, f"it may not make schemas in {connection.info.dbname}")


def ensure_roles(connection: Transaction, *, login: str) -> None:
    """Make the roles that are missing, and let ``login`` take every authority. Safe to run from many places at once."""
    if not _exists(connection, login):
        raise MigrationRefused(
            "login_unknown",
            f"There is no login {login} on this server that could be given the authorities.",
            f"Check its name; or, as an administrator: CREATE ROLE {login} LOGIN NOINHERIT PASSWORD '…'.",
            login=login,
        )
    missing = [role for role in [OWNER, *(a.role for a in Authority)] if not _exists(connection, role)]
    with _rights_explained(connection):
        for role in missing:
            _until_undisturbed(connection, SQL("create role {} nologin").format(Identifier(role)))
        for authority in Authority:
            if authority is not Authority.READER:
                _ensure_member(connection, Authority.READER.role, of=authority.role, inherits=True)
            _ensure_member(connection, authority.role, of=login, inherits=False)


@contextlib.contextmanager
def as_owner(connection: Transaction) -> Iterator[None]:
    """Act as the owner inside the caller's transaction. Membership begins and ends within it, seen by nobody."""
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


def _exists(connection: Transaction, role: str) -> bool:
    return connection.execute("select from pg_roles where rolname = %s", (role,)).rowcount > 0


def _ensure_member(connection: Transaction, role: str, *, of: str, inherits: bool) -> None:
    # The plain form everywhere, but where the server can say it: the login must not inherit, so that forgetting to
    # take an authority means having none. Before 16 that is the login's own NOINHERIT; `recoup doctor` looks at it.
    if connection.execute(
        "select from pg_auth_members m join pg_roles r on r.oid = m.roleid join pg_roles u on u.oid = m.member"
        " where r.rolname = %s and u.rolname = %s and (to_jsonb(m) ->> 'set_option') is distinct from 'false'",
        (role, of),
    ).rowcount:
        return
    option = SQL("")
    if connection.info.server_version >= 160000:
        option = SQL(" with inherit true" if inherits else " with inherit false, set true")
    _until_undisturbed(connection, SQL("grant {} to {}{}").format(Identifier(role), Identifier(of), option))


def _until_undisturbed(connection: Connection[tuple[object, ...]], statement: object) -> None:
    """Two sessions that make one role at the same moment meet in the catalogue: the loser looks again."""
    for _ in range(_TRIES):
        try:
            connection.execute(statement)  # type: ignore[call-overload]
        except errors.DuplicateObject:
            return
        except (errors.UniqueViolation, errors.InternalError_):
            continue  # the other one has it half done; say it again until it is said
        else:
            return
    connection.execute(statement)  # type: ignore[call-overload]


@contextlib.contextmanager
def _rights_explained(connection: Transaction) -> Iterator[None]:
    try:
        yield
    except errors.InsufficientPrivilege as error:
        raise _lacks_rights(connection, error.diag.message_primary) from error


def _lacks_rights(connection: Transaction, said: str | None) -> MigrationRefused:
    user = connection.info.user
    return MigrationRefused(
        "login_lacks_rights",
        f"The login {user} may not prepare the database: {said}.",
        f"As an administrator: ALTER ROLE {user} CREATEROLE;"
        f" ALTER DATABASE {connection.info.dbname} OWNER TO {user};"
        " or set RECOUP_ADMIN_DSN to a login that has these rights. If the roles were made by another login,"
        f" that one must: GRANT {OWNER} TO {user} WITH ADMIN OPTION.",
        login=user,
    )
