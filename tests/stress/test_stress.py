"""Everybody at once, and everything that can happen to them: kills, lost connections, a crash of the server, a clock
that is set back.

Afterwards nothing that was committed is lost or done twice, and every promise holds. Short in `make test`; `make soak`
gives each variant `--stress-seconds`. A run that failed is run again with its `--seed`; processes are not, so that it
may take a few runs.
"""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from hub import OPERATIONAL, Hub
from pooler import NO_PGBOUNCER, PGBOUNCER, bouncing
from product import apply_policy, pause, resume
from recoup import clock
from recoup.database import embedded
from recoup.database.connection import Database, connect
from recoup.database.queries import load
from recoup.domains import DOMAINS
from recoup.errors import Category, Want
from recoup.lifecycles.declaration import Authority
from recoup.schema.migrate import migrate
from recoup.settings import Settings
from servers import removed, started

sys.path.insert(0, str(Path(__file__).parents[1] / "gate"))
from desk import Desk

sys.path.insert(0, str(Path(__file__).parent))
from actors import a_policy
from reckoning import counted, let_run_out, told, wrong
from stage import OwnServer, Stage, WallClock

NO_CC = "no C compiler is installed: apt-get install gcc libc6-dev"
STEPS = (-90, -90, -2, 5, 7200)  # seconds; by how much the machine's clock is set at most
SCHEMA = """
create schema stress;
create table stress.promoted (outreach_id uuid not null, since bigint not null, until bigint not null);
create function stress.last_seq() returns bigint language sql volatile security definer
  as $$ select last_value from recoup.event_seq $$;
grant usage on schema stress to recoup_hub, recoup_reader;
grant select, insert on stress.promoted to recoup_hub;
grant select on stress.promoted to recoup_reader;
"""
# What the law says to people who act without looking, at one moment with others.
REFUSALS = frozenset(
    {
        "paused", "attempt_open", "attempt_number", "intake_not_waiting", "batch_window_closed", "attempt_time",
        "attempt_too_early", "policy_not_in_force",
    }
)  # fmt: skip
# And of a statement under which the clock is set: what was now, or was due, when it began is so no more when it ends.
UNDER_A_MOVED_CLOCK = frozenset({"error_not_due", "retry_too_early", "error_birth: not now", "error_move: not now"})
# The audit compares times. Where the clock was set back, these are not what they should be, and it says so
# (docs/explain/audit.md); whatever does not go by the clock holds all the same.
BY_THE_CLOCK = (
    "laws/L2/chain/", "laws/L5/late-attempts", "laws/L4/fresh-start-after-exhaustion",
    "laws/L7/in-order", "laws/L8/versions", "laws/L8/stamped", "laws/L8/batch-stamped",
    "laws/L8/error-stamped", "rebuild/recoup.pause", "rebuild/cl.gate_zero_intake", "rebuild/cl.gate_zero_recovery",
    "gate_zero_recovery/5/backoff-schedule", "gate_zero_recovery/7/enforced-backoff",
    "gate_zero_air/8/minted-after-auth",
    "errors/2/repeated", "errors/3/allowed-dispositions", "errors/5/backoff", "errors/5/no-retry-before-its-time",
    "errors/5/last-retry-at",
    "errors/5/retry-to-park", "errors/7/archived-at", "errors/operations-recorded",
    "errors/10/hub-team", "errors/10/parked-since", "errors/10/sla-hours", "errors/10/sla-met",
    "errors/10/sla-breached", "errors/10/sla-once", "errors/10/tier-is-due", "errors/10/tier-owner",
    "errors/10/kept-for-every-tier",
)  # fmt: skip


WORKERS = load("recoup.worker", "worker.sql")
REGISTERED = {"name": "ann", "host": "here", "pid": 1, "recoup_version": "0", "duties": ["seal"]}
Later = Callable[[timedelta], None]


@pytest.fixture
def seconds(pytestconfig: pytest.Config) -> float:
    return float(pytestconfig.getoption("--stress-seconds"))


