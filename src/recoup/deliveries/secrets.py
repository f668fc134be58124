"""What this process knows in secret: from its environment, or from files that only it can read.

``[secrets]`` in ``recoup.toml`` names the file of a variable. A file that others can read holds no secret, and is not
used. It is read when a route is used, so that a new one counts at once.
"""

import os
import stat
from collections.abc import Iterator, Mapping

from recoup.deliveries.webhooks import Unusable
from recoup.settings import Settings

MAX_BYTES = 10_000


class Secrets(Mapping[str, str]):
    """Variables of the environment, and of files where the environment has none. Never printed."""

    def __init__(self, environment: Mapping[str, str], files: Mapping[str, str]) -> None:
        self._environment, self._files = environment, files

    def __getitem__(self, name: str) -> str:
        if self._environment.get(name, "").strip() or name not in self._files:
            return self._environment[name]
        return _content(name, self._files[name])

    def __iter__(self) -> Iterator[str]:
        return iter({**self._environment, **self._files})

    def __len__(self) -> int:
        return len({**self._environment, **self._files})


def of(settings: Settings) -> Secrets:
    """Those of this process."""
    return Secrets(os.environ, settings.secrets)


def _content(name: str, path: str) -> str:
    """The text of a file. Unusable, in words without it, if it is missing or others can read it."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Unusable(f"the file of {name} cannot be read: {os.strerror(error.errno or 0)}") from None
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise Unusable(f"the file of {name} is not a regular file")
        if found.st_uid not in (os.geteuid(), 0) or found.st_mode & 0o077:
            raise Unusable(f"the file of {name} can be read by other users: chmod 600, as the user of the worker")
        return os.read(file, MAX_BYTES).decode()
    except ValueError:
        raise Unusable(f"the file of {name} is not UTF-8") from None
    finally:
        os.close(file)
