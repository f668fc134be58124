"""Logins of the API: one for each role of keys, and one for what the service does itself.

A login may take the authorities of its role and no others. So even a flaw that runs a caller's SQL cannot take another
one: the server refuses it. Those of the embedded server are made by the API when it starts; those of another server
are set (``[api] viewer_login`` and so on). Without keys the person who started the service acts, through the everyday
login.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
from collections.abc import Mapping

from psycopg.conninfo import make_conninfo

from recoup.database import access
from recoup.database import logins as members
from recoup.database.connection import NO_HUB, Database, Transaction, connect
from recoup.database.failures import options_of, where
from recoup.database.session import not_reading
from recoup.deliveries import secrets
from recoup.deliveries.webhooks import Unusable
from recoup.lifecycles.declaration import Authority
from recoup.refusals import ServerRefused, SettingRefused
from recoup.service.keys import KEYED
from recoup.service.roles import Role, authorities
from recoup.settings import Settings

SERVICE = "service"  # no role: what the service does for itself
EMBEDDED = "recoup_api_{}"
SECRET = "env:"  # a variable, or a file under [secrets]
# Who is asked: the server and the database, whatever names lead to them.
_SAME = "select pg_catalog.pg_postmaster_start_time(), pg_catalog.current_database()"


def wanted() -> dict[str, frozenset[Authority]]:
    """The authorities that each login has to have, by role."""
    own = {SERVICE: frozenset({Authority.READER, Authority.SERVICE})}
    return {role.value: authorities(role) for role in KEYED} | own


class Logins:
    """A database through the logins of the API. They share the connections of the everyday one, and close with it.

    A role without a login of its own acts through the everyday one.
    """

    def __init__(self, everyday: Database, conninfos: Mapping[str, str]) -> None:
        self._everyday = everyday
        # What forgets to say who acts sees no row of any hub. The service acts for all of them.
        self._own = {
            name: everyday.through(conninfo, hub=None if name == SERVICE else NO_HUB)
            for name, conninfo in conninfos.items()
        }

    def of(self, role: Role) -> Database:
        """For calls with a key of this role, or of the person who started the service."""
        return self._own.get(role.value, self._everyday)

    @property
    def service(self) -> Database:
        """For what the service does itself."""
        return self._own.get(SERVICE, self._everyday)


def conninfos(settings: Settings, everyday: Database, *, demo: bool = False) -> dict[str, str]:
    """The connection strings that this API uses, by role. Made on the embedded server; checked on another one."""
    if settings.dsn is None:
        with access.administration(settings, demo=demo) as connection:
            make(connection, everyday.conninfo)
        return of_embedded(everyday.conninfo)
    found = configured(settings, everyday.conninfo)
    if not found:
        return {}
    with contextlib.closing(connect(everyday.conninfo, settings)) as connection:
        here = connection.execute(_SAME).fetchone()
        able = members.memberships(connection, [str(options_of(one).get("user")) for one in found.values()])
    for name, conninfo in found.items():
        with contextlib.closing(connect(conninfo, settings)) as connection:
            _check(name, conninfo, same=connection.execute(_SAME).fetchone() == here, able=able)
    return found


# The embedded server's ----------------------------------------------------------------------------------------------


def of_embedded(everyday: str) -> dict[str, str]:
    """Their connection strings, by role. The passwords follow from the everyday login's: nothing else is stored."""
    password = str(options_of(everyday).get("password") or "")
    names = {name: EMBEDDED.format(name) for name in wanted()}
    return {
        name: make_conninfo(everyday, user=login, password=_derived(password, login)) for name, login in names.items()
    }


def make(connection: Transaction, everyday: str) -> None:
    """Make the logins of the embedded server, or what they have become what they have to be. As an administrator."""
    of = of_embedded(everyday)
    for name, able in wanted().items():
        password = str(options_of(of[name])["password"])
        members.ensure(connection, EMBEDDED.format(name), able, password=password)


def _derived(password: str, login: str) -> str:
    # Nobody can work out the everyday password from it, nor another login's.
    digest = hmac.new(password.encode(), f"recoup login {login}".encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


# Those of another server --------------------------------------------------------------------------------------------


def configured(settings: Settings, everyday: str) -> dict[str, str]:
    """The connection strings that are set, by role: of the everyday database, whatever database they name."""
    name = options_of(everyday).get("dbname")
    found = {role: not_reading(_resolved(settings, role, given)) for role, given in settings.api_logins.items()}
    return {role: make_conninfo(one, dbname=name) if name else one for role, one in found.items()}


def _resolved(settings: Settings, role: str, given: str) -> str:
    if given.startswith(SECRET):
        name = given.removeprefix(SECRET)
        try:
            given = secrets.of(settings)[name].strip()
        except Unusable as error:
            raise _unusable(role, f"{error}") from None
        except KeyError:
            raise _unusable(role, f"there is no variable {name[:100]}, and no file of it under [secrets]") from None
    try:
        options_of(given)
    except ServerRefused:
        raise _unusable(role, "it is no connection string") from None  # not repeated: it may hold a password
    return given


def _unusable(role: str, why: str) -> SettingRefused:
    return SettingRefused(
        "bad_setting",
        f"The login of the API for {role} cannot be used: {why}.",
        f"Correct RECOUP_API_{role.upper()}_LOGIN, or {role}_login under [api]: docs/howto/separate-logins.md",
        role=role,
    )


def _check(name: str, conninfo: str, *, same: bool, able: Mapping[str, frozenset[Authority]]) -> None:
    if not same:
        raise _unusable(name, f"{where(conninfo)} is another database than dsn")
    missing = wanted()[name] - able.get(str(options_of(conninfo).get("user")), frozenset())
    if missing:
        raise ServerRefused(
            "api_login_lacks_authority",
            f"The login of the API for {name}, {where(conninfo)}, may not act as {', '.join(sorted(missing))}.",
            f"Make one that may: recoup db login add NAME --api-role {name}",
            role=name, missing=sorted(missing),
        )  # fmt: skip
