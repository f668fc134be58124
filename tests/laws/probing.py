"""What a probe is, and the shapes that most of them have.

A probe runs in a transaction that is rolled back, and answers in one of three ways. It returns: the guard held. It
raises ``Silent``: nothing stopped the statement, or the effect is missing. It raises ``OtherVoice``: something else
answered, so that the probe shows nothing about its guard. Where several guards stand behind one another, a probe
switches the others off first. So with the guard gone a probe must be Silent, and with all in place it must return.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg
from psycopg import Notify
from psycopg.sql import SQL, Composable, Identifier, Literal

from company import acting
from conformance.cast import Role
from laws.catalogue import Law
from laws.rows import ID, ROOM, Row, Value, insertion, key_column, put, relation
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority, Lifecycle
from recoup.lifecycles.logs import Log


class Silent(AssertionError):  # noqa: N818 - an answer, not an error
    """Nothing answered: the statement went through, or what should follow from it did not."""


class OtherVoice(AssertionError):  # noqa: N818 - an answer, not an error
    """Something else than the probed guard answered."""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """How one sees that a law holds."""

    law: Law
    description: str  # the promise, in a sentence
    run: Callable[[Transaction], None]
    # Seen by others only once it is committed, as a notification is. Such a probe gets a connection in autocommit.
    commits: bool = False

    def __str__(self) -> str:
        return str(self.law)


PROBES: list[Probe] = []
REPLICATED = "recoup.refuse_replicated"


def law(
    table: str, name: str, event: str = "", *, commits: bool = False
) -> Callable[[Callable[[Transaction], None]], Callable[[Transaction], None]]:
    """Make a probe of a function. Its docstring is the promise."""

    def listed(run: Callable[[Transaction], None]) -> Callable[[Transaction], None]:
        PROBES.append(Probe(law=Law(table, name, event), description=run.__doc__ or "", run=run, commits=commits))
        return run

    return listed


# How an answer is heard ---------------------------------------------------------------------------------------------


def refused(
    tx: Transaction,
    statement: str | Composable,
    parameters: Any = None,
    *,
    who: Authority | str | None = None,
    constraint: str | None = None,
    by: str | None = None,
    sqlstate: str | None = None,
    words: str = "",
) -> None:
    """The statement is refused by that constraint; or by that function, with that SQLSTATE and those words.

    A function with arguments is named with their types.
    """
    try:
        with tx.transaction(), acting(tx, who):
            tx.execute(statement, parameters)  # type: ignore[arg-type]
    except psycopg.Error as error:
        said = error.diag
        if constraint is not None:
            heard = said.constraint_name == constraint
        else:
            raiser = (said.context or "").partition(" line ")[0]
            heard = (
                raiser == f"PL/pgSQL function {by}" + ("" if by and by.endswith(")") else "()")
                and error.sqlstate == sqlstate
                and words in (said.message_primary or "")
            )
        if not heard:
            raise OtherVoice(f"{error.sqlstate} {error} ({said.constraint_name or said.context})") from error
    else:
        raise Silent(f"It went through: {statement if isinstance(statement, str) else statement.as_string(tx)}")


def seen(tx: Transaction, query: str, *parameters: Any) -> None:
    """The effect is there: the query finds a row."""
    if tx.execute(query, parameters).fetchone() is None:
        raise Silent(f"Nothing is found: {query}")


def woken(connection: Transaction, change: Callable[[Transaction], None]) -> None:
    """The change sends a notification when it commits. Whoever listens on the sending connection has it at once."""
    heard: list[Notify] = []
    connection.add_notify_handler(heard.append)
    connection.execute("listen recoup_wake")
    with connection.transaction():
        change(connection)
    connection.execute("unlisten recoup_wake")
    connection.remove_notify_handler(heard.append)
    if not heard:
        raise Silent("Nobody was woken.")


# How a guard is made to stand alone ---------------------------------------------------------------------------------

TRUNCATED_TOGETHER = """
  with recursive together (oid) as (
    select %s::regclass::oid
     union
    select next.oid from together t cross join lateral (
      select k.conrelid from pg_constraint k where k.confrelid = t.oid and k.contype = 'f'
       union all
      select i.inhrelid from pg_inherits i where i.inhparent = t.oid) next (oid))
  select format('%%I.%%I', n.nspname, c.relname), g.tgname, g.tgenabled::text, format('%%I.%%I', s.nspname, p.proname)
    from together t
    join pg_class c on c.oid = t.oid
    join pg_namespace n on n.oid = c.relnamespace
    join pg_trigger g on g.tgrelid = t.oid and not g.tgisinternal
    join pg_proc p on p.oid = g.tgfoid
    join pg_namespace s on s.oid = p.pronamespace
