"""Serving the application: the port is bound first, and a stop lets requests finish.

``recoup api`` and ``recoup up`` both do

    with bound("127.0.0.1", 8321) as port:         # refused when the port is taken, before anything else is touched
        app = build(database, keyed=…)
        serve(app, port, stop=stop, ready=…)       # returns when ``stop`` is set and open requests have ended

``serve`` installs no signal handlers: its caller sets ``stop``, from a handler or another thread.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
import threading
from collections.abc import Callable, Iterator

import uvicorn
from fastapi import FastAPI

from recoup.api.connections import KEEP_ALIVE_S, PER_ADDRESS, within
from recoup.refusals import InputRefused, ServerRefused

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8321
GRACE_S = 10  # for requests that are under way at the stop
MAX_CONNECTIONS = 1000  # and streams, of one process; more are answered 503
WAITING = 256  # connections that are not accepted yet


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def refuse_open(host: str, *, keyed: bool) -> None:
    """Refuse to listen to other machines without keys."""
    if not keyed and not is_loopback(host):
        raise InputRefused(
            "keys_missing",
            f"Without keys, everybody who reaches {host} could do everything.",
            "Add a key first: recoup keys add NAME --role operator. Or listen on 127.0.0.1.",
            host=host,
        )


@contextlib.contextmanager
def bound(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens. Refused when the port is taken, or the address is not ours."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol: asyncio sends small answers at once only where that is known.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
            listening.listen(WAITING)
        except (OSError, OverflowError) as error:
            raise _not_bound(host, port, error) from error
        yield listening


def _not_bound(host: str, port: int, error: OSError | OverflowError) -> ServerRefused:
    if getattr(error, "errno", None) == errno.EADDRINUSE:
        return ServerRefused(
            "port_taken",
            f"Another program listens at {host}, port {port}.",
            f"Stop it, or choose another port: --port {port + 1}",
            host=host, port=port,
        )  # fmt: skip
    return ServerRefused(
        "address_unusable",
        f"Recoup cannot listen at {host}, port {port}: {getattr(error, 'strerror', None) or error}.",
        "Choose another --host or --port.",
        host=host, port=port,
    )  # fmt: skip


def address(listening: socket.socket) -> str:
    """The address under which a socket can be reached: http://127.0.0.1:8321."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Server(uvicorn.Server):
    """A server without signal handlers of its own."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(
    app: FastAPI,
    listening: socket.socket,
    *,
    stop: threading.Event,
    ready: Callable[[], None] | None = None,
    grace_s: int = GRACE_S,
    per_address: int = PER_ADDRESS,
) -> None:
    """Serve until ``stop`` is set. Requests that are under way may finish, for ``grace_s`` at most.

    ``ready`` is called once connections are accepted. ``per_address``: open connections from one address.
    """
    server = _Server(
        uvicorn.Config(
            app,
            log_config=None,  # our own lines, and no query texts in them
            access_log=False,
            server_header=False,
            proxy_headers=False,  # the peer of a connection is the client
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=grace_s,
            limit_concurrency=MAX_CONNECTIONS,
            http=within(per_address),
            lifespan="on",
            ws="none",
        )
    )

    def watched() -> None:
        while not server.started and not server.should_exit and not stop.wait(0.02):
            pass
        if server.started and ready is not None:
            ready()
        stop.wait()
        app.state.stopping.set()
        server.should_exit = True

    watcher = threading.Thread(target=watched, name="api stop", daemon=True)
    watcher.start()
    try:
        server.run(sockets=[listening])
    finally:
        stop.set()
        watcher.join()
