"""What breaks the invariants that follow from a declaration, done as a superuser whom nothing stops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from psycopg.sql import SQL, Composable

from company import acting
from recoup.audit.examine import InvariantResult, examine
from recoup.audit.invariant import Invariant
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import CONTROL_LOG, Authority, Lifecycle
from recoup.settings import Settings

# Nothing holds anybody back: whatever is ours, in whichever schema it lies.
UNGUARD = """
do $$
declare
  t record;
  c record;
begin
  -- Parents first: what a partition has from its parent goes with that.
  for t in select k.oid::regclass as name, k.oid from pg_class k
            where k.relowner = 'recoup_owner'::regrole and k.relkind in ('r', 'p')
            order by k.relispartition, k.relkind loop
    execute format('alter table %s disable trigger all', t.name);
    for c in select conname from pg_constraint where conrelid = t.oid and contype in ('c', 'f', 'p', 'u') loop
      execute format('alter table %s drop constraint if exists %I cascade', t.name, c.conname);
    end loop;
    for c in select attname from pg_attribute
              where attrelid = t.oid and attnum > 0 and attnotnull and attidentity = '' and attgenerated = '' loop
      execute format('alter table %s alter column %I drop not null', t.name, c.attname);
    end loop;
    -- What is unique without a constraint.
    for c in select i.indexrelid::regclass as name from pg_index i
              where i.indrelid = t.oid and i.indisunique
                and not exists (select from pg_inherits p where p.inhrelid = i.indexrelid) loop
      execute format('drop index %s', c.name);
    end loop;
  end loop;
end $$;
"""


def broken_by(
    tx: Transaction,
    breach: str,
    invariant: str,
    among: Iterable[Invariant],
    names: Mapping[str, Composable],
    settings: Settings | None = None,
) -> InvariantResult:
    """What an invariant says after a breach, which is undone afterwards."""
    with tx.transaction(force_rollback=True):
        tx.execute(SQL(breach).format(**names))
        with acting(tx, Authority.READER):
            (verdict,) = examine(tx, [one for one in among if one.id == invariant], settings=settings)
    return verdict


def is_found(verdict: InvariantResult) -> None:
    """The invariant reports it, with rows and not with an error."""
    assert not verdict.holds
    assert verdict.found >= len(verdict.rows) > 0
    assert "error" not in verdict.rows[0], verdict.rows[0]


def generated(lives: Sequence[Lifecycle]) -> Iterator[tuple[str, str]]:
    """For every invariant that a lifecycle gets by being declared, some ways to break it."""
    for life in lives:
        yield from _of_content(life)
        story = life.recorded
        if story is None:
            continue
        names = ", ".join(f"'{name}'" for name in (life.table, *life.formerly))
        own = (story.about or "true").replace("l.", "e.")
        about = f"e.subject in ({names})" if story.log == CONTROL_LOG else own
        key = ", ".join(f"e.{column}" for column in story.key)
        row_key = " || ', ' || ".join(f"r.{column}::text" for column in life.key)
        log_key = " || ', ' || ".join(f"e.{column}::text" for column in story.key)
        moved = "e.from_status is not null" if _has_told_moves(life) else "true"  # some rows are born, and that is all
        last = f"(select max(e.seq) from {story.log} e where {about} and {moved})"
        long = f"(select min(e.seq) from {story.log} e where {about} group by {key} having count(*) > 1 limit 1)"
        yield f"laws/L1/steps/{life.table}", _log(story.log, last, "authority = 'recoup_reader'")
        yield f"laws/L1/steps/{life.table}", _log(story.log, last, "to_status = 'NOWHERE'")
        yield f"laws/L2/chain/{life.table}", _log(story.log, last, "from_status = 'NOWHERE'")
        if story.unborn != "true" and _has_told_moves(life):
            yield f"laws/L2/chain/{life.table}", f"delete from {story.log} where seq = {long}"
        if story.rebuilds:
            one = f"(select ctid from {life.table} limit 1)"
            there = f"exists (select from {life.table} r where {row_key} = {log_key})"  # some rows have left
            told = f"(select {log_key} from {story.log} e where {about} and {there} order by e.seq desc limit 1)"
            events = f"delete from {story.log} e where {about} and {log_key} = {told}"
            other = f"update {life.table} r set {life.status_column} = 'NOWHERE' where {row_key} = {told}"
            yield f"rebuild/{life.table}", f"delete from {life.table} where ctid = {one}"
            yield f"rebuild/{life.table}", events
            if not _is_generated(life):
                yield f"rebuild/{life.table}", other
        if life.queue is not None:
            yield from _of_queue(life, life.queue.table)


def _of_content(life: Lifecycle) -> Iterator[tuple[str, str]]:
    """Every column is tried in tests/audit/test_every_column.py."""
    if not life.contents:
        return
    content = f"laws/L6/content/{life.table}"
    log, about, digest = "recoup.content_log", f"subject = '{life.table}'", "digests[1]"
    if life.given is not None:
        log, about, digest = life.given.log, f"event_type = '{life.given.born}'", "digest"
    last = f"(select max(seq) from {log} where {about})"
    yield content, f"delete from {life.table} where ctid = (select ctid from {life.table} limit 1)"
    yield content, f"delete from {log} where seq = {last}"
    yield content, f"update {log} set {digest} = sha256('') where seq = {last}"


def _of_queue(life: Lifecycle, queue: str) -> Iterator[tuple[str, str]]:
    """Needs one unit that waits and is not claimed."""
    waits = "where token is null"
    yield f"laws/L5/queue/{life.table}", f"update {queue} set wake_at = wake_at + interval '1 minute' {waits}"
    yield f"laws/L5/queue/{life.table}", f"update {queue} set round = round + 7 {waits}"
    yield f"laws/L5/queue/{life.table}", f"delete from {queue} {waits}"
    yield f"laws/L5/lease/{life.table}", f"update {queue} set worker = 'eve' {waits}"
    held = "token = gen_random_uuid(), worker = 'eve', claimed_at = recoup.now()"
    yield f"laws/L5/lease/{life.table}", f"update {queue} set {held} {waits}"
    late = "insert into recoup.late_result (subject, unit_id, token, result)"
    yield f"laws/L5/late/{life.table}", f"{late} values ('{life.table}', 'nobody/0', gen_random_uuid(), '1')"


def _is_generated(life: Lifecycle) -> bool:
    """A status that follows from other columns cannot be written."""
    return life.table == "cl.gate_zero_batch"


def _log(log: str, seq: str, change: str) -> str:
    return f"update {log} set {change} where seq = {seq}"


def _has_told_moves(life: Lifecycle) -> bool:
    return any(on.event == "update" for on in life.recorders)
