"""Where runs are written until they are published: ``.aside/<run_id>-<nonce>/``, which no reader of the sink visits."""

import re
import secrets
import shutil
import stat
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

from recoup.partitions.sink.availability import reaching
from recoup.partitions.sink.folders import Folder

ASIDE = ".aside"
_NAME = re.compile(r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})-[0-9a-f]{16}")


def new_name(run_id: UUID) -> str:
    """A name that no other writer has, of the same run or of another."""
    return f"{run_id}-{secrets.token_hex(8)}"


def sweep(root: Folder, is_ended: Callable[[UUID], bool], older_than: timedelta, now: datetime) -> int:
    """Remove what runs left aside that have ended, once nothing in it has changed for this long."""
    aside = root.find(ASIDE)
    if aside is None:
        return 0
    before, swept = (now - older_than).timestamp(), 0
    with aside:
        for name in aside.names():
            match = _NAME.fullmatch(name)
            if match is not None and _changed(aside, name) < before and is_ended(UUID(match[1])):
                swept += _removed(aside, name)
    return swept


def _changed(aside: Folder, name: str) -> float:
    """When something in a folder was last changed. Never, for what is no folder: it is not ours to remove."""
    found = aside.stat(name)
    folder = aside.find(name)
    if found is None or folder is None or not stat.S_ISDIR(found.st_mode):
        return float("inf")
    with folder:
        inside = [folder.stat(one) for one in folder.names()]
    return max(found.st_mtime, *(one.st_mtime for one in inside if one is not None), 0.0)


def _removed(aside: Folder, name: str) -> bool:
    with reaching(aside.root):
        try:
            shutil.rmtree(name, dir_fd=aside.fd)
        except FileNotFoundError:  # by another sweep
            return False
    return True
