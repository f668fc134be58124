"""``recoup db``: the server behind everything."""

import contextlib
import os
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from recoup.cli.output import Demo, Json, print_fields
from recoup.database import access, client, embedded
from recoup.database import backup as backups
from recoup.database.connection import connect
from recoup.database.embedded import Server
from recoup.database.failures import where
from recoup.domain import releases
from recoup.domains import DOMAINS
from recoup.refusals import InputRefused
from recoup.settings import Settings, load

app = App(
    name="db",
    help_epilogue="The server behind everything: PostgreSQL from RECOUP_DSN, or the embedded one in RECOUP_HOME.\n\n"
    "The embedded server starts when it is needed, stays up when the command ends, and is stopped by recoup db stop.",
    help_format="plaintext",
)


Admin = Annotated[
    bool, Parameter(negative="", show_default=False, help="As the administrator (embedded: the superuser).")
]


@app.command
def start(*, json: Json = False) -> None:
    """Start the embedded server, making it the first time. Does nothing when it runs."""
    settings = _embedded_only(load(), "start")
    server = embedded.start(settings)
    _print_server(server, "started" if server.started_here else "already running", as_json=json)


@app.command
def stop() -> None:
    """Stop the embedded server. Connections end; committed work is safe."""
    settings = _embedded_only(load(), "stop")
    print("stopped" if embedded.stop(settings) else "not running")


@app.command
def status(*, json: Json = False) -> None:
    """Say whether the server answers, and where it is. Starts nothing. Ends with 1 when it does not answer."""
    settings = load()
    if settings.dsn is not None:
        _print_external(settings, as_json=json)
        return
    server = embedded.status(settings)
    if server is None:
        raise InputRefused(
            "server_not_running",
            f"The embedded server of {settings.home} is not running.",
            "Start it: recoup db start",
            home=str(settings.home),
        )
    _print_server(server, "running", as_json=json)


@app.command
def uri(
    *,
    demo: Demo = False,
    admin: Admin = False,
) -> None:
    """Print a connection URI for any client, starting the server if needed. It holds a password: mind who sees it.

    On a command line everybody on the machine sees it. For a look by hand: recoup db psql
    """
    print(access.uri(load(), demo=demo, admin=admin))


@app.command
def psql(
    *arguments: Annotated[str, Parameter(help="Arguments for psql, after --.", allow_leading_hyphen=True)],
    demo: Demo = False,
    admin: Admin = False,
) -> None:
    """Become psql on the database, starting the server if needed. The password is on no command line.

    Try: recoup db psql -- -c "select * from recoup.pauses"
    """
    settings = load()
    command, around = client.called(settings, "psql", access.uri(settings, demo=demo, admin=admin))
    os.execve(command[0], [*command, *arguments], around)


@app.command
def backup(target: Path, *, demo: Demo = False) -> None:
    """Write the whole database to one file, while work goes on.

    Parameters
    ----------
    target
        File to write. It must not exist; it is whole or absent, never half written.
    """
    settings = load()
    written = backups.backup(settings, access.uri(settings, demo=demo, admin=True), target)
    print(f"{written} ({written.stat().st_size:,} bytes)")


@app.command
def restore(
    source: Path,
    *,
    demo: Demo = False,
    replace: Annotated[
        bool, Parameter(negative="", show_default=False, help="Put it in place of the database; the old one is kept.")
    ] = False,
) -> None:
    """Read a backup into the database.

    It is restored beside, checked, and then put in place; a database that is replaced is kept under another name.

    Parameters
    ----------
    source
        File written by recoup db backup.
    """
    settings = load()
    restored = backups.restore(
        settings,
        access.uri(settings, demo=demo, admin=True),
        source,
        releases(DOMAINS),
        replace=replace,
        login=access.login(settings),
    )
    print_fields(restored, as_json=False)


def _embedded_only(settings: Settings, verb: str) -> Settings:
    if settings.dsn is not None:
        raise InputRefused(
            "server_not_ours",
            f"RECOUP_DSN names a server that Recoup does not run: there is nothing to {verb}.",
            "Unset RECOUP_DSN to use the embedded server.",
        )
    return settings


def _print_server(server: object, status: str, *, as_json: bool) -> None:
    assert isinstance(server, Server)
    facts = {
        "status": status, "pid": server.pid, "data": str(server.data), "log": str(server.log),
        "socket_folder": str(server.socket_folder), "port": server.port,
    }  # fmt: skip
    print_fields(facts, as_json=as_json)


def _print_external(settings: Settings, *, as_json: bool) -> None:
    assert settings.dsn is not None
    with contextlib.closing(connect(settings.dsn, settings)) as connection:
        version = connection.info.server_version
    facts = {"status": "running", "server": where(settings.dsn), "version": f"{version // 10000}.{version % 10000}"}
    print_fields(facts, as_json=as_json)
