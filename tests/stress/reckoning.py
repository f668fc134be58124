"""What the actors wrote down, held against the database, and the database against its own promises.

Every question gives what is wrong; nothing is allowed for.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from actors import SWEEPS, go_on, swept
from stage import IN_HAND

from product import LOGS
from recoup.database.connection import Database, Transaction
from recoup.errors.subject import SUBJECT
from recoup.ledger import seals
from recoup.lifecycles.declaration import Authority
from recoup.operations import carry_on, operations

sys.path.insert(0, str(Path(__file__).parents[1] / "audit"))
from lively import audited, broken

Notes = Sequence[dict[str, Any]]
Wrong = Iterator[tuple[object, ...]]
SHOWN = 5
MAX_SWEPT = 10_000  # rounds of one sweep: one that finds work for ever is a fault


# The end of the play -------------------------------------------------------------------------------------------------


def let_run_out(db: Database, later: Callable[[timedelta], None]) -> None:
    """Nobody acts any more: pauses are lifted, operations carried out, leases run out, and everything is swept."""
    go_on(db)
    with db.transaction(Authority.READER) as tx:
        left = [one for one in operations(tx, limit=100_000) if one.done_at is None]
    for one in left:
        carry_on(db, SUBJECT, one.operation_id)
    later(timedelta(minutes=10))
    for kind, sweep in SWEEPS.items():
        for _ in range(MAX_SWEPT):
            if not swept(db, *sweep):
                break
        else:
            raise AssertionError(f"{kind}: always something to sweep")


# What was written down -----------------------------------------------------------------------------------------------


def said(notes: Notes, did: str, fact: str) -> list[Any]:
    """All that was written down under one name."""
    return [one for note in notes if note["did"] == did for one in note[fact]]


def twice(some: list[Any]) -> list[Any]:
    return [one for one, count in Counter(some).items() if count > 1]


def nothing_recorded_is_lost(tx: Transaction, notes: Notes) -> Wrong:
    """Every error is live or archived; every line of a file, too."""
    yield from tx.execute(
        "select 'lost', one from unnest(%s::bigint[]) one"
        " where not exists (select from recoup.error e where e.error_id = one)"
        "   and not exists (select from recoup.error_archive a where a.error_id = one)",
        (said(notes, "recorded", "errors"),),
    )
    yield from tx.execute(
        "select 'line lost', one from unnest(%s::text[]) one"
        " where not exists (select from recoup.error e where e.work_key = one)"
        "   and not exists (select from recoup.error_archive a where a.work_key = one)",
        (said(notes, "imported", "keys"),),
    )
    yield from tx.execute(
        "select 'company lost', one from unnest(%s::uuid[]) one"
        " where not exists (select from cl.gate_zero_intake i where i.intake_id = one)",
        (said(notes, "intakes", "intakes"),),
    )


def each_error_is_in_one_place(tx: Transaction, notes: Notes) -> Wrong:
    yield from tx.execute("select 'in both', error_id from recoup.error join recoup.error_archive using (error_id)")
    yield from tx.execute(
        "select 'archived twice', error_id from recoup.error_archive group by error_id having count(*) > 1"
        " union all select 'archived twice by its log', error_id from recoup.error_event"
        " where event_type = 'ARCHIVED' group by error_id having count(*) > 1"
    )
    yield from tx.execute(
        "select 'open twice', error_table, outreach_id, error_signature, work_key, array_agg(error_id)"
        " from recoup.error where archived_at is null and outreach_id is not null and ttl_tier <> 'INFINITE'"
        " group by error_table, outreach_id, error_signature, work_key having count(*) > 1"
    )


def each_retry_is_claimed_once(tx: Transaction, notes: Notes) -> Wrong:
    """By the notes, by the log of claims; and each claim has one end."""
    yield from (("claimed twice", *one) for one in twice([(c[0], c[1]) for c in said(notes, "claimed", "claims")]))
    yield from (("handled twice", one) for one in twice([note["key"] for note in notes if note["did"] == "handled"]))
    yield from tx.execute(
        "select 'claimed twice by its log', unit from recoup.claim_log, unnest(units) unit"
        " where subject = 'recoup.error' group by unit having count(*) > 1"
    )
    yield from tx.execute(
        "with claimed as (select c.token, split_part(unit, '/', 2)::bigint as error_id"
        "                   from recoup.claim_log c, unnest(c.units) unit where c.subject = 'recoup.error')"
        " select 'ended not once', c.error_id, c.token, count(v.seq) from claimed c"
        "   left join recoup.error_event v on v.error_id = c.error_id and v.token = c.token"
        "        and v.event_type in"
        "          ('SUCCEEDED', 'FAILED', 'LAPSED', 'PARKED', 'RESOLVED', 'SUPERSEDED', 'RETIRED', 'EXPIRED')"
        "  group by 2, 3 having count(v.seq) <> 1"
    )
    yield from tx.execute(
        "select 'counted twice', error_id, retry_count from recoup.error_event where token is not null"
        " group by error_id, retry_count having count(*) > 1"
    )


def every_report_is_kept(tx: Transaction, notes: Notes) -> Wrong:
    """The answer to a report matches the database: applied, or stored as late."""
    ends = said(notes, "ended", "ends")
    applied = [(error, token) for error, _, token, status in ends if status != "late"]
    late = [token for _, _, token, status in ends if status == "late"]
    yield from tx.execute(
        "select 'not applied', e, t from unnest(%s::bigint[], %s::uuid[]) u (e, t)"
        " where not exists (select from recoup.error_event v where v.error_id = e and v.token = t)",
        ([error for error, _ in applied], [token for _, token in applied]),
    )
    found = said(notes, "finished", "ends")
    late += [attempt for attempt, status in found if status == "late"]
    yield from tx.execute(
        "select 'late, and not stored', one from unnest(%s::text[]) one"
        " where not exists (select from recoup.late_result l where one in (l.token::text, l.unit_id))",
        (late,),
    )
    for attempt, status in found:
        if status not in ("passed", "failed", "late"):
            yield "answered", attempt, status
    ended = [(attempt, status) for attempt, status in found if status != "late"]
    yield from tx.execute(
        "select 'attempt ended otherwise', a.attempt_id, a.status, u.said"
        "  from unnest(%s::uuid[], %s::text[]) u (attempt_id, said)"
        "  left join cl.gate_zero_attempt a using (attempt_id) where a.status is distinct from u.said",
        ([attempt for attempt, _ in ended], [status for _, status in ended]),
    )


def each_attempt_ended_once(tx: Transaction, notes: Notes) -> Wrong:
    yield from tx.execute(
        "select 'attempt lost', one from unnest(%s::uuid[]) one"
        " where not exists (select from cl.gate_zero_attempt a where a.attempt_id = one)",
        (said(notes, "opened", "attempts"),),
    )
    yield from tx.execute(
        "select 'attempt ended not once', a.attempt_id, a.status, count(v.seq) from cl.gate_zero_attempt a"
        "  left join cl.gate_zero_air v on v.attempt_id = a.attempt_id and v.event_type in ('PASS', 'FAIL')"
        " group by a.attempt_id, a.status having count(v.seq) <> 1 or a.status = 'open'"
    )


def nobody_slipped_past_the_gate(tx: Transaction, notes: Notes) -> Wrong:
    """No error came to block an entity between a free answer and its promotion's commit."""
    yield from (("passed", one) for one in said(notes, "promoted", "passed"))
    yield from tx.execute(
        "select 'slipped in', p.outreach_id, v.error_id, v.event_type, p.since, v.seq, p.until from stress.promoted p"
        "  join (select error_id, error_table, outreach_id from recoup.error union all"
        "        select error_id, error_table, outreach_id from recoup.error_archive) e using (outreach_id)"
        "  join recoup.error_event v on v.error_id = e.error_id and v.seq > p.since and v.seq <= p.until"
        " where e.error_table = any(recoup.blocking_tables()) and v.event_type in ('RECORDED', 'PARKED', 'UNPARKED')"
        "   and v.disposition in ('RETRY', 'PARKED') and v.from_status is distinct from v.to_status"
    )
    yield from tx.execute(
        "select 'promotion lost', one from unnest(%s::uuid[]) one"
        " where not exists (select from stress.promoted p where p.outreach_id = one)",
        (said(notes, "promoted", "free"),),
    )


