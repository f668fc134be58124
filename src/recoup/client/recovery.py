"""``db.recovery``: report failures, see what recovers them, decide on candidates, and execute what you serve."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeAlias, overload
from uuid import UUID

from recoup.client.calls import Tx, Who
from recoup.client.recovery_settings import RecoverySettings
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.operations import Answer, Operation
from recoup.policy import versions
from recoup.recovery import executing, listing, people, review, scopes, story, undoing
from recoup.recovery.executing import Held, Outcome
from recoup.recovery.listing import Cursor, Incident, ListedAction, Match, Task, read_id
from recoup.recovery.matches import Ingested, NewFailure
from recoup.recovery.matches import ingest as ingest_failures
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.scopes import Scope, Started
from recoup.recovery.story import Shown
from recoup.refusals import InputRefused

READER, OPERATOR, MATCHER, REVIEWER = Authority.READER, Authority.OPERATOR, Authority.MATCHER, Authority.REVIEWER
Id: TypeAlias = UUID | str
Candidates: TypeAlias = list[listing.Candidate]
# A candidate by its id, by id:digest as a list shows it, or as listed: then a later change of it refuses the decision.
One: TypeAlias = Id | listing.Candidate
Answers: TypeAlias = list[Answer]


class Recovery(RecoverySettings):
    """Recovery: failures become matches, candidates are decided and executed within scopes."""

    @overload
    def ingest(self, failures: Iterable[NewFailure], *, tx: Tx = None, actor: Who = None) -> list[Ingested]: ...
    @overload
    def ingest(
        self,
        *,
        source: str,
        message: str,
        key: str,
        code: str | None = None,
        category: str | None = None,
        signature: str | None = None,
        ref: str | None = None,
        context: Mapping[str, Any] | None = None,
        follows: UUID | None = None,
        incident: UUID | None = None,
        tx: Tx = None,
        actor: Who = None,
    ) -> Ingested: ...
    def ingest(
        self, failures: Iterable[NewFailure] | None = None, *, tx: Tx = None, actor: Who = None, **one: Any
    ) -> list[Ingested] | Ingested:
        """Report one failure by keywords, or many as NewFailure. Each becomes one match, however often it is reported.

        source: where it failed. message: its text. key: what makes it one failure within its source; reported again
        with the same content it is ``known``, with another content it ``differs`` and is not stored. ref: what failed;
        default: the key. code, category, signature: worked out from the message where they are not given. context: a
        JSON object with details; known secrets in it are redacted. follows: the match before it, which has ended.
        incident: the incident that it joins; default: the open one of its source and signature.
        """
        if (failures is None) is (not one):
            raise InputRefused(
                "ingest_unclear",
                "Give either failures, or one failure by its fields.",
                "For example: db.recovery.ingest(source=…, key=…, message=…)",
            )
        given = [NewFailure(**one)] if failures is None else list(failures)
        done = self._call(MATCHER, lambda on: ingest_failures(on, given), tx=tx, actor=actor)
        return done[0] if failures is None else done

    def matches(
        self,
        *,
        statuses: Sequence[str] = (),
        source: str | None = None,
        kind: str | None = None,
        signature: str | None = None,
        incident: Id | None = None,
        limit: int = 100,
        after: Id | None = None,
        tx: Tx = None,
    ) -> list[Match]:
        """Matches, newest first. ``after``, the id of the last one, gives the next page."""
        given = {"incident": _given(incident, "incident"), "after": _given(after, "match")}

        def found(on: Transaction) -> list[Match]:
            return listing.matches(
                on, statuses=statuses, source=source, kind=kind, signature=signature, limit=limit, **given
            )

        return self._call(READER, found, tx=tx)

    def list(
        self,
        *,
        statuses: Sequence[str] = (),
        action: str | None = None,
        source: str | None = None,
        signature: str | None = None,
        incident: Id | None = None,
        limit: int = 100,
        after: Cursor | UUID | None = None,
        tx: Tx = None,
    ) -> Candidates:
        """Candidates: what waits for a decision, then what waits for its start; or those in ``statuses``, newest first.

        after: ``Cursor.of`` the last one for the next page; of a list by statuses, its id.
        """
        incident_id = _given(incident, "incident")
        asked = review.Filter(
            action=action,
            source=source,
            signature=signature,
            incident=None if incident_id is None else str(incident_id),
        )

        def found(on: Transaction) -> Candidates:
            return listing.candidates(on, asked, statuses=statuses, limit=limit, after=after)

        return self._call(READER, found, tx=tx)

    def show(self, match: Id | Match | listing.Candidate, *, tx: Tx = None) -> Shown:
        """A match in full, by its id or by that of one of its candidates."""
        id_ = match.failure_match_id if isinstance(match, Match | listing.Candidate) else _id(match, "match")
        return self._call(READER, lambda on: story.show(on, id_), tx=tx)

    def propose(
        self,
        match: Id | Match,
        action: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        tx: Tx = None,
        actor: Who = None,
    ) -> UUID:
        """Propose an action for a match under your name, and return the candidate. Another person approves it."""
        id_ = match.failure_match_id if isinstance(match, Match) else _id(match, "match")

        def proposed(on: Transaction) -> UUID:
            return review.propose(on, id_, action, _policy(on), parameters=parameters)

        return self._call(OPERATOR, proposed, tx=tx, actor=self._person(actor))

    def rollback(
        self, candidate: Id, *, reason: str, action: str | None = None, tx: Tx = None, actor: Who = None
    ) -> UUID:
        """Propose to undo what a candidate did, and return the candidate for that. Another person approves it.

        action: the rollback action of the catalogue; by default the only one.
        """
        id_ = _id(candidate, "candidate")

        def proposed(on: Transaction) -> UUID:
            return undoing.rollback(on, id_, _policy(on), reason=reason, action=action)

        return self._call(OPERATOR, proposed, tx=tx, actor=self._person(actor), reason=reason)

    @overload
    def approve(
        self, candidates: One | Sequence[One], *, reason: str | None = None, tx: Tx = None, actor: Who = None
    ) -> Answers: ...
    @overload
    def approve(
        self,
        candidates: One | Sequence[One],
        *,
        canary: int,
        rate: int | None = None,
        reason: str | None = None,
        tx: Tx = None,
        actor: Who = None,
    ) -> Operation: ...
    def approve(
        self,
        candidates: One | Sequence[One],
        *,
        canary: int | None = None,
        rate: int | None = None,
        reason: str | None = None,
        tx: Tx = None,
        actor: Who = None,
    ) -> Answers | Operation:
        """Approve candidates: they are executed within their scope. Each has its own answer, in the order given.

        canary: begins an operation, and returns it: this many are approved first, by a worker and in your name, then
        more in growing steps while their outcomes are good; rate: maximum per minute.
        """
        units, who = _units(candidates), self._person(actor)
        if canary is not None:
            act = review.SUBJECT.act(review.APPROVE, reason=reason)
            return self._begun(review.SUBJECT, act, lambda _: units, canary=canary, rate=rate, tx=tx, actor=who)
        return self._call(REVIEWER, lambda on: review.approve(on, units, note=reason), tx=tx, actor=who, reason=reason)

    def reject(self, candidates: One | Sequence[One], *, reason: str, tx: Tx = None, actor: Who = None) -> Answers:
        """Reject candidates: they are not executed, and this action is not proposed again for their failure."""
        units = _units(candidates)
        return self._call(
            REVIEWER, lambda on: review.reject(on, units, note=reason), tx=tx, actor=self._person(actor), reason=reason
        )

    def actions(self, *, tx: Tx = None) -> Sequence[ListedAction]:
        """The actions of the active policy: gates, cost, what they apply to, if they are paused, their outcomes."""
        return self._call(READER, lambda on: listing.actions(on, _policy(on)), tx=tx)

    def scopes(
        self, *, incident: Id | None = None, active: bool = False, limit: int = 100, tx: Tx = None
    ) -> Sequence[Scope]:
        """Scopes, newest first."""
        id_ = _given(incident, "incident")
        return self._call(READER, lambda on: scopes.scopes(on, incident=id_, active=active, limit=limit), tx=tx)

    def open_scope(
        self,
        incident: Id,
        *,
        actions: Sequence[str],
        reason: str,
        max_attempts: int | None = None,
        cost_limit: int | None = None,
        ttl_seconds: int | None = None,
        tx: Tx = None,
        actor: Who = None,
    ) -> UUID:
        """Open a scope for an incident: these actions may be executed for it, so often, at this cost, for this time.

        What is not given is as the policy has it.
        """
        id_ = _id(incident, "incident")

        def opened(on: Transaction) -> UUID:
            return scopes.open_scope(
                on, id_, _policy(on), actions=actions, reason=reason, max_attempts=max_attempts, cost_limit=cost_limit,
                ttl_seconds=ttl_seconds,
            )  # fmt: skip

        return self._call(Authority.SCOPED_EXECUTION, opened, tx=tx, actor=self._person(actor), reason=reason)

    def revoke_scope(self, scope: Id, *, reason: str, tx: Tx = None, actor: Who = None) -> Sequence[Started]:
        """Revoke a scope: nothing more is started within it. Returns what was started before and continues."""
        id_ = _id(scope, "scope")
        return self._call(
            Authority.SCOPED_EXECUTION,
            lambda on: scopes.revoke(on, id_),
            tx=tx,
            actor=self._person(actor),
            reason=reason,
        )

    def incidents(
        self,
        *,
        source: str | None = None,
        closed: bool = False,
        limit: int = 100,
        after: Id | None = None,
        tx: Tx = None,
    ) -> Sequence[Incident]:
        """Open incidents by source and signature; with ``closed``, all of them, newest first."""
        last = _given(after, "incident")
        return self._call(
            READER, lambda on: listing.incidents(on, source=source, closed=closed, limit=limit, after=last), tx=tx
        )

    def tasks(
        self,
        *,
        owner: str | None = None,
        ended: bool = False,
        limit: int = 100,
        after: Id | None = None,
        tx: Tx = None,
    ) -> Sequence[Task]:
        """Open tasks, those that are due first; with ``ended``, all of them, newest first."""
        last = _given(after, "task")
        return self._call(
            READER, lambda on: listing.tasks(on, owner=owner, ended=ended, limit=limit, after=last), tx=tx
        )

    def task_done(self, task: Id, *, note: str | None = None, tx: Tx = None, actor: Who = None) -> None:
        """Report that a task is done: what awaits it succeeds."""
        id_ = _id(task, "task")
        self._call(OPERATOR, lambda on: people.done(on, id_, note=note), tx=tx, actor=self._person(actor))

    def task_cancel(self, task: Id, *, note: str, tx: Tx = None, actor: Who = None) -> None:
        """Cancel a task: what awaits it fails."""
        id_ = _id(task, "task")
        self._call(OPERATOR, lambda on: people.cancel(on, id_, note=note), tx=tx, actor=self._person(actor))

    def evaluate(self, match: Id, *, reason: str | None = None, tx: Tx = None, actor: Who = None) -> str:
        """Have an open match evaluated now; a stuck one is new again. Returns its status."""
        id_ = _id(match, "match")
        return self._call(
            OPERATOR, lambda on: people.evaluate(on, id_), tx=tx, actor=self._person(actor), reason=reason
        )

    def recovered(self, match: Id, *, reason: str, tx: Tx = None, actor: Who = None) -> str:
        """Report that the failure of a match is gone. Its next evaluation, which is now, ends it."""
        id_ = _id(match, "match")
        return self._call(
            OPERATOR, lambda on: people.recovered(on, id_), tx=tx, actor=self._person(actor), reason=reason
        )

    def claim(
        self,
        actions: Sequence[str],
        *,
        limit: int = 1,
        worker: str | None = None,
        lease: timedelta | None = None,
        tx: Tx = None,
        actor: Who = None,
    ) -> Sequence[executing.Claimed]:
        """Start candidates of these actions that may start, approved ones first. They are yours until their lease ends.

        Only what is executed outside of this database: Recoup's workers execute the rest. Report with ``finish``.
        """
        name = worker or f"{socket.gethostname()}-{os.getpid()}"

        def claimed(on: Transaction) -> Sequence[executing.Claimed]:
            return executing.claim(on, limit=limit, worker=name, actions=actions, lease=lease, outside=True)

        return self._call(Authority.CLAIM_WORKER, claimed, tx=tx, actor=actor)

    def finish(self, outcomes: Sequence[tuple[Held, Outcome]], *, tx: Tx = None, actor: Who = None) -> Sequence[str]:
        """Report how claimed candidates ended. Of each its status, or late (stored, and not applied)."""
        return self._call(Authority.EVALUATOR, lambda on: executing.finish(on, outcomes), tx=tx, actor=actor)


def _id(given: Id, what: str) -> UUID:
    listed = {"match": "matches", "candidate": "list", "incident": "incidents", "scope": "scopes", "task": "tasks"}
    return read_id(given, what, f"recoup recovery {listed[what]}")


def _given(given: Id | None, what: str) -> UUID | None:
    return None if given is None else _id(given, what)


def _units(given: One | Sequence[One]) -> tuple[str, ...]:
    if isinstance(given, listing.Candidate):
        return (given.unit,)
    if isinstance(given, UUID | str):
        return (str(given),)
    return tuple(unit for one in given for unit in _units(one))


def _policy(tx: Transaction) -> RecoveryPolicy:
    return versions.active(tx).policy[RecoveryPolicy]
