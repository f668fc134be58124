"""Ways to tamper with sealed logs: what a superuser can do who has disabled the triggers and dropped the constraints.

A case is drawn from a seeded generator and done inside a transaction that the caller rolls back. It says what it did,
in which log, and whether only a head that was kept elsewhere can show it.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from psycopg.sql import SQL, Identifier
from psycopg.types.json import Jsonb

from product import SEALED
from recoup.database.connection import Transaction
from recoup.ledger.seals import SealedLog

FAR = 10**15  # a transaction id that no cluster has come to
PLACE = ("seq", "xid", "incarnation")  # what says where a row lies


@dataclass(frozen=True, slots=True)
class Done:
    """What was done."""

    what: str
    log: str | None = None  # the log that a problem must name
    rewritten: bool = False  # the chain agrees with itself again: without a head nothing is found
    needs_head: bool = False


Tamper = Callable[[Transaction, random.Random], Done]


def disarm(tx: Transaction) -> None:
    """As superuser: no trigger fires, of the keys only those on seq and number are left, and no column is computed."""
    for table in (*(log.log for log in SEALED), "recoup.seal", "recoup.incarnation"):
        run(tx, f"alter table {table} disable trigger all")
        constraints = tx.execute(
            "select conname from pg_constraint where conrelid = %s::regclass and contype in ('c', 'p', 'u')"
            " and pg_get_constraintdef(oid) not in ('UNIQUE (seq)', 'PRIMARY KEY (seq)', 'PRIMARY KEY (number)')",
            (table,),
        )
        for (name,) in constraints.fetchall():
            run(tx, f'alter table {table} drop constraint "{name}" cascade')
    run(tx, "alter table recoup.late_result alter column late_result_id drop identity")
    run(tx, "alter table partitions.attempt alter column accepted_run_id drop expression")


def run(tx: Transaction, statement: str, *parameters: object) -> int:
    return tx.execute(statement, parameters or None).rowcount


def draw(rng: random.Random) -> tuple[str, Tamper]:
    """A way of tampering, by its name."""
    name = rng.choices(list(WAYS), weights=[weight for weight, _ in WAYS.values()])[0]
    return name, WAYS[name][1]


# Rows ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str
    nullable: bool


def columns(tx: Transaction, table: str) -> list[Column]:
    found = tx.execute(
        "select attname, atttypid::regtype::text, not attnotnull from pg_attribute"
        " where attrelid = %s::regclass and attnum > 0 and not attisdropped order by attnum",
        (table,),
    )
    return [Column(*row) for row in found]


def some_log(tx: Transaction, rng: random.Random, *, rows: int = 1) -> tuple[SealedLog, list[int]]:
    """A log and some of its rows, by seq."""
    while True:
        log = rng.choice(SEALED)
        seqs = [seq for (seq,) in tx.execute(f"select seq from {log.log} order by seq")]
        if len(seqs) >= rows:
            return log, rng.sample(seqs, rows)


def other(rng: random.Random, column: Column, value: Any, others: list[Any]) -> Any:
    """Another value for a column, near or far."""
    if column.nullable and value is not None and rng.random() < 0.2:
        return None
    different = [v for v in others if v != value]
    if different and column.name != "seq" and rng.random() < 0.3:
        return rng.choice(different)
    match column.type:
        case "text":
            text = value or ""
            at = rng.randrange(len(text) + 1)
            return text[:at] + rng.choice("xé ,{}\"\\'\n") + text[at:]
        case "text[]":
            return rng.choice([[*value, "eve/1/1"], value[:-1] or ["eve"], [one + "x" for one in value]])
        case "uuid":
            return uuid.UUID(int=rng.getrandbits(128))
        case "timestamp with time zone":
            return value + rng.choice([timedelta(microseconds=1), -timedelta(microseconds=1), timedelta(days=1)])
        case "jsonb":
            return Jsonb({**(value or {}), "forged": rng.randrange(100)})
        case "xid8":
            return str(rng.choice([0, 1, 3, int(value) - 1, int(value) + 1, FAR]))
        case "integer":
            return rng.choice([-1, 0, (value or 0) - 1, (value or 0) + 1, 99, 2**31 - 1])
        case "numeric":
            return (value or 0) + rng.choice([Decimal("0.000001"), Decimal(1)])
        case "double precision":
            return (value or 0.0) / 2 + 0.123  # a confidence is between 0 and 1
        case "bigint":
            return rng.choice([-5, 0, value + FAR, 2**63 - 1])
        case "boolean":
            return not value
        case "bytea":
            return bytes([value[0] ^ 1]) + value[1:]
        case "bytea[]":
            changed = [bytes([value[0][0] ^ 1]) + value[0][1:], *value[1:]]
            return rng.choice([changed, value[:-1], [*value, value[0]]])
        case "pg_snapshot":
            return rng.choice(["5:5:", "1:1:", f"{FAR}:{FAR}:", "10:20:11,12"])
    raise AssertionError(column.type)


def read(tx: Transaction, table: str, column: Column, key: str, value: object) -> Any:
    shown = f"{column.name}::text" if column.type in ("xid8", "pg_snapshot") else column.name
    row = tx.execute(f"select {shown} from {table} where {key} = %s", (value,)).fetchone()
    assert row is not None
    return row[0]


def change_column(
    tx: Transaction, rng: random.Random, table: str, key: str, value: object, column: Column
) -> tuple[Any, Any]:
    """Give a column of one row another value."""
    before = read(tx, table, column, key, value)
    shown = f"{column.name}::text" if column.type in ("xid8", "pg_snapshot") else column.name
    others = [v for (v,) in tx.execute(f"select distinct {shown} from {table} limit 50")]
    others = [Jsonb(v) for v in others if v != before] if column.type == "jsonb" else others
    after = before
    while after == before or (column.nullable and after is None and before is None):
        after = other(rng, column, before, others)
    query = SQL("update {} set {} = %s::{} where {} = %s").format(
        Identifier(*table.split(".")), Identifier(column.name), SQL(column.type), Identifier(key)
    )
    assert tx.execute(query, (after, value)).rowcount == 1
    return before, after


def change(tx: Transaction, rng: random.Random) -> Done:
    log, (seq,) = some_log(tx, rng)
    column = rng.choice(columns(tx, log.log))
    before, after = change_column(tx, rng, log.log, "seq", seq, column)
    return Done(f"{column.name} of row {seq} from {before!r} to {after!r}", log.log)


def change_place(tx: Transaction, rng: random.Random) -> Done:
    """Where a row lies is what the arithmetic of blocks goes by."""
    log, (seq,) = some_log(tx, rng)
    column = rng.choice([c for c in columns(tx, log.log) if c.name in PLACE])
    before, after = change_column(tx, rng, log.log, "seq", seq, column)
    return Done(f"{column.name} of row {seq} from {before!r} to {after!r}", log.log)


def delete(tx: Transaction, rng: random.Random) -> Done:
    log, seqs = some_log(tx, rng, rows=rng.choice([1, 1, 1, 2, 3]))
    if rng.random() < 0.05:
        run(tx, f"delete from {log.log}")
        return Done("all rows", log.log)
    run(tx, f"delete from {log.log} where seq = any(%s)", seqs)
    return Done(f"rows {seqs}", log.log)


def insert(tx: Transaction, rng: random.Random) -> Done:
    """A copy of a row under another id and seq, with an earlier transaction or one that never existed."""
    log, (seq, donor) = some_log(tx, rng, rows=2)
    xids = ["l.xid", f"(select xid from {log.log} where seq = {donor})", "'0'::xid8", "'3'::xid8", f"'{FAR}'::xid8"]
    xid = rng.choice(xids)
    new_seq = rng.choice([-seq, 0, seq + 10**6, 2**63 - 1])
    given = {"seq": str(new_seq), "xid": xid, "air_event_id": "gen_random_uuid()"}
    given |= {"version": "l.version + 1000", "late_result_id": "l.late_result_id + 1000"}
    if rng.random() < 0.2:
        given |= {"incarnation": rng.choice(["0", "-1", "77"])}
    names = [column.name for column in columns(tx, log.log)]
    values = ", ".join(given.get(name, f"l.{name}") for name in names)
    run(tx, f"insert into {log.log} ({', '.join(names)}) select {values} from {log.log} l where l.seq = {seq}")
    return Done(f"a copy of row {seq} with {given}", log.log)


def differ(tx: Transaction, log: str, names: list[str], one: int, two: int) -> bool:
    """Whether two rows differ in some of these columns."""
    listed = ", ".join(f"l.{name}" for name in names)
    return run(tx, f"select distinct row({listed})::text from {log} l where seq in ({one}, {two})") == 2


def swap(tx: Transaction, rng: random.Random) -> Done:
    """The contents of two rows, or their places."""
    while True:
        log, (one, two) = some_log(tx, rng, rows=2)
        names = [column.name for column in columns(tx, log.log)]
        swapped = rng.choice(
            [["xid"], ["seq"], ["xid", "seq"], [n for n in names if n not in PLACE], [rng.choice(names)]]
        )
        swapped = [n for n in swapped if n not in ("air_event_id", "version", "late_result_id")] or ["seq"]
        # Something must differ in what is exchanged and in what stays, or the rows are afterwards what they were.
        halves = (swapped, [name for name in names if name not in swapped])
        if all(differ(tx, log.log, half, one, two) for half in halves):
            break
    sets = ", ".join(f"{name} = o.{name}" for name in swapped if name != "seq")
    if sets:
        run(tx, f"update {log.log} l set {sets} from {log.log} o where l.seq in ({one}, {two})"
            f" and o.seq in ({one}, {two}) and l.seq <> o.seq")  # fmt: skip
    if "seq" in swapped:
        run(tx, f"update {log.log} set seq = -7 where seq = {one}")
        run(tx, f"update {log.log} set seq = {one} where seq = {two}")
        run(tx, f"update {log.log} set seq = {two} where seq = -7")
    return Done(f"{swapped} of rows {one} and {two}", log.log)


# Seals ---------------------------------------------------------------------------------------------------------------


def some_seals(tx: Transaction, rng: random.Random, count: int) -> list[int]:
    numbers = [number for (number,) in tx.execute("select number from recoup.seal order by number")]
    return sorted(rng.sample(numbers, count))


def change_seal(tx: Transaction, rng: random.Random) -> Done:
    (number,) = some_seals(tx, rng, 1)
    column = rng.choice([c for c in columns(tx, "recoup.seal") if c.name != "number"])
    before, after = change_column(tx, rng, "recoup.seal", "number", number, column)
    return Done(f"{column.name} of seal {number} from {before!r} to {after!r}", needs_head=True)


def forge_seal(tx: Transaction, rng: random.Random) -> Done:
    """A changed seal with a digest that fits it; what follows does not."""
    (number,) = some_seals(tx, rng, 1)
    column = rng.choice([c for c in columns(tx, "recoup.seal") if c.name not in ("number", "digest", "log")])
    before, after = change_column(tx, rng, "recoup.seal", "number", number, column)
    run(tx, f"update recoup.seal s set digest = {DIGEST} where number = {number}")
    return Done(f"{column.name} of seal {number} from {before!r} to {after!r}, digest computed again", needs_head=True)


def delete_seals(tx: Transaction, rng: random.Random) -> Done:
    numbers = some_seals(tx, rng, rng.choice([1, 1, 2, 5]))
    run(tx, "delete from recoup.seal where number = any(%s)", numbers)
    return Done(f"seals {numbers}", needs_head=True)


def cut_off(tx: Transaction, rng: random.Random) -> Done:
    (number,) = some_seals(tx, rng, 1)
    run(tx, f"delete from recoup.seal where number >= {number}")
    return Done(f"all seals from {number} on", needs_head=True)


def insert_seal(tx: Transaction, rng: random.Random) -> Done:
    numbers = some_seals(tx, rng, 2)
    number = rng.choice(["(select max(number) + 1 from recoup.seal)", "0", "-1", "1000000"])
    names = [column.name for column in columns(tx, "recoup.seal") if column.name != "number"]
    run(tx, f"insert into recoup.seal (number, {', '.join(names)})"
        f" select {number}, {', '.join(names)} from recoup.seal where number = {numbers[0]}")  # fmt: skip
    return Done(f"a copy of seal {numbers[0]} as {number}", needs_head=True)


def swap_seals(tx: Transaction, rng: random.Random) -> Done:
    one, two = some_seals(tx, rng, 2)
    for before, after in ((one, -7), (two, one), (-7, two)):
        run(tx, f"update recoup.seal set number = {after} where number = {before}")
    if rng.random() < 0.5:  # and their own digests fit again
        run(tx, f"update recoup.seal s set digest = {DIGEST} where number in ({one}, {two})")
    return Done(f"numbers of seals {one} and {two}", needs_head=True)


# The whole chain -----------------------------------------------------------------------------------------------------

DIGEST = "sha256(convert_to(recoup.seal_text(s), 'UTF8'))"
REWRITE = f"""do $$
declare
  s recoup.seal;
  last bytea := decode(repeat('00', 32), 'hex');