def what_people_did_is_told(tx: Transaction, notes: Notes) -> Wrong:
    done = Counter((note["event"], error) for note in notes if note["did"] == "decided" for error in note["errors"])
    yield from tx.execute(
        "select 'decided, and not told', u.*"
        "  from unnest(%s::text[], %s::bigint[], %s::integer[]) u (event, error, times)"
        " where times > (select count(*) from recoup.error_event v where v.error_id = error and v.event_type = event)",
        ([event for event, _ in done], [error for _, error in done], list(done.values())),
    )
    pauses = Counter(note["did"] for note in notes)
    yield from tx.execute(
        "select 'pauses lost', p.* from (select count(*) as paused from recoup.pause_log where event_type = 'PAUSE') p"
        " where paused < %s",
        (pauses["stopped"],),
    )
    versions = [note["version"] for note in notes if note["did"] == "applied"]
    yield from tx.execute(
        "select 'policy lost', one from unnest(%s::integer[]) one"
        " where not exists (select from recoup.policy p where p.version = one)",
        (versions,),
    )
    yield from tx.execute(
        "select 'operation not done', operation_id, status from recoup.operation where status <> 'DONE'"
    )


def _passing(said: str) -> str:
    """What passes with the statement that was refused."""
    return (
        "not now"
        if said.endswith(("not now.", "not now, but ahead.", "a claim is made now, and its unit stays what it is."))
        else said
    )


