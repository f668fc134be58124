"""The guard that is written out from a declaration says what the guard that reads it says, word for word.

A twin of the table, with a lifecycle of its own that is the same but for the domain's own rule of a move, has no other
triggers, checks or keys, so that the guard alone answers. Every statement is tried in one form, then in the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from psycopg.sql import SQL, Identifier

from company import MIGRATING
from conformance.cast import Actor
from conformance.combinations import ACTORS
from recoup.clock import CLOCK
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority, Lifecycle

TWIN, CAUSE = "cl.twin", "cl.twin_cause"
AT_ONCE = 500
# Of each type three values that rise, and a fourth that is in no row.
VALUES = {
    "text": ("'a'", "'b'", "'c'", "'d'"),
    "uuid": tuple(f"'00000000-0000-7000-8000-00000000000{i}'" for i in range(4)),
    "integer": ("1", "2", "3", "4"),
    "smallint": ("1", "2", "3", "4"),
    "bigint": ("1", "2", "3", "4"),
    "real": ("0.1", "0.2", "0.3", "0.4"),
    "numeric": ("0.1", "0.2", "0.3", "0.4"),
    "boolean": ("false", "true", "false", "false"),
    "jsonb": ("'1'", "'2'", "'3'", "'4'"),
    "bytea": ("'a'", "'b'", "'c'", "'d'"),
    "text[]": ("'{a}'", "'{b}'", "'{c}'", "'{d}'"),
    "date": tuple(f"'2026-01-0{i}'" for i in range(1, 5)),
    "timestamp with time zone": tuple(f"'2026-01-0{i}'" for i in range(1, 5)),
}
# What a statement says when the guard lets it through, and what it says otherwise. Whatever it did is undone.
ASK = f"""
create function pg_temp.said(actor text, caused boolean, statement text) returns text language plpgsql as $$
declare
  m text; h text; d text;
begin
  if caused then
    perform set_config('recoup.acting_role', actor, true);
    execute 'set local role recoup_reader';
    insert into {CAUSE} values (statement);
  else
    execute format('set local role %I', actor);
    execute statement;
  end if;
  raise exception using errcode = 'T0000';
exception
  when sqlstate 'T0000' then return 'done';
  when others then
    get stacked diagnostics m = message_text, h = pg_exception_hint, d = pg_exception_detail;
    return concat_ws(' | ', sqlstate, m, h, d);
end $$;
create table {CAUSE} (statement text);
create function {CAUSE}() returns trigger language plpgsql security definer as $$ begin
  execute new.statement; return null; end $$;
create trigger t after insert on {CAUSE} for each row execute function {CAUSE}();
alter table {CAUSE} owner to recoup_owner;
alter function {CAUSE}() owner to recoup_owner;
grant insert on {CAUSE} to recoup_reader;
"""
DECLARE = f"""
{MIGRATING}
insert into recoup.lifecycle select (jsonb_populate_record(l, '{{"subject": "{TWIN}", "move_rule": null}}')).*
  from recoup.lifecycle l where subject = %(subject)s;
insert into recoup.lifecycle_step select (jsonb_populate_record(s, '{{"subject": "{TWIN}"}}')).*
  from recoup.lifecycle_step s where subject = %(subject)s;