begin
  for s in select * from recoup.seal order by number loop
    select d.rows, d.digest into s.rows, s.rows_digest
      from recoup.block_digest(s.log, s.canon, s.incarnation, s.since, s.until, s.after_seq,
        case when not s.closes then s.last_seq end) d;
    s.previous := last;
    last := {DIGEST};
    update recoup.seal t set rows = s.rows, rows_digest = s.rows_digest, previous = s.previous, digest = last
     where t.number = s.number;
  end loop;
end $$"""


def rewrite(tx: Transaction, rng: random.Random) -> Done:
    """Tamper with a row, then make every seal again, so that the chain is consistent."""
    log, (seq,) = some_log(tx, rng)
    if rng.random() < 0.3:
        run(tx, f"delete from {log.log} where seq = {seq}")
        what = f"row {seq} of {log.log} deleted"
    else:
        column = rng.choice([c for c in columns(tx, log.log) if c.name not in PLACE])
        before, after = change_column(tx, rng, log.log, "seq", seq, column)
        what = f"{column.name} of row {seq} of {log.log} from {before!r} to {after!r}"
    run(tx, REWRITE)
    return Done(f"{what}, and every seal made again", rewritten=True, needs_head=True)


def seal_again(tx: Transaction, rng: random.Random) -> Done:
    """Cut the chain off, tamper with a row behind it, and let Recoup itself seal again."""
    sealed = tx.execute(
        "select number, log, recoup.in_window(incarnation, since, until), after_seq, last_seq from recoup.seal"
        " where rows > 0 order by number"
    )
    number, log, window, after, last = rng.choice(sealed.fetchall())
    run(tx, f"delete from recoup.seal where number >= {number}")
    inside = f"select l.seq from {log} l where {window} and l.seq > {after} and l.seq <= {last} limit 1"
    assert run(tx, f"delete from {log} where seq in ({inside})") == 1
    for known in SEALED:
        while run(tx, "select from recoup.seal_next(%s, %s, 20, '1 hour')", known.log, known.canon):
            pass
    return Done(f"seals from {number} on and a row of {log}, then sealed again", rewritten=True, needs_head=True)


def change_cluster(tx: Transaction, rng: random.Random) -> Done:
    what = rng.choice(
        [
            "update recoup.incarnation set system_identifier = system_identifier + 1 where incarnation = 1",
            "delete from recoup.incarnation where incarnation = 1",
            "delete from recoup.incarnation",
            "insert into recoup.incarnation values (77, 1, now())",
        ]
    )
    run(tx, what)
    return Done(what)


def replace_routine(tx: Transaction, rng: random.Random) -> Done:
    """Blind the functions that check, then change a row."""
    log, (seq,) = some_log(tx, rng)
    run(tx, f"delete from {log.log} where seq = {seq}")
    run(tx, "create or replace function recoup.check_seal(s recoup.seal) returns text language sql stable as"
        " 'select null::text'")  # fmt: skip
    return Done(f"row {seq} of {log.log}, and the function that would find it")


WAYS: dict[str, tuple[int, Tamper]] = {
    "change": (30, change),
    "change place": (10, change_place),
    "delete": (10, delete),
    "insert": (12, insert),
    "swap": (12, swap),
    "change seal": (8, change_seal),
    "forge seal": (4, forge_seal),
    "delete seals": (3, delete_seals),
    "cut off": (3, cut_off),
    "insert seal": (3, insert_seal),
    "swap seals": (3, swap_seals),
    "rewrite": (6, rewrite),
    "seal again": (2, seal_again),
    "change cluster": (2, change_cluster),
    "replace routine": (2, replace_routine),
}
