"""Rows in arrays: what a routine takes and gives is declared once, and is what the database has."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

import psycopg
import pytest

from recoup.database.arrays import Routine, call_in_turn, literal, records
from recoup.database.connection import Transaction
from recoup.errors import recording, retrying
from recoup.gate import attempts

ROUTINES = (
    recording.RECORD, retrying.CLAIM, retrying.END,
    attempts.OPEN, attempts.CLAIM_RETRIES, attempts.CLAIM_PENDING, attempts.FINISH,
)  # fmt: skip
IN_SETS = tuple(routine for routine in ROUTINES if any(len(arrays) > 1 for arrays in routine.sets))
SIGNATURE = """
select a.name, format_type(a.type, null), coalesce(a.mode, 'i')
  from pg_proc p
 cross join unnest(p.proargnames, coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargmodes) a (name, type, mode)
 where p.oid = %s::regproc
"""


@pytest.mark.parametrize("routine", ROUTINES, ids=lambda routine: routine.name)
def test_a_declaration_is_what_the_database_has(scratch: Transaction, routine: Routine) -> None:
    """Names and types of what it takes, and the names of what it gives."""
    found = scratch.execute(SIGNATURE, (routine.name,)).fetchall()
    assert routine.parameters == {name: kind for name, kind, mode in found if mode == "i"}
    assert sorted(routine.results.values()) == sorted(name for name, _, mode in found if mode == "o")


def test_the_fields_of_a_record_are_columns() -> None:
    assert retrying.Claimed._fields == tuple(retrying.CLAIM.results)
    assert retrying.Ended._fields == tuple(retrying.END.results)
    assert attempts.Attempt._fields == tuple(attempts.OPEN.results)
    assert attempts.Finished._fields == tuple(attempts.FINISH.results)


def unfit(routine: Routine) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls with one array that is too long, or missing though it may not be: its name, and what is given."""
    fit: dict[str, Any] = {
        name: [None] * 2 if kind.endswith("[]") else None for name, kind in routine.parameters.items()
    }
    for arrays in routine.sets:
        for name in arrays if len(arrays) > 1 else ():
            yield name, fit | {name: [None] * 3}
            if name not in routine.optional:
                yield name, fit | {name: None}


@pytest.mark.parametrize("routine", IN_SETS, ids=lambda routine: routine.name)
def test_arrays_that_make_no_rows_are_not_sent(scratch: Transaction, routine: Routine) -> None:
    for name, given in unfit(routine):
        with pytest.raises(ValueError, match=f"{routine.name}: .*'{name}': (3|None)"):
            routine.call(scratch, **given)
    assert scratch.execute("select 1").fetchone() == (1,)  # nothing was refused by the database


@pytest.mark.parametrize("routine", IN_SETS, ids=lambda routine: routine.name)
def test_arrays_that_make_no_rows_are_refused_by_the_database(scratch: Transaction, routine: Routine) -> None:
    """Whoever sends them: the arrays that are there would be filled up with nulls."""
    for _, given in unfit(routine):
        with pytest.raises(psycopg.Error) as caught, scratch.transaction():
            scratch.execute(routine.text, given)
        assert caught.value.sqlstate == "RC039"
        assert caught.value.diag.message_primary is not None
        assert "lengths" in caught.value.diag.message_primary or routine is attempts.FINISH


def test_a_routine_takes_what_it_declares(scratch: Transaction) -> None:
    with pytest.raises(TypeError, match="takes most, worker_, lease, not limit, worker_, lease"):
        attempts.CLAIM_PENDING.call(scratch, limit=1, worker_="w", lease=None)


def test_of_two_calls_in_one_statement_the_second_sees_what_the_first_did(scratch: Transaction) -> None:
    """Whatever the first one gives, nulls alone included, and also under a plan that is kept."""
    scratch.execute(
        "create temp table said (place bigserial, what text);"
        " create function pg_temp.say(what_ text, out before text[], out nothing text) language plpgsql as $$ begin"
        " before := array(select s.what from said s order by s.place); insert into said (what) values (what_);"
        " before := nullif(before, '{}'); end $$"
    )
    say = Routine(name="pg_temp.say", plain={"what_": "text"}, results={"heard": "before", "nothing": "nothing"})
    for number in range(7):
        first, then = call_in_turn(scratch, (say, {"what_": f"{number}a"}), (say, {"what_": f"{number}b"}))
        assert then["heard"] == [*(first["heard"] or ()), f"{number}a"]
        assert len(then["heard"]) == 2 * number + 1


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("text", ["", "NULL", "null", None, 'say "no"', "back\\slash", "{a,b}", " spaces ", "two\nlines", "ärger"]),
        ("integer", [1, None, -7]),
        ("bigint", [2**40, None]),
        ("uuid", [uuid.UUID(int=7), None]),
        ("jsonb", [None]),
        ("text", []),
    ],
)
def test_elements_arrive_as_they_are(scratch: Transaction, kind: str, values: list[Any]) -> None:
    assert scratch.execute(f"select %s::{kind}[]", (literal(kind, values),)).fetchone() == (values,)


def test_documents_arrive_as_they_are(scratch: Transaction) -> None:
    document = {"said": 'he said "no"\\', "list": [1, None]}
    found = scratch.execute("select %s::jsonb[]", (literal("jsonb", [json.dumps(document), None]),)).fetchone()
    assert found == ([document, None],)


class Pair(NamedTuple):
    name: str
    number: int | None
    place: str


def test_records_are_made_by_name() -> None:
    """What is no array is the same in all; without the first array there are none."""
    columns = {"place": "here", "number": None, "name": ["a", "b"]}
    assert records(Pair, columns) == [Pair("a", None, "here"), Pair("b", None, "here")]
    assert records(Pair, {"place": "here", "number": [1], "name": None}) == []
    assert records(Pair, {"place": "here", "number": [], "name": []}) == []


@pytest.mark.parametrize("kind", ["uuid", "integer"])
@pytest.mark.parametrize("given", ["1,2", "NULL", "{", '"', "\\"])
def test_no_text_becomes_two_elements_or_none(scratch: Transaction, kind: str, given: str) -> None:
    """It is one element, which the server does not take."""
    with pytest.raises(psycopg.DataError), scratch.transaction():
        scratch.execute(f"select %s::{kind}[]", (literal(kind, [given]),))
