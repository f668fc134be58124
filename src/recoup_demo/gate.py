"""Twenty days of Gate Zero in simulated time, against the local world.

Four batches: one goes through both waits, one is frozen while its recovery is paused, one waits for its second retry,
one is still being imported. A worker dies, exhausted companies are restarted, and companies that passed are minted. At
the end there are rows in every status of every table of Gate Zero.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

from recoup import clock, mint, policy
from recoup.database.connection import Actor, Database
from recoup.database.queries import load
from recoup.gate import verifying
from recoup.gate.attempts import claim_attempts, sweep_crashed
from recoup.gate.batches import freeze, pause_batch
from recoup.gate.importing import import_file
from recoup.gate.intake import exhausted, restart
from recoup.gate.policy import GatePolicy
from recoup.lifecycles.declaration import Authority
from recoup.worker.standalone import Standalone
from recoup_demo.world import Company, World, files

Q = load("recoup_demo", "gate.sql")
COMPANIES, SEED = 2000, 7
SPAN = timedelta(days=20)
WORKER = "demo-worker"
OPERATOR = Actor("human", "demo-operator")
OUTREACH, PARTNERS, CONFERENCE, SIGN_UPS = "annual-outreach", "partner-list", "conference-leads", "web-sign-ups"
# Short, because the local world answers at once or never, and twenty days take a minute.
IN_A_HURRY = {"at_once": 100, "dns_timeout_ms": 1500, "site_timeout_ms": 2000, "directory_timeout_ms": 1500}
IN_FLIGHT_LEASE = timedelta(days=1)  # so that attempts are in progress at the end


def policy_document(world: World, **settings: int) -> str:
    """A policy that verifies against the local world, with short timeouts unless ``settings`` has others."""
    values: dict[str, Any] = {**world.policy, **IN_A_HURRY, **settings}
    return "[gate.verification]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())


class Play:
    """The demo: the database, the local world, and its simulated time."""

    def __init__(self, database: Database, world: World, say: Callable[[str], None]) -> None:
        self.database = database
        self.world = world
        self.say = say
        self._waiting: Iterator[Company] = iter(world.companies)
        with database.transaction(Authority.OPERATOR, actor=OPERATOR) as tx:
            policy.apply(tx, policy_document(world), (GatePolicy,), reason="the demo verifies the local world")
            self.begun = clock.read(tx).now

    def play(self) -> None:
        """From the first import to the present."""
        self._import(OUTREACH, 1200, ".csv", complete=True)
        self._a_worker_dies(6)
        self._verify_first(day=0)
        self._at(hours=2)
        self._import(PARTNERS, 300, ".jsonl", complete=True)
        self._verify_first(day=0)
        self._at(hours=20)
        self._pause(PARTNERS, "the partner withdrew the list; legal is checking")
        self._at(days=1, hours=3)
        self._verify_again(day=1)
        self._at(days=4, hours=4)
        self._verify_again(day=2)
        self._at(days=14, hours=3)
        self._freeze()
        self._at(days=17)
        self._import(CONFERENCE, 350, ".parquet", complete=True)
        self._verify_first(day=0)
        self._at(days=18, hours=1)
        self._verify_again(day=1)
        self._at(days=18, hours=22)
        self._import(SIGN_UPS, 100, ".csv")
        self._verify_first(day=0)
        self._at(days=19, hours=23)
        self._import(SIGN_UPS, 50, ".csv", append=True)
        self._in_flight(3)
        self._restart(2)

    # Scenes ---------------------------------------------------------------------------------------------------------

    def _import(self, batch: str, count: int, suffix: str, *, complete: bool = False, append: bool = False) -> None:
        companies = list(islice(self._waiting, count))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{batch}{suffix}"
            _write(path, companies)
            done = import_file(self.database, path, batch_id=batch, append=append, complete=complete, actor=OPERATOR)
        refused = f", {done.refused} rows refused" if done.refused else ""
        self._tell(f"{batch}: {done.accepted:,} companies from {path.name}{refused}" + (", complete" * complete))

    def _verify_first(self, *, day: int) -> None:
        self._verify(retries=False, day=day)

    def _verify_again(self, *, day: int) -> None:
        self._verify(retries=True, day=day)

    def _verify(self, *, retries: bool, day: int) -> None:
        self.world.day = day
        hands = Standalone(self.database, Authority.GATE, name=WORKER)
        done = verifying.verify(hands, retries=retries, tell=lambda _: self._pass(timedelta(seconds=2)))
        word = "retried" if retries else "verified"
        self._tell(f"{done.done:,} {word}: {done.passed:,} passed, {done.failed.total():,} failed")
        self._mint()

    def _mint(self) -> None:
        minted, events = 0, 1
        while events:
            with self.database.transaction(Authority.MINT, actor=Actor("system", WORKER)) as tx:
                page = mint.mint(tx)
            minted, events = minted + len(page.identities), page.events
        self._tell(f"{minted:,} identities minted")

    def _a_worker_dies(self, count: int) -> None:
        """It claims attempts and reports nothing. They count as timed out when their lease expires."""
        with self.database.transaction(Authority.GATE, actor=Actor("system", "demo-worker-that-dies")) as tx:
            claim_attempts(tx, limit=count, worker="demo-worker-that-dies", retries=False)
        self._pass(timedelta(minutes=10))
        with self.database.transaction(Authority.GATE, actor=Actor("system", WORKER)) as tx:
            swept = sweep_crashed(tx)
        self._tell(f"a worker died: its {len(swept)} attempts count as timed out")

    def _pause(self, batch: str, reason: str) -> None:
        with self.database.transaction(Authority.OPERATOR, actor=OPERATOR, reason=reason) as tx:
            pause_batch(tx, batch, reason=reason)
        self._tell(f"kill switch for {batch}: {reason}")

    def _freeze(self) -> None:
        with self.database.transaction(Authority.GATE, actor=Actor("system", WORKER)) as tx:
            frozen = freeze(tx, limit=100_000)
        self._tell(f"{len(frozen.batches)} batches frozen, {len(frozen.exhausted)} recoveries ended")

    def _in_flight(self, count: int) -> None:
        with self.database.transaction(Authority.GATE, actor=Actor("system", WORKER)) as tx:
            claimed = claim_attempts(tx, limit=count, worker=WORKER, retries=False, lease=IN_FLIGHT_LEASE)
        self._tell(f"{len(claimed)} companies are being verified")

    def _restart(self, count: int) -> None:
        with self.database.transaction(Authority.OPERATOR, actor=OPERATOR, reason="they moved to another domain") as tx:
            started = [restart(tx, e.intake_id) for e in exhausted(tx, batch_id=OUTREACH, limit=count)]
        self._tell(f"{len(started)} exhausted companies are restarted")

    # Time -----------------------------------------------------------------------------------------------------------

    def _at(self, *, days: int = 0, hours: int = 0) -> None:
        with self.database.transaction(Authority.OPERATOR, actor=OPERATOR) as tx:
            clock.advance(tx, self.begun + timedelta(days=days, hours=hours) - clock.read(tx).now)

    def _pass(self, by: timedelta) -> None:
        with self.database.transaction(Authority.OPERATOR, actor=OPERATOR) as tx:
            clock.advance(tx, by)

    def _tell(self, line: str) -> None:
        with self.database.transaction(Authority.READER) as tx:
            now: datetime = clock.read(tx).now
        self.say(f"{now:%Y-%m-%d %H:%M}  {line}")


def a_recovered_company(database: Database) -> UUID | None:
    """A company whose last retry passed."""
    with database.transaction(Authority.READER) as tx:
        row = tx.execute(Q["longest_recovery"]).fetchone()
    return None if row is None else row[0]


def _write(path: Path, companies: Sequence[Company]) -> None:
    """A file as people send it: in CSV the last two rows are invalid."""
    rows = files.intake_rows(companies)
    if path.suffix == ".csv":
        rows += [
            {"company_name": "", "company_domain": "nameless.example", "linkedin_url": None, "state": "TX"},
            {"company_name": "Slip & Sons", "company_domain": "not a domain", "linkedin_url": None, "state": "OH"},
        ]
    files.write_rows(path, rows)


def play(database: Database, say: Callable[[str], None], *_meanwhile: object) -> None:
    """Build this part of the demo. It runs nothing meanwhile."""
    with World(COMPANIES, SEED) as world:
        Play(database, world, say).play()
