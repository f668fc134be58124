"""``recoup up``: server, schema, worker and API in one command."""

import contextlib
import socket
import time
from collections.abc import Iterator

from recoup import observe
from recoup.cli import demo as demos
from recoup.cli.api import Host, Port, refuse_missing_extra
from recoup.cli.context import opened
from recoup.cli.output import Demo, command
from recoup.cli.progress import stop_by_signal
from recoup.database import access
from recoup.domain import releases
from recoup.domains import DOMAINS
from recoup.refusals import Refusal, ServerRefused
from recoup.schema import migrate as migrations
from recoup.service import keys, local, sessions
from recoup.settings import Settings, load
from recoup.up.service import Service

PART = "recoup.cli.up_part"
TAKEN_S = 1.0


def up(
    *,
    host: Host = None,
    port: Port = None,
    demo: Demo = False,
) -> None:
    """Serve: start the embedded server, migrate, run worker and API, until Ctrl-C or SIGTERM.

    Worker and API are processes of their own, and are started again when they die; so is the embedded server. With
    --demo it plays the demo if it does not exist, and serves that. With RECOUP_DSN it uses that server.
    """
    refuse_missing_extra()
    from recoup.api.serving import address  # an extra

    settings = load()
    form = {"auto": None, "text": False, "json": True}[settings.log_format]
    observe.configure(level=settings.log_level, json=form)
    place = (host or settings.api_host, settings.api_port if port is None else port)
    service = Service(
        settings=settings, demo=demo, listen=lambda: _listening(*place), address=address, module=PART,
        prepare=lambda: _prepare(settings, demo=demo), say=_say,
    )  # fmt: skip

    def ready(at: str) -> None:
        stop_by_signal(service.stopping.set, "stopping: finishing what is in progress")
        _say("api", f"{at}, metrics at {at}/metrics")
        _say("console", _console(settings, at, demo=demo))
        print(f"\nTry:   curl -s '{at}/v1/errors?limit=3'")
        print(f"Watch: {command('duties', demo=demo)}; {command('doctor', demo=demo)}")
        print("Stop:  Ctrl-C", flush=True)

    service.run(ready)


def _console(settings: Settings, at: str, *, demo: bool) -> str:
    """Where the console is: with keys its address, without them one that signs in, once."""
    with opened(settings=settings, demo=demo) as database:
        if keys.exist(database):
            return f"{at}/"
        token = sessions.new_link(database, local(settings.actor)).token
    return f"{at}/link/{token} (works once, for ten minutes; later: {command('console link', demo=demo)})"


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """The port. One that was killed a moment ago may still hold it, through its API."""
    from recoup.api.serving import bound

    deadline = time.monotonic() + TAKEN_S
    while True:
        try:
            with bound(host, port) as held:
                yield held
                return
        except Refusal as refusal:
            if refusal.code != "port_taken" or time.monotonic() > deadline:
                raise
        time.sleep(0.05)


def _prepare(settings: Settings, *, demo: bool) -> None:
    _migrate(settings)
    if demo:
        demos.ensure_all()


def _migrate(settings: Settings) -> None:
    with access.administration(settings) as connection:
        try:
            done = migrations.migrate(connection, DOMAINS, login=access.login(settings))
        except ServerRefused as refusal:
            if refusal.code != "login_lacks_rights":
                raise
            with contextlib.suppress(ServerRefused), access.opened(settings, releases(DOMAINS)):
                _say("schema", f"not changed: {refusal.happened}")
                return
            raise
    changed = len(done.applied) + len(done.routines)
    releases_ = ", ".join(f"{one.domain} {one.release}" for one in done.domains)
    _say("schema", f"migrated: {changed} files; now {releases_}" if changed or done.domains else "up to date")


def _say(subject: str, text: str) -> None:
    print(f"{subject:<10} {text}", flush=True)
