"""``db.why(…)``: why something has its status, now or at a past time."""

from __future__ import annotations

from datetime import datetime, timedelta

from recoup import why as explaining
from recoup.client.calls import Tx, Verbs
from recoup.domain import explained
from recoup.domains import DOMAINS
from recoup.lifecycles.declaration import Authority
from recoup.why import EVENTS, Answer

READER = Authority.READER


class Explanations(Verbs):
    """What ``db.why`` and ``db.aio.why`` call."""

    def why(
        self,
        subject: str,
        at: datetime | timedelta | str | None = None,
        *,
        limit: int = EVENTS,
        after: str | None = None,
        tx: Tx = None,
    ) -> Answer:
        """Everything about one thing, now or at a past time."""
        sources = explained(DOMAINS)
        return self._call(
            READER, lambda on: explaining.why(on, subject, sources, at=at, limit=limit, after=after), tx=tx
        )
