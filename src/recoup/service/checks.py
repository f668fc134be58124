"""The doctor's checks of the service: keys that end soon or have lost their hub, logins with too many authorities."""

from collections.abc import Iterator

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.formatting import plural
from recoup.health import CheckResult, judged, read
from recoup.service.roles import APPROVES, EXECUTES

Q = load("recoup.service", "checks.sql")
SOON_DAYS = 7


def keys(connection: Transaction) -> Iterator[CheckResult]:
    """Whether every key can be used, and for how long."""
    ((valid, homeless, ending),) = read(connection, Q["keys"].as_string(), {"days": SOON_DAYS})
    wrong = [f"the hub of {', '.join(homeless)} is not in the policy: they see nothing"] if homeless else []
    wrong += [f"{', '.join(ending)} {'expires' if len(ending) == 1 else 'expire'} within a week"] if ending else []
    yield judged(
        "keys",
        plural(valid, "valid key"),
        "; ".join(wrong) or None,
        "Run: recoup keys list; then recoup keys rotate or revoke.",
        verdict="warning",
    )


def logins(connection: Transaction) -> Iterator[CheckResult]:
    """Whether a login may both approve recoveries and execute them. As installed, the everyday login may."""
    given = {"approves": [one.role for one in APPROVES], "executes": [one.role for one in EXECUTES]}
    both = [str(name) for (name,) in read(connection, Q["both"].as_string(), given)]
    ((keyed,),) = read(connection, Q["any_keys"].as_string())
    found = f"may both approve and execute: {', '.join(both)}" if both else None
    if found and not keyed:  # without keys one person works alone, on this machine
        yield CheckResult(check="logins", verdict="ok", found=found)
        return
    yield judged(
        "logins",
        "no login may both approve and execute",
        found,
        "Give the service and the workers a login each: docs/howto/separate-logins.md",
        verdict="warning",
    )
