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
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pooler import NO_PGBOUNCER, PGBOUNCER, bouncing
from product import apply_policy
from recoup import clock
from recoup.database import embedded
from recoup.database.connection import Database, connect
from recoup.domains import DOMAINS
from recoup.lifecycles.declaration import Authority
from recoup.schema.migrate import migrate
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parent))
from actors import a_policy
from reckoning import counted, let_run_out, told, wrong
from stage import FAKETIME, Clock, OwnServer, Stage

START = datetime(2026, 1, 1, 9, 0, tzinfo=UTC)
BACK_S, ON_S = 90, 7200  # how far the machine's clock is set back and forth
SCHEMA = """
create schema stress;
create table stress.promoted (outreach_id uuid not null, since bigint not null, until bigint not null);
create function stress.last_seq() returns bigint language sql volatile security definer
  as $$ select last_value from recoup.event_seq $$;
grant usage on schema stress to recoup_hub, recoup_reader;
grant select, insert on stress.promoted to recoup_hub;
grant select on stress.promoted to recoup_reader;
"""
VARIANTS = ("direct", "pooler", "crash", "clock")
# What the law says to people who act without looking, at one moment with others.
REFUSALS = frozenset(
    {
        "paused", "attempt_open", "attempt_number", "intake_not_waiting", "batch_window_closed", "attempt_time",
        "policy_not_in_force",
    }
)  # fmt: skip
ALARMS: frozenset[str] = frozenset()


@pytest.fixture
def seconds(pytestconfig: pytest.Config) -> float:
    return float(pytestconfig.getoption("--stress-seconds"))


@pytest.fixture
def folder() -> Iterator[Path]:
    """For what the actors write; the server's user reads the clock there."""
    with tempfile.TemporaryDirectory(prefix="recoup-stress-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def own(settings: Settings) -> Iterator[OwnServer]:
    """A server of the test's own."""
    home = Path(tempfile.mkdtemp(prefix="recoup-stress-"))
    server = OwnServer(dataclasses.replace(settings, home=home))
    try:
        yield server
    finally:
        embedded.stop(server.settings)
        shutil.rmtree(home, ignore_errors=True)


def migrated(server: embedded.Server, settings: Settings, simulated_from: datetime | None) -> str:
    """A database of a server of one's own."""
    with contextlib.closing(connect(server.uri(embedded.DATABASE, admin=True), settings)) as connection:
        migrate(connection, DOMAINS, login=server.app, simulated_from=simulated_from)
    return embedded.DATABASE


def prepared(admin: str, db: Database, seed: int) -> None:
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(SCHEMA)
    with db.transaction(Authority.OPERATOR) as tx:
        apply_policy(tx, a_policy(Random(seed)), reason="short leases")


def played(
    stage: Stage, db: Database, seconds: float, later: Callable[[timedelta], None], alarms: frozenset[str] = frozenset()
) -> None:
    """The whole of it: prepared, played, run out, reckoned."""
    prepared(stage.admin, db, stage.seed)
    import time; t=time.time()
    notes = stage.play(seconds)
    print("play", time.time()-t); t=time.time()
    let_run_out(db, later)
    print("run out", time.time()-t); t=time.time()
    found, raised = wrong(db, notes, refusals=REFUSALS, alarms=alarms)
    print("wrong", time.time()-t)
    counts = {**counted(notes, stage.struck), **stage.done, **{f"alarms of {id_}": n for id_, n in raised.items()}}
    said = told(stage.seed, stage.name, counts)
    print(said)
    assert not found, "\n".join([said, *map(str, found)])


def advancing(db: Database) -> Callable[[timedelta], None]:
    def later(by: timedelta) -> None:
        with db.transaction(Authority.OPERATOR) as tx:
            clock.advance(tx, by)

    return later


def test_direct(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings, folder: Path, seed: int, seconds: float
) -> None:
    """Everybody straight at the server, in simulated time that somebody moves."""
    name = new_database()
    with Database(server.uri(name), settings) as db:
        admin = server.uri(name, admin=True)
        played(Stage("direct", seed, folder, db.conninfo, admin, simulated=True), db, seconds, advancing(db))


@pytest.mark.skipif(PGBOUNCER is None, reason=NO_PGBOUNCER)
def test_behind_a_pooler(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings, folder: Path, seed: int, seconds: float
) -> None:
    """The same, where each transaction has another session."""
    name = new_database()
    more = "default_pool_size = 12\nmax_client_conn = 200"
    with Database(server.uri(name), settings) as db, bouncing(server, "transaction", more) as socket:
        pooled = make_conninfo(db.conninfo, host=socket, port="6432")
        admin = server.uri(name, admin=True)
        played(Stage("pooler", seed, folder, pooled, admin, simulated=True), db, seconds, advancing(db))


def test_a_server_that_crashes(own: OwnServer, folder: Path, seed: int, seconds: float) -> None:
    """The same, and the server is ended at once, again and again."""
    server = own.start()
    name = migrated(server, own.settings, START)
    with Database(server.uri(name), own.settings) as db:
        admin = server.uri(name, admin=True)
        strikes = {"crashes": (own.crash, 0.5)}
        played(Stage("crash", seed, folder, db.conninfo, admin, simulated=True, strikes=strikes), db, seconds, advancing(db))


@pytest.mark.skipif(not FAKETIME.exists(), reason="libfaketime is not installed: apt-get install faketime")
def test_a_clock_that_is_set_back(own: OwnServer, folder: Path, seed: int, seconds: float) -> None:
    """Real time, and the machine's clock is set back and forth, for the server and for everybody."""
    wall = Wall(folder, Random(f"clock {seed}"))
    own.environment = wall.clock.environment
    server = own.start()
    name = migrated(server, own.settings, None)
    with Database(server.uri(name), own.settings) as db:
        stage = Stage(
            "clock", seed, folder, db.conninfo, server.uri(name, admin=True), simulated=False,
            environment=wall.clock.environment, strikes={"clock set": (wall.turn, 1.5)},
        )  # fmt: skip
        played(stage, db, seconds, wall.on, alarms=ALARMS)


class Wall:
    """The machine's clock, and the hand at it."""

    def __init__(self, folder: Path, chance: Random) -> None:
        self.clock, self.chance, self.offset_s = Clock(folder / "clock"), chance, 0.0
        self.clock.set(0)

    def turn(self) -> None:
        """Back by up to a minute and a half, or on by up to two hours."""
        self.offset_s += self.chance.choice((-BACK_S, -BACK_S, -2, 5, ON_S)) * self.chance.random()
        self.clock.set(self.offset_s)

    def on(self, by: timedelta) -> None:
        """Past everything that was written meanwhile."""
        self.offset_s += by.total_seconds()
        self.clock.set(self.offset_s)
