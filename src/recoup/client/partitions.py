"""``db.partitions``: enqueue, retry and reprocess partitions; list, inspect, read and watch them; see gaps."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

from recoup.client.calls import Tx, Verbs, Who
from recoup.client.logs import Subscription
from recoup.lifecycles.declaration import Authority
from recoup.partitions import consuming, gaps, listing, registry, requesting
from recoup.partitions.consuming import Current
from recoup.partitions.control_plane import Enqueued
from recoup.partitions.gaps import Gap, Kind
from recoup.partitions.identity import Partition
from recoup.partitions.lifecycle import EVENTS
from recoup.partitions.listing import Happened, Inspected, Listed, Override
from recoup.partitions.requesting import Answered, Ask, Request
from recoup.partitions.selecting import Selection
from recoup.partitions.vocabulary import Lane

if TYPE_CHECKING:  # an extra
    import pyarrow  # type: ignore[import-untyped,unused-ignore]

CONTROL_PLANE, CONSUMER, READER = Authority.CONTROL_PLANE, Authority.CONSUMER, Authority.READER
Rows: TypeAlias = list[Listed]
InspectedRows: TypeAlias = list[Inspected]
Events: TypeAlias = list[Happened]
OverrideRows: TypeAlias = list[Override]
Gaps: TypeAlias = list[Gap]
CurrentRows: TypeAlias = list[Current]
Answers: TypeAlias = list[Answered]
EnqueuedRows: TypeAlias = list[Enqueued]
WATCHED = 500  # events of one page


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The files of the current run of a partition."""

    current: Current
    paths: tuple[Path, ...]


FileRows: TypeAlias = list[Files]


