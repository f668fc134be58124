"""The project file, ``recoup.toml``: where it is, whether it can be trusted, and what it says.

The file is looked for in the current directory and the ones above it. It decides which code a worker imports, so it is
refused when another user owns it or can write it, and a symbolic link in its place is not followed. A file of root's is
trusted: containers and packages install it so, and root can change everything anyway.
"""

import os
import pwd
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recoup.refusals import SettingRefused

FILE_NAME = "recoup.toml"
MAX_BYTES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFile:
    """A project file as it was read. What its keys mean is for :mod:`recoup.settings`."""

    path: Path
    text: str = field(repr=False)  # a DSN in it may hold a password
    values: Mapping[str, Any] = field(repr=False)

    @property
    def folder(self) -> Path:
        return self.path.parent

    def line_of(self, section: str, key: str) -> int | None:
        """The line of a key, counted from 1; None where the file writes it in a form that is not searched for."""
        current = ""
        quoted = rf"(?:{re.escape(key)}|\"{re.escape(key)}\"|'{re.escape(key)}')"
        assignment = re.compile(rf"\s*{quoted}\s*[=.]")
        header = re.compile(rf"\s*\[\s*{quoted}\s*\]")
        for number, line in enumerate(self.text.splitlines(), start=1):
            if found := re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line):
                current = found[1].strip("\"'")
                if not section and header.match(line):
                    return number
            elif current == section and assignment.match(line):
                return number
        return None

    def place(self, section: str, key: str) -> str:
        """How a refusal names a key: file, line and key."""
        line = self.line_of(section, key)
        named = f"[{section}] {key}" if section else key
        return f"{self.path}{'' if line is None else f', line {line}'}: {named}"


def find(start: Path | None = None) -> Path | None:
    """The nearest project file, in a folder or above it; by default the current directory."""
    try:
        here = Path.cwd() if start is None else start.absolute()
    except FileNotFoundError:  # the current directory was removed
        return None
    return next((path for folder in (here, *here.parents) if os.path.lexists(path := folder / FILE_NAME)), None)


def read(path: Path) -> ProjectFile:
    """Read a project file; or a refusal that says why it cannot be used."""
    path = path.absolute()
    try:
        held = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(held, "rb") as file:
            refuse_if_of_others(path, os.fstat(held))
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise _unreadable(path, f"it is longer than {MAX_BYTES:,} bytes")
        text = content.decode("utf-8")
        return ProjectFile(path=path, text=text, values=tomllib.loads(text))
    except OSError as error:
        link = path.is_symlink()
        raise _unreadable(path, "it is a symbolic link" if link else error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise _unreadable(path, "it is not UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingRefused(
            "project_not_toml",
            f"{path} is not TOML: {error}.",
            "Correct that line. The format: docs/reference/settings.md",
            file=str(path),
        ) from error


def refuse_if_of_others(path: Path, found: os.stat_result) -> None:
    """Refuse a file or folder that another user owns or can write: what it names is imported and run."""
    if found.st_uid not in (os.geteuid(), 0):
        raise SettingRefused(
            "project_of_another",
            f"{path} belongs to the user {_user(found.st_uid)}, and you are {_user(os.geteuid())}.",
            "Run Recoup as that user; or make the file yours, if you trust it: chown; or use another file:"
            " RECOUP_PROJECT=FILE, or none.",
            file=str(path), owner=found.st_uid,
        )  # fmt: skip
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SettingRefused(
            "project_open_to_others",
            f"{path} can be written by other users.",
            f"Check its content, then run: chmod go-w {path}",
            file=str(path), mode=f"{stat.S_IMODE(found.st_mode):o}",
        )  # fmt: skip


def _unreadable(path: Path, why: str) -> SettingRefused:
    return SettingRefused(
        "project_unreadable",
        f"The project file {path} cannot be read: {why}.",
        "Name another file with RECOUP_PROJECT or --project, or write a new one: recoup init",
        file=str(path),
    )


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
