"""A newer release migrates while workers of the last one run. Nothing is lost or refused, and nothing goes back."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from domains.releases import extended
from recoup.audit import audit
from recoup.database import embedded
from recoup.database.connection import Database, connect
from recoup.database.releases import check_schema
from recoup.domain import releases
from recoup.lifecycles.declaration import Authority
from recoup.refusals import MigrationRefused
from recoup.schema import laws
from recoup.schema.migrate import migrate
from recoup.settings import Settings

PATIENCE_S = 60
BODY = (
    "select r.prosrc, g.prosrc from pg_proc r, pg_proc g"
    " where r.oid = 'parcels.record_steps'::regproc and g.oid = 'parcels.guard_parcel_moves'::regproc"
)


@contextlib.contextmanager
def working(uri: str, release: int, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A worker of one release. It is told to end with the block, and ends well."""
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    command = [sys.executable, "-m", "domains.working", uri, str(release), str(folder)]
    with subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "working\n"
            yield process
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 0, process.communicate()
        finally:
            process.kill()


class Feeding(threading.Thread):
    """Parcels come in all the time, by a program of the first release."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        self.database = database
        self.fed = 0
        self.enough = threading.Event()

    def run(self) -> None:
        while not self.enough.wait(0.01):
            with self.database.transaction(Authority.HUB) as tx:
                tx.execute(
                    "insert into parcels.parcel (city, moved_at) select 'x', recoup.now() from generate_series(1, 5)"
                )
            self.fed += 5


def done_by(database: Database, name: str) -> tuple[int, int]:
    """What the workers of a name did, and how often they failed."""
    query = "select coalesce(sum(done), 0), coalesce(sum(failures), 0) from recoup.duty_tally join recoup.worker"
    with database.transaction(Authority.READER) as tx:
        row = tx.execute(f"{query} using (worker_id) where name = %s", (name,)).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


def until(what: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.02)


def test_two_releases_work_side_by_side_while_one_migrates(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings, tmp_path: Path
) -> None:
    """Every parcel is sorted once, by either; both are at work before, during or after, and neither is refused."""
    first, second = extended(1, tmp_path), extended(2, tmp_path)
    name = new_database(simulated_from=None, domains=first)
    uri = server.uri(name)
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Database(uri, settings))
        admin = stack.enter_context(contextlib.closing(connect(server.uri(name, admin=True), settings)))
        with pytest.raises(MigrationRefused) as early:
            check_schema(admin, releases(second))
        assert early.value.code == "schema_older"
        feeding = Feeding(database)
        feeding.start()
        stack.callback(feeding.enough.set)
        with working(uri, 1, tmp_path):
            until(lambda: done_by(database, "release-1")[0] > 100)
            did = migrate(admin, second, login=server.app)
            assert (did.applied, did.domains) == (("0901_weight.sql",), (second[-1].at,))
            before = done_by(database, "release-1")[0]
            with working(uri, 2, tmp_path):
                until(lambda: done_by(database, "release-2")[0] > 100)
                until(lambda: done_by(database, "release-1")[0] > before + 100)
                feeding.enough.set()
                feeding.join()
                waiting = "select count(*) from parcels.parcel where status = 'WAITING'"
                until(lambda: admin.execute(waiting).fetchone() == (0,))
        tallies = [done_by(database, f"release-{release}") for release in (1, 2)]
        assert sum(done for done, _ in tallies) == feeding.fed, "each was sorted once"
        assert [failures for _, failures in tallies] == [0, 0], "nothing was refused"
        events = "select count(*), count(distinct parcel_id) from parcels.parcel_event where to_status = 'SORTED'"
        assert admin.execute(events).fetchone() == (feeding.fed, feeding.fed)
        # The older program migrates again: it leaves the newer release as it is, and says so.
        newer = admin.execute(BODY).fetchone()
        assert newer is not None
        assert "second release" in newer[0]
        assert "o.status::text = 'LOST'" in newer[1], "the guard is that of the newer declaration"
        again = migrate(admin, first, login=server.app)
        assert (again.routines, again.domains, again.kept) == ((), (), (second[-1].at,))
        assert admin.execute(BODY).fetchone() == newer
        check_schema(admin, releases(first))
        for domains in (first, second):
            broken = [verdict.id for verdict in audit(admin, laws.invariants(domains)) if not verdict.holds]
            assert broken == []
