"""What the doctor looks at in errors."""

from collections.abc import Iterator

from recoup.database.connection import Transaction
from recoup.health import Finding, judged, read


def error_tables(connection: Transaction) -> Iterator[Finding]:
    """A table that the policy lists takes no errors before a migration has made it."""
    missing = read(
        connection,
        "select k from jsonb_object_keys(recoup.error_policy() -> 'tables') k where to_regclass(k) is null order by k",
    )
    wrong = f"not made yet: {', '.join(str(name) for (name,) in missing)}" if missing else None
    yield judged("error tables", "all of the policy's are made", wrong, "Run: recoup migrate", verdict="look")
