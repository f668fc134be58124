"""Which release of a schema a database has, and whether this program can work with it.

Each domain has an epoch and a release. Within an epoch a release only adds: an older program works on with a newer
schema, and never puts its own routines back. A program of another epoch refuses, and says which release it needs.
"""

from collections.abc import Iterable
from typing import NamedTuple

from psycopg import errors

from recoup.database.connection import Transaction
from recoup.database.roles import OWNER
from recoup.lifecycles.declaration import Authority
from recoup.refusals import MigrationRefused


class Release(NamedTuple):
    """A domain at one release."""

    domain: str
    epoch: int
    release: int

    def __str__(self) -> str:
        return f"release {self.release} of {self.domain} (epoch {self.epoch})"


def check_schema(connection: Transaction, wanted: Iterable[Release]) -> None:
    """Refuse a database that this program cannot work with: not Recoup's, of another epoch, or older."""
    if owner_of_schema(connection) != OWNER:
        raise MigrationRefused("not_migrated", "This database has no Recoup schema yet.", "Run: recoup migrate")
    try:
        with connection.transaction():
            connection.execute("select set_config('role', %s, true)", (Authority.READER.role,))
            found = installed(connection)
    except errors.InsufficientPrivilege as error:
        raise MigrationRefused(
            "login_lacks_authority",
            f"The login {connection.info.user} may not read Recoup's tables.",
            "Run recoup migrate with RECOUP_ADMIN_DSN set to a login that may grant roles.",
        ) from error
    refuse_newer(found, wanted)
    behind = [release for release in wanted if _behind(found.get(release.domain), release)]
    if behind:
        raise MigrationRefused(
            "schema_older",
            f"The database lacks {', '.join(map(str, behind))}.",
            "Run: recoup migrate",
            missing=[release.domain for release in behind],
        )


def installed(connection: Transaction) -> dict[str, Release]:
    """The domains of a database, by name. None before the first migration with domains."""
    if connection.execute("select to_regclass('recoup.domain')").fetchone() == (None,):
        return {}
    rows = connection.execute("select name, epoch, release from recoup.domain").fetchall()
    return {row[0]: Release(*row) for row in rows}


def refuse_newer(found: dict[str, Release], wanted: Iterable[Release]) -> None:
    """Refuse a database whose epoch is beyond this program's."""
    for release in wanted:
        there = found.get(release.domain)
        if there is not None and there.epoch > release.epoch:
            raise MigrationRefused(
                "schema_newer",
                f"The database has {there}; this program has {release}, and cannot work with it.",
                f"Use a program that has {there}, or a later release of that epoch.",
                domain=there.domain, epoch=there.epoch, release=there.release,
            )  # fmt: skip


def owner_of_schema(connection: Transaction) -> str | None:
    row = connection.execute("select pg_get_userbyid(nspowner) from pg_namespace where nspname = 'recoup'").fetchone()
    return str(row[0]) if row is not None else None


def _behind(there: Release | None, release: Release) -> bool:
    return there is None or (there.epoch, there.release) < (release.epoch, release.release)
