"""The objects that hold the laws, read from the catalogue: triggers, checks, keys, unique indexes, references.

NOT NULL is left out: a column says it, and nothing can stand in for it or hide it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from psycopg.sql import SQL, Composed, Identifier

from recoup.database.connection import Transaction
from recoup.database.roles import OWNER


@dataclass(frozen=True, slots=True, order=True)
class Law:
    """What a probe is about. A trigger is known by its function, and each of its events is a law of its own.

    By its function and not by its name: whether an insert is recorded must not depend on what the trigger is called,
    and a trigger that silently replaced another one of the same name leaves the other's law without a holder.
    """

    table: str
    name: str  # of a constraint or an index, or of a trigger's function
    event: str = ""  # insert, update, delete or truncate; empty where it is no trigger

    def __str__(self) -> str:
        return f"{self.table}/{self.name}" + (f":{self.event}" if self.event else "")


@dataclass(frozen=True, slots=True, order=True)
class Guard:
    """One object of the schema. It holds one law, or one for each of its events."""

    table: str
    kind: str  # trigger, check, key (primary, unique or exclusion), reference, or index (unique, and no constraint)
    name: str
    laws: tuple[Law, ...]

    def __str__(self) -> str:
        return f"{self.kind} {self.table} {self.name}"

    @property
    def removal(self) -> Composed:
        """The statement that takes it away, and with a key the references to it."""
        schema, table = self.table.split(".")
        match self.kind:
            case "trigger":
                form = "drop trigger {name} on {table}"
            case "index":
                form = "drop index {index}"
            case _:
                form = "alter table {table} drop constraint {name} cascade"
        return SQL(form).format(
            name=Identifier(self.name), table=Identifier(schema, table), index=Identifier(schema, self.name)
        )


# What belongs to a partition because its parent has it goes with the parent's, and is left out. So are triggers that a
# partition has because its parent has them, though each has its own: a test of its own holds them to their parent's.
GUARDS = """
  with ours as (
    select c.oid, format('%%I.%%I', n.nspname, c.relname) as name, nullif(pg_partition_root(c.oid), c.oid) as root
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where to_regrole(%(owner)s) in (n.nspowner, c.relowner) and c.relkind in ('r', 'p'))
  select o.name, 'trigger', t.tgname, format('%%I.%%I', s.nspname, p.proname),
         array(select e.event
                 from (values (4, 'insert'), (8, 'delete'), (16, 'update'), (32, 'truncate')) e (bit, event)
                where t.tgtype::integer & e.bit > 0 order by e.event)
    from pg_trigger t
    join ours o on o.oid = t.tgrelid
    join pg_proc p on p.oid = t.tgfoid
    join pg_namespace s on s.oid = p.pronamespace
   where not t.tgisinternal and t.tgparentid = 0
     and not exists (select from pg_trigger r where r.tgrelid = o.root and r.tgname = t.tgname)
  union all
  select o.name, case k.contype when 'c' then 'check' when 'f' then 'reference' else 'key' end, k.conname, k.conname,
         array['']
    from pg_constraint k
    join ours o on o.oid = k.conrelid
   where k.contype in ('c', 'p', 'u', 'x', 'f') and k.conparentid = 0 and k.coninhcount = 0
  union all
  select o.name, 'index', c.relname, c.relname, array['']
    from pg_index i
    join ours o on o.oid = i.indrelid
    join pg_class c on c.oid = i.indexrelid
   where i.indisunique and not c.relispartition
     and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))
   order by 1, 2, 3
"""


def guards(tx: Transaction) -> list[Guard]:
    """Every guard of every table of the owner."""
    rows = tx.execute(GUARDS, {"owner": OWNER}).fetchall()
    return [
        Guard(table, kind, name, tuple(Law(table, held, event) for event in events))
        for table, kind, name, held, events in rows
    ]


def holders(tx: Transaction, law: Law) -> list[Guard]:
    """The guards that hold a law: one, or none when it has been taken away."""
    return [guard for guard in guards(tx) if law in guard.laws]


def named(tx: Transaction, name: str) -> Guard:
    """The guard of that kind, table and name: ``trigger cl.gate_zero_attempt a_guard_moves``."""
    for guard in guards(tx):
        if str(guard) == name:
            return guard
    raise LookupError(f"There is no {name} in this database. They are: {', '.join(map(str, guards(tx)))}.")


def take_away(tx: Transaction, taken: Iterable[Guard]) -> None:
    for guard in taken:
        tx.execute(guard.removal)
