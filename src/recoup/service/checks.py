"""The doctor's checks of the service: keys that end soon or have lost their hub, logins with too many authorities."""

from collections.abc import Iterator

from recoup.database import logins as members
from recoup.database.connection import Transaction
from recoup.database.failures import options_of
from recoup.database.queries import load
from recoup.formatting import plural
from recoup.health import CheckResult, judged, read
from recoup.lifecycles.declaration import Authority
from recoup.refusals import Refusal
from recoup.service import logins as of_api
from recoup.service.roles import APPROVES, EXECUTES
from recoup.settings import Settings
from recoup.settings import load as settings

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


def api_logins(connection: Transaction) -> Iterator[CheckResult]:
    """Whether the API has a login for each role, which may take the authorities of that role and no others."""
    known = settings()
    ((keyed,),) = read(connection, Q["any_keys"].as_string())
    try:
        users = _users(known)
    except Refusal as refusal:
        yield CheckResult(check="api logins", verdict="warning", found=refusal.happened, next_step=refusal.next_step)
        return
    able = members.memberships(connection, users.values())
    wrong = [text for name, user in users.items() if (text := _wrong(name, user, able.get(user), known))]
    missing = [name for name in of_api.wanted() if name not in users]
    if missing and keyed:  # without keys one person acts, through the everyday login
        which = "every role" if not users else ", ".join(missing)
        wrong.append(
            f"the API uses one login, that of dsn, for {which}: a flaw that runs SQL could take its authorities"
        )
    yield judged(
        "api logins",
        "no key, so no login for each role is needed" if missing else "one for each role",
        "; ".join(wrong) or None,
        "Make them: recoup db login add NAME --api-role ROLE. docs/howto/separate-logins.md",
        verdict="warning",
    )


def _users(known: Settings) -> dict[str, str]:
    """The logins of the API by role, as far as they are known here."""
    if known.dsn is None:
        return {name: of_api.EMBEDDED.format(name) for name in of_api.wanted()}
    return {name: str(options_of(one).get("user")) for name, one in of_api.configured(known, known.dsn).items()}


def _wrong(name: str, user: str, able: frozenset[Authority] | None, known: Settings) -> str | None:
    """What is wrong with a login; those of the embedded server are made when the API starts."""
    if able is None:
        return None if known.dsn is None else f"there is no login {user} for {name}"
    wanted = of_api.wanted()[name]
    more, less = sorted(able - wanted), sorted(wanted - able)
    said = [f"may also act as {', '.join(more)}"] if more else []
    said += [f"may not act as {', '.join(less)}"] if less else []
    return f"{user}, for {name}, {' and '.join(said)}" if said else None
