"""The laws that belong to no single domain, and the invariants that follow from each declaration.

For every lifecycle: its rows have a known status and a key; every recorded step is listed, for the authority that made
it; events follow each other; and where the log is complete, the rows match it. For every log: one order, known
clusters, no time in the future.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from psycopg.rows import dict_row
from psycopg.sql import SQL, Composable, Composed, Identifier, Literal

from recoup.audit.invariant import Built, Check, InFile, Invariant, Offending
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.domain import Domain, lifecycles, logs
from recoup.health import CheckResult
from recoup.ledger import seals
from recoup.lifecycles.declaration import CONTROL_LOG, Lifecycle, Queue, Story
from recoup.lifecycles.logs import Log
from recoup.schema import around, checks, declarations

# `recoup migrate` inserts the row of the clock, so no birth lists its status.
BORN_OTHERWISE = {"recoup.clock": ("real",)}
Q = load("recoup.schema", "laws.sql")
_of = InFile("recoup.schema", "laws.sql")


def invariants(domains: Sequence[Domain]) -> tuple[Invariant, ...]:
    """Every invariant of the product, in the order in which they are checked."""
    written = [invariant for domain in domains for invariant in domain.invariants]
    lives = lifecycles(domains)
    general = (*_laws(domains), *_of_logs(logs(domains)), *(i for life in lives for i in of_lifecycle(life)))
    return (*written, *(_holding(domains, law) for law in general))


def _holding(domains: Sequence[Domain], law: Invariant) -> Invariant:
    """A law, with the rules of the domains' documents that it enforces."""
    also = [line for domain in domains for line in domain.held.get(law.id, ())]
    return replace(law, also=(*law.also, *also)) if also else law


def _laws(domains: Sequence[Domain]) -> Iterator[Invariant]:
    lives = lifecycles(domains)
    yield Invariant(
        id="laws/L1/guards",
        description="Every guarded table and partition has its four guards, enabled and matching the declaration.",
        check=_as_found_by(checks.guards),
        also=("laws/L4/guards",),
    )
    yield Invariant(
        id="laws/L1/lifecycles",
        description="Lifecycles, followers, logs and all other declarations in the database match the program.",
        check=_as_found_by(partial(checks.declared, domains=domains)),
    )
    yield Invariant(
        id="laws/L1/declarations",
        description="Every change of a declaration is in its log, and was made by a migration with something new.",
        query=Built(_text("declarations", tables=SQL(_declared_rows()))),
    )
    yield Invariant(
        id="laws/L1/statuses",
        description="Every row has a status that its lifecycle lists.",
        check=partial(_statuses, lives=lives),
    )
    yield _of(
        "laws/L2/recorders",
        "recorders",
        "Every log accepts rows only from its recorders, and its triggers are enabled.",
    )
    yield _of(
        "laws/L2/followers", "followers", "Every declared rule, recorder and consequence is installed and enabled."
    )
    yield _of("laws/L3/append-only", "append_only", "Every log refuses UPDATE, DELETE and TRUNCATE.")
    yield Invariant(
        id="laws/L4/keys",
        description="Every guarded row has its key, and no two rows share one.",
        check=partial(_keys, lives=lives),
    )
    for name, description, check in (
        ("objects", "Tables, constraints, triggers, functions and grants are as created by this version.",
         partial(checks.objects, domains=domains)),
        ("children", "No table inherits from one of ours.", checks.children),
        ("roles", "Owner and authorities cannot log in and have no rights over the server.", checks.roles),
        ("members", "The owner has no members, and none of our roles has the rights of another.", around.members),
        ("settings", "No role and no database has a setting that changes the meaning of statements.", around.settings),
        ("strangers", "Nothing foreign acts on our tables or shadows our functions.",
         around.strangers),
    ):  # fmt: skip
        yield Invariant(id=f"schema/{name}", description=description, check=_as_found_by(check))


def _declared_rows() -> str:
    return "\n  union all\n".join(
        f"  select 'recoup.{table}', jsonb_strip_nulls(to_jsonb(d)), -1 from recoup.{table} d"
        for table in ("domain", *declarations.TABLES)
    )


def _as_found_by(doctor: Callable[[Transaction], Iterable[CheckResult]]) -> Check:
    """Failed health checks, as offending rows."""

    def check(tx: Transaction) -> Iterator[Offending]:
        for finding in doctor(tx):
            if finding.verdict == "error":
                yield {"found": finding.found, "next_step": finding.next_step}

    return check


def _statuses(tx: Transaction, lives: Sequence[Lifecycle]) -> Iterator[Offending]:
    """Rows in a status that their lifecycle does not list."""
    for life in lives:
        yield from _rows(
            tx,
            SQL(
                "select {table} as table_name, {status}::text as status, count(*) as rows from {relation}"
                " where {status} is null or {status} <> all({listed}) group by 2"
            ).format(
                table=Literal(life.table),
                status=Identifier(life.status_column),
                relation=_relation(life.table),
                listed=Literal([*life.statuses, *BORN_OTHERWISE.get(life.table, ())]),
            ),
        )


