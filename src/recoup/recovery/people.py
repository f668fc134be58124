"""What operators do with matches, tasks and claimed candidates."""

from typing import Any, NamedTuple
from uuid import UUID

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.operations.verbs import MAX_TEXT_BYTES
from recoup.recovery import executing
from recoup.recovery.executing import Outcome
from recoup.recovery.vocabulary import TaskStatus
from recoup.redaction import in_words
from recoup.refusals import InputRefused, LawRefused

Q = load("recoup.recovery", "people.sql")


class Held(NamedTuple):
    """A candidate that somebody claimed, as its report names it."""

    candidate_id: UUID
    token: UUID


def evaluate(tx: Transaction, match: UUID) -> str:
    """Have an open match evaluated now, as an operator; a stuck one is new again. Returns its status."""
    row = tx.execute(Q["evaluate"], {"match": match}).fetchone()
    if row is None:
        raise _not_open(tx, match)
    return str(row[0])


def recovered(tx: Transaction, match: UUID) -> str:
    """Report that the failure of an open match is gone, as an operator. Its next evaluation, which is now, ends it.

    The reason is that of the transaction. Returns its status until then.
    """
    row = tx.execute(Q["recovered"], {"match": match}).fetchone()
    if row is None:
        raise _not_open(tx, match)
    return str(row[0])


def _not_open(tx: Transaction, match: UUID) -> InputRefused | LawRefused:
    row = tx.execute(Q["match"], {"match": match}).fetchone()
    if row is None:
        return InputRefused(
            "match_unknown", f"There is no match {match}.", "List them: recoup recovery matches", match=str(match)
        )
    status, reported_by, is_over = row
    if is_over:
        return LawRefused(
            "match_over", f"Match {match} is {status}.", f"To try again: recoup recovery propose {match} --action NAME",
            match=str(match), status=status,
        )  # fmt: skip
    return LawRefused(
        "match_reported", f"{reported_by} reported already that it is recovered.",
        f"Its next evaluation ends it: recoup recovery show {match}", match=str(match),
    )  # fmt: skip


def done(tx: Transaction, task: UUID, *, note: str | None = None) -> None:
    """Report that a task is done, as an operator: what awaits it succeeds."""
    _end_task(tx, task, TaskStatus.DONE, note)


def cancel(tx: Transaction, task: UUID, *, note: str) -> None:
    """Cancel a task, as an operator: what awaits it fails."""
    _end_task(tx, task, TaskStatus.CANCELLED, note)


def _end_task(tx: Transaction, task: UUID, status: TaskStatus, note: str | None) -> None:
    if note is not None and (not note.strip() or "\0" in note or len(note.encode("utf-8", "replace")) > MAX_TEXT_BYTES):
        raise InputRefused(
            "note_unusable",
            f"The note {note[:50]!r} is empty, too long, or holds a NUL.",
            f"Give a text of at most {MAX_TEXT_BYTES:,} bytes.",
        )
    given = {"task": task, "status": status.value, "note": None if note is None else in_words(note)}
    if tx.execute(Q["end_task"], given).fetchone() is not None:
        return
    row = tx.execute(Q["task"], {"task": task}).fetchone()
    if row is None:
        raise InputRefused("task_unknown", f"There is no task {task}.", "List them: recoup recovery tasks")
    raise LawRefused(
        "task_over", f"Task {task} is {row[0]}, by {row[1]}.", "Nothing to do.", task=str(task), status=row[0]
    )


def report(
    tx: Transaction,
    candidate: UUID,
    *,
    succeeded: bool,
    token: UUID | None = None,
    error: str | None = None,
    result: Any = None,
    rolled_back: bool = False,
) -> str:
    """Report the outcome of a claimed candidate whose action is outside of this database, as the evaluator.

    token: of its claim; without it the present claim is meant. rolled_back: it did
    not work, and undid what it had done. Returns succeeded, failed, rolled_back, or late: then its lease had expired,
    and the result is stored and does not count.
    """
    row = tx.execute(Q["claim"], {"candidate": candidate}).fetchone()
    if row is None:
        raise InputRefused(
            "candidate_unknown", f"There is no candidate {candidate}.", "List them: recoup recovery list"
        )
    status, present, makes = row
    if makes is not None:
        raise LawRefused(
            "outcome_not_reported",
            f"The outcome of candidate {candidate} is that of the {makes} it awaits: nobody reports it.",
            f"See: recoup recovery show {candidate}",
            candidate=str(candidate),
        )
    if present is None:
        raise LawRefused(
            "candidate_not_claimed",
            f"Candidate {candidate} is {status}: nobody executes it.",
            f"See: recoup recovery show {candidate}",
            candidate=str(candidate), status=status,
        )  # fmt: skip
    held = Held(candidate, token or present)
    (became,) = executing.finish(tx, [(held, Outcome(succeeded, error, result, rolled_back))])
    return became
