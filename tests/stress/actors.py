"""The actors of the stress runs: a process that has everything imported, and forks one actor for each order.

An actor has a role, a number and a life: killed, it comes again as its next life. What it does is drawn from the seed.
It writes to a file of its own what was committed, one line of JSON after each commit, straight to the system: a line
that is there tells of something that the database must have. What was committed and not written down, because it was
killed in between, nobody holds against the database.

Orders and answers are lines of JSON. The process that forked an actor also ends it: it alone knows that the number
still means that actor.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import fcntl
import json
import os
import signal
import sys
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import psycopg

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "gate"))
from desk import outcome

from hub import DOL, LOG, ORPHANS, PEOPLE, TARGET, URLS, failed, succeeded
from product import apply_policy, pause, resume
from recoup import clock, gate, mint, observe
from recoup.database.connection import Actor as Name
from recoup.database.connection import Database, Transaction
from recoup.errors import (
    Severity,
    Want,
    archive,
    failures,
    handling,
    importing,
    parking,
    promotion,
    recording,
    retrying,
)
from recoup.errors.listing import Filter
from recoup.errors.lookup import ErrorKey
from recoup.errors.recording import NewError
from recoup.errors.retrying import Claimed
from recoup.errors.subject import SUBJECT
from recoup.errors.verbs import Verb
from recoup.gate import Attempt, NewIntake
from recoup.ledger import seals
from recoup.lifecycles.declaration import Authority
from recoup.operations import begin, carry_on
from recoup.operations.verbs import Act
from recoup.reasons import ReasonCode
from recoup.refusals import LawRefused, Refusal
from recoup.settings import Settings
from recoup.worker.standalone import Standalone

ENTITIES = 60  # that everybody meets at
MANY = 300  # errors of one call: more entities than are locked one by one
MESSAGES = ("the request timed out", "the EIN did not match", "no such column: ein", "connection reset by peer")
TABLES = (DOL, DOL, TARGET, PEOPLE, URLS, ORPHANS, LOG)
RETRIED = (DOL, TARGET, PEOPLE, URLS)
OVER_A_LEASE_S = 1.2  # of a lease of a second
HANDED_ON_TRIES = 200  # at a report of what is about to be committed
PATIENCE_S = 20.0
PR_SET_PDEATHSIG = 1  # of linux/prctl.h
ENDED_EARLY_S = 0.6  # so long one call of a flow goes on claiming
POLICY = """
[gate]
wait_hours = [{wait}, {wait}]
recovery_window_days = 1
attempt_lease_s = 13
[gate.verification]
dns_timeout_ms = 1000
site_timeout_ms = 1000
directory_timeout_ms = 1000
[errors]
retry_lease_s = {lease}
retries_at_once = 6
keep_parked_days = 1
[errors.tier_days]
SHORT = 1
MEDIUM = {medium}
LONG = 3
[errors.escalation.tier_2]
after_hours = 6
sla_hours = 2
[errors.escalation.tier_3]
after_hours = 18
sla_hours = 2
[errors.retry.TRANSIENT]
base_s = 1
window_hours = {window}
[errors.retry.OPERATIONAL]
backoff = "linear"
base_s = {base}
window_hours = 2
[seals]
block_rows = 200
"""


def a_policy(chance: Random) -> str:
    """Short leases, waits and tiers, so that everything that time does is done while the actors act."""
    figures = {"wait": (1, 2), "lease": (1, 2), "medium": (2, 3), "window": (1, 3), "base": (1, 60)}
    return POLICY.format(**{name: chance.choice(some) for name, some in figures.items()})


@dataclass
class Actor:
    """Somebody with a role: who, where, and what was written down of it."""

    role: str
    name: str
    db: Database
    chance: Random
    notes: int  # descriptor of its file
    entities: list[UUID]
    folder: Path
    batches: list[str] = field(default_factory=list)
    told_to_stop: bool = False

    def note(self, did: str, **facts: Any) -> None:
        os.write(self.notes, f"{json.dumps({'did': did, **facts}, default=str)}\n".encode())

    def idle(self, most_s: float = 0.03) -> None:
        time.sleep(self.chance.random() * most_s)

    def some(self) -> list[UUID]:
        """Entities that others act on as well: of the play; or of this moment, which have no errors yet."""
        if self.chance.random() < (0.7 if self.role == "promoter" else 0.2):
            return [UUID(int=int(time.monotonic() * 5) << 8 | self.chance.randrange(3))]
        return self.chance.sample(self.entities, self.chance.randint(1, 4))


# Hubs, which record --------------------------------------------------------------------------------------------------


def new_error(by: Actor, entity: UUID) -> NewError:
    table = by.chance.choice(TABLES)
    wants = (Want.ARCHIVE,) if table == LOG else (None, None, None, Want.PARK, Want.ARCHIVE, Want.RETRY)
    return NewError(
        table=table, message=by.chance.choice(MESSAGES), outreach_id=entity, want=by.chance.choice(wants),
        severity=by.chance.choice((None, None, *Severity)), payload={"by": by.name},
        work_key=by.chance.choice((None, None, "a", "b")),
    )  # fmt: skip


def record_some(by: Actor) -> None:
    """One; a few of entities that others have too; or more than are locked one by one."""
    kind = by.chance.random()
    of = by.some()[:1] if kind < 0.5 else [*by.some(), *(uuid.uuid4() for _ in range(by.chance.randint(0, 20)))]
    if kind > 0.97:
        of += [uuid.uuid4() for _ in range(MANY)]
    with by.db.transaction(Authority.HUB) as tx:
        recorded = recording.record(tx, [new_error(by, entity) for entity in of])
    by.note("recorded", errors=[one.error_id for one in recorded])


def import_some(by: Actor) -> None:
    """A file, in several transactions; each line has a work key of its own, by which it is found again."""
    keys = [f"{by.name} {uuid.uuid4()}" for _ in range(by.chance.randint(3, 25))]
    lines = [
        {"table": by.chance.choice(RETRIED), "entity": str(by.chance.choice(by.entities)), "work_key": key,
         "message": by.chance.choice(MESSAGES)}
        for key in keys
    ]  # fmt: skip
    file = by.folder / f"{by.name}.import"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    importing.BATCH = 10
    done = importing.import_file(by.db, file)
    if done.recorded == len(keys):
        by.note("imported", keys=keys)


def fail_some(by: Actor) -> None:
    """Code that fails, watched."""
    watching = failures(by.db, by.chance.choice(RETRIED), outreach_id=by.chance.choice(by.entities))
    with contextlib.suppress(ValueError), watching:
        raise ValueError(by.chance.choice(MESSAGES))
    if watching.recorded is None:
        by.note("unrecorded")
    else:
        by.note("recorded", errors=[watching.recorded.error_id])


def hub(by: Actor) -> None:
    by.chance.choices((record_some, import_some, fail_some), (8, 1, 2))[0](by)
    by.idle()


# Retry workers -------------------------------------------------------------------------------------------------------


def ended(by: Actor, claimed: Claimed) -> retrying.Succeeded | retrying.Failed:
    return succeeded(claimed) if by.chance.random() < 0.3 else failed(claimed, "failed once more")


def note_claims(by: Actor, claims: Sequence[Claimed]) -> None:
    by.note("claimed", claims=[(one.error_id, one.retry_count, one.token) for one in claims])


def report(by: Actor, outcomes: Sequence[retrying.Succeeded | retrying.Failed]) -> None:
    with by.db.one_statement(by.chance.choice((Authority.HUB, Authority.ERROR_WORKER))) as tx:
        became = {one.error_id: one.status for one in retrying.finish(tx, outcomes)}
    kinds = {
        one.error_id: ("FAILED" if isinstance(one, retrying.Failed) else "SUCCEEDED", one.token) for one in outcomes
    }
    by.note("ended", ends=[(error, *kinds[error], status) for error, status in became.items()])


def beside(by: Actor, act: Callable[[], None]) -> threading.Thread:
    """Somebody else, at the same moment."""
    other = threading.Thread(target=acted, args=(by, act))
    other.start()
    return other


def hand_on_retries(by: Actor) -> None:
    """Claimed here, and ended by somebody else, who reports before this transaction has committed."""
    other = None
    with by.db.transaction(Authority.HUB) as tx:
        claims = retrying.claim(tx, limit=by.chance.randint(1, 5), worker=by.name)
        outcomes = [ended(by, one) for one in claims]
        if outcomes:
            other = beside(by, lambda: report(by, outcomes))
        by.idle()
    note_claims(by, claims)
    if other is not None:
        other.join()


def retrier(by: Actor) -> None:
    """Claims, works, reports; too late at times, twice at times, and at times never."""
    if by.chance.random() < 0.15:
        return hand_on_retries(by)
    lease = by.chance.choice((None, timedelta(seconds=1), timedelta(seconds=5)))
    with by.db.one_statement(Authority.HUB) as tx:
        claims = retrying.claim(tx, limit=by.chance.randint(1, 12), worker=by.name, lease=lease)
    if not claims:
        return by.idle(0.1)
    note_claims(by, claims)
    by.idle()
    if by.chance.random() < 0.05:
        time.sleep(OVER_A_LEASE_S)
    reported = [ended(by, one) for one in claims if by.chance.random() < 0.95]
    for _ in range(1 if by.chance.random() < 0.9 else 2):  # its answer may have been lost
        if reported:
            report(by, reported)
    return None


class Hands(Standalone):
    """Somebody at the handlers of errors."""

    def __init__(self, by: Actor) -> None:
        super().__init__(by.db, Authority.ERROR_WORKER, name=by.name)
        self._until = time.monotonic() + ENDED_EARLY_S
        self._by = by

    def transaction(self) -> contextlib.AbstractContextManager[Transaction]:
        return self._by.db.transaction(Authority.ERROR_WORKER)

    def may_claim(self, tx: Transaction) -> bool:
        return time.monotonic() < self._until


def handler(by: Actor) -> None:
    """Retries by handlers, as a worker calls them."""

    def handle(claimed: Claimed) -> None:
        by.note("handled", key=claimed.key)
        time.sleep(0.01 if hash(claimed.token) % 30 else OVER_A_LEASE_S)
        if hash(claimed.token) % 3:
            raise ValueError("handled, and failed")

    handling.retry_due(Hands(by), dict.fromkeys(RETRIED, handle))
    by.idle(0.1)


# Gate Zero -----------------------------------------------------------------------------------------------------------


def bring_in(by: Actor) -> None:
    """Companies, alone or as a batch, which may be complete with them."""
    batch = f"{by.name} {uuid.uuid4()}" if by.chance.random() < 0.6 else None
    with by.db.transaction(Authority.HUB) as tx:
        if batch is not None:
            gate.create_batch(tx, batch)
        new = [NewIntake(company_name=f"Acme {n}", state="TX") for n in range(by.chance.randint(1, 15))]
        intakes = gate.add_intakes(tx, new, batch_id=batch)
        if batch is not None and by.chance.random() < 0.7:
            gate.complete_batch(tx, batch)
    by.note("intakes", intakes=intakes)


def found(by: Actor, attempt: Attempt) -> gate.Passed | gate.Failed:
    return outcome(attempt, None if by.chance.random() < 0.35 else ReasonCode.STATE_MISSING)


def finish(by: Actor, outcomes: Sequence[gate.Passed | gate.Failed]) -> None:
    with by.db.one_statement(Authority.GATE) as tx:
        became = gate.finish_attempts(tx, outcomes)
    by.note("finished", ends=[(one.attempt_id, one.status) for one in became])


def opened(by: Actor, tx: Transaction) -> list[Attempt]:
    lease = by.chance.choice((None, timedelta(seconds=1), timedelta(seconds=5)))
    if by.chance.random() < 0.8:
        again = by.chance.random() < 0.5
        return gate.claim_attempts(tx, limit=by.chance.randint(1, 12), worker=by.name, retries=again, lease=lease)
    waiting = tx.execute("select intake_id from cl.gate_zero_intake where status = 'PENDING' limit 3").fetchall()
    return gate.open_attempts(tx, [one for (one,) in waiting], worker=by.name, lease=lease) if waiting else []


def finish_when_known(by: Actor, outcomes: Sequence[gate.Passed | gate.Failed]) -> None:
    """An attempt is unknown until it is committed. If it is rolled back, it stays so."""
    for _ in range(HANDED_ON_TRIES):
        try:
            return finish(by, outcomes)
        except LawRefused as refusal:
            if refusal.code != "attempt_unknown":
                raise
            time.sleep(0.005)
    return by.note("handed on, and never known")


def hand_on(by: Actor) -> None:
    """Opened here, and ended by somebody else, who reports before this transaction has committed."""
    other = None
    with by.db.transaction(Authority.GATE) as tx:
        attempts = opened(by, tx)
        outcomes = [found(by, one) for one in attempts]
        if outcomes:
            other = beside(by, lambda: finish_when_known(by, outcomes))
        by.idle()
    by.note("opened", attempts=[one.attempt_id for one in attempts])
    if other is not None:
        other.join()


def verifier(by: Actor) -> None:
    """Imports companies, verifies them, reports; sometimes too late, and sometimes never."""
    if by.chance.random() < 0.2:
        return bring_in(by)
    if by.chance.random() < 0.2:
        return hand_on(by)
    with by.db.transaction(Authority.GATE) as tx:
        attempts = opened(by, tx)
    if not attempts:
        return by.idle(0.1)
    by.note("opened", attempts=[one.attempt_id for one in attempts])
    by.idle()
    if by.chance.random() < 0.05:
        time.sleep(OVER_A_LEASE_S)
    outcomes = [found(by, one) for one in attempts if by.chance.random() < 0.95]
    for _ in range(1 if by.chance.random() < 0.9 else 2):
        finish(by, outcomes)
    return None


# People --------------------------------------------------------------------------------------------------------------

VERBS: dict[str, Callable[[Transaction, Sequence[ErrorKey]], list[parking.Answer]]] = {
    "PARKED": lambda tx, keys: parking.park(tx, keys, reason="looks odd"),
    "UNPARKED": parking.unpark,
    "RESOLVED": parking.resolve,
    "ESCALATED": lambda tx, keys: parking.escalate(tx, keys, reason="nobody knows"),
    "ASSIGNED": lambda tx, keys: parking.assign(tx, keys, to="ann"),
    "REVIEWED": parking.review,
    "RETIRED": parking.archive,
}
BULK = (Act(verb=Verb.UNPARK), Act(verb=Verb.REVIEW), Act(verb=Verb.RESOLVE))


def decide(by: Actor) -> None:
    """A few errors, each by its own verb."""
    with by.db.transaction(Authority.READER) as tx:
        some = tx.execute(
            "select error_table, error_id from recoup.error where archived_at is null order by random() limit %s",
            (by.chance.randint(1, 8),),
        ).fetchall()
    said = by.chance.choice(list(VERBS))
    with by.db.transaction(Authority.OPERATOR, actor=Name("human", "ann"), reason="a look") as tx:
        answers = VERBS[said](tx, [ErrorKey(*one) for one in some])
    by.note("decided", event=said, errors=[one.error_id for one in answers if one.done])


def decide_many(by: Actor) -> None:
    """One decision over all of a table, or of some entities; begun, and carried out in batches."""
    asked = by.chance.choice((Filter(entities=tuple(by.some())), Filter(tables=(by.chance.choice(RETRIED),))))
    act = by.chance.choice(BULK if asked.entities else BULK[:2])
    with by.db.transaction(Authority.OPERATOR, actor=Name("human", "ann"), reason="all of them") as tx:
        operation = begin(tx, SUBJECT, act, asked)
    by.note("begun", operation=operation)
    done = carry_on(by.db, SUBJECT, operation, actor=Name("human", "ann"))
    by.note("carried out", operation=operation, done=done.done, items=done.items)


def stop_and_go(by: Actor) -> None:
    """A pause of anything, and its end; a batch has a kill switch."""
    scope, name = by.chance.choice(
        (("global", None), ("table", "recoup.error"), ("table", DOL), ("table", "cl.gate_zero_recovery"),
         ("duty", "seal"), ("batch", by.chance.choice(by.batches) if by.batches else None))
    )  # fmt: skip
    if scope == "batch" and name is None:
        return
    for change in (pause, resume):
        with by.db.transaction(Authority.OPERATOR, actor=Name("human", "ann")) as tx:
            changed = change(tx, scope, name, reason="a look")
        if changed:  # not what was left paused by one that was killed
            by.note("stopped" if change is pause else "went on", scope=scope)
        by.idle(0.1)


def change_policy(by: Actor) -> None:
    with by.db.transaction(Authority.OPERATOR, actor=Name("human", "ann")) as tx:
        version, _ = apply_policy(tx, a_policy(by.chance), reason="other figures")
    by.note("applied", version=version)


def start_afresh(by: Actor) -> None:
    """An exhausted company, once more; and what there is to be paused."""
    with by.db.transaction(Authority.OPERATOR, actor=Name("human", "ann"), reason="once more") as tx:
        by.batches = [one.batch_id for one in gate.list_batches(tx, limit=10)]
        gone = [one.intake_id for one in gate.exhausted(tx, limit=20) if one.restarted_as is None]
        again = [gate.restart(tx, one) for one in gone[:1]]
    by.note("intakes", intakes=again)


def go_on(db: Database) -> None:
    """Lift every pause: one that was killed leaves some behind."""
    with db.transaction(Authority.OPERATOR, reason="what was left") as tx:
        for scope, name in tx.execute("select scope, scope_id from recoup.pauses").fetchall():
            resume(tx, scope, None if scope == "global" else name, reason="what was left")


def operator(by: Actor) -> None:
    acts = (decide, decide_many, stop_and_go, change_policy, start_afresh)
    by.chance.choices(acts, (12, 2, 2, 1, 3))[0](by)
    by.idle(0.06)


# Sweepers ------------------------------------------------------------------------------------------------------------


def swept(db: Database, authority: Authority, act: Callable[[Transaction], int]) -> int:
    with db.transaction(authority) as tx:
        return act(tx)


def frozen(tx: Transaction) -> int:
    done = gate.freeze(tx, limit=50)
    return len(done.batches) + len(done.exhausted)


SWEEPS: dict[str, tuple[Authority, Callable[[Transaction], int]]] = {
    "lapsed": (Authority.ERROR_WORKER, lambda tx: retrying.lapse(tx, limit=50)),
    "windows": (Authority.ERROR_WORKER, lambda tx: retrying.close_windows(tx, limit=50)),
    "archived": (Authority.ARCHIVER, lambda tx: archive.sweep(tx, limit=50).gone),
    "crashed": (Authority.GATE, lambda tx: len(gate.sweep_crashed(tx, limit=50))),
    "frozen": (Authority.GATE, frozen),
    "minted": (Authority.MINT, lambda tx: mint.mint(tx, limit=20).events),
    "sealed": (Authority.ARCHIVER, lambda tx: len(seals.seal(tx, block_rows=200, max_blocks=10))),
}


def sweeper(by: Actor) -> None:
    kind = by.chance.choice(list(SWEEPS))
    by.note("swept", kind=kind, count=swept(by.db, *SWEEPS[kind]))
    by.idle()


# Promoters -----------------------------------------------------------------------------------------------------------


def promoter(by: Actor) -> None:
    """Asks with the lock, promotes who is free, and looks again before it commits: nobody may have slipped in."""
    of = by.some()
    with by.db.transaction(Authority.HUB) as tx:
        free = [entity for entity in of if entity not in promotion.blocked_locking(tx, of)]
        (since,) = tx.execute("select stress.last_seq()").fetchone() or (0,)
        by.idle()
        passed = [entity for entity in free if promotion.is_blocked(tx, entity)]
        tx.execute(
            "insert into stress.promoted (outreach_id, since, until)"
            " select one, %s, stress.last_seq() from unnest(%s::uuid[]) one",
            (since, free),
        )
    by.note("promoted", free=free, passed=passed)
    by.idle()


# Time ----------------------------------------------------------------------------------------------------------------


def timekeeper(by: Actor) -> None:
    """Moves a simulated clock: under everybody's hands by seconds, and by hours while nobody acts.

    A statement that a move of more than a minute meets writes what is older than its neighbours in the log, and the
    audit finds just that.
    """
    far = by.chance.random() < 0.15
    seconds = by.chance.choice((600, 3600, 7200, 86_400)) if far else by.chance.choice((0.1, 2, 5))
    with alone(by) if far else contextlib.nullcontext(), by.db.transaction(Authority.OPERATOR) as tx:
        moved = clock.advance(tx, timedelta(seconds=0.001 + seconds * by.chance.random()))
    by.note("moved", now=moved.now)
    time.sleep(0.1 + by.chance.random() * 0.3)


@contextlib.contextmanager
def acting(by: Actor) -> Iterator[None]:
    """In the room, with others. Whoever wants it for himself holds the door; a kill opens both."""
    with (by.folder / "door").open("w") as door, (by.folder / "room").open("w") as room:
        fcntl.flock(door, fcntl.LOCK_SH)
        fcntl.flock(room, fcntl.LOCK_SH)
        fcntl.flock(door, fcntl.LOCK_UN)
        yield


@contextlib.contextmanager
def alone(by: Actor) -> Iterator[None]:
    """In the room alone, when what killed ones left to the server has ended as well."""
    with (by.folder / "door").open("w") as door, (by.folder / "room").open("w") as room:
        fcntl.flock(door, fcntl.LOCK_EX)
        fcntl.flock(room, fcntl.LOCK_EX)
        while swept(by.db, Authority.READER, at_work) and not by.told_to_stop:
            time.sleep(0.01)
        yield


def at_work(tx: Transaction) -> int:
    found = tx.execute(
        "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        " and backend_type = 'client backend' and state <> 'idle'"
    ).fetchone()
    return int(found[0]) if found else 0


ROLES: dict[str, Callable[[Actor], None]] = {
    "hub": hub, "retrier": retrier, "handler": handler, "verifier": verifier, "operator": operator,
    "sweeper": sweeper, "promoter": promoter, "timekeeper": timekeeper,
}  # fmt: skip


def acted(by: Actor, act: Callable[[], None]) -> bool:
    """Do it. What the server or the law says to it is written down; anything else ends the actor, and the run fails."""
    try:
        act()
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        by.note("away", error=type(error).__name__, state=error.sqlstate, said=str(error)[:300])
        time.sleep(0.05)
    except Refusal as refusal:
        by.note("refused", code=refusal.code, said=refusal.happened, law=isinstance(refusal, LawRefused))
    except BaseException:  # noqa: BLE001 - every exception is reported
        by.note("broke", said=traceback.format_exc()[-1500:])
        return False
    return True


def live(told: dict[str, Any]) -> int:
    """Runs until it is stopped."""
    name = f"{told['role']}-{told['number']}-{told['life']}"
    chance = Random(f"{told['seed']} {name}")
    notes = os.open(Path(told["folder"]) / f"{name}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    settings = Settings(home=Path("nowhere"), actor=name, pool_max=3, connect_timeout_s=20, lock_timeout_ms=3000)
    db = Database(told["conninfo"], settings)
    by = Actor(told["role"], name, db, chance, notes, shared_entities(told["seed"]), Path(told["folder"]))

    def stop(*_: object) -> None:
        by.told_to_stop = True

    signal.signal(signal.SIGTERM, stop)
    faulthandler.register(signal.SIGUSR1)  # where it is, for one that does not stop
    if by.role == "operator" and not acted(by, lambda: go_on(db)):
        return 1
    while not by.told_to_stop:
        with acting(by) if by.role != "timekeeper" else contextlib.nullcontext():
            done = acted(by, lambda: ROLES[by.role](by))
        if not done:
            return 1
    return 0


def shared_entities(seed: int) -> list[UUID]:
    chance = Random(f"entities {seed}")
    return [UUID(int=chance.getrandbits(128), version=4) for _ in range(ENTITIES)]


# Whoever forks them --------------------------------------------------------------------------------------------------


def end(pids: Sequence[int], how: signal.Signals, patience_s: float) -> list[int | None]:
    """End children of ours: how each ended, or None if it had not within this time. Then it is killed."""
    for pid in pids:
        os.kill(pid, how)
    deadline = time.monotonic() + patience_s
    return [_gone(pid, deadline) for pid in pids]


def _gone(pid: int, deadline: float) -> int | None:
    while time.monotonic() < deadline:
        gone, status = os.waitpid(pid, os.WNOHANG)
        if gone:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def die_with_parent() -> None:
    """Actors end when their parent process was killed: otherwise they would run for ever."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def order(told: dict[str, Any], answer: Callable[[object], None], children: set[int]) -> None:
    if "end" in told:
        answer(end(told["end"], signal.Signals(told["how"]), told["patience_s"]))
        return children.difference_update(told["end"])
    pid = os.fork()
    if pid:
        children.add(pid)
        return answer(pid)
    code = 1
    try:
        die_with_parent()
        sys.stdin.close()
        code = live(told)
    finally:
        os._exit(code)


def main(orders: Iterable[str]) -> None:
    observe.configure(level="critical")
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # whatever else is printed goes elsewhere

        def answer(what: object) -> None:
            print(json.dumps(what), file=answers, flush=True)

        children: set[int] = set()
        try:
            for line in orders:
                order(json.loads(line), answer, children)
        finally:
            end(sorted(children), signal.SIGKILL, PATIENCE_S)  # of a run that was broken off


if __name__ == "__main__":
    main(sys.stdin)
