"""``recoup doctor``"""

from recoup.cli.output import Demo, Json, ends_with, print_rows
from recoup.doctor import examine
from recoup.domains import DOMAINS


def doctor(*, demo: Demo = False, json: Json = False) -> None:
    """Check everything Recoup relies on: settings, server, login, schema, guards, lifecycles, clock, waiting.

    Changes nothing. Ends with 1 when something has to be mended, and says how.
    """
    found = examine(DOMAINS, demo=demo)
    with ends_with(1 if any(finding.verdict == "broken" for finding in found) else 0):
        print_rows(found, as_json=json, empty="Nothing was checked.")
