"""Checks of the doctor on what lies around the schema and can undo it: memberships, settings, what others put there."""

from collections.abc import Iterator

from recoup.database.connection import Transaction
from recoup.database.data_folder import ADMIN
from recoup.database.queries import load
from recoup.database.roles import OWNER
from recoup.health import CheckResult, judged
from recoup.lifecycles.declaration import Authority

Q = load("recoup.schema", "around.sql")


def members(connection: Transaction) -> Iterator[CheckResult]:
    """Nobody is the owner's member but for a migration, and no role of ours has the rights of another."""
    yield _found(
        connection,
        "members",
        "nobody is the owner, and no authority is another",
        "They could switch the guards off, or act as somebody else. Find out who granted it; then REVOKE it.",
    )


def settings(connection: Transaction) -> Iterator[CheckResult]:
    """No role and no database has a setting that changes what statements mean."""
    yield _found(
        connection,
        "settings",
        "of roles and database change nothing",
        "It changes what statements mean. ALTER ROLE … RESET it, or ALTER DATABASE … RESET it.",
        check="role settings",
    )


def strangers(connection: Transaction) -> Iterator[CheckResult]:
    """Nothing in the database acts on our tables, or where our functions are looked for, that is not ours."""
    yield _found(
        connection,
        "strangers",
        "nothing acts on our tables from outside",
        "Find out who made it, and what it did meanwhile; then DROP it, or REVOKE the right.",
    )


def _found(connection: Transaction, query: str, well: str, next_step: str, check: str | None = None) -> CheckResult:
    ours = [OWNER, *(authority.role for authority in Authority)]
    given = {"owner": OWNER, "admin": ADMIN, "ours": ours, "reader": Authority.READER.role}
    told = [str(row[0]) for row in connection.execute(Q[query], given)]
    return judged(check or query, well, "; ".join(told) if told else None, next_step)
