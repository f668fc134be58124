"""Recording: any number of failures in one statement, each with the decision of the policy.

Signatures, redaction and decisions are worked out here, without the database. The database adds the time, and finds the
open error of the same table, entity, work key and signature that a new one supersedes.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from types import NoneType
from typing import Any, NamedTuple
from uuid import UUID

from recoup.database.arrays import Routine, literal
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors import active_policy
from recoup.errors.active_policy import ActivePolicy
from recoup.errors.decision import Decision, decide, never_weaker
from recoup.errors.inputs import entity, moment, shown, word
from recoup.errors.plain import plain
from recoup.errors.prefetch import prefetched
from recoup.errors.tables import is_global
from recoup.errors.vocabulary import Category, Severity, Want
from recoup.redaction import in_words, redacted
from recoup.refusals import InputRefused
from recoup.signatures import read

Q = load("recoup.errors", "recording.sql")
MAX_AT_ONCE = 5_000  # rows of one statement; more are recorded by several, in the caller's transaction
MAX_MESSAGE = 100_000  # characters; a longer message is cut, and its length added
MAX_PAYLOAD = 1_000_000  # characters as JSON; a larger payload is replaced by a note
MAX_CODE = 200
WORK_KEY = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,200}")
_POLICY_TRIES = 5
_json = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode

RECORD = Routine(
    name="recoup.record_errors",
    sets=(
        # Rows: the number of the decision, what failed, and the later row of the call that supersedes it.
        {
            "places": "integer", "entities": "uuid", "work_keys": "text", "messages": "text", "signatures": "text",
            "payloads": "jsonb", "later": "integer", "failed_at": "timestamp with time zone",
        },
        # Decisions, each once.
        {
            "tables": "text", "codes": "text", "severities": "text", "categories": "text", "dispositions": "text",
            "tiers": "text", "days": "integer", "budgets": "integer", "park_reasons": "text", "deciders": "text",
            "clamps": "text", "overruled": "text",
        },
    ),
    optional=frozenset({"payloads", "work_keys", "overruled", "failed_at"}),
    plain={"decided_under": "integer"},
    results={"ids": "ids"},
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class NewError:
    """A failure, as its hub reports it. Only table and message are required; the rest is worked out."""

    table: str
    message: str
    outreach_id: UUID | str | None = None  # the entity; optional in global tables only
    work_key: str | None = None  # which piece of the entity's work, such as a person. Each piece fails by itself
    code: str | None = None
    severity: Severity | None = None
    category: Category | None = None  # default: by the policy's rules, the message and the code
    payload: Mapping[str, Any] | None = None
    want: Want | None = None  # a person's decision, which comes before every rule
    failed_at: datetime | None = None  # when it first failed, if before now: TTL and retry window count from then


class Recorded(NamedTuple):
    """An error that was recorded."""

    error_table: str
    error_id: int


class Prepared(NamedTuple):
    """Errors as one statement takes them."""

    errors: Sequence[NewError]
    given: dict[str, Any]


class _Key(NamedTuple):
    """What a decision depends on."""

    table: str
    severity: Severity | None
    category: Category
    code: str | None
    want: Want | None


def record(tx: Transaction, errors: Iterable[NewError]) -> list[Recorded]:
    """Record failures, all or none, in the order given. An older open error of the same failure is superseded.

    Large sets are sent in parts; the next part is prepared while the server records the one before.
    """
    given = list(errors)
    if not given:
        return []
    active_policy.check_tables(tx, {error.table for error in given})
    if len(given) > MAX_AT_ONCE:
        # All locks first, in order: taken part by part they could deadlock with a promotion of several entities.
        tx.execute(Q["hold"], {"entities": literal("uuid", (entity(error.outreach_id) for error in given))})
    sets = [given[start : start + MAX_AT_ONCE] for start in range(0, len(given), MAX_AT_ONCE)]
    known = active_policy.cached(tx)
    prepared = (prepare(known, one) for one in sets)
    with closing(prefetched(prepared) if len(sets) > 1 else prepared) as coming:
        return [one for ready in coming for one in record_prepared(tx, ready)]


def record_prepared(tx: Transaction, ready: Prepared) -> list[Recorded]:
    """Record a prepared set; if another policy is active by now, prepare it again."""
    for _ in range(_POLICY_TRIES):
        ids = RECORD.call(tx, **ready.given)["ids"]
        if ids is not None:
            return [Recorded(error.table, error_id) for error, error_id in zip(ready.errors, ids, strict=True)]
        ready = prepare(active_policy.reloaded(tx), ready.errors)
    raise InputRefused("policy_changes", "The policy changed too often while these errors were decided.", "Try again.")


def prepare(known: ActivePolicy, errors: Sequence[NewError]) -> Prepared:
    """Everything that needs no database: signatures, categories, decisions, payloads without secrets."""
    codes = [usable_code(error.code) for error in errors]
    messages = [in_words(text if type(text := error.message) is str else plain(text)) for error in errors]
    readings = [read(message, code, known.rules) for message, code in zip(messages, codes, strict=True)]
    kinds = [
        reading.category if error.category is None else error.category
        for error, reading in zip(errors, readings, strict=True)
    ]
    decisions: dict[tuple[Any, ...], int] = {}
    places = [
        decisions.setdefault((error.table, error.severity, kind, code, error.want), len(decisions) + 1)
        for error, kind, code in zip(errors, kinds, codes, strict=True)
    ]
    decided = [(key, _decided(known, key)) for key in map(_key, decisions)]
    entities = [_entity(known, error) for error in errors]
    # Ids of people and documents come as numbers, too.
    work_keys = [usable_work_key(k if type(k := error.work_key) in (str, NoneType) else str(k)) for error in errors]
    signatures = [reading.key for reading in readings]
    later = _later(decided, places, list(zip(entities, work_keys, signatures, strict=True)))
    given = {
        "places": places,
        "entities": entities,
        "work_keys": None if work_keys.count(None) == len(work_keys) else work_keys,
        "messages": [_cut(message) for message in messages],
        "signatures": signatures,
        "payloads": _payloads(errors, known.errors.redact_keys),
        "later": later,
        "failed_at": _failed_at(errors, later),
        "decided_under": known.version,
        **_columns(decided),
    }
    return Prepared(errors, given)


def _key(given: tuple[Any, ...]) -> _Key:
    """What a decision depends on. Severity, category and want may be given as text."""
    table, severity, category, code, want = given
    kind = word(Category, category)
    assert kind is not None, "every message has one"
    return _Key(table, word(Severity, severity), kind, code, word(Want, want))


def _decided(known: ActivePolicy, key: _Key) -> Decision:
    return decide(known.errors, key.table, severity=key.severity, category=key.category, code=key.code, person=key.want)


def _entity(known: ActivePolicy, error: NewError) -> UUID | None:
    given = entity(error.outreach_id)
    if given is not None:
        return given
    if error.table in known.errors.tables and not is_global(error.table):
        raise InputRefused(
            "entity_missing",
            f"An error of {error.table} needs an entity, and none is given.",
            "Give its outreach_id. Only global tables (schema public) do without.",
            table=error.table,
        )
    return None


def _cut(message: str) -> str:
    return message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]} … [{len(message):,} characters]"


def _later(
    decided: list[tuple[_Key, Decision]], places: list[int], failures: Sequence[tuple[UUID | None, str | None, str]]
) -> list[int | None]:
    """For each row the number of the next row of the same failure: the earlier one is superseded at once.

    The later one gets a decision that is at least as strong as that of the one it supersedes.
    """
    later: list[int | None] = [None] * len(places)
    last: dict[tuple[str, tuple[UUID | None, str | None, str]], int] = {}
    # Errors that are kept forever are not superseded.
    tables = [None if decision.ttl is None else key.table for key, decision in decided]
    others: dict[tuple[_Key, Decision], int] = {}
    for at, (place, failure) in enumerate(zip(places, failures, strict=True)):
        table = tables[place - 1]
        if table is not None and failure[0] is not None:
            before = last.get((table, failure))
            if before is not None:
                later[before] = at + 1
                places[at] = _never_weaker(decided, others, place, places[before])
            last[table, failure] = at
    return later


def _failed_at(errors: Sequence[NewError], later: Sequence[int | None]) -> list[datetime | None] | None:
    """When each first failed. Rows of one failure are all as old as the oldest of them."""
    if all(error.failed_at is None for error in errors):
        return None
    first = [None if error.failed_at is None else moment(error.failed_at) for error in errors]
    for forward in (True, False):
        for at in range(len(first)) if forward else reversed(range(len(first))):
            if (other := later[at]) is not None:
                given = [one for one in (first[at], first[other - 1]) if one is not None]
                first[at] = first[other - 1] = min(given, default=None)
    return first


def _never_weaker(
    decided: list[tuple[_Key, Decision]], others: dict[tuple[_Key, Decision], int], place: int, before: int
) -> int:
    """The number of a decision, or of one that is at least as strong as an earlier one."""
    key, decision = decided[place - 1]
    held = never_weaker(decision, decided[before - 1][1])
    if held == decision:
        return place
    if (key, held) not in others:
        decided.append((key, held))
        others[key, held] = len(decided)
    return others[key, held]


def _columns(decided: Sequence[tuple[_Key, Decision]]) -> dict[str, list[Any] | None]:
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
        "overruled": [d.overruled for _, d in decided] if any(d.overruled for _, d in decided) else None,
    }


@lru_cache(maxsize=4_096, typed=True)  # few codes, many errors
def usable_code(code: str | None) -> str | None:
    """An error code, or a refusal."""
    if code is None:
        return None
    if not isinstance(code, str) or not 0 < len(code.encode("utf-8", "replace")) <= MAX_CODE or "\0" in code:
        raise InputRefused(
            "error_code", f"The error code {shown(code)} is empty, too long, or no text.",
            f"Give a code of 1 to {MAX_CODE} bytes; put details into the message.",
        )  # fmt: skip
    return in_words(code)


@lru_cache(maxsize=4_096, typed=True)
def usable_work_key(key: str | None) -> str | None:
    """A work key, or a refusal."""
    if key is None or WORK_KEY.fullmatch(key):
        return key
    raise InputRefused(
        "work_key", f"The work key {key[:50]!r} is empty, too long, or holds control characters.",
        "Give the id of a piece of the entity's work, such as a person or a document, in 1 to 200 characters.",
    )  # fmt: skip


def _payloads(errors: Sequence[NewError], keys: Sequence[str]) -> list[str | None] | None:
    if all(error.payload is None for error in errors):
        return None
    return [None if error.payload is None else _payload(error.payload, keys) for error in errors]


def _payload(payload: Mapping[str, Any], keys: Sequence[str]) -> str:
    try:
        text = _json(redacted(payload, keys))
    except Exception:  # noqa: BLE001 - a payload's own class may raise anything; the failure is recorded all the same
        read = plain(payload)
        text = _json(redacted(read if isinstance(read, dict) else {"left_out": read}, keys))
    if len(text) > MAX_PAYLOAD:
        return _json({"left_out": f"a payload of {len(text):,} characters; the maximum is {MAX_PAYLOAD:,}"})
    return text
