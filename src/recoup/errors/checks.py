"""What the doctor looks at in errors."""

from __future__ import annotations

from collections.abc import Iterator

from recoup.database.connection import Transaction
from recoup.health import Finding, read


def error_tables(connection: Transaction) -> Iterator[Finding]:
    """A table that the policy lists takes no errors before a migration has made it."""
    missing = read(
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
