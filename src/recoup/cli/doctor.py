"""``recoup doctor``"""

from recoup.cli.output import Demo, Json, ends_with, print_rows
from recoup.doctor import examine
from recoup.domains import DOMAINS


def doctor(*, demo: Demo = False, json: Json = False) -> None:
    """Check everything Recoup relies on: settings, server, login, schema, guards, handlers, clock, queues.

    Changes nothing. Each check is ok, warning or error, and says what to do. Exits with status 1 when one is an error.
    """
    found = examine(DOMAINS, demo=demo)
    with ends_with(1 if any(result.verdict == "error" for result in found) else 0):
        print_rows(found, as_json=json, empty="Nothing was checked.")
