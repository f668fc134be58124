"""Errors as a subject of verbs: how the errors of a filter are counted, selected and acted on."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from psycopg.rows import dict_row
from psycopg.sql import Composable

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors import active_policy, parking
from recoup.errors.listing import Filter, given, matching
from recoup.errors.lookup import ErrorKey
from recoup.errors.verbs import VERBS, Verb, why_not
from recoup.errors.vocabulary import ErrorStatus
from recoup.operations.verbs import Act, Answer, Group, Outcomes, Step, Subject

Q = load("recoup.errors", "verbs.sql")


def _groups(tx: Transaction, act: Act, asked: Filter) -> list[Group]:
    policy = active_policy.reloaded(tx).errors
    with tx.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(matching("standings", Q), given(tx, asked), prepare=False).fetchall()
    return [
        Group(
            {"error_table": row["error_table"], "status": row["status"]},
            row["errors"],
            why_not(act, row["error_table"], policy.tables.get(row["error_table"]), parking.snapshot(row)),
        )
        for row in rows
    ]


def _chosen(tx: Transaction, asked: Filter) -> tuple[Composable, Mapping[str, Any]]:
    return matching("chosen", Q), given(tx, asked)


def _narrowed(act: Act, asked: Filter) -> Filter:
    """Parked errors, for the verbs that are about those."""
    if act.verb in (Verb.UNPARK, Verb.ESCALATE) and not asked.statuses:
        return replace(asked, statuses=(ErrorStatus.PARKED, ErrorStatus.ESCALATED))
    return asked


def _carry_out(tx: Transaction, act: Act, units: Sequence[str]) -> list[Answer]:
    answers = parking.carry_out(tx, act, [_key(unit) for unit in units])
    return [Answer(unit, *answer[2:]) for unit, answer in zip(units, answers, strict=True)]


def _key(unit: str) -> ErrorKey:
    table, _, error_id = unit.rpartition("/")
    return ErrorKey(table, int(error_id))


def _outcomes(tx: Transaction, step: Step) -> Outcomes:
    """Of errors that were unparked: resolved, or failed again since; the others are still retried."""
    return Outcomes(*tx.execute(Q["outcomes"], step._asdict()).fetchone() or (0, 0, 0))


SUBJECT = Subject(
    table="recoup.error",
    noun="error",
    verbs=VERBS,
    groups=_groups,
    chosen=_chosen,
    carry_out=_carry_out,
    narrowed=_narrowed,
    named=lambda unit: _key(unit)._asdict(),
    outcomes={Verb.UNPARK: _outcomes},
)
