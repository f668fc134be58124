"""What actions make, need and are served as: the library and the database say the same of each."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import psycopg
import pytest

from company import acting
from incidents import MANUAL, NOTIFY, approve, change, end_scope, make_effect, ready, start
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.recovery import effects
from recoup.recovery.recommending import APPLICABLE
from recoup.recovery.vocabulary import ActionType, SubjectKind

ID = "01a1ebf9-ae14-76c9-a2f9-07a8f45b3ee2"
GIVEN: tuple[dict[str, Any], ...] = (
    {}, {"key": "a.b-c_1", "value": None}, {"key": "a"}, {"key": "A", "value": 1}, {"key": "a\n", "value": 1},
    {"key": ["a"], "value": 1}, {"key": None, "value": 1}, {"key": "a" * 101, "value": 1},
    {"alternative": None}, {"alternative": {"model": "small"}},
    {"owner": "ops", "due_hours": 24}, {"owner": "ops"}, {"owner": "", "due_hours": 1}, {"owner": 7, "due_hours": 1},
    {"owner": "ü" * 250, "due_hours": 9999}, {"owner": "ü" * 251, "due_hours": 1}, {"owner": "o", "due_hours": 0},
    {"owner": "o", "due_hours": -1}, {"owner": "o", "due_hours": 10_000}, {"owner": "o", "due_hours": 1.5},
    {"owner": "o", "due_hours": "24"}, {"owner": "o", "due_hours": True}, {"owner": "o", "due_hours": 10**30},
    {"route": "log"}, {"route": ""}, {"route": None}, {"route": 7}, {"route": "ü" * 30}, {"route": "ü" * 31},
    {"breaker": "crm"}, {"breaker": ""}, {"breaker": None}, {"breaker": 7}, {"breaker": "ü" * 251},
    {"undoes": ID}, {"undoes": ID.upper()}, {"undoes": ID + " "}, {"undoes": 7}, {"undoes": ID, "action": "resize"},
)  # fmt: skip


@pytest.mark.parametrize("type_", ActionType)
def test_the_library_says_what_the_database_says(scratch: Transaction, type_: ActionType) -> None:
    for kind, given in product(SubjectKind, GIVEN):
        row = scratch.execute(
            "select recovery.applicable(%(type)s, %(kind)s), recovery.makes(%(type)s, %(kind)s, %(given)s::jsonb),"
            " recovery.lacks(%(type)s, %(kind)s, %(given)s::jsonb),"
            " recovery.served_as('name', %(type)s, %(given)s::jsonb)",
            {"type": type_.value, "kind": kind.value, "given": json.dumps(given)},
        ).fetchone()
        assert row == (
            kind in APPLICABLE[type_], effects.makes(type_, kind, given), effects.lacks(type_, kind, given),
            effects.served_as("name", type_, given),
        ), (kind, given)  # fmt: skip


AWAITS = (
    "effect_made_at = t.now_, outcome_by = t.now_ + interval '1 hour', updated_at = t.now_,"
    " awaits = jsonb_build_object('kind', %(kind)s::text, 'key', %(unit)s::text, 'since_seq', 1)"
)


def value(tx: Transaction, query: str, *given: Any) -> Any:
    (found,) = tx.execute(query.encode(), given).fetchone() or (None,)
    return found


@pytest.mark.parametrize(("action", "kind"), [(NOTIFY, "delivery"), (MANUAL, "task")])
def test_an_executor_awaits_nothing_that_is_not_of_its_candidate(scratch: Transaction, action: str, kind: str) -> None:
    """By hand, too: the delivery or the task of another incident would be taken for its own."""
    other, ours = start(scratch, ready(scratch, action=action)), start(scratch, ready(scratch, action=action))
    assert make_effect(scratch, other) == "made"
    unit = value(scratch, "select awaits ->> 'key' from recovery.candidate where candidate_id = %s", other)
    with pytest.raises(psycopg.Error) as refused, scratch.transaction():
        change(scratch, Authority.EXECUTOR, ours, AWAITS, kind=kind, unit=unit)
    assert refused.value.sqlstate == "40001"
    assert make_effect(scratch, ours) == "made"
    assert value(scratch, "select awaits ->> 'key' from recovery.candidate where candidate_id = %s", ours) != unit


def test_an_executor_awaits_the_breaker_that_it_opens(scratch: Transaction) -> None:
    ours = start(scratch, approve(scratch, ready(scratch, action="circuit_breaker")))
    record = "result = jsonb_build_object('undo', recovery.change_record('circuit_breaker', m.source,"
    given = (
        f"{AWAITS}, {record} '{{\"status\": \"closed\"}}', jsonb_build_object('status', 'open', 'opened_at', t.now_)))"
        " from recovery.failure_match m, (select recoup.now() as now_) t"
        " where m.failure_match_id = c.failure_match_id and c.candidate_id = %(key)s"
    )
    with pytest.raises(psycopg.Error) as refused, scratch.transaction(), acting(scratch, Authority.EXECUTOR):
        scratch.execute(
            f"update recovery.candidate c set {given}".encode(), {"key": ours, "kind": "breaker", "unit": "another"}
        )
    assert refused.value.sqlstate == "RC086"


def test_no_effect_is_made_within_a_scope_that_was_revoked(scratch: Transaction) -> None:
    ours = start(scratch, ready(scratch, action=MANUAL))
    scope = value(scratch, "select scope_id from recovery.candidate where candidate_id = %s", ours)
    end_scope(scratch, scope, "revoked")
    with pytest.raises(psycopg.Error) as refused, scratch.transaction():
        change(scratch, Authority.EXECUTOR, ours, AWAITS, kind="task", unit=ID)
    assert refused.value.sqlstate == "RC089"
    assert make_effect(scratch, ours) == "SCOPE_REVOKED"
