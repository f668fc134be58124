"""What actions make, need and are served as: the library and the database say the same of each."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from recoup.database.connection import Transaction
from recoup.recovery import effects
from recoup.recovery.decision import APPLICABLE
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