def _keys(tx: Transaction, lives: Sequence[Lifecycle]) -> Iterator[Offending]:
    """Keys that are duplicate or incomplete. By counting rows, not by reading the index."""
    for life in lives:
        parts = SQL(", ").join(map(Identifier, life.key))
        yield from _rows(
            tx,
            SQL(
                "select {table} as table_name, concat_ws(', ', {parts}) as key, count(*) as rows from {relation}"
                " group by {parts} having count(*) > 1 or num_nulls({parts}) > 0"
            ).format(table=Literal(life.table), parts=parts, relation=_relation(life.table)),
        )


def _relation(name: str) -> Identifier:
    return Identifier(*name.split("."))


def _rows(tx: Transaction, query: Composed) -> Iterator[Offending]:
    with tx.cursor(row_factory=dict_row) as cursor:
        yield from cursor.execute(query, prepare=False)


# Logs -----------------------------------------------------------------------------------------------------------------


def _of_logs(declared: Sequence[Log]) -> Iterator[Invariant]:
    """The invariants of every log that numbers its events."""
    events = " union all ".join(
        f"select '{log.table}', l.seq, l.xid, l.incarnation, l.{log.at} from {log.table} l"
        for log in declared
        if log.canon
    )
    summed = Built(_text("logs", events=SQL(events)))
    one_order = Built(_text("one_order", events=SQL(events.replace("l.xid, l.incarnation, ", ""))))
    yield Invariant(id="laws/L3/one-order", description="No two events share a seq, over all logs.", query=one_order)
    yield Invariant(
        id="laws/L7/in-order",
        description="Events are written when they happen: over all logs times increase with seq, within a minute.",
        query=one_order,
    )
    for id_, description in (
        ("laws/L3/incarnations", "Every event was written by a known cluster, and clusters follow each other."),
        ("laws/L3/sequence", "The sequence that numbers events is at the last event or beyond it."),
        ("laws/L3/transactions", "No event carries a transaction id that was not assigned yet."),
        ("laws/L7/nothing-to-come", "No event has a time in the future."),
    ):
        yield Invariant(id=id_, description=description, query=summed)
    yield Invariant(
        id="laws/L10/seals",
        description="Every seal is intact, and so are the log rows that it covers.",
        check=partial(_seals, declared=declared),
    )


def _seals(tx: Transaction, declared: Sequence[Log]) -> Iterator[Offending]:
    for problem in seals.verify(tx, declared):
        yield {"number": problem.number, "log": problem.log, "problem": problem.problem}


def _text(name: str, **given: Composable) -> str:
    return Q[name].format(**given).as_string()


# Lifecycles -----------------------------------------------------------------------------------------------------------


def of_lifecycle(life: Lifecycle) -> Iterator[Invariant]:
    """The invariants of a lifecycle: birth digests of its rows, and its steps where they are recorded."""
    if life.contents:
        yield Invariant(
            id=f"laws/L6/content/{life.table}",
            description=f"Every row of {life.table} still has the values of its insert, and none was lost.",
            query=Built(_content(life)),
        )
    story = life.recorded
    if story is None:
        return
    steps = Built(_story(life, story))
    yield Invariant(
        id=f"laws/L1/steps/{life.table}",
        description=f"Every recorded step of {life.table} is listed, for the authority that made it.",
        query=steps,
    )
    yield Invariant(
        id=f"laws/L2/chain/{life.table}",
        description=f"The events of a row of {life.table} begin with its birth, and each begins where the last"
        " one ended.",
        query=steps,
    )
    if story.rebuilds:
        yield Invariant(
            id=f"rebuild/{life.table}",
            description=f"{life.table} matches its log.",
            query=steps,
        )
    if life.queue is not None:
        yield from _of_queue(life, life.queue, story)


