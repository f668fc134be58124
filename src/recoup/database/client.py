"""PostgreSQL's client programs: pg_dump, pg_restore, psql."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from psycopg.conninfo import make_conninfo

from recoup.database.failures import options_of
from recoup.database.programs import binaries
from recoup.refusals import InputRefused, ServerRefused
from recoup.settings import Settings

MAX_MESSAGE_LINES = 10


def program(settings: Settings, name: str) -> Path:
    """Where a program of PostgreSQL is: with the embedded server's, else, for a server of others, on PATH."""
    try:
        found: str | Path | None = binaries(settings) / name
    except ServerRefused as refusal:
        if settings.dsn is None or refusal.code != "embedded_missing":
            raise
        found = shutil.which(name)
    if found is None or not os.access(found, os.X_OK):
        raise ServerRefused(
            "programs_missing",
            f"The program {name} of PostgreSQL was not found.",
            "Install PostgreSQL's client programs, or recoup[embedded]; or set RECOUP_SERVER_BIN to their folder.",
            program=name,
        )
    return Path(found)


def major(of: Path) -> int:
    said = subprocess.run([of, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"\(PostgreSQL\) (\d+)", said)
    return int(match[1]) if match else 0


def called(settings: Settings, name: str, uri: str | None) -> tuple[list[str], dict[str, str]]:
    """A program as it is called, against a database if ``uri`` is given; and its environment, with the password."""
    found = program(settings, name)
    # Our own settings contain passwords that it does not need. PG* variables apply to a server of others, not to ours.
    kept_back = ("RECOUP_", "PG") if settings.dsn is None else ("RECOUP_",)
    around = {key: value for key, value in os.environ.items() if not key.startswith(kept_back)}
    login: list[str] = []
    if uri is not None:
        options = options_of(uri)
        if settings.dsn is None:  # the rest keeps the shell's variables away; an older program may not know it
            kept = ("host", "port", "user", "password", "dbname", "options")
            options = {key: value for key in kept if (value := options.get(key))}
        around |= {"PGPASSWORD": str(options.pop("password"))} if options.get("password") else {}
        if options.get("sslpassword"):
            raise InputRefused(
                "sslpassword_given",
                f"The connection string has an sslpassword, which could reach {name} on its command line only.",
                "Use a key without a password for backup and restore.",
            )
        options.setdefault("connect_timeout", settings.connect_timeout_s)
        login = ["--dbname", make_conninfo("", **options)]
    return [str(found), *login], around


def run(settings: Settings, name: str, uri: str | None, *arguments: str | Path) -> None:
    """Run a program. If it fails, its message becomes the refusal."""
    (found, *login), around = called(settings, name, uri)
    command = [found, *login, *(["--no-password"] if login else []), *arguments]
    around["LC_ALL"] = "C"
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=around, check=False)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["it reported nothing"]
        complaints = [line for line in said if "error:" in line.lower()]  # behind them may be a long command
        raise ServerRefused(
            "program_failed",
            f"{name} exited with status {done.returncode}: {(complaints or said)[-1]}",
            "Nothing was changed. Fix what it reports, then try again. For another version, set RECOUP_SERVER_BIN to"
            " the programs of the newest PostgreSQL involved.",
            program=found, said="\n".join(said[-MAX_MESSAGE_LINES:]),
        )  # fmt: skip
