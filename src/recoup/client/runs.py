"""``db.runs``: start, queue and claim runs, keep them alive, end them, and see which ones are orphaned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias
from uuid import UUID

from recoup.client.calls import Tx, Verbs, Who
from recoup.lifecycles.declaration import Authority
from recoup.runs import listing, orphans, running, texts
from recoup.runs.listing import Listed, Shown
from recoup.runs.orphans import Orphan
from recoup.runs.running import Claimed, Ended, Failed, NewRun, Started, Succeeded

RUNNER, READER = Authority.RUNNER, Authority.READER
Rows: TypeAlias = list[Listed]


class Runs(Verbs):
    """Runs: executions of work with a heartbeat."""

    def start(
        self,
        kind: str,
        *,
        input: Mapping[str, Any] | None = None,
        source: str | None = None,
        owner: str | None = None,
        worker_id: UUID | None = None,
        tx: Tx = None,
        actor: Who = None,
    ) -> Started:
        """Start a run. Send heartbeats: one that falls silent is marked crashed. ``recoup.run`` does both.

        kind: what kind of work it is. input: a JSON object, which a retry gets too; known secrets in it are redacted.
        source: what its failures are counted under; default: kind. owner: who runs it; default: the actor. worker_id:
        the worker that runs it, if it is one of Recoup's.
        """
        new = NewRun(kind=kind, input=input, source=source)

        def start(on: Any) -> Started:
            return running.start(on, [new], owner=owner, worker_id=worker_id)[0]

        return self._call(RUNNER, start, tx=tx, actor=actor)

    def queue(
        self,
        kind: str,
        *,
        input: Mapping[str, Any] | None = None,
        source: str | None = None,
        owner: str | None = None,
        tx: Tx = None,
        actor: Who = None,
    ) -> UUID:
        """Queue a run, to be claimed by kind. Returns its id."""
        new = NewRun(kind=kind, input=input, source=source)
        return self._call(RUNNER, lambda on: running.queue(on, [new], owner=owner)[0], tx=tx, actor=actor)

    def claim(
        self,
        kind: str,
        *,
        limit: int = 1,
        owner: str | None = None,
        worker_id: UUID | None = None,
        tx: Tx = None,
        actor: Who = None,
    ) -> list[Claimed]:
        """Claim up to ``limit`` queued runs of a kind, oldest first. They are yours as long as they send heartbeats."""

        def claim(on: Any) -> list[Claimed]:
            return running.claim(on, kind=kind, limit=limit, owner=owner, worker_id=worker_id)

        return self._call(RUNNER, claim, tx=tx, actor=actor)

    def heartbeat(self, run: Started | Claimed, *, tx: Tx = None, actor: Who = None) -> None:
        """Keep a run alive. Refused if it has ended, or was marked crashed."""
        self._call(RUNNER, lambda on: running.heartbeat(on, run.run_id, run.token), tx=tx, actor=actor)

    def note(self, run: Started | Claimed, text: str, *, tx: Tx = None, actor: Who = None) -> int:
        """Write a note to the trace of a run, and keep it alive. Returns the number of the note."""
        return self._call(RUNNER, lambda on: running.note(on, run.run_id, run.token, text), tx=tx, actor=actor)

    def finish(
        self, outcomes: Succeeded | Failed | Sequence[Succeeded | Failed], *, tx: Tx = None, actor: Who = None
    ) -> list[Ended]:
        """Report how runs ended. The result of a run that was marked crashed is late: stored, and not applied."""
        given = [outcomes] if isinstance(outcomes, Succeeded | Failed) else outcomes
        return self._call(RUNNER, lambda on: running.finish(on, given), tx=tx, actor=actor)

    def show(self, run: UUID | str | Started | Claimed | Listed, *, tx: Tx = None) -> Shown:
        """A run, with its trace."""
        run_id = texts.run_id(getattr(run, "run_id", run))
        return self._call(READER, lambda on: listing.show(on, run_id), tx=tx)

    def orphans(self, *, limit: int = 1000, tx: Tx = None) -> list[Orphan]:
        """Runs that the next sweep would mark crashed, and why."""
        return self._call(READER, lambda on: orphans.orphans(on, limit=limit), tx=tx)

    def list(
        self,
        *,
        kind: str | None = None,
        status: str | None = None,
        source: str | None = None,
        limit: int = 50,
        tx: Tx = None,
    ) -> Rows:
        """Runs, newest first."""

        def listed(on: Any) -> Rows:
            return listing.list_runs(on, kind=kind, status=status, source=source, limit=limit)

        return self._call(READER, listed, tx=tx)