@pytest.fixture
def folder() -> Iterator[Path]:
    """For what the actors write; the server's user reads the clock there."""
    with tempfile.TemporaryDirectory(prefix="recoup-stress-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@dataclasses.dataclass(frozen=True)
class Ground:
    """A server of the tests' own, in real time, whose clock and whose life are in their hands."""

    server: OwnServer
    wall: WallClock
    template: str

    def database(self) -> tuple[str, str]:
        """One more database: as everybody, and as the server's administrator."""
        running, name = self.server.start(), f"stress_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(running.uri("postgres", admin=True), autocommit=True) as admin:
            admin.execute(SQL("create database {} template {}").format(Identifier(name), Identifier(self.template)))
            # Else a crash takes the sequences of the copy back to where they were copied, and numbers come twice.
            admin.execute("checkpoint")
        return running.uri(name), running.uri(name, admin=True)


@pytest.fixture(scope="module")
def ground(settings: Settings) -> Iterator[Ground]:
    if shutil.which("cc") is None:
        pytest.skip(NO_CC)
    with tempfile.TemporaryDirectory(prefix="recoup-stress-") as name, contextlib.ExitStack() as stack:
        Path(name).chmod(0o755)
        home = Path(tempfile.mkdtemp(prefix="recoup-stress-"))
        wall = WallClock(Path(name))
        own = OwnServer(dataclasses.replace(settings, home=home), wall.environment)
        stack.callback(removed, own.settings)
        started(own.settings)
        running = own.start()
        with contextlib.closing(connect(running.uri(embedded.DATABASE, admin=True), settings)) as connection:
            migrate(connection, DOMAINS, login=running.app)
        yield Ground(own, wall, embedded.DATABASE)


def prepared(admin: str, db: Database, seed: int) -> None:
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(SCHEMA)
    with db.transaction(Authority.OPERATOR) as tx:
        apply_policy(tx, a_policy(Random(seed)), reason="short leases")


def played(
    stage: Stage,
    db: Database,
    seconds: float,
    later: Later,
    *,
    refusals: frozenset[str] = REFUSALS,
    alarms: tuple[str, ...] = (),
) -> None:
    """The whole of it: prepared, played, run out, reckoned."""
    prepared(stage.admin, db, stage.seed)
    notes = stage.play(seconds)
    let_run_out(db, later)
    found, raised = wrong(db, notes, refusals=refusals, alarms=alarms)
    counts = {**counted(notes, stage.struck), **stage.done, **{f"alarms of {id_}": n for id_, n in raised.items()}}
    said = told(stage.seed, stage.name, counts)
    print(said)
    assert not found, "\n".join([said, *map(str, found)])


def advancing(db: Database) -> Later:
    def later(by: timedelta) -> None:
        with db.transaction(Authority.OPERATOR) as tx:
            clock.advance(tx, by)

    return later


def test_direct(
    new_database: Callable[..., str],
    server: embedded.Server,
    settings: Settings,
    folder: Path,
    seed: int,
    seconds: float,
) -> None:
    """Everybody straight at the server, in simulated time that somebody moves."""
    name = new_database()
    with Database(server.uri(name), settings) as db:
        admin = server.uri(name, admin=True)
        played(Stage("direct", seed, folder, db.conninfo, admin, simulated=True), db, seconds, advancing(db))


@pytest.mark.skipif(PGBOUNCER is None, reason=NO_PGBOUNCER)
def test_behind_a_pooler(
    new_database: Callable[..., str],
    server: embedded.Server,
    settings: Settings,
    folder: Path,
    seed: int,
    seconds: float,
) -> None:
    """The same, where each transaction has another session."""
    name = new_database()
    more = "default_pool_size = 12\nmax_client_conn = 200"
    with Database(server.uri(name), settings) as db, bouncing(server, "transaction", more) as socket:
        pooled = make_conninfo(db.conninfo, host=socket, port="6432")
        admin = server.uri(name, admin=True)
        played(Stage("pooler", seed, folder, pooled, admin, simulated=True), db, seconds, advancing(db))


def test_a_server_that_crashes(ground: Ground, folder: Path, seed: int, seconds: float) -> None:
    """In real time, and the server is ended at once, again and again."""
    conninfo, admin = ground.database()
    strikes = {"crashes": (ground.server.crash, 0.4)}
    with Database(conninfo, ground.server.settings) as db:
        stage = Stage("crash", seed, folder, conninfo, admin, simulated=False, strikes=strikes)
        stage.environment = ground.wall.environment
        played(stage, db, seconds, ground.wall.on)


def test_a_clock_that_is_set_back(ground: Ground, folder: Path, seed: int, seconds: float) -> None:
    """In real time, and the machine's clock is set back and forth, for the server and for everybody."""
    conninfo, admin = ground.database()
    chance = Random(f"clock {seed}")

    def turn() -> None:
        """Back by up to a minute and a half, or on by up to two hours."""
        ground.wall.on(timedelta(seconds=chance.choice(STEPS) * chance.random()))

    with Database(conninfo, ground.server.settings) as db:
        stage = Stage("clock", seed, folder, conninfo, admin, simulated=False, strikes={"clock set": (turn, 1.5)})
        stage.environment = ground.wall.environment
        refusals = REFUSALS | UNDER_A_MOVED_CLOCK
        played(stage, db, seconds, ground.wall.on, refusals=refusals, alarms=BY_THE_CLOCK)


def test_nothing_is_refused_because_the_clock_was_set_back(ground: Ground) -> None:
    """By less than an hour: what was written before lies ahead, and everybody goes on all the same."""
    conninfo, _ = ground.database()
    with Database(conninfo, ground.server.settings) as db:
        hub, desk, entity = Hub(db), Desk(db), uuid.uuid4()
        same: dict[str, Any] = {"outreach_id": entity, "category": Category.STRUCTURAL}
        parked = hub.record(OPERATIONAL, want=Want.PARK, **same)
        with db.transaction(Authority.RUNNER) as tx:
            (worker,) = tx.execute(WORKERS["register"], REGISTERED).fetchone() or (None,)
        stop_and_go(db)
        batch = desk.batch()
        attempt = desk.open(desk.intake(batch_id=batch))
        ground.wall.on(timedelta(minutes=-50))
        newer = hub.record(OPERATIONAL, want=Want.RETRY, **same)
        assert hub.row(newer)["status"] == "PARKED"
        assert hub.row(parked)["superseded_by"] == newer
        stop_and_go(db)
        assert desk.finish(attempt).status == "failed"
        desk.complete(batch)
        with db.transaction(Authority.RUNNER) as tx:
            assert tx.execute(WORKERS["beat"], {"worker_id": worker}).rowcount == 1
            assert tx.execute(WORKERS["stop"], {"worker_id": worker}).rowcount == 1
        ground.wall.on(timedelta(minutes=50))


def stop_and_go(db: Database) -> None:
    for change in (pause, resume):
        with db.transaction(Authority.OPERATOR) as tx:
            assert change(tx, "global", reason="a look")
