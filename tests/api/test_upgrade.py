"""A rolling upgrade over HTTP: the API of the older release works on within an epoch, and stops at the next one."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import httpx2
import psycopg
import pytest

from command_line import clean_environment
from hub import DOL
from recoup.database import embedded
from recoup.database.connection import Database, connect
from recoup.domain import Domain
from recoup.lifecycles.declaration import Authority
from recoup.schema.migrate import migrate
from recoup.settings import Settings
from recoup.worker import register
from services import until

ADDED = "alter table recoup.error add column colour text;\n"
OLDER = "from recoup.cli.main import main; main()"
# A program of the next release of a domain, with one more domain.
NEWER = f"import upgrade_newer as u; import recoup.domains as d; d.DOMAINS = u.NEWER; {OLDER}"
MODULE = """
import dataclasses
from recoup.domain import Domain
from recoup.domains import DOMAINS
*OTHERS, LAST = DOMAINS
MORE = Domain(name="one more", package="upgrade_more", description="for a test", release=1)
NEWER = (*OTHERS, dataclasses.replace(LAST, release=LAST.release + 1), MORE)
"""


@dataclasses.dataclass
class Caller:
    """Records failures and lists them, without a pause."""

    api: httpx2.Client
    enough: threading.Event = dataclasses.field(default_factory=threading.Event)
    seen: Counter[tuple[int, str]] = dataclasses.field(default_factory=Counter)

    def run(self) -> None:
        while not self.enough.wait(0.01):
            error = {"table": DOL, "message": "the registry is down", "outreach_id": str(uuid4())}
            for answer in (
                self.api.post("/v1/errors", json=error, headers={"Idempotency-Key": str(uuid4())}),
                self.api.get("/v1/errors", params={"limit": 5}),
                self.api.get("/v1/logs/recoup.error_event/events?limit=5"),
            ):
                code = answer.json().get("code", "") if answer.status_code >= 400 else ""
                self.seen[answer.status_code, code] += 1


@contextlib.contextmanager
def serving(conninfo: str, program: str, folder: Path) -> Iterator[httpx2.Client]:
    with subprocess.Popen(
        [sys.executable, "-c", program, "--dsn", conninfo, "api", "--port", "0"],
        env={**clean_environment(), "PYTHONPATH": str(folder), "RECOUP_LOG_LEVEL": "error"},
        stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        try:
            said = process.stderr.readline()
            assert "serving the API at" in said, said + process.stderr.read()
            with httpx2.Client(base_url=said.split(" at ")[1].split("/v1/")[0], timeout=60) as client:
                yield client
        finally:
            process.terminate()
            process.wait(30)


@pytest.fixture
def newer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Domain, ...]:
    """The domains of the next release."""
    (tmp_path / "upgrade_more" / "migrations").mkdir(parents=True)
    (tmp_path / "upgrade_more" / "__init__.py").touch()
    (tmp_path / "upgrade_more" / "migrations" / "0998_colour.sql").write_text(ADDED)
    (tmp_path / "upgrade_newer.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    found: tuple[Domain, ...] = importlib.import_module("upgrade_newer").NEWER
    return found


def test_an_api_works_on_within_an_epoch_and_stops_at_the_next(
    fresh: Callable[..., Database], server: embedded.Server, settings: Settings, newer: tuple[Domain, ...],
    tmp_path: Path,
) -> None:  # fmt: skip
    db = fresh(simulated_from=None)
    name = str(psycopg.conninfo.conninfo_to_dict(db.conninfo)["dbname"])
    with contextlib.ExitStack() as stack:
        admin = stack.enter_context(contextlib.closing(connect(server.uri(name, admin=True), settings)))
        older = stack.enter_context(serving(db.conninfo, OLDER, tmp_path))
        with db.transaction(Authority.RUNNER) as tx:
            register.register(tx, name="w", duties=[])
        assert older.get("/readyz").status_code == 200
        caller = Caller(older)
        thread = threading.Thread(target=caller.run)
        thread.start()
        stack.callback(thread.join)
        stack.callback(caller.enough.set)
        until(lambda: sum(caller.seen.values()) > 30)

        did = migrate(admin, newer, login=server.app)
        assert did.applied == ("0998_colour.sql",)
        with serving(db.conninfo, NEWER, tmp_path) as later:
            _same_in_both(older, later)
            before = caller.seen[201, ""]
            until(lambda: caller.seen[201, ""] > before + 20)
            with db.transaction(Authority.RUNNER) as tx:
                register.register(tx, name="w", duties=[])  # the first may be silent by now
            assert [one.get("/readyz").status_code for one in (older, later)] == [200, 200]
        assert set(caller.seen) == {(201, ""), (200, "")}, "nobody noticed"

        *others, last = newer
        risen = (*others[:-1], dataclasses.replace(others[-1], epoch=others[-1].epoch + 1, release=99), last)
        with older.stream("GET", "/v1/logs/recoup.error_event/stream", params={"start": "now"}) as stream:
            assert stream.status_code == 200
            migrate(admin, risen, login=server.app)
            begun = time.monotonic()
            ready = older.get("/readyz")
            assert ready.status_code == 503, "at once"
            schema = [one for one in ready.json()["checks"] if one["check"] == "schema"]
            assert [(one["verdict"], one["found"]) for one in schema] == [("error", "schema_newer")]
            for _ in stream.iter_lines():
                pass  # until it ends, soon after
        until(lambda: caller.seen[503, "schema_newer"] > 0, patience_s=20)
        print(f"refused after {time.monotonic() - begun:.1f} s")
        written = admin.execute("select count(*) from recoup.error").fetchone()
        answer = older.post("/v1/errors", json={"table": DOL, "message": "x", "outreach_id": str(uuid4())})
        assert (answer.status_code, answer.json()["code"]) == (503, "schema_newer")
        assert "release 99" in answer.json()["next_step"]
        assert "retry-after" in answer.headers
        assert older.get("/healthz").status_code == 200, "it lives, and is not restarted for this"
        refused = caller.seen[503, "schema_newer"]
        until(lambda: caller.seen[503, "schema_newer"] > refused + 5)
        assert admin.execute("select count(*) from recoup.error").fetchone() == written
        assert set(caller.seen) == {(201, ""), (200, ""), (503, "schema_newer")}

        # As a restore of the backup from before would have it.
        admin.execute("select pg_advisory_lock(7265666)")
        admin.execute("update recoup.domain set epoch = epoch - 1 where name = %s", (others[-1].name,))
        until(lambda: older.get("/v1/errors").status_code == 200, patience_s=20)


def _same_in_both(older: httpx2.Client, later: httpx2.Client) -> None:
    """A request that is sent to both has one effect and one answer."""
    error = {"table": DOL, "message": "the registry is down", "outreach_id": str(uuid4())}
    headers = {"Idempotency-Key": str(uuid4())}
    first, second = (one.post("/v1/errors", json=error, headers=headers) for one in (older, later))
    assert (first.status_code, first.text) == (second.status_code, second.text) == (201, first.text)
    assert second.headers["idempotent-replayed"] == "true"
    position = older.get("/v1/logs/recoup.error_event/events", params={"start": "now"}).json()["next"]
    assert later.get("/v1/logs/recoup.error_event/events", params={"after": position}).status_code == 200
