"""The doctor's checks of errors."""

from collections.abc import Iterator

from recoup.database import failures
from recoup.database.connection import Transaction
from recoup.errors import handlers as error_handlers
from recoup.errors.policy import Q
from recoup.health import CheckResult, judged, read
from recoup.settings import load


def error_tables(connection: Transaction) -> Iterator[CheckResult]:
    """A table of the policy takes errors once a migration has created it."""
    made = {str(name) for name, _ in read(connection, Q["made"].as_string())}
    listed = [str(name) for (name,) in read(connection, "select jsonb_object_keys(recoup.error_policy() -> 'tables')")]
    missing = ", ".join(sorted(name for name in listed if name not in made))
    wrong = f"not created yet: {missing}" if missing else None
    yield judged("error tables", "all tables of the policy exist", wrong, "Run: recoup migrate", verdict="warning")


def handlers(connection: Transaction) -> Iterator[CheckResult]:
    """Whether handlers can be imported, and whether every table with due retries has one."""
    if connection.info.dbname == failures.DEMO:  # where only the demo's own are called
        return
    found = error_handlers.find(load())
    for one in found:
        if one.problem is not None:
            yield CheckResult(
                check="handlers",
                verdict="error",
                found=f"{one.name} for {one.serves} cannot be used ({one.source}): {one.problem}",
                next_step="Fix the import or the name, then restart the workers.",
            )
    rows = read(connection, error_handlers.Q["due_by_table"].as_string(), {"limit": error_handlers.MAX_COUNTED})
    served = error_handlers.functions(found)
    missing = error_handlers.counted(due for row in rows if (due := error_handlers.DueTable(*row)).table not in served)
    ready = ", ".join(f"{one.serves} → {one.name} ({one.source})" for one in found if one.problem is None)
    yield judged(
        "handlers",
        ready or "none, and no retry is due",
        f"no handler here for {missing}" if missing else None,
        "Add one to recoup.toml under [handlers], or retry them elsewhere: recoup errors claim",
        verdict="warning",
    )
