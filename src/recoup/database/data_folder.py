"""The data folder of the embedded server and its passwords: created completely, or not at all."""

import json
import os
import secrets
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from recoup.database import server_user
from recoup.database.postmaster import end_stranded, remove_spoiled
from recoup.database.programs import binaries, major_of
from recoup.database.server_user import Account, as_account, make_closed, move_durably, read_itself, write_whole
from recoup.refusals import ServerRefused
from recoup.settings import Settings

ADMIN = "recoup_admin"
APP = "recoup_app"
LOG_TAIL_LINES = 20


def home_of(settings: Settings) -> Path:
    return settings.home.absolute()


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the server runs and as which user; decided under the lock, before anything is started."""

    home: Path
    data: Path
    programs: Path
    account: Account | None
    patience_s: int

    @property
    def log(self) -> Path:
        return self.home / "server.log"


def prepared(settings: Settings, lock: int) -> Place:
    """Everything a start needs, created or checked, such as a data folder of the programs' version."""
    home = home_of(settings)
    account = server_user.account_for(settings.server_user, home / "data")
    programs = binaries(settings)
    _check_version(major_of(programs), programs, home / "data")
    end_stranded(home / "data", settings.start_timeout_s)
    remove_spoiled(home / "data")
    base = server_user.base_folder(home, account)
    place = Place(
        home=home,
        data=base / "data",
        programs=server_user.programs_for(account, programs, copyable=settings.server_bin is None),
        account=account,
        patience_s=settings.start_timeout_s,
    )
    for leftover in base.glob(server_user.STAGE_PREFIX + "*"):
        shutil.rmtree(leftover, ignore_errors=True)
    if not (place.data / "PG_VERSION").exists():
        _create(place, _made_passwords(home)[ADMIN], lock)
    passwords_of(home)
    return place


def _check_version(major: int, programs: Path, data: Path) -> None:
    try:
        made_by = read_itself(data / "PG_VERSION").decode(errors="replace").strip()
    except FileNotFoundError:
        return
    if made_by != str(major):
        raise ServerRefused(
            "server_version_differs",
            f"{data} was made by PostgreSQL {made_by}, and the programs in {programs} are version {major}.",
            f"Set RECOUP_SERVER_BIN to programs of version {made_by} and make a backup; then move {data} "
            f"away and restore the backup with version {major}.",
            data=str(data), data_version=made_by, programs=str(programs), programs_version=str(major),
        )  # fmt: skip


def passwords_of(home: Path) -> dict[str, str]:
    path = home / "passwords"
    try:
        known = json.loads(read_itself(path))
        return {ADMIN: known[ADMIN], APP: known[APP]}
    except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
        raise ServerRefused(
            "passwords_missing",
            f"{home} has a data folder, but its file of passwords, {path}, is missing or damaged.",
            f"Restore {path} from a backup of the whole home.",
            passwords=str(path),
        ) from error


def _made_passwords(home: Path) -> dict[str, str]:
    """The passwords: generated once, and on disk before the data folder that needs them."""
    if not (home / "passwords").exists():
        drawn = {ADMIN: secrets.token_urlsafe(32), APP: secrets.token_urlsafe(32)}
        write_whole(home / "passwords", json.dumps(drawn))
    return passwords_of(home)


def _create(place: Place, password: str, lock: int) -> None:
    """Create the data folder elsewhere and rename it into place, so that no crash leaves half of one."""
    stage = Path(tempfile.mkdtemp(prefix=server_user.STAGE_PREFIX, dir=place.data.parent))
    try:
        if place.account is not None:
            stage.chmod(0o711)
        data = stage / "data"
        make_closed(data, place.account)
        write_whole(stage / "password", password, place.account)
        _run_initdb(place, data, stage / "password", lock)
        # Not through a link: the folder belongs to the account already, and we may be root.
        conf = os.open(data / "postgresql.conf", os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
        with os.fdopen(conf, "w") as file:
            file.write("\ninclude 'recoup.conf'\n")
        move_durably(data, place.data)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _run_initdb(place: Place, data: Path, password: Path, lock: int) -> None:
    """Run initdb, which inherits the lock: if we are killed, the next start waits for the end of both."""
    command: list[str | Path] = [
        place.programs / "initdb", "--pgdata", data, "--username", ADMIN, "--pwfile", password,
        "--auth-local=scram-sha-256", "--auth-host=scram-sha-256", "--data-checksums",
        "--encoding=UTF8", "--locale-provider=libc", "--locale=C",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, pass_fds=(lock,),
            timeout=place.patience_s, **as_account(place.account),
        )  # fmt: skip
        said, code = done.stdout.decode(errors="replace"), done.returncode
    except subprocess.TimeoutExpired:
        said, code = f"initdb did not finish within {place.patience_s} s", -1
    if code != 0:
        raise start_failed(place.log, "initdb could not create its data folder", said)


def start_failed(log: Path, what: str, said: str) -> ServerRefused:
    return ServerRefused(
        "server_start_failed",
        f"The embedded server did not start: {what}.",
        f"Fix what the last lines of its log report, then start again. The log is {log}.",
        log=str(log), log_tail=tail(said),
    )  # fmt: skip


def tail(said: str) -> str:
    return "\n".join(said.strip().splitlines()[-LOG_TAIL_LINES:])
