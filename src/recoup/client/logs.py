"""``db.subscribe(…)``: read a log, every event once and in order, under a name of one's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recoup.client.calls import Tx, Verbs
from recoup.database.connection import Database
from recoup.domain import logs
from recoup.domains import DOMAINS
from recoup.ledger import subscriptions
from recoup.ledger.subscriptions import Log, Page
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused

CONSUMER = Authority.CONSUMER


class Subscription(Verbs):
    """A reader of one log. It begins at the log's first event, and resumes after the last acknowledged page.

    Exactly once: ``read``, work and ``acknowledge`` with the same ``tx``. At least once: ``for page in subscription``,
    which acknowledges each page when the loop asks for the next one.
    """

    def __init__(self, database: Database, log: Log | str, name: str, *, tx: Tx = None) -> None:
        super().__init__(database)
        self.log, self.name = log if isinstance(log, Log) else _log(log), name
        self._call(CONSUMER, lambda on: subscriptions.subscribe(on, self.log, name), tx=tx)

    def read(self, *, limit: int = 500, event_types: Sequence[str] | None = None, tx: Tx = None) -> Page:
        """The next events. Until they are acknowledged, the next read returns them again."""
        return self._call(
            CONSUMER,
            lambda on: subscriptions.read(on, self.log, self.name, limit=limit, event_types=event_types),
            tx=tx,
        )

    def acknowledge(self, page: Page, *, tx: Tx = None) -> None:
        """Move on behind a page."""
        self._call(CONSUMER, lambda on: subscriptions.acknowledge(on, page), tx=tx)

    def cancel(self, *, tx: Tx = None) -> bool:
        """Delete the subscription. A later one of that name begins at the first event."""
        return self._call(CONSUMER, lambda on: subscriptions.unsubscribe(on, self.log, self.name), tx=tx)

    def __iter__(self) -> Iterator[Page]:
        """Pages, until there are no more events for now."""
        while True:
            page = self.read()
            if page.events:
                yield page
            if not page.busy:
                self.acknowledge(page)
            if page.busy or page.caught_up:
                return


def _log(table: str) -> Log:
    known = {log.table: log for log in logs(DOMAINS) if log.columns}
    if table not in known:
        raise InputRefused("log_unknown", f"There is no log {table}.", f"Use one of: {', '.join(known)}.", log=table)
    columns = known[table].columns[-1]
    return Log(table=table, columns=columns, event="event_type" if "event_type" in columns else "to_status")