class Partitions(Verbs):
    """Partitions: days of a query for a customer of a source, extracted and validated as a whole.

    Those that read the data use the raw sink of this machine: RECOUP_SINK, or the folder `sink` in RECOUP_HOME.
    """

    def enqueue(
        self,
        partitions: Partition | Sequence[Partition],
        *,
        lane: str = Lane.FRESH,
        priority: int | None = None,
        tx: Tx = None,
        actor: Who = None,
        reason: str | None = None,
    ) -> EnqueuedRows:
        """Enqueue partitions of registered queries, due now. Those that are known are left as they are.

        lane: fresh or backfill. priority: 0 goes first, 9 last.
        """
        given = [partitions] if isinstance(partitions, Partition) else list(partitions)

        def enqueued(on: Any) -> EnqueuedRows:
            return registry.enqueue(on, registry.active(on), given, lane=Lane(lane), priority=priority)

        return self._call(CONTROL_PLANE, enqueued, tx=tx, actor=self._person(actor), reason=reason)

    def retry(
        self,
        selection: Selection,
        *,
        reason: str | None = None,
        include_terminal: bool = False,
        attempts: int = 1,
        re_extract: bool = False,
        at_most: int | None = None,
        tx: Tx = None,
        actor: Who = None,
    ) -> Answers:
        """Retry failed partitions now, at most 500; the answer for each. Logged with actor and reason.

        include_terminal: also what was given up, for which a reason is needed; attempts: how many that grants.
        re_extract: also what was never extracted. at_most: refuse to change more than these.
        """
        request = Request(
            ask=Ask.RETRY, reason=reason, include_terminal=include_terminal, attempts=attempts, re_extract=re_extract
        )  # fmt: skip
        return self._ask(request, selection, at_most, tx, actor)

    def reprocess(
        self,
        selection: Selection,
        *,
        reason: str | None = None,
        re_extract: bool = False,
        at_most: int | None = None,
        tx: Tx = None,
        actor: Who = None,
    ) -> Answers:
        """Extract and validate partitions again that succeeded, at most 500. Their data stays until a new run is
        accepted.
        """
        return self._ask(
            Request(ask=Ask.REPROCESS, reason=reason, re_extract=re_extract), selection, at_most, tx, actor
        )

    def mark_terminal(
        self,
        selection: Selection,
        *,
        reason: str | None = None,
        at_most: int | None = None,
        tx: Tx = None,
        actor: Who = None,
    ) -> Answers:
        """Mark failed partitions terminal, at most 500: they are not retried until somebody overrides it."""
        return self._ask(Request(ask=Ask.MARK_TERMINAL, reason=reason), selection, at_most, tx, actor)

    def _ask(
        self, request: Request, selection: Selection, at_most: int | None, tx: Tx, actor: Who
    ) -> Answers:  # fmt: skip
        named = f"db.partitions.{request.ask.replace('-', '_')}"
        checked = Request(
            ask=request.ask, reason=request.reason, include_terminal=request.include_terminal,
            attempts=request.attempts, re_extract=request.re_extract, command=named, selection=str(selection),
        ).checked()  # fmt: skip
        return self._call(
            CONTROL_PLANE,
            lambda on: requesting.ask(on, checked, selection, at_most=at_most),
            tx=tx,
            actor=self._person(actor),
            reason=checked.reason,
        )

    def list(self, selection: Selection | None = None, *, limit: int = 100, tx: Tx = None) -> Rows:
        """Partitions, by source, query, customer and day."""
        chosen = selection or Selection()
        return self._call(CONSUMER, lambda on: listing.list_partitions(on, chosen, limit=limit), tx=tx)

    def inspect(self, selection: Selection, *, limit: int = 20, tx: Tx = None) -> InspectedRows:
        """Partitions in full: attempts, messages, times and the next retry."""
        return self._call(READER, lambda on: listing.inspect(on, selection, limit=limit), tx=tx)

    def history(self, selection: Selection, *, limit: int = 1000, tx: Tx = None) -> Events:
        """Every event of partitions, in order."""
        return self._call(READER, lambda on: listing.history(on, selection, limit=limit), tx=tx)

    def overrides(
        self, selection: Selection | None = None, *, limit: int = 50, tx: Tx = None
    ) -> OverrideRows:  # fmt: skip
        """What people and recovery asked for, the latest first."""
        return self._call(READER, lambda on: listing.overrides(on, selection=selection, limit=limit), tx=tx)

    def gaps(
        self,
        selection: Selection | None = None,
        *,
        kinds: Sequence[str] = tuple(Kind),
        limit: int = 1000,
        tx: Tx = None,
    ) -> Gaps:
        """Partitions that cannot be read: never enqueued, pending, failed or terminal."""
        chosen, wanted = selection or Selection(), [Kind(one) for one in kinds]
        return self._call(CONSUMER, lambda on: gaps.gaps(on, chosen, kinds=wanted, limit=limit), tx=tx)

    def current(self, selection: Selection | None = None, *, tx: Tx = None) -> CurrentRows:
        """The current runs of partitions that succeeded, from one snapshot."""
        return self._call(CONSUMER, lambda on: consuming.current(on, selection or Selection()), tx=tx)

    def paths(self, selection: Selection | None = None, *, tx: Tx = None) -> FileRows:
        """The files of current runs, from one snapshot. Not by a pattern over the raw sink: it has other runs, too."""
        found, sink = self.current(selection, tx=tx), consuming.sink(self._database.settings)
        return [Files(current=one, paths=consuming.files(sink, one)) for one in found]

    def open(
        self, selection: Selection | None = None, *, with_key: bool = True, tx: Tx = None
    ) -> pyarrow.Table:  # fmt: skip
        """The current data of partitions as one Arrow table, with the columns of their keys."""
        found, sink = self.current(selection, tx=tx), consuming.sink(self._database.settings)
        return consuming.table(sink, found, with_key=with_key)

    def watch(
        self, name: str, selection: Selection | None = None, *, poll_s: float | None = None, tx: Tx = None
    ) -> Iterator[CurrentRows]:
        """Partitions as they get new current data, each page of them once, in order, under a name of one's own.

        Begins with everything that was accepted so far, and resumes where that name was. A page is acknowledged when
        the next one is asked for. Ends when there is no more for now; with poll_s it waits for more instead.
        """
        subscription = Subscription(self._database, EVENTS.table, name, tx=tx)
        while True:
            page = subscription.read(limit=WATCHED, event_types=[consuming.EVENT], tx=tx)
            if not page.busy:
                runs = [event["run_id"] for event in page.events if event["subject"] == "partition"]
                found = self._accepted(selection or Selection(), runs, tx)
                if found:
                    yield found
                subscription.acknowledge(page, tx=tx)
            if page.busy or page.caught_up:
                if poll_s is None:
                    return
                time.sleep(poll_s)

    def _accepted(self, selection: Selection, runs: Sequence[UUID], tx: Tx) -> CurrentRows:
        return self._call(CONSUMER, lambda on: consuming.accepted(on, selection, runs), tx=tx) if runs else []
