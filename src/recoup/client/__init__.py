"""The library's front door: ``db = recoup.connect()``, then ``db.errors``, ``db.gate``, ``db.runs``, ….

Each verb runs under the authority that owns it, in a transaction of its own, or with ``tx=`` in the caller's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cached_property

from recoup.audit import AuditResult, audit, chosen, results
from recoup.audit.examine import InvariantResult
from recoup.client.aio import Aio
from recoup.client.alerts import Alerts
from recoup.client.calls import Tx
from recoup.client.deliveries import Deliveries
from recoup.client.errors import Errors
from recoup.client.gate import Gate
from recoup.client.logs import Subscription
from recoup.client.partitions import Partitions
from recoup.client.policies import Policies
from recoup.client.recovery import Recovery
from recoup.client.runs import Runs
from recoup.client.why import Explanations
from recoup.database import access
from recoup.database.connection import Actor, Database, connect
from recoup.domains import DOMAINS
from recoup.ledger import seals
from recoup.ledger.seals import LogSeals
from recoup.ledger.subscriptions import Log
from recoup.lifecycles.declaration import Authority
from recoup.schema import laws
from recoup.settings import load
from recoup.why import EVENTS, Answer

__all__ = [
    "Aio",
    "Alerts",
    "Client",
    "Deliveries",
    "Errors",
    "Gate",
    "Partitions",
    "Policies",
    "Recovery",
    "Runs",
    "Subscription",
    "open_client",
]


class Client(Database):
    """One database of Recoup. Share it between threads; close it, or use it as a context manager."""

    @cached_property
    def errors(self) -> Errors:
        """Errors: record, claim, finish, park, resolve, list, show, ask before a promotion."""
        return Errors(self)

    @cached_property
    def gate(self) -> Gate:
        """Gate Zero: batches, intakes and attempts."""
        return Gate(self)

    @cached_property
    def runs(self) -> Runs:
        """Runs: start, queue, claim, keep alive, finish, list, show."""
        return Runs(self)

    @cached_property
    def recovery(self) -> Recovery:
        """Recovery: report failures, see matches and candidates, decide, open scopes, claim and finish."""
        return Recovery(self)

    @cached_property
    def partitions(self) -> Partitions:
        """Partitions: enqueue, retry, reprocess, list, inspect, read, watch, see gaps."""
        return Partitions(self)

    @cached_property
    def deliveries(self) -> Deliveries:
        """Deliveries: send notices, list them, cancel what waits."""
        return Deliveries(self)

    @cached_property
    def alerts(self) -> Alerts:
        """Alerts: list and show them, see their rules, silence them, test their routes."""
        return Alerts(self)

    @cached_property
    def policy(self) -> Policies:
        """The policy and its versions."""
        return Policies(self)

    @cached_property
    def aio(self) -> Aio:
        """The same verbs for asyncio: ``await db.aio.errors.record(…)``."""
        return Aio(self)

    def subscribe(self, log: Log | str, name: str, *, tx: Tx = None) -> Subscription:
        """Subscribe to a log, such as recoup.error_event, under a name of one's own. Resumes where that name was.

        A subscription belongs to the login that began it: pass ``tx`` here, too, if you pass it to ``read``.
        """
        return Subscription(self, log, name, tx=tx)

    def audit(self, only: Sequence[str] = (), *, record: bool = False) -> list[InvariantResult]:
        """Check every invariant against the data, or those whose id begins with one of ``only``. Changes nothing.

        ``record``: keep the result afterwards, for ``audit_results``; that needs the rights of an operator.
        """
        invariants = chosen(laws.invariants(DOMAINS), only)
        whole = [table for domain in DOMAINS for table in domain.audited_whole]
        who = Actor("human", self.settings.actor)
        if record:
            with self.transaction(Authority.OPERATOR, actor=who) as tx:
                began = results.now(tx)  # refused now, not after the audit, if the login may not
        with contextlib.closing(connect(self.conninfo, self.settings)) as connection:
            found = audit(connection, invariants, settings=self.settings, whole=whole)
        if record:
            with self.transaction(Authority.OPERATOR, actor=who) as tx:
                results.record(tx, found, started_at=began, selected=only)
        return found

    def audit_results(self, *, broken: bool = False, limit: int = 20, after: int | None = None) -> list[AuditResult]:
        """Results of the audit that were kept, newest first; with ``broken`` those that found something.

        ``after``, the seq of the last one, gives the next page.
        """
        with self.transaction(Authority.READER) as tx:
            return results.results(tx, broken=broken, limit=limit, after=after)

    def seals(self) -> list[LogSeals]:
        """For each log: how many blocks are sealed, its last seal, and how far that is behind."""
        with self.transaction(Authority.READER) as tx:
            return seals.standings(tx)

    def why(
        self,
        subject: str,
        at: datetime | timedelta | str | None = None,
        *,
        limit: int = EVENTS,
        after: str | None = None,
        tx: Tx = None,
    ) -> Answer:
        """Why something has its status, now or at a past time: what belongs to it, the rule, and one time line.

        ``subject``: an id or a name, as ``recoup find`` finds it. ``at``: a time, or a length of time ago.
        """
        return Explanations(self).why(subject, at, limit=limit, after=after, tx=tx)

    def __enter__(self) -> Client:
        return self


def open_client(dsn: str | None = None) -> Client:
    """The database that the settings mean, or the one at ``dsn``."""
    settings = load()
    return Client(dsn if dsn is not None else access.uri(settings), settings)
