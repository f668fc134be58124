"""``recoup db login``: logins of one's own, with chosen authorities."""

import getpass
import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter
from psycopg.conninfo import make_conninfo

from recoup.cli.output import Json, print_fields, print_rows
from recoup.database import access, logins
from recoup.database.session import reading
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused
from recoup.service import logins as api_logins
from recoup.settings import Settings, load

ApiRole = Literal["viewer", "producer", "operator", "reviewer", "admin", "service"]
app = App(
    name="login",
    help_epilogue="A login has no rights of its own. It takes the authorities that it was granted, such as reader.",
    help_format="plaintext",
)


@app.command
def add(
    name: Annotated[str, Parameter(help="Name of the new login.")],
    *,
    authority: Annotated[
        tuple[Authority, ...],
        Parameter(help="An authority it may take; may be repeated.", negative=""),
    ] = (Authority.READER,),
    api_role: Annotated[
        ApiRole | None, Parameter(help="In addition, every authority that the API needs for keys of this role.")
    ] = None,
    all_: Annotated[
        bool,
        Parameter(name="--all", negative="", show_default=False, help="Every authority, as the everyday login."),
    ] = False,
    password_from_stdin: Annotated[
        bool, Parameter(negative="", show_default=False, help="Read the password from standard input.")
    ] = False,
    dsn_file: Annotated[
        Path | None,
        Parameter(help="Generate the password, and write the connection string into this new file, not on the screen."),
    ] = None,
    json: Json = False,
) -> None:
    """Add a login. Its password is asked for; elsewhere than on a terminal one is generated, and shown once.

    For example, for keys of the role viewer: recoup db login add api_viewer --api-role viewer --dsn-file api_viewer
    """
    settings = load()
    if dsn_file is not None:
        _add_silently(settings, name, _authorities(authority, api_role, all_=all_), dsn_file, as_json=json)
        return
    given = _password(from_stdin=password_from_stdin)
    password = given or secrets.token_urlsafe(24)
    authorities = _authorities(authority, api_role, all_=all_)
    with access.administration(settings) as connection:
        logins.add(connection, name, authorities, password=password)
    facts = {"login": name, "authorities": [one.value for one in authorities]}
    if given is None:
        facts |= {
            "password": password,
            "dsn": reading(make_conninfo(access.uri(settings), user=name, password=password)),
        }
    print_fields(facts, as_json=json)
    if given is None and not json:
        print("\nThe password is shown only now.")


@app.command(name="list")
def list_(*, json: Json = False) -> None:
    """List the logins that may take an authority."""
    with access.administration(load()) as connection:
        found = logins.logins(connection)
    print_rows(found, as_json=json, columns=("login", "authorities"), empty="No logins yet. Run: recoup migrate")


@app.command
def remove(name: Annotated[str, Parameter(help="Name of the login.")]) -> None:
    """Remove a login. Its open sessions end by themselves."""
    settings = load()
    if name == access.login(settings):
        raise InputRefused(
            "login_in_use", f"{name} is the everyday login of this database.", "Set RECOUP_DSN to another one first."
        )
    with access.administration(settings) as connection:
        logins.remove(connection, name)
    print(f"removed login {name}")


def _authorities(given: Sequence[Authority], api_role: ApiRole | None, *, all_: bool) -> tuple[Authority, ...]:
    chosen = {*given, *(api_logins.wanted()[api_role] if api_role else ())}
    return tuple(one for one in Authority if all_ or one in chosen)


def _add_silently(
    settings: Settings, name: str, authorities: Sequence[Authority], path: Path, *, as_json: bool
) -> None:
    """Its connection string goes into a file that only this user can read, and that did not exist."""
    password = secrets.token_urlsafe(24)
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise InputRefused(
            "file_unwritable",
            f"The file {path} cannot be made: {os.strerror(error.errno or 0)}.",
            "Name a new file in a folder that exists.",
        ) from error
    try:
        with access.administration(settings) as connection, os.fdopen(file, "w") as written:
            written.write(make_conninfo(access.uri(settings), user=name, password=password) + "\n")
            written.flush()
            os.fsync(written.fileno())
            logins.add(connection, name, authorities, password=password)
    except BaseException:
        path.unlink()
        raise
    print_fields({"login": name, "authorities": list(authorities), "file": str(path)}, as_json=as_json)


def _password(*, from_stdin: bool) -> str | None:
    """The password that was given; None: one is to be generated."""
    if from_stdin:
        given = sys.stdin.readline().rstrip("\n")
        if not given:
            raise InputRefused("password_missing", "Standard input has no password.", "Write it there, on one line.")
        return given
    if not sys.stdin.isatty():
        return None
    first = getpass.getpass("Password (empty: generate one): ")
    if first and getpass.getpass("Again: ") != first:
        raise InputRefused("password_differs", "The two passwords differ.", "Nothing was changed. Try again.")
    return first or None
