"""Proposing a rollback: a candidate that undoes what another one did. Another person approves it."""

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg.rows import dict_row

from recoup.database.acting import acting_as
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.recovery import effects, facts, review
from recoup.recovery.matches import DIFFERS, NewFailure, ingest
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.texts import is_whole
from recoup.recovery.vocabulary import ActionType, CandidateStatus, SubjectKind
from recoup.redaction import in_words
from recoup.refusals import InputRefused, LawRefused

Q = load("recoup.recovery", "undoing.sql")
SOURCE = "recovery.candidate"
MAX_REASON = 1_000


def rollback(
    tx: Transaction, candidate: UUID, policy: RecoveryPolicy, *, reason: str, action: str | None = None
) -> UUID:
    """Propose to undo what a candidate did, under the acting person's name. Another person approves it.

    It is proposed for the same match, while that is open and its subject can be retried; otherwise for a match of its
    own. action: the rollback action of the catalogue; by default the only one. As for a proposal, an operator does it.
    """
    if not reason.strip():
        raise InputRefused("reason_missing", "The reason is empty.", "Give it: --reason …")
    undone = _undone(tx, candidate)
    is_ours = _is_ours(undone)
    _check(undone, policy, is_ours=is_ours)
    given: dict[str, Any] = {"undoes": str(candidate), "reason": in_words(reason)[:MAX_REASON]}
    if not is_ours:
        given["action"] = undone["action_name"]
    try:
        with tx.transaction():
            match = _match(tx, undone, is_ours=is_ours)
            return review.propose(tx, match, action or _of_catalogue(policy), policy, parameters=given)
    except psycopg.errors.UniqueViolation:
        raise _undone_already(candidate) from None


def is_undoable(tx: Transaction, candidate: UUID, policy: RecoveryPolicy) -> bool:
    """Whether a rollback of what a candidate did can be proposed."""
    undone = _undone(tx, candidate)
    try:
        _check(undone, policy, is_ours=_is_ours(undone))
    except LawRefused:
        return False
    return True


def _is_ours(undone: dict[str, Any]) -> bool:
    kind = ActionType(undone["action_type"]), SubjectKind(undone["subject_kind"])
    return effects.makes(*kind, undone["parameters"]) is not None


def _undone(tx: Transaction, candidate: UUID) -> dict[str, Any]:
    with tx.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(Q["undone"], {"candidate": candidate}).fetchone()
    if row is None:
        raise InputRefused(
            "candidate_unknown", f"There is no candidate {candidate}.", "List them: recoup recovery list"
        )
    return row


def _check(undone: dict[str, Any], policy: RecoveryPolicy, *, is_ours: bool) -> None:
    """As the database does, in words for the person who asks."""
    id_, name = undone["candidate_id"], undone["action_name"]
    if undone["status"] not in (CandidateStatus.SUCCEEDED, CandidateStatus.FAILED) or not undone["effect_made"]:
        raise LawRefused(
            "undo_not_done",
            f"Candidate {id_} is {undone['status']}, and made no effect that could be undone.",
            f"See: recoup recovery show {id_}",
            candidate=str(id_), status=undone["status"],
        )  # fmt: skip
    known = policy.actions.get(name)
    if undone["action_type"] == ActionType.ROLLBACK or not (
        undone["has_undo"] if is_ours else known is not None and known.undo
    ):
        raise LawRefused(
            "undo_undeclared",
            f"{name} cannot be undone.",
            "Propose another action instead: recoup recovery propose MATCH --action NAME",
            candidate=str(id_), action=name,
        )  # fmt: skip
    if not is_ours and not is_whole(undone["record"]):
        raise LawRefused(
            "undo_incomplete",
            f"What {name} recorded was stored without its secrets, or was too long: it cannot be restored as it was.",
            "Undo it by hand; and let the action record where the secret is kept, not the secret.",
            candidate=str(id_), action=name,
        )  # fmt: skip
    if undone["undone_by"] is not None:
        raise _undone_already(id_)


def _undone_already(candidate: UUID) -> LawRefused:
    return LawRefused(
        "undone_already",
        f"Candidate {candidate} was undone, or is about to be.",
        f"See: recoup recovery show {candidate}",
        candidate=str(candidate),
    )


def _match(tx: Transaction, undone: dict[str, Any], *, is_ours: bool) -> UUID:
    """The match of what is undone, if that is open and its subject can be retried; otherwise one of its own."""
    kind, ref = undone["subject_kind"], undone["subject_ref"]
    left_out = facts.not_applicable(tx, [{"subject_kind": kind, "subject_ref": ref}])
    if is_ours and kind in effects.IN_DATABASE and undone["is_open"] and not left_out.get((kind, ref)):
        return UUID(str(undone["failure_match_id"]))
    key = f"rollback/{undone['candidate_id']}"
    failure = NewFailure(
        source=SOURCE, message=f"What the action {undone['action_name']} did is to be undone.",
        key=key, ref=f"{facts.CANDIDATE}{undone['candidate_id']}", signature=f"rollback of {undone['action_name']}",
    )  # fmt: skip
    with acting_as(tx, Authority.MATCHER):
        (made,) = ingest(tx, [failure])
        if made.answer == DIFFERS:
            # Somebody ingested another failure under this key: that must not prevent the rollback.
            (made,) = ingest(tx, [replace(failure, key=f"{key}/{uuid4()}")])
    assert made.failure_match_id is not None
    return made.failure_match_id


def _of_catalogue(policy: RecoveryPolicy) -> str:
    found = [name for name, one in policy.actions.items() if one.type is ActionType.ROLLBACK]
    if len(found) != 1:
        raise InputRefused(
            "action_unclear",
            f"The catalogue has {len(found)} actions of the type rollback.",
            f"Name one: --action {' or '.join(found) or 'NAME'}",
        )
    return found[0]
