"""What people do with errors: park, unpark, resolve, escalate, assign, review, archive; one or many, in one statement.

Each error has its own answer: done, or why not. A refused error does not affect the others. Rows are locked in the
order of their ids, so that two people who act on the same errors wait for each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg.rows import dict_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors import active_policy
from recoup.errors.lookup import MAX_ID, ErrorKey
from recoup.errors.policy import ErrorPolicy
from recoup.errors.verbs import ARCHIVED, UNKNOWN, VERBS, Snapshot, Verb, level_after, why_not
from recoup.errors.vocabulary import ErrorStatus, Tier
from recoup.operations.verbs import Act, Why, act
from recoup.refusals import from_database

Q = load("recoup.errors", "parking.sql")


class Answer(NamedTuple):
    """The result of a verb on one error."""

    error_table: str
    error_id: int
    done: bool
    refused: str | None = None
    happened: str | None = None
    next_step: str | None = None


def park(tx: Transaction, errors: Sequence[ErrorKey], *, reason: str) -> list[Answer]:
    """Park errors until a person acts. A retry in progress is stopped, and counted."""
    return carry_out(tx, act(VERBS, Verb.PARK, reason=reason), errors)


def unpark(tx: Transaction, errors: Sequence[ErrorKey]) -> list[Answer]:
    """Unpark errors: retry them now, with the retries that are left, or one more."""
    return carry_out(tx, Act(verb=Verb.UNPARK), errors)


def resolve(tx: Transaction, errors: Sequence[ErrorKey]) -> list[Answer]:
    """Resolve errors that are fixed. They no longer block."""
    return carry_out(tx, Act(verb=Verb.RESOLVE), errors)


def escalate(
    tx: Transaction, errors: Sequence[ErrorKey], *, reason: str, to: str | None = None, level: int | None = None
) -> list[Answer]:
    """Escalate parked errors: to the next tier, and to its owner unless ``to`` names another."""
    return carry_out(tx, act(VERBS, Verb.ESCALATE, reason=reason, to=to, level=level), errors)


def assign(tx: Transaction, errors: Sequence[ErrorKey], *, to: str) -> list[Answer]:
    """Assign an owner to errors."""
    return carry_out(tx, act(VERBS, Verb.ASSIGN, to=to), errors)


def review(tx: Transaction, errors: Sequence[ErrorKey]) -> list[Answer]:
    """Mark errors as reviewed."""
    return carry_out(tx, Act(verb=Verb.REVIEW), errors)


def archive(tx: Transaction, errors: Sequence[ErrorKey]) -> list[Answer]:
    """Archive errors without resolving them. They no longer block, and the archiver moves them."""
    return carry_out(tx, Act(verb=Verb.ARCHIVE), errors)


def carry_out(tx: Transaction, act: Act, errors: Sequence[ErrorKey]) -> list[Answer]:
    """Apply a verb to errors. Answers are in the order given."""
    policy = active_policy.reloaded(tx).errors
    if act.verb in (Verb.PARK, Verb.UNPARK):  # an error that did not block may do so now
        tx.execute(Q["hold"], _arrays(_storable(errors)))
    found = _locked(tx, errors)
    refused = dict(_missing(tx, errors, found))
    for key, error in found.items():
        why = why_not(act, key.error_table, policy.tables.get(key.error_table), error)
        if why is not None:
            refused[key] = why
    chosen = {key: error for key, error in found.items() if key not in refused}
    refused |= _moved(tx, act, chosen, policy)
    return [Answer(*key, key not in refused, *refused.get(key, ())) for key in errors]


def _locked(tx: Transaction, errors: Sequence[ErrorKey]) -> dict[ErrorKey, Snapshot]:
    with tx.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(Q["lock"], _arrays(_storable(errors))).fetchall()
    return {ErrorKey(row["error_table"], row["error_id"]): snapshot(row) for row in rows}


def _storable(errors: Iterable[ErrorKey]) -> set[ErrorKey]:
    """Those that the database can hold."""
    return {key for key in errors if 0 < key.error_id <= MAX_ID and "\0" not in key.error_table}


def snapshot(row: Mapping[str, Any]) -> Snapshot:
    """The snapshot of an error, from its row."""
    known = {name: row[name] for name in Snapshot._fields}
    return Snapshot(**{**known, "status": ErrorStatus(row["status"]), "ttl_tier": Tier(row["ttl_tier"])})


def _missing(tx: Transaction, errors: Sequence[ErrorKey], found: Mapping[ErrorKey, Snapshot]) -> dict[ErrorKey, Why]:
    missing = {key for key in errors if key not in found}
    if not missing:
        return {}
    archived = {ErrorKey._make(row) for row in tx.execute(Q["archived"], _arrays(_storable(missing)))}
    return {key: ARCHIVED if key in archived else UNKNOWN for key in missing}


def _moved(tx: Transaction, act: Act, chosen: Mapping[ErrorKey, Snapshot], policy: ErrorPolicy) -> dict[ErrorKey, Why]:
    """Change them in one statement. If the database refuses, one by one, with the refusal of each."""
    if not chosen:
        return {}
    try:
        with tx.transaction():
            tx.execute(Q[act.verb], _given(act, chosen, policy))
    except psycopg.Error as error:
        refusal = from_database(error)
        if refusal is None:
            raise
        if len(chosen) == 1:
            return {key: Why(refusal.code, refusal.happened, refusal.next_step) for key in chosen}
    else:
        return {}
    refused: dict[ErrorKey, Why] = {}
    for key, error_ in chosen.items():
        refused |= _moved(tx, act, {key: error_}, policy)
    return refused


def _given(act: Act, chosen: Mapping[ErrorKey, Snapshot], policy: ErrorPolicy) -> dict[str, Any]:
    given = {**_arrays(chosen), "reason": act.reason, "to": act.given.get("to")}
    if act.verb == Verb.ESCALATE:
        levels = [level_after(act, error.escalation_level) for error in chosen.values()]
        owners = (policy.owner(key.error_table, level) for key, level in zip(chosen, levels, strict=True))
        given |= {"levels": levels, "owners": [act.given.get("to") or owner for owner in owners]}
    return given


def _arrays(keys: Mapping[ErrorKey, object] | set[ErrorKey]) -> dict[str, Any]:
    tables = [key.error_table for key in keys]
    return {"tables": tables, "ids": [key.error_id for key in keys], "among": sorted(set(tables))}
