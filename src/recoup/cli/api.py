"""``recoup api``"""

import importlib.util
import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

from cyclopts import Parameter, validators

from recoup import observe
from recoup.cli.context import opened
from recoup.cli.output import Demo, say
from recoup.cli.progress import stop_by_signal
from recoup.domains import DOMAINS
from recoup.refusals import InputRefused
from recoup.service import keys, logins
from recoup.settings import Settings, load

STATEMENT_MS = 10_000  # of one statement of a request: a caller who waits for an answer does not wait longer
CONNECTIONS = 16
MAX_PORT = 65_535
Host = Annotated[
    str | None,
    Parameter(help="Address to listen on. Default: 127.0.0.1. Other machines need keys: recoup keys add."),
]
Port = Annotated[
    int | None,
    Parameter(
        help="Port. 0: any that is free. Default: 8321.",
        validator=validators.Number(gte=0, lte=MAX_PORT),
    ),
]


def api(
    *,
    host: Host = None,
    port: Port = None,
    demo: Demo = False,
) -> None:
    """Serve the HTTP API until stopped. Any number can run, on any number of machines.

    For example: recoup api, then: curl http://127.0.0.1:8321/v1/errors

    Once the database has a key, every call needs one. Without keys only programs of this machine may call, in your
    name. /v1/openapi.json describes every route. SIGTERM or Ctrl-C stops it after the requests in progress.
    """
    refuse_missing_extra()
    from recoup.api.serving import address, bound  # an extra

    settings = load()
    with bound(host or settings.api_host, settings.api_port if port is None else port) as listening:
        serve_on(listening, demo=demo, ready=lambda said: say(f"serving the API at {address(listening)}/v1/, {said}"))


def serve_on(listening: socket.socket, *, demo: bool, ready: Callable[[str], None]) -> None:
    """Serve on a port that is held, until a signal. ``ready`` gets who may call, once connections are accepted."""
    from recoup.api.app import build
    from recoup.api.monitoring import monitored
    from recoup.api.serving import refuse_open, serve
    from recoup.console.site import console

    settings = for_requests(load())
    observe.configure(level=settings.log_level, json={"auto": None, "text": False, "json": True}[settings.log_format])
    stop = threading.Event()
    with opened(settings=settings, demo=demo) as database:
        through = logins.Logins(database, logins.conninfos(settings, database, demo=demo))
        keyed = keys.exist(through.service)
        refuse_open(str(listening.getsockname()[0]), keyed=keyed)
        stop_by_signal(stop.set, "stopping: finishing the requests in progress")
        said = "with keys" if keyed else "without keys: only this machine may call, in your name"
        more = (monitored(through.service, DOMAINS), console(demo=demo))
        app = build(database, keyed=keyed, logins=through, also=more)
        per_address = settings.api_connections_per_address
        serve(
            app, listening, stop=stop, ready=lambda: ready(f"{said}. Ctrl-C stops it."), per_address=per_address
        )  # fmt: skip


def for_requests(settings: Settings) -> Settings:
    """Settings of a database that serves requests: shorter statements, and more connections unless they are set."""
    pool_max = settings.pool_max if "pool_max" in settings.sources else CONNECTIONS
    statement_ms = min(settings.statement_timeout_ms or STATEMENT_MS, STATEMENT_MS)
    return replace(settings, pool_max=pool_max, statement_timeout_ms=statement_ms)


def refuse_missing_extra() -> None:
    """The packages of the service are an extra."""
    if any(importlib.util.find_spec(name) is None for name in ("fastapi", "uvicorn", "jinja2")):
        raise InputRefused(
            "extra_missing", "The API needs packages that are not installed.", "Install them: pip install 'recoup[api]'"
        )
