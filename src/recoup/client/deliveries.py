"""``db.deliveries``: send notices, list them, cancel what waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias
from uuid import UUID

from recoup import deliveries
from recoup.client.calls import Tx, Verbs, Who
from recoup.deliveries import Delivery, Shown
from recoup.lifecycles.declaration import Authority

OPERATOR, READER = Authority.OPERATOR, Authority.READER
Rows: TypeAlias = list[Delivery]


class Deliveries(Verbs):
    """Notices on their way out: queued here, delivered by a worker, by the routes of the policy."""

    def send(
        self,
        route: str,
        subject: str,
        body: Mapping[str, Any] | None = None,
        *,
        about: str | None = None,
        dedup_key: str | None = None,
        reason: str | None = None,
        tx: Tx = None,
        actor: Who = None,
    ) -> UUID:
        """Queue a notice, and return its id. Refused while another with the same ``dedup_key`` is queued."""
        return self._call(
            OPERATOR,
            lambda on: deliveries.send(on, route, subject, body, about=about, dedup_key=dedup_key),
            tx=tx,
            actor=actor,
            reason=reason,
        )

    def retry(self, delivery_id: UUID, *, reason: str | None = None, tx: Tx = None, actor: Who = None) -> UUID:
        """Send a dead delivery again, as a new one, and return its id."""
        return self._call(OPERATOR, lambda on: deliveries.retry(on, delivery_id), tx=tx, actor=actor, reason=reason)

    def cancel(self, delivery_id: UUID, *, reason: str | None = None, tx: Tx = None, actor: Who = None) -> None:
        """Cancel a queued delivery."""
        self._call(OPERATOR, lambda on: deliveries.cancel(on, delivery_id), tx=tx, actor=actor, reason=reason)

    def show(self, delivery_id: UUID, *, tx: Tx = None) -> Shown:
        """One delivery, with its body and every try."""
        return self._call(READER, lambda on: deliveries.show(on, delivery_id), tx=tx)

    def list(
        self,
        *,
        statuses: Sequence[str] = (),
        route: str | None = None,
        about: str | None = None,
        limit: int = 100,
        after: UUID | None = None,
        tx: Tx = None,
    ) -> Rows:
        """Deliveries, newest first."""
        return self._call(
            READER,
            lambda on: deliveries.deliveries(on, statuses=statuses, route=route, about=about, limit=limit, after=after),
            tx=tx,
        )
