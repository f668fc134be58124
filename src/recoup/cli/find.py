"""``recoup find``"""

from recoup import find as finding
from recoup.cli.context import acting
from recoup.cli.layout import folded, width
from recoup.cli.output import PIPED_WIDTH, Demo, Json, Limit, hint, print_fields, shown
from recoup.domain import finders
from recoup.domains import DOMAINS
from recoup.find import Found
from recoup.lifecycles.declaration import Authority


def find(*text: str, limit: Limit = 20, demo: Demo = False, json: Json = False) -> None:
    """Find something by what you have at hand, and show what it is, its status, and the next command.

    A company by name or domain, whole or its beginning; an entity, intake, identity, operation or run, or a match,
    candidate, incident, scope or task of recovery by its uuid, whole or its beginning; an error by its id or work key;
    a signature; a batch. If nothing matches, the newest names and messages are searched for the text.

    For example: recoup find acme.example

    Parameters
    ----------
    text
        A name, a domain, an id or its beginning.
    """
    with acting(Authority.READER, demo=demo) as tx:
        result = finding.find(tx, " ".join(text), finders(DOMAINS), limit=limit)
    if json:
        print_fields(result, as_json=True)
        return
    for one in result.found:
        _print(one, demo=demo)
    searched = f" Searched: {', '.join(result.searched)}." if result.searched else ""
    if not result.found:
        print(f"Nothing found.{searched}")
    elif searched:
        print(searched.strip())


def _print(one: Found, *, demo: bool) -> None:
    print(f"{one.kind} {shown(one.id)}")
    for line in (one.title, one.status):
        for part in folded(shown(line), (width() or PIPED_WIDTH) - 2) if line is not None else ():
            print(f"  {part}")
    print(f"  Next: {shown(hint(one.next_step, demo=demo))}\n")  # not folded, so that it can be copied
