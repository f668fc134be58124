"""``recoup db``: the PostgreSQL server that Recoup uses."""

import contextlib
import os
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from recoup.cli.migrate import PolicyFile, Profile, SimulatedFrom, migrated
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
from recoup.up.home import refuse_if_served

app = App(
    name="db",
    help_epilogue="The PostgreSQL server that Recoup uses: RECOUP_DSN, or the embedded server in RECOUP_HOME.\n\n"
    "The embedded server starts when it is needed and keeps running when the command ends. Stop it: recoup db stop",
    help_format="plaintext",
)


Admin = Annotated[
    bool, Parameter(negative="", show_default=False, help="As the administrator (embedded: the superuser).")
]


Name = Annotated[str | None, Parameter(name="--database", help="Another database on the same server.")]
app.command("recoup.cli.db_login:app", name="login", help="Add, list and remove logins of your own.")


@app.command
def start(*, json: Json = False) -> None:
    """Start the embedded server; create it the first time. Does nothing if it runs."""
    settings = _embedded_only(load(), "start")
    server = embedded.start(settings)
    _print_server(server, "started" if server.started_here else "already running", as_json=json)


@app.command
def stop() -> None:
    """Stop the embedded server. Connections end; committed work is safe."""
    settings = _embedded_only(load(), "stop")
    refuse_if_served(settings, "its server")
    print("stopped" if embedded.stop(settings) else "not running")


@app.command
def status(*, json: Json = False) -> None:
    """Show whether the server answers, and where it is. Starts nothing. Exits with status 1 if it does not answer."""
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
def uri(*, demo: Demo = False, database: Name = None, admin: Admin = False) -> None:
    """Print a connection URI for any client; start the server if needed. It contains a password.

    Sessions that use it can read (role recoup_reader). On a command line every user of the machine can see the
    password; to query by hand: recoup db psql
    """
    print(_uri(load(), demo=demo, database=database, admin=admin))


@app.command
def psql(
    *arguments: Annotated[str, Parameter(help="Arguments for psql, after --.", allow_leading_hyphen=True)],
    demo: Demo = False,
    database: Name = None,
    admin: Admin = False,
) -> None:
    """Run psql on the database, as the reader; start the server if needed. The password is on no command line.

    Try: recoup db psql -- -c "select * from recoup.pauses"
    """
    settings = load()
    connection = _uri(settings, demo=demo, database=database, admin=admin)
    command, around = client.called(settings, "psql", connection)
    os.execve(command[0], [*command, *arguments], around)


def _uri(settings: Settings, *, demo: bool, database: str | None, admin: bool) -> str:
    if admin:
        return access.uri(settings, demo=demo, database=database, admin=True)
    return access.reading_uri(settings, demo=demo, database=database)


@app.command
def create(
    name: Annotated[str, Parameter(help="Name of the new database.")],
    *,
    simulated_from: SimulatedFrom = None,
    profile: Profile = None,
    policy: PolicyFile = None,
) -> None:
    """Create another database on the same server, and migrate it."""
    settings = load()
    with access.created(settings, name) as connection:
        migrated(connection, settings, simulated_from=simulated_from, profile=profile, policy=policy)
    quoted = shlex.quote(name)
    print(f"created database {name}\n\nUse it, as an administrator for migrations and backups, and for everyday work:")
    print(f'  export RECOUP_ADMIN_DSN="$(recoup db uri --database {quoted} --admin)"')
    print(f'  export RECOUP_DSN="$(recoup db uri --database {quoted})"')


@app.command
def backup(target: Path, *, demo: Demo = False) -> None:
    """Write the whole database to one file. Work can continue meanwhile.

    Parameters
    ----------
    target
        File to write. It must not exist. It is complete or absent, never half written.
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
        bool,
        Parameter(negative="", show_default=False, help="Replace the database; the old one is kept, renamed."),
    ] = False,
) -> None:
    """Restore a backup into the database.

    It is restored into a new database, checked, and renamed into place. A replaced database is kept under another name.
    Refused while recoup up serves the database.

    Parameters
    ----------
    source
        File written by recoup db backup.
    """
    settings = load()
    refuse_if_served(settings, "its database", demo=demo)
    restored = backups.restore(
        settings,
        access.uri(settings, demo=demo, admin=True),
        source,
        releases(DOMAINS),
        replace=replace,
        login=access.login(settings),
    )
    print_fields({name: value for name, value in asdict(restored).items() if value}, as_json=False)
    if restored.lacks:
        print("\nNext: recoup migrate adds what an older backup lacks")


def _embedded_only(settings: Settings, verb: str) -> Settings:
    if settings.dsn is not None:
        raise InputRefused(
            "server_not_ours",
            f"RECOUP_DSN names a server that Recoup does not run, so it cannot {verb} it.",
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