create table {TWIN} as select * from {{table}} limit 0;
alter table {TWIN} owner to recoup_owner;
"""


def both_forms_say_the_same(tx: Transaction, life: Lifecycle, *, every_stranger: bool = True) -> None:
    """Every birth, move and exit, by every authority, by hand and as a consequence, and every rule on a column.

    A stranger is an authority that the declaration does not name. The forms know no other difference between them:
    where not every one is wanted, one of them speaks for all.
    """
    tx.execute(ASK)
    for statement in DECLARE.replace("{table}", life.table).split(";\n"):
        tx.execute(statement.encode(), {"subject": life.table} if "%(" in statement else None)
    for role in (*(a.role for a in Authority), "recoup_owner"):
        tx.execute(SQL("grant all on cl.twin to {}").format(Identifier(role)))
    if life.table == CLOCK.table:  # a table of one row, whose key has one value: here there are several
        tx.execute(SQL("alter table cl.twin alter {} type text").format(Identifier(*life.key)))
    types = {
        str(n): str(t)
        for n, t in tx.execute(
            "select attname, format_type(atttypid, null) from pg_attribute where attrelid = 'cl.twin'::regclass"
            " and attnum > 0"
        )
    }
    for row in _rows(life, types):
        tx.execute(f"insert into {TWIN} ({', '.join(row)}) values ({', '.join(row.values())})".encode())
    cases = list(_cases(life, types, every_stranger=every_stranger))
    tx.execute(f"call recoup.equip_all('{TWIN}')")
    written = _answers(tx, cases)
    for kind, event in (("births", "insert"), ("moves", "update"), ("exits", "delete")):
        tx.execute(f"drop trigger a_guard_{kind} on {TWIN}")
        generic = "recoup.guard_" + kind
        tx.execute(
            "call recoup.put_trigger(%s::regclass, %s, 'after', %s, 'statement', %s, %s)",
            (TWIN, f"a_guard_{kind}", event, generic, TWIN),
        )
    for case, one, other in zip(cases, written, _answers(tx, cases), strict=True):
        assert one == other, case
    said = dict(zip(cases, written, strict=True))
    for step in life.moves:
        plain = said[step.authority.role, bool(step.via), _moved(life, step.source, step.target)]
        assert plain.startswith("RC007" if step.counts else "done"), step
    assert {answer[:5] for answer in written} >= set(_to_be_heard(life))


def _to_be_heard(life: Lifecycle) -> Iterator[str]:
    yield "RC001"
    yield "RC002"
    yield "RC003"
    ruled = set(_ruled(life))
    for rule, columns in (("RC005", life.frozen), ("RC006", life.once), ("RC007", life.rising)):
        if life.moves and ruled & set(columns):
            yield rule
    if life.moves:
        yield "RC004"
    if any(birth.via for birth in life.births) or any(move.via for move in life.moves):
        yield "RC012"


Case = tuple[str, bool, str]  # who, whether as a consequence, what


def _answers(tx: Transaction, cases: list[Case]) -> list[str]:
    """Some at a time. The rows of what was undone stay in the twin until it is rewritten; all would read past them."""
    answers: list[str] = []
    for first in range(0, len(cases), AT_ONCE):
        actors, caused, statements = (list(column) for column in zip(*cases[first : first + AT_ONCE], strict=True))
        rows = tx.execute(
            "select pg_temp.said(c.actor, c.caused, c.statement)"
            " from unnest(%s::text[], %s::boolean[], %s::text[]) with ordinality c (actor, caused, statement, place)"
            " order by c.place",
            (actors, caused, statements),
        ).fetchall()
        answers += [str(said) for (said,) in rows]
        for form in ("unlogged", "logged"):
            tx.execute(f"alter table {TWIN} set {form}")
    return answers


def _ruled(life: Lifecycle) -> list[str]:
    named = (*life.frozen, *life.once, *life.rising, *((life.counter,) if life.counter else ()))
    return [column for column in dict.fromkeys(named) if column not in (*life.key, life.status_column)]


def _rows(life: Lifecycle, types: dict[str, str]) -> Iterator[dict[str, str]]:
    """Of each status a row that has every ruled column, and one that has none of them."""
    for place, (status, full) in enumerate(product(life.statuses, (True, False))):
        key = {life.key[-1]: _place(types[life.key[-1]], place)}
        rest = {column: VALUES[types[column]][0] for column in life.key[:-1]}
        ruled = {column: VALUES[types[column]][1] for column in _ruled(life)} if full else {}
        yield {**rest, **key, life.status_column: f"'{status}'", **ruled}


def _place(kind: str, place: int) -> str:
    """A value of that type for each row."""
    if kind == "uuid":
        return f"'00000000-0000-7000-8000-1{place:011}'"
    return f"'2027-01-{place + 1:02}'" if kind in ("date", "timestamp with time zone") else f"'{place + 100}'"


def _actors(life: Lifecycle, *, every_stranger: bool) -> list[Actor]:
    named = {born.authority for born in life.births} | {move.authority for move in life.moves}
    named |= {way_out.authority for way_out in life.exits}
    strangers = [actor for actor in ACTORS if isinstance(actor, Authority) and actor not in named]
    silent = set() if every_stranger else set(strangers[1:])
    return [actor for actor in ACTORS if actor not in silent]


def _cases(life: Lifecycle, types: dict[str, str], *, every_stranger: bool) -> Iterator[Case]:
    for actor in _actors(life, every_stranger=every_stranger):
        who = actor.role if isinstance(actor, Authority) else actor or "recoup_admin"
        for caused in (False, True):
            for status in (*life.statuses, "UNKNOWN"):
                yield who, caused, f"delete from {TWIN} where {life.status_column} = '{status}'"
                for given in _born(life, types):
                    row = given | {life.status_column: f"'{status}'"}
                    yield who, caused, f"insert into {TWIN} ({', '.join(row)}) values ({', '.join(row.values())})"
            for source, target in product(life.statuses, (*life.statuses, "UNKNOWN")):
                yield who, caused, _moved(life, source, target)
    # A rule on a column is asked within every step that is listed, for whoever may make it.
    for step in life.moves:
        for change in _changes(life, types):
            yield step.authority.role, bool(step.via), _moved(life, step.source, step.target, change)


def _moved(life: Lifecycle, source: str, target: str, change: str = "") -> str:
    status = life.status_column
    also = f", {change}" if change else ""
    return f"update {TWIN} set {status} = '{target}'{also} where {status} = '{source}'"


def _born(life: Lifecycle, types: dict[str, str]) -> Iterator[dict[str, str]]:
    """A row without what a birth requires, and one with it."""
    key = {column: VALUES[types[column]][3] for column in life.key}
    yield key
    yield key | {column: VALUES[types[column]][0] for birth in life.births for column in birth.requires}


def _changes(life: Lifecycle, types: dict[str, str]) -> Iterator[str]:
    for column in (*_ruled(life), *life.key):
        low, same, high, _ = VALUES[types[column]]
        for value in (low, same, high, "null"):
            yield f"{column} = {value}"
    if life.counter:
        yield f"{life.counter} = {life.counter} + 1"
        yield f"{life.counter} = {life.counter} + 2"
