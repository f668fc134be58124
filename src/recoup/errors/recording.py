"""Recording: each failure once and for good, with what is to become of it, in one statement for any number.

What is masked, redacted and decided here is pure; the database adds what only it knows: the time, and the error of the
same table, entity and signature that a newer one supersedes.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from recoup.database.arrays import Routine, literal
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors import figures
from recoup.errors.decision import Decision, decide
from recoup.errors.figures import Figures
from recoup.errors.redaction import in_words, redacted
from recoup.errors.tables import is_global
from recoup.errors.vocabulary import Category, Severity, Want
from recoup.refusals import InputRefused
from recoup.signatures import category, signature

Q = load("recoup.errors", "recording.sql")
AT_ONCE_MOST = 5_000  # rows of one statement; more are recorded in several, in the caller's transaction
MESSAGE_MOST = 100_000  # characters; what is longer is cut, and says so
PAYLOAD_MOST = 1_000_000  # characters as JSON; what is larger is left out, and says so
CODE_MOST = 200
_POLICY_TRIES = 5

RECORD = Routine(
    name="recoup.record_errors",
    sets=(
        # Rows: which decision, what failed, and the later row of the call that supersedes it.
        {
            "places": "integer", "entities": "uuid", "messages": "text", "signatures": "text", "payloads": "jsonb",
            "later": "integer",
        },
        # Decisions, each once.
        {
            "tables": "text", "codes": "text", "severities": "text", "categories": "text", "dispositions": "text",
            "tiers": "text", "days": "integer", "budgets": "integer", "park_reasons": "text", "deciders": "text",
            "clamps": "text",
        },
    ),
    optional=frozenset({"payloads"}),
    plain={"decided_under": "integer"},
    results={"ids": "ids"},
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class NewError:
    """A failure, as its hub tells it. What is left out is worked out."""

    table: str
    message: str
    outreach_id: UUID | None = None  # the entity; may be missing in global tables
    code: str | None = None
    severity: Severity | None = None
    category: Category | None = None  # by the policy's rules, its words and its code when it is not given
    payload: Mapping[str, Any] | None = None
    want: Want | None = None  # a person's word, which comes before every rule


class Recorded(NamedTuple):
    """An error that was recorded."""

    error_table: str
    error_id: int


class _Row(NamedTuple):
    """One error as the statement takes it."""

    place: int  # of its decision
    entity: UUID | None
    message: str
    signature: str
    payload: str | None


class _Key(NamedTuple):
    """What a decision depends on."""

    table: str
    severity: Severity | None
    category: Category
    code: str | None
    want: Want | None


def record(tx: Transaction, errors: Iterable[NewError]) -> list[Recorded]:
    """Record failures, all or none, in the order given. An older open error of the same failure is superseded."""
    given = list(errors)
    if len(given) > AT_ONCE_MOST:
        # The locks of all of them first, in order: taken part by part they would deadlock with a promotion of several.
        tx.execute(Q["hold"], {"entities": literal("uuid", (error.outreach_id for error in given))})
    recorded: list[Recorded] = []
    for start in range(0, len(given), AT_ONCE_MOST):
        recorded += _record(tx, given[start : start + AT_ONCE_MOST])
    return recorded


def _record(tx: Transaction, errors: Sequence[NewError]) -> list[Recorded]:
    figures.check_tables(tx, {error.table for error in errors})
    known = figures.kept(tx)
    for _ in range(_POLICY_TRIES):
        ids = RECORD.call(tx, **_statement(known, errors))["ids"]
        if ids is not None:
            return [Recorded(error.table, error_id) for error, error_id in zip(errors, ids, strict=True)]
        known = figures.renewed(tx)  # another policy came into force: decided anew
    raise InputRefused("policy_changes", "The policy changes faster than errors are decided.", "Try again.")


def _statement(known: Figures, errors: Sequence[NewError]) -> dict[str, Any]:
    decisions: dict[_Key, int] = {}
    rows = [_row(known, decisions, error) for error in errors]
    decided = [(key, _decided(known, key)) for key in decisions]
    payloads = [row.payload for row in rows]
    return {
        "places": [row.place for row in rows],
        "entities": [row.entity for row in rows],
        "messages": [row.message for row in rows],
        "signatures": [row.signature for row in rows],
        "payloads": payloads if any(payload is not None for payload in payloads) else None,
        "later": _later(decided, rows),
        "decided_under": known.version,
        **_columns(decided),
    }


def _decided(known: Figures, key: _Key) -> Decision:
    return decide(known.errors, key.table, severity=key.severity, category=key.category, code=key.code, person=key.want)


def _row(known: Figures, decisions: dict[_Key, int], error: NewError) -> _Row:
    if error.outreach_id is None and error.table in known.errors.tables and not is_global(error.table):
        raise InputRefused(
            "entity_missing",
            f"An error of {error.table} is about an entity, and none is given.",
            "Give its outreach_id; only global tables (schema public) do without.",
            table=error.table,
        )
    code = _code(error.code)
    message = in_words(error.message)
    kind = error.category if error.category is not None else category(message, code, known.rules)
    severity = None if error.severity is None else Severity(error.severity)  # a plain word will do
    want = None if error.want is None else Want(error.want)
    key = _Key(error.table, severity, Category(kind), code, want)
    return _Row(
        decisions.setdefault(key, len(decisions) + 1),
        error.outreach_id,
        message if len(message) <= MESSAGE_MOST else f"{message[:MESSAGE_MOST]} … [{len(message):,} characters]",
        signature(message, code).key,
        None if error.payload is None else _payload(error.payload, known.errors.redact_keys),
    )


def _later(decided: Sequence[tuple[_Key, Decision]], rows: Sequence[_Row]) -> list[int | None]:
    """For each row the place of the next one of the same failure, if there is one: it is superseded at birth."""
    later: list[int | None] = [None] * len(rows)
    last: dict[tuple[str, UUID, str], int] = {}
    for place, row in enumerate(rows):
        key, decision = decided[row.place - 1]
        if row.entity is None or decision.ttl is None:  # what is kept for ever is not superseded
            continue
        failure = (key.table, row.entity, row.signature)
        if failure in last:
            later[last[failure]] = place + 1
        last[failure] = place
    return later


def _columns(decided: Sequence[tuple[_Key, Decision]]) -> dict[str, list[Any]]:
    return {
        "tables": [key.table for key, _ in decided],
        "codes": [key.code for key, _ in decided],
        "severities": [key.severity for key, _ in decided],
        "categories": [key.category for key, _ in decided],
        "dispositions": [d.disposition for _, d in decided],
        "tiers": [d.ttl_tier for _, d in decided],
        "days": [None if d.ttl is None else d.ttl.days for _, d in decided],
        "budgets": [d.max_retries for _, d in decided],
        "park_reasons": [d.park_reason for _, d in decided],
        "deciders": [d.decided_by for _, d in decided],
        "clamps": [d.clamped_from for _, d in decided],
    }


def _code(code: str | None) -> str | None:
    if code is None:
        return None
    if not 0 < len(code.encode("utf-8", "replace")) <= CODE_MOST or "\0" in code:
        raise InputRefused(
            "error_code", f"The error code {code[:50]!r} is empty, or too long.",
            f"A code has 1 to {CODE_MOST} bytes; what happened goes into the message.",
        )  # fmt: skip
    return in_words(code)


def _payload(payload: Mapping[str, Any], keys: Sequence[str]) -> str:
    text = json.dumps(redacted(payload, keys), allow_nan=False, ensure_ascii=False)
    if len(text) > PAYLOAD_MOST:
        return json.dumps({"left_out": f"a payload of {len(text):,} characters; {PAYLOAD_MOST:,} are kept at most"})
    return text
