"""Values that shells complete: asked when the user presses Tab, so quickly and without a word when something fails."""

import sys
from collections.abc import Sequence

from recoup.lifecycles.declaration import Authority
from recoup.refusals import Refusal


def error_tables(_context: object) -> Sequence[str]:
    """The error tables of the database, or those of the shipped policy where no database can be reached."""
    from psycopg import Error

    from recoup.cli.context import acting
    from recoup.errors import lookup
    from recoup.errors.policy import ErrorPolicy

    try:
        with acting(Authority.READER, demo="--demo" in sys.argv) as tx:
            return lookup.tables(tx)
    except (Refusal, Error, OSError):
        return list(ErrorPolicy.shipped().tables)


def background_tasks(_context: object) -> Sequence[str]:
    """What workers do."""
    from recoup.domain import duties
    from recoup.domains import DOMAINS

    return [duty.name for duty in duties(DOMAINS)]


def scopes(_context: object) -> Sequence[str]:
    """What can be paused."""
    from recoup.domains import DOMAINS
    from recoup.pauses.scopes import DUTY, TABLE

    return [DUTY, TABLE, *(one.scope for domain in DOMAINS for one in domain.pausable)]
