"""A post office for tests: a receiver on loopback, and somebody who delivers."""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import UUID

from psycopg.rows import dict_row

import product
from recoup import clock, deliveries
from recoup.audit import audit
from recoup.database.connection import Database, Transaction, connect
from recoup.deliveries import delivering
from recoup.lifecycles.declaration import Authority
from recoup.policy import Policy, versions
from recoup.settings import Settings

SECRET_PATH = "/hooks/T0PS3CRETPATH"
SECRET = "wh-key-4471-unguessable"
PATIENCE_S = 30


@dataclass
class Receiver:
    """What came in, and how it is answered."""

    port: int
    status: int = 200
    body: bytes = b"ok"
    location: str | None = None
    got: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    hold: threading.Event = field(default_factory=threading.Event)  # set: answers at once
    came: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{SECRET_PATH}"


@contextlib.contextmanager
def receiving(status: int = 200, **answer: Any) -> Iterator[Receiver]:
    """A web server on loopback."""
    found: list[Receiver] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver = found[0]
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.got.append((self.path, dict(self.headers), body))
            receiver.came.release()
            receiver.hold.wait(PATIENCE_S)
            with contextlib.suppress(OSError):  # a sender that gave up, or reads no more
                self.send_response(receiver.status)
                if receiver.location:
                    self.send_header("Location", receiver.location)
                self.end_headers()
                self.wfile.write(receiver.body)

        def log_message(self, *_: object) -> None: ...

    class Server(ThreadingHTTPServer):
        request_queue_size = 100  # of five that come at once, the system may drop one, and its sender waits a second

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found.append(Receiver(server.server_address[1], status, **answer))
    found[0].hold.set()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield found[0]
    finally:
        found[0].hold.set()
        server.shutdown()
        server.server_close()


class Deliverer:
    """Somebody at the duty, without a worker around it."""

    def __init__(self, office: Office) -> None:
        self.name = f"deliverer-{uuid.uuid4()}"
        self._office = office
        self.told = 0

    @property
    def settings(self) -> Settings:
        return self._office.settings

    @property
    def conninfo(self) -> str:
        return self._office.db.conninfo

    @property
    def policy(self) -> Policy:
        with self._office.db.transaction(Authority.READER) as tx:
            return versions.active(tx).policy

    def transaction(self) -> AbstractContextManager[Transaction]:
        return self._office.db.transaction(Authority.EXECUTOR)

    def may_claim(self, tx: Transaction) -> bool:
        return True

    def tally(self, tx: Transaction, done: int) -> None:
        self.told += done


@dataclass
class Office:
    """A database of deliveries. Every call commits, or is refused."""

    db: Database
    settings: Settings

    def routes(self, text: str) -> None:
        with self.db.transaction(Authority.OPERATOR) as tx:
            product.apply_policy(tx, text, reason="a test")

    def send(self, route: str = "ops", subject: str = "it failed", body: Any = None, **more: Any) -> UUID:
        with self.db.transaction(Authority.OPERATOR) as tx:
            return deliveries.send(tx, route, subject, body, **more)

    def cancel(self, delivery: UUID) -> None:
        with self.db.transaction(Authority.OPERATOR, reason="not needed") as tx:
            deliveries.cancel(tx, delivery)

    def deliver(self) -> int:
        return delivering.deliver_due(Deliverer(self))

    def claim(self, limit: int = 100, *, routes: list[str] | None = None) -> list[delivering.Claimed]:
        with self.db.transaction(Authority.EXECUTOR) as tx:
            return delivering.claim(tx, limit=limit, worker="w", routes=routes)

    def finish(self, *ended: tuple[delivering.Claimed, str | None]) -> list[str]:
        with self.db.transaction(Authority.EXECUTOR) as tx:
            return delivering.finish(tx, ended)

    def expire(self) -> int:
        with self.db.transaction(Authority.EXECUTOR) as tx:
            return delivering.QUEUE.expire(tx)

    def advance(self, **by: float) -> None:
        with self.db.transaction(Authority.OPERATOR) as tx:
            clock.advance(tx, timedelta(**by))

    def row(self, delivery: UUID) -> dict[str, Any]:
        with self.db.transaction(Authority.READER) as tx, tx.cursor(row_factory=dict_row) as cursor:
            found = cursor.execute("select * from recoup.delivery where delivery_id = %s", (delivery,)).fetchone()
        assert found is not None
        return found

    def status(self, delivery: UUID) -> tuple[str, int]:
        row = self.row(delivery)
        return row["status"], row["attempts"]

    def rows(self, query: str, *parameters: Any) -> list[Any]:
        with self.db.transaction(Authority.READER) as tx:
            return tx.execute(query, parameters).fetchall()

    def broken(self) -> list[str]:
        """What the audit finds of deliveries."""
        asked = [one for one in product.chosen(()) if "deliver" in one.id or one.id.startswith("laws/L5")]
        with contextlib.closing(connect(self.db.conninfo, self.db.settings)) as connection:
            return [f"{v.id}: {v.rows[:2]}" for v in audit(connection, asked) if not v.holds]


def webhook(name: str = "ops", **more: Any) -> str:
    """A route of a policy."""
    given = {"url_env": f"TEST_{name.upper()}_URL", "timeout_s": 1, "max_tries": 3, "base_s": 10, "cap_s": 15} | more
    lines = (
        f"{key} = {str(value).lower() if isinstance(value, bool) else repr(value)}" for key, value in given.items()
    )
    return f'[deliveries.routes.{name}]\nkind = "webhook"\n' + "\n".join(lines).replace("'", '"') + "\n"


def home_of(folder: Path, settings: Settings) -> Settings:
    from dataclasses import replace

    return replace(settings, home=folder)
