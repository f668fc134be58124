"""Folders of a sink as open descriptors. Every name is reached from its folder, and no link is ever followed.

A link that somebody puts into a sink therefore leads nowhere, at whatever moment it appears.
"""

import contextlib
import errno
import hashlib
import os
import stat
from types import TracebackType

from recoup.partitions.sink.availability import SinkRefused, reaching

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# Not blocked by a pipe that lies where a file is expected.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_NOT_A_FOLDER = (errno.ENOTDIR, errno.ELOOP)
_CHUNK_BYTES = 2**20


class Folder:
    """An open folder. ``root`` is the sink's own path, which refusals name; ``path`` is relative to it."""

    def __init__(self, fd: int, root: str, path: str = "") -> None:
        self.fd, self.root, self.path = fd, root, path

    def __enter__(self) -> "Folder":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self.fd)

    def named(self, name: str) -> str:
        return f"{self.path}/{name}" if self.path else name

    def find(self, *names: str) -> "Folder | None":
        """The folder at the end of these names, or None when one of them is missing, a file or a link."""
        found = Folder(os.dup(self.fd), self.root, self.path)
        for name in names:
            with found:
                inner = found._opened(name)
            if inner is None:
                return None
            found = inner
        return found

    def _opened(self, name: str) -> "Folder | None":
        with reaching(self.root):
            try:
                return Folder(os.open(name, _FOLDER, dir_fd=self.fd), self.root, self.named(name))
            except OSError as error:
                if error.errno in (errno.ENOENT, *_NOT_A_FOLDER):
                    return None
                raise

    def make(self, *names: str) -> "Folder":
        """The folder at the end of these names, created as needed. Each name is on disk when this returns."""
        made = Folder(os.dup(self.fd), self.root, self.path)
        for name in names:
            with made:
                inner = made._made(name)
                # Also if another process created it: that one may not have come to this yet.
                made.sync()
            made = inner
        return made

    def _made(self, name: str) -> "Folder":
        with reaching(self.root), contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=self.fd)
        inner = self._opened(name)
        if inner is None:
            raise SinkRefused(
                "sink_path_taken",
                f"{self.named(name)} in the raw sink {self.root} is not a folder, or is a link.",
                "Move it out of the sink.",
                path=self.named(name),
            )
        return inner

    def create(self, name: str) -> int:
        """A new file, open for writing."""
        with reaching(self.root):
            return os.open(name, _NEW, 0o644, dir_fd=self.fd)

    def open(self, name: str) -> int | None:
        """An existing file, open for reading; None when it is missing, or is no plain file."""
        with reaching(self.root):
            try:
                fd = os.open(name, _READ, dir_fd=self.fd)
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENXIO):  # the last: a socket
                    return None
                raise
            if stat.S_ISREG(os.fstat(fd).st_mode):
                return fd
            os.close(fd)
            return None

    def read(self, name: str, max_bytes: int) -> bytes | None:
        """The content of a small file; None when it is missing, too large or no plain file."""
        fd = self.open(name)
        if fd is None:
            return None
        with os.fdopen(fd, "rb") as file, reaching(self.root):
            content = file.read(max_bytes + 1)
        return content if len(content) <= max_bytes else None

    def size(self, name: str) -> int | None:
        """How many bytes a file has; None when it is missing or no plain file."""
        found = self.stat(name)
        return found.st_size if found is not None and stat.S_ISREG(found.st_mode) else None

    def sha256(self, name: str) -> str | None:
        """The digest of a file's content; None when it is missing or no plain file."""
        fd = self.open(name)
        if fd is None:
            return None
        with os.fdopen(fd, "rb", buffering=0) as file, reaching(self.root):
            return hashlib.file_digest(file, "sha256").hexdigest()

    def names(self) -> list[str]:
        with reaching(self.root):
            return sorted(os.listdir(self.fd))

    def stat(self, name: str) -> os.stat_result | None:
        """What a name in this folder is; None when it is gone. A link is described, not followed."""
        with reaching(self.root):
            try:
                return os.stat(name, dir_fd=self.fd, follow_symlinks=False)
            except FileNotFoundError:
                return None

    def sync(self) -> None:
        """Have the names in this folder on disk."""
        with reaching(self.root):
            os.fsync(self.fd)


def write_all(fd: int, data: bytes | memoryview, root: str) -> None:
    """Write all of it; one call may write less."""
    with reaching(root):
        rest = memoryview(data).cast("B")
        while rest:
            rest = rest[os.write(fd, rest[:_CHUNK_BYTES]) :]


def seal_file(fd: int, root: str) -> None:
    """Make a written file read-only, and have it on disk. The caller closes it.

    Through the descriptor that wrote it: a failed write is reported to it, and perhaps to no later one.
    """
    with reaching(root):
        os.fchmod(fd, 0o444)
        os.fsync(fd)