def nobody_broke(notes: Notes, allowed: frozenset[str]) -> Wrong:
    """Nobody met anything but the server's ends, and refusals that this play is known to bring."""
    yield from (("broke", note["by"], note["said"]) for note in notes if note["did"] == "broke")
    strange: dict[str, list[str]] = defaultdict(list)
    for note in notes:
        if note["did"] == "refused" and allowed.isdisjoint({note["code"], f"{note['code']}: {_passing(note['said'])}"}):
            strange[note["code"]].append(f"{note['by']}: {note['said']}")
    yield from (("refused", code, len(found), *found[:SHOWN]) for code, found in strange.items())


QUESTIONS: tuple[Callable[[Transaction, Notes], Wrong], ...] = (
    nothing_recorded_is_lost, each_error_is_in_one_place, each_retry_is_claimed_once, every_report_is_kept,
    each_attempt_ended_once, nobody_slipped_past_the_gate, what_people_did_is_told,
)  # fmt: skip


def wrong(
    db: Database, notes: Notes, *, refusals: frozenset[str], alarms: tuple[str, ...] = ()
) -> tuple[list[tuple[object, ...]], Counter[str]]:
    """Everything that is wrong, a few of each kind; and the alarms of the audit that this play is known to raise."""
    found = list(nobody_broke(notes, refusals))
    with db.transaction(Authority.READER) as tx:
        for question in QUESTIONS:
            found += question(tx, notes)
    verdicts = broken(audited(db))
    found += [
        (f"audit {id_}", len(rows), *rows[:2])
        for id_, rows in verdicts.items()
        if not (alarms and id_.startswith(alarms))
    ]
    with db.transaction(Authority.READER) as tx:
        examined = seals.examine(tx, LOGS)
    found += [("seal", problem) for problem in examined.problems]
    found += [("unsealed", log, rows) for log, rows in examined.unsealed.items() if rows]
    kinds: Counter[str] = Counter()
    few = []
    for one in found:
        kinds[str(one[0])] += 1
        if kinds[str(one[0])] <= SHOWN:
            few.append(one)
    return few, Counter({id_: len(rows) for id_, rows in verdicts.items() if alarms and id_.startswith(alarms)})


def counted(notes: Notes, struck: Sequence[str]) -> dict[str, int]:
    """What there was of everything."""
    flying: dict[str, str] = {}
    for note in notes:
        flying[note["by"]] = note["did"]
    swept_: Counter[str] = Counter()
    for note in notes:
        if note["did"] == "swept":
            swept_[f"swept {note['kind']}"] += note["count"]
    refused = Counter(f"refused {note['code']}" for note in notes if note["did"] == "refused")
    away = Counter(f"away {note['error']}" for note in notes if note["did"] == "away")
    return {
        "recorded": len(said(notes, "recorded", "errors")) + len(said(notes, "imported", "keys")),
        "claims": len(said(notes, "claimed", "claims")),
        "handled": sum(note["did"] == "handled" for note in notes),
        "retries ended": len(said(notes, "ended", "ends")),
        "late retries": sum(end[3] == "late" for end in said(notes, "ended", "ends")),
        "attempts": len(said(notes, "opened", "attempts")),
        "late attempts": sum(end[1] == "late" for end in said(notes, "finished", "ends")),
        "decided": len(said(notes, "decided", "errors")),
        "operations": sum(note["did"] == "carried out" for note in notes),
        "pauses": sum(note["did"] == "stopped" for note in notes),
        "policies": sum(note["did"] == "applied" for note in notes),
        "free answers": len(said(notes, "promoted", "free")),
        **swept_,
        "killed in flight": sum(flying.get(name) in IN_HAND for name in struck),
        "unrecorded": sum(note["did"] == "unrecorded" for note in notes),
        **refused,
        **away,
    }  # fmt: skip


def told(seed: int, variant: str, counts: dict[str, int]) -> str:
    return f"stress {variant} --seed {seed}: " + ", ".join(
        f"{count:,} {what}" for what, count in counts.items() if count
    )


__all__ = ["counted", "let_run_out", "told", "wrong"]
