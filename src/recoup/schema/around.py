"""Health checks of what surrounds the schema and can disable it: memberships, settings, foreign objects."""

from collections.abc import Iterator

from recoup.database.connection import Transaction
from recoup.database.data_folder import ADMIN
from recoup.database.queries import load
from recoup.database.roles import OWNER
from recoup.health import CheckResult, judged
from recoup.lifecycles.declaration import Authority

Q = load("recoup.schema", "around.sql")


def members(connection: Transaction) -> Iterator[CheckResult]:
    """The owner has no members outside a migration, and none of our roles has the rights of another."""
    yield _found(
        connection,
        "members",
        "the owner has no members, and no authority has the rights of another",
        "They could disable the guards, or act as another authority. Find out who granted it; then REVOKE it.",
    )


def settings(connection: Transaction) -> Iterator[CheckResult]:
    """No role and no database has a setting that changes what statements mean."""
    yield _found(
        connection,
        "settings",
        "no setting of a role or database changes the meaning of statements",
        "It changes the meaning of statements. ALTER ROLE … RESET it, or ALTER DATABASE … RESET it.",
        check="role settings",
    )


def strangers(connection: Transaction) -> Iterator[CheckResult]:
    """Nothing foreign in the database acts on our tables or shadows our functions."""
    yield _found(
        connection,
        "strangers",
        "nothing foreign acts on our tables",
        "Find out who created it and what it did; then DROP it, or REVOKE the right.",
    )


def _found(connection: Transaction, query: str, well: str, next_step: str, check: str | None = None) -> CheckResult:
    ours = [OWNER, *(authority.role for authority in Authority)]
    given = {"owner": OWNER, "admin": ADMIN, "ours": ours, "reader": Authority.READER.role}
    found = [str(row[0]) for row in connection.execute(Q[query], given)]
    return judged(check or query, well, "; ".join(found) if found else None, next_step)