"""
ENABLED = {"A": "enable always", "O": "enable", "R": "enable replica", "D": "disable"}


@contextmanager
def quiet(tx: Transaction, table: str, *, but: str = "") -> Iterator[None]:
    """Without the triggers of a table, and of the tables that would be truncated with it.

    After the block the triggers that run the function ``but`` are as they were; the others stay off.
    """
    found = tx.execute(TRUNCATED_TOGETHER, (table,)).fetchall()
    for relation_, trigger, _, _ in found:
        tx.execute(SQL("alter table {} disable trigger {}").format(SQL(relation_), Identifier(trigger)))
    if table in ROOM:
        tx.execute(ROOM[table])
    yield
    for relation_, trigger, state, function in found:
        if relation_ == table and function == but:
            form = f"alter table {{}} {ENABLED[state]} trigger {{}}"
            tx.execute(SQL(form).format(SQL(relation_), Identifier(trigger)))


# Constraints --------------------------------------------------------------------------------------------------------


def check(table: str, name: str, description: str, into: list[Probe] = PROBES, /, **spoilt: Value) -> None:
    """A probe: the sample row, spoilt like that, breaks this check and nothing else."""

    def run(tx: Transaction) -> None:
        with quiet(tx, table):
            refused(tx, insertion(tx, table, spoilt), constraint=name)

    into.append(Probe(law=Law(table, name), description=description, run=run))


def key(
    table: str,
    name: str,
    description: str,
    *same: str,
    first: Row | None = None,
    then: Row | None = None,
    told: str | None = None,
    into: list[Probe] = PROBES,
) -> None:
    """A probe: two rows that share these columns, and no other key. A partition tells of it as ``told``."""

    def run(tx: Transaction) -> None:
        with quiet(tx, table):
            made = put(tx, table, first)
            shared = {column: Literal(made[column]) for column in same}
            refused(tx, insertion(tx, table, {**(then or {}), **shared}), constraint=told or name)

    into.append(Probe(law=Law(table, name), description=description, run=run))


def reference(table: str, column: str, parent: str, description: str, /, *, nobody: str = ID, **also: Value) -> None:
    """A probe: a row that refers to nothing is refused, and so is the removal of what a row refers to."""
    name = f"{table.split('.')[1]}_{column}_fkey"

    def run(tx: Transaction) -> None:
        with quiet(tx, table), quiet(tx, parent):
            refused(tx, insertion(tx, table, {**also, column: nobody}), constraint=name)
            there = put(tx, parent)
            put(tx, table, {**also, column: Literal(there[key_column(parent)])})
            delete = SQL("delete from {} where ctid = {}").format(relation(parent), Literal(there["ctid"]))
            refused(tx, delete, constraint=name)

    PROBES.append(Probe(law=Law(table, name), description=description, run=run))


# Triggers that many tables have -------------------------------------------------------------------------------------


def touching(tx: Transaction, table: str, event: str, *, but: str) -> Composable:
    """A statement of this kind on a row of this table, of whose triggers only those of one function are on."""
    with quiet(tx, table, but=but):
        lies = Literal(put(tx, table)["ctid"]) if event in ("update", "delete") else None
    column = Identifier(key_column(table))
    match event:
        case "insert":
            return insertion(tx, table, {})
        case "update":
            return SQL("update {} set {} = {} where ctid = {}").format(relation(table), column, column, lies)
        case "delete":
            return SQL("delete from {} where ctid = {}").format(relation(table), lies)
    return SQL("truncate {} cascade").format(relation(table))


def untouchable(
    table: str,
    function: str,
    sqlstate: str,
    event: str,
    description: str,
    *,
    words: str = "",
    into: list[Probe] = PROBES,
) -> None:
    """A probe: this event is refused on this table, to a superuser and with every other trigger off.

    The refusal has these words in it, or the table's name.
    """

    def run(tx: Transaction) -> None:
        refused(tx, touching(tx, table, event, but=function), by=function, sqlstate=sqlstate, words=words or table)

    into.append(Probe(law=Law(table, function, event), description=description, run=run))


def unreplicated(*tables: str, into: list[Probe] = PROBES) -> None:
    """Probes: what comes by replication is refused, whatever it is."""

    def run(tx: Transaction, table: str, event: str) -> None:
        statement = touching(tx, table, event, but=REPLICATED)
        tx.execute("set local session_replication_role = replica")
        refused(tx, statement, by=REPLICATED, sqlstate="RC070")

    for table in tables:
        for event in ("insert", "update", "delete"):
            tried = partial(run, table=table, event=event)
            into.append(
                Probe(law=Law(table, REPLICATED, event), description="Nothing is replicated into it.", run=tried)
            )


def recorded_as_declared(table: str) -> None:
    """Probes: what is declared, changed or given up is in the log of declarations."""
    function = "recoup.record_declared"

    def run(tx: Transaction, event: str) -> None:
        with quiet(tx, table, but=function):
            lies = put(tx, table)["ctid"] if event != "insert" else None
        before = tx.execute("select coalesce(max(seq), 0) from recoup.declaration_log").fetchone()
        if event == "insert":
            put(tx, table)
        elif event == "delete":
            tx.execute(SQL("delete from {} where ctid = {}").format(relation(table), Literal(lies)))
        else:
            column = Identifier(
                {"recoup.domain": "digest", "recoup.log": "at", "recoup.pausable": "scope"}.get(table, "domain")
            )
            tx.execute(SQL("update {} set {} = 'mint' where ctid = {}").format(relation(table), column, Literal(lies)))
        for told in {"insert": ["ADDED"], "delete": ["REMOVED"], "update": ["REMOVED", "ADDED"]}[event]:
            logged = "select from recoup.declaration_log where declared_in = %s and event_type = %s and seq > %s"
            seen(tx, logged, table, told, *before or (0,))

    for event in ("insert", "update", "delete"):
        description = "A change of what is declared is recorded."
        PROBES.append(Probe(law=Law(table, function, event), description=description, run=partial(run, event=event)))


def guard_of(life: Lifecycle, kind: str) -> str:
    """The function that guards births, moves or exits: written out where any are listed."""
    schema, table = life.table.split(".")
    return f"{schema}.guard_{table}_{kind}" if getattr(life, kind) else f"recoup.guard_{kind}"


def declared(lives: Iterable[Lifecycle], logs: Iterable[Log], into: list[Probe] = PROBES) -> None:
    """Probes of what every lifecycle and every log has by being declared."""
    for life in lives:
        unreplicated(life.table, into=into)
        for function, sqlstate, event, says in (
            (guard_of(life, "births"), "RC001", "insert", "Nobody but an authority makes a row."),
            (guard_of(life, "moves"), "RC002", "update", "Nobody but an authority moves a row."),
            (guard_of(life, "exits"), "RC003", "delete", "A row leaves by a listed exit, or never."),
            ("recoup.guard_truncate", "RC008", "truncate", "Rows do not leave all at once."),
        ):
            untouchable(life.table, function, sqlstate, event, says, into=into)
        for on in life.digesting:
            digested(life.table, on.function, into)
    for log in logs:
        unreplicated(log.table, into=into)
        if log.recorders:
            untouchable(
                log.table, "recoup.only_recorders", "RC010", "insert", "No event is written by hand.", into=into
            )
        for change in ("update", "delete", "truncate"):
            untouchable(log.table, "recoup.append_only", "RC009", change, "What is written stays.", into=into)


def digested(table: str, function: str, into: list[Probe] = PROBES) -> None:
    """A probe: what a row is given at birth is in the content log, as a digest."""

    def run(tx: Transaction) -> None:
        with quiet(tx, table, but=function):  # so that it alone speaks
            pass
        put(tx, table)
        logged = "select from recoup.content_log where subject = %s and event_type = 'BIRTH' and login = session_user"
        seen(tx, f"{logged} and xid = pg_current_xact_id() and cardinality(keys) = 1", table)

    into.append(Probe(law=Law(table, function, "insert"), description="What a row is given is on record.", run=run))


def of_the_form(table: str, into: list[Probe] = PROBES) -> None:
    """Probes of the checks that every queue has."""
    held = {"token": ID, "worker": "'w'", "claimed_at": "recoup.now()"}
    check(table, "queue_form_round_check", "Rounds count from none.", into, round="-1")
    check(table, "queue_form_wake_at_check", "A wait ends.", into, wake_at="'infinity'")
    check(table, "queue_form_until_check", "A window closes.", into, until="'infinity'")
    check(table, "queue_form_worker_check", "Who claims has a name.", into, **held | {"worker": "''"})
    check(table, "queue_form_claimed_at_check", "A claim has a time.", into, **held | {"claimed_at": "'infinity'"})
    check(table, "queue_claim", "A claim is somebody's.", into, **held | {"worker": "null"})
    check(table, "queue_claim", "And of some time.", into, **held | {"claimed_at": "null"})


def queued(life: Lifecycle, due: Callable[[Transaction], Any], into: list[Probe] = PROBES) -> None:
    """Probes of what every declared queue has. ``due`` makes a row that waits and is due, and gives its unit."""
    assert life.queue is not None
    table, who, columns = life.queue.table, life.queue.claimed_by[0], life.queue
    of_the_form(table, into)
    unreplicated(table, into=into)
    key(table, f"{table.split('.')[1]}_pkey", "What waits is queued once.", "unit", into=into)
    take = (
        f"update {table} set token = gen_random_uuid(), worker = 'w', claimed_at = now_,"
        " wake_at = now_ + interval '1 minute' from (select recoup.now() as now_) t where unit = %s"
    )

    def claimed(tx: Transaction) -> Any:
        unit = due(tx)
        with acting(tx, who):
            tx.execute(take.encode(), (unit,))
        return unit

    def held_by_one(tx: Transaction) -> None:
        refused(tx, take, (claimed(tx),), who=who, by="recoup.guard_claims", sqlstate="RC047")

    def logged(tx: Transaction) -> None:
        logged = "select from recoup.claim_log where subject = %s and worker = 'w' and authority = %s"
        seen(tx, logged + " and exists (select from unnest(units) u where u like %s)", life.table, who.role,
             f"%{claimed(tx)}/1")  # fmt: skip

    def by_hand(tx: Transaction, event: str) -> None:
        unit = due(tx)
        statement = {
            "insert": insertion(tx, table, {}),
            "delete": SQL("delete from {} where unit = {}").format(relation(table), Literal(unit)),
            "truncate": SQL("truncate {}").format(relation(table)),
        }[event]
        refused(tx, statement, who="recoup_owner", by="recoup.guard_queue", sqlstate="RC012")

    def born(tx: Transaction) -> None:
        same = f"q.unit = r.{columns.unit} and q.round = r.{columns.round} and q.wake_at = r.{columns.due}"
        seen(tx, f"select from {table} q join {life.table} r on {same} where unit = %s and q.token is null", due(tx))

    def fenced(tx: Transaction) -> None:
        unit = (claimed(tx),)
        with quiet(tx, life.table, but=moves.function):  # so that it alone answers
            pass
        for token in (f"{columns.token}", "gen_random_uuid()"):
            ended = f"{columns.round} = {columns.round} + 1, {columns.token} = {token}"
            move = f"update {life.table} set {ended} where {columns.unit} = %s"
            refused(tx, move, unit, by=moves.function, sqlstate="RC047")

    into.append(Probe(law=Law(table, "recoup.guard_claims", "update"), description="One holds it.", run=held_by_one))
    into.append(Probe(law=Law(table, "recoup.record_claims", "update"), description="A claim is logged.", run=logged))
    for event in ("insert", "delete", "truncate"):
        run = partial(by_hand, event=event)
        into.append(
            Probe(law=Law(table, "recoup.guard_queue", event), description="Nothing is queued by hand.", run=run)
        )
    births, moves, *_ = life.queueing
    into.append(
        Probe(law=Law(life.table, births.function, births.event), description="What waits is queued.", run=born)
    )
    into.append(Probe(law=Law(life.table, moves.function, moves.event), description="One alone ends it.", run=fenced))


def recorded(role: Role, into: list[Probe] = PROBES) -> None:
    """Probes: every birth and every move is in the log, in the statement that made it."""
    story = role.life.recorded
    assert story is not None

    def run(tx: Transaction, status: str, born: bool) -> None:
        key = role.brought(tx, status)
        seen(
            tx,
            f"select from {story.log} where {story.key[-1]} = %s and to_status = %s"
            f" and from_status is {'' if born else 'not '}null",
            key,
            status,
        )

    for on in role.life.recorders:
        born = on.event == "insert"
        status = role.life.births[0].status if born else role.life.moves[0].target
        law_ = Law(role.name, on.function, on.event)
        into.append(Probe(law=law_, description="Each step is recorded.", run=partial(run, status=status, born=born)))
