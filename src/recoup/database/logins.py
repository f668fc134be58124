"""Logins of one's own: who may connect, and which authorities each may take.

A login has no rights by itself. It may take the authorities that it was granted (``SET ROLE recoup_reader``), and
nothing else.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from psycopg import errors
from psycopg.sql import SQL, Identifier, Literal

from recoup.database.access import MAX_NAME_BYTES
from recoup.database.connection import Transaction
from recoup.database.roles import grant_membership, until_undisturbed
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, MigrationRefused, ServerRefused

RESERVED = ("recoup_", "pg_")
_LOGINS = """
select u.rolname, array_agg(r.rolname order by r.rolname), u.rolsuper
  from pg_roles u join pg_auth_members m on m.member = u.oid join pg_roles r on r.oid = m.roleid
 where u.rolcanlogin and r.rolname = any(%s)
 group by u.rolname, u.rolsuper order by 1
"""
_ROLES_OF = """
select r.rolname from pg_auth_members m join pg_roles r on r.oid = m.roleid join pg_roles u on u.oid = m.member
 where u.rolname = %s
"""
_MEMBERS = """
select u.rolname, array(select r.rolname from pg_roles r
                         where r.rolname = any(%(roles)s) and pg_has_role(u.oid, r.oid, 'member'))
  from pg_roles u where u.rolname = any(%(names)s) and u.rolcanlogin
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A login and the authorities that it may take."""

    login: str
    authorities: tuple[str, ...]
    superuser: bool


def logins(connection: Transaction) -> list[Login]:
    """Every login that may take an authority."""
    rows = connection.execute(_LOGINS, ([authority.role for authority in Authority],)).fetchall()
    names = {authority.role: authority.value for authority in Authority}
    return [
        Login(login=login, authorities=tuple(names[role] for role in roles), superuser=superuser)
        for login, roles, superuser in rows
    ]


def add(connection: Transaction, name: str, authorities: Sequence[Authority], *, password: str) -> None:
    """Create a login that may take these authorities. The server gets the password only as a SCRAM verifier."""
    _check_name(name)
    if not authorities:
        raise InputRefused("authority_missing", "A login needs an authority.", "Give one, such as --authority reader.")
    verifier = connection.pgconn.encrypt_password(password.encode(), name.encode(), b"scram-sha-256").decode()
    try:
        with connection.transaction():
            connection.execute(
                SQL("create role {} login noinherit password {}").format(Identifier(name), Literal(verifier))
            )
            for authority in authorities:
                grant_membership(connection, authority.role, of=name, inherits=False)
    except errors.DuplicateObject as error:
        raise InputRefused(
            "login_exists", f"There is a role {name} already.", "Choose another name.", login=name
        ) from error
    except errors.UndefinedObject as error:
        raise MigrationRefused(
            "not_migrated", "The roles of Recoup do not exist on this server.", "Run: recoup migrate"
        ) from error
    except errors.InsufficientPrivilege as error:
        raise _may_not(connection, error) from error


def ensure(connection: Transaction, name: str, authorities: Iterable[Authority], *, password: str) -> None:
    """Make one of Recoup's own logins what it has to be: with this password, and exactly these authorities.

    Safe to run from several places at once. The connection is in autocommit.
    """
    login, wanted = Identifier(name), {authority.role for authority in authorities}
    verifier = connection.pgconn.encrypt_password(password.encode(), name.encode(), b"scram-sha-256").decode()
    plain = SQL("login noinherit nosuperuser nocreatedb nocreaterole noreplication nobypassrls password {}")
    try:
        until_undisturbed(connection, SQL("create role {} nologin").format(login))
        until_undisturbed(connection, SQL("alter role {} ").format(login) + plain.format(Literal(verifier)))
        for role in wanted:
            grant_membership(connection, role, of=name, inherits=False)
        for (role,) in connection.execute(_ROLES_OF, (name,)).fetchall():
            if role not in wanted:
                until_undisturbed(connection, SQL("revoke {} from {}").format(Identifier(str(role)), login))
    except errors.InsufficientPrivilege as error:
        raise _may_not(connection, error) from error


def memberships(connection: Transaction, names: Iterable[str]) -> dict[str, frozenset[Authority]]:
    """The authorities that these logins may take, by the login. Those that do not exist are left out."""
    names = list(names)
    rows = connection.execute(_MEMBERS, {"names": names, "roles": [one.role for one in Authority]}).fetchall()
    known = {authority.role: authority for authority in Authority}
    return {str(name): frozenset(known[role] for role in roles) for name, roles in rows}


def remove(connection: Transaction, name: str) -> None:
    """Drop a login that may take authorities. Sessions that are open stay open until they end."""
    found = next((login for login in logins(connection) if login.login == name), None)
    if found is None:
        raise InputRefused(
            "login_not_found",
            f"No login {name} has an authority.",
            "List them: recoup db login list",
            login=name,
        )
    if found.superuser or name.startswith(RESERVED):
        raise InputRefused("login_reserved", f"{name} is not a login of yours.", "Nothing was changed.", login=name)
    try:
        connection.execute(SQL("drop role {}").format(Identifier(name)))
    except errors.DependentObjectsStillExist as error:
        raise ServerRefused(
            "login_owns",
            f"The login {name} owns something or has rights of its own: {error.diag.message_detail}.",
            f"As an administrator, in each database: REASSIGN OWNED BY {name} TO CURRENT_USER; DROP OWNED BY {name};",
            login=name,
        ) from error
    except errors.InsufficientPrivilege as error:
        raise _may_not(connection, error) from error


def _check_name(name: str) -> None:
    if not name or "\0" in name or len(name.encode()) > MAX_NAME_BYTES or name.startswith(RESERVED):
        raise InputRefused(
            "login_name",
            f"{name!r} is not a name for a login.",
            f"1 to {MAX_NAME_BYTES} bytes that do not begin with {' or '.join(RESERVED)}.",
            login=name,
        )


def _may_not(connection: Transaction, error: errors.InsufficientPrivilege) -> ServerRefused:
    user = connection.info.user
    return ServerRefused(
        "login_lacks_rights",
        f"The login {user} may not manage logins: {error.diag.message_primary}.",
        f"As an administrator: ALTER ROLE {user} CREATEROLE; or set RECOUP_ADMIN_DSN to a login that has this right. If"
        " the roles were made by another login, that one must grant them WITH ADMIN OPTION.",
        login=user,
    )
