"""What the doctor looks at in errors."""

from collections.abc import Iterator

from recoup.database.connection import Transaction
from recoup.errors.policy import Q
from recoup.health import Finding, judged, read


def error_tables(connection: Transaction) -> Iterator[Finding]:
    """A table that the policy lists takes no errors before a migration has made it; another of its name takes none."""
    made = {str(name) for name, _ in read(connection, Q["made"].as_string())}
    listed = [str(name) for (name,) in read(connection, "select jsonb_object_keys(recoup.error_policy() -> 'tables')")]
    missing = ", ".join(sorted(name for name in listed if name not in made))
    wrong = f"not made yet: {missing}" if missing else None
    yield judged("error tables", "all of the policy's are made", wrong, "Run: recoup migrate", verdict="look")