def _of_queue(life: Lifecycle, queue: Queue, story: Story) -> Iterator[Invariant]:
    """The invariants of a declared queue."""
    queued, leased, late = (f"laws/L5/{law}/{life.table}" for law in ("queue", "lease", "late"))
    same = {queue.round: "q.round", **{column: f"q.{column}" for column in queue.carries}}
    same |= {queue.part: "q.part"} if queue.part else {}
    same |= {queue.until: "q.until"} if queue.until else {}
    none = [] if queue.until else ["q.until is not null"]  # a time that would keep a unit from being claimed
    none += [] if queue.part else ["q.part <> ''"]
    parts: dict[str, Composable] = {
        "queued": Literal(queued), "leased": Literal(leased), "late": Literal(late), "subject": Literal(life.table),
        "table": SQL(life.table), "queue": SQL(queue.table), "log": SQL(story.log), "status": SQL(life.status_column),
        "unit": SQL(queue.unit), "round": SQL(queue.round), "due": SQL(queue.due),
        "waits": SQL(f"r.{life.status_column} = any({Literal(list(queue.waiting)).as_string()})"
                     + (f" and r.{queue.open} is null" if queue.open else "")),
        "differs": SQL(" or ".join([*(f"{theirs} is distinct from r.{ours}" for ours, theirs in same.items()), *none])),
        "earlier": SQL(queue.earlier_claims or "select null, null, null::integer, null where false"),
        "logged_unit": SQL(f"e.{queue.part} || '/' || e.{queue.unit}" if queue.part else f"e.{queue.unit}::text"),
    }  # fmt: skip
    queue_query = Built(_text("queue", **parts))
    yield Invariant(
        id=queued,
        description=f"Rows of {life.table} that wait for work are queued once, with their values; no others are.",
        query=queue_query,
    )
    yield Invariant(
        id=leased, description=f"A lease of {life.table} is complete and matches its claim.", query=queue_query
    )
    yield Invariant(
        id=late,
        description=f"A late result of {life.table} belongs to work that had ended, or carries another token.",
        query=Built(_text("late", **parts)),
    )


def _story(life: Lifecycle, story: Story) -> str:
    """The query, with the parts that differ between lifecycles."""
    controlled = story.log == CONTROL_LOG
    names = [life.table, *life.formerly]
    columns = life.controlled or () if controlled else ()
    differs = [f"x.{c} is distinct from r.{c}" for c in columns]
    parts: dict[str, Composable] = {
        "table": SQL(life.table),
        "subject": Literal(life.table),
        "steps": Literal(f"laws/L1/steps/{life.table}"),
        "chain": Literal(f"laws/L2/chain/{life.table}"),
        "rebuild": Literal(f"rebuild/{life.table}"),
        "status": SQL(life.status_column),
        "log": SQL(story.log),
        "key": SQL(f"concat_ws(', ', {', '.join(f'l.{c}' for c in story.key)})"),
        "row_key": SQL(f"concat_ws(', ', {', '.join(f'r.{c}' for c in life.key)})"),
        "to_status": SQL(f"nullif(l.to_status, '{story.gone}')" if story.gone else "l.to_status"),
        "facts": SQL("l.facts" if controlled else "null::jsonb"),
        "about": SQL(f"l.subject = any({Literal(names).as_string()})" if controlled else story.about or "true"),
        "unborn": SQL(f"coalesce({story.unborn}, false)" if story.unborn else "false"),
        "differs": SQL(" or ".join(differs) or "false"),
    }
    rebuilt = Q["rebuilt"].format(**parts) if story.rebuilds else SQL("")
    return _text("story", rebuilt=rebuilt, **parts)


def _content(life: Lifecycle) -> str:
    """The digests of its rows compared with those made at birth, over the same columns."""
    columns = dict.fromkeys(column for form in life.contents for column in form)
    texts = (", ".join(f"r.{column}::text" for column in form) for form in life.contents)
    forms = (f"when {n} then sha256(convert_to(array[{text}]::text, 'UTF8'))" for n, text in enumerate(texts, 1))
    key = f"concat_ws(', ', {', '.join(f'r.{column}' for column in life.key)})"
    rows = [
        f"select {key} as key_, {', '.join(columns)} from {table} r" for table in (life.table, life.archive) if table
    ]
    return _text(
        "content",
        content=Literal(f"laws/L6/content/{life.table}"),
        logged=SQL(_own_digests(life)),
        adopted=Literal([life.table, *life.formerly]),
        rows=SQL(" union all ".join(rows)),
        digest=SQL(f"case t.form {' '.join(forms)} end"),
        gone=SQL(_gone(life)),
    )


def _own_digests(life: Lifecycle) -> str:
    """A query for the digests in its own log: key, digest, form, seq, and whether it is of an erasure."""
    given = life.given
    if given is None:
        return "select null, null::bytea, null::integer, null::bigint, null::boolean where false"
    key = f"concat_ws(', ', {', '.join(f'e.{column}' for column in given.key)})"
    born = f"e.event_type = '{given.born}' and e.form is not null"
    return f"select {key}, e.digest, e.form, e.seq, false from {given.log} e where {born}"


def _gone(life: Lifecycle) -> str:
    """A query for the keys of rows that were deleted by an exit."""
    story = life.recorded
    if not life.exits or story is None:
        return "select null::text where false"
    key = f"concat_ws(', ', {', '.join(f'e.{column}' for column in story.key)})"
    left = f"e.to_status = '{story.gone}'" if story.gone else "e.to_status is null"
    about = f" and e.subject = '{life.table}'" if story.log == CONTROL_LOG else ""
    return f"select distinct {key} from {story.log} e where {left}{about}"
