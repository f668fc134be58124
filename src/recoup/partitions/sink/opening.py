"""A raw sink: a folder with an id. Without its id file a folder is no sink, not an empty one.

The id is read again for every operation, so that a sink which was unmounted meanwhile is noticed before anything is
written into the folder under it. A ``Sink`` holds nothing open and can be sent to other processes.
"""

import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

from recoup.partitions.identity import Partition
from recoup.partitions.sink import aside, paths, publishing, verifying
from recoup.partitions.sink.availability import Cause, SinkRefused, SinkUnavailable, reaching
from recoup.partitions.sink.folders import Folder, seal_file, write_all
from recoup.partitions.sink.publishing import Published
from recoup.partitions.sink.verifying import Difference
from recoup.partitions.sink.writing import RunWriter

ID_FILE = ".recoup-sink.json"
MAX_ID_BYTES = 4096
VERSION = 1


@dataclass(frozen=True, slots=True)
class Sink:
    """A sink of published runs."""

    root: Path
    sink_id: UUID

    @classmethod
    def create(cls, root: Path) -> "Sink":
        """Make a folder a sink. It is created if needed; one that has other things in it is refused."""
        root = root.absolute()
        with reaching(str(root)), suppress(FileExistsError, NotADirectoryError):  # opening it says what it is
            root.mkdir(parents=True, exist_ok=True)
        with _opened(root) as folder:
            # A new file system has lost+found. The id of an attempt that was killed is no obstacle to the next.
            others = [name for name in folder.names() if name != "lost+found" and not name.startswith(f"{ID_FILE}.")]
            if ID_FILE in others:
                raise _exists(folder)
            if others:
                raise SinkRefused(
                    "sink_not_empty",
                    f"{root} has other things in it.",
                    "Choose an empty folder. If it was a sink, restore its file .recoup-sink.json.",
                    path=str(root),
                )
            return cls(root, _write_id(folder))

    @classmethod
    def open(cls, root: Path, expect: UUID | None = None) -> "Sink":
        """An existing sink, the one with this id if given."""
        root = root.absolute()
        with _opened(root) as folder:
            return cls(root, _read_id(folder, expect))

    @contextmanager
    def reached(self) -> Iterator[Folder]:
        """The open root of the sink, if it is still this one."""
        with _opened(self.root) as folder:
            _read_id(folder, self.sink_id)
            yield folder

    def free_bytes(self) -> int:
        """How much a user without privileges can still write."""
        with self.reached() as root, reaching(root.root):
            found = os.fstatvfs(root.fd)
        return found.f_bavail * found.f_frsize

    @contextmanager
    def writing(self, partition: Partition, run_id: UUID) -> Iterator[RunWriter]:
        """Where a run is written, aside. What was written stays there, also when the block fails."""
        paths.folders(partition)  # refuses what could not be published later
        name = aside.new_name(run_id)
        with self.reached() as root, root.make(aside.ASIDE, name) as folder:
            writer = RunWriter(partition, run_id, folder, name)
            try:
                yield writer
                writer.finish()
            except BaseException as error:
                writer.abandon(error)
                raise

    def publish(self, writer: RunWriter, *, written_at: datetime | None = None) -> Published:
        """Make a written run visible as a whole, once. Can be repeated. ``written_at``: if not when it was closed."""
        with self.reached() as root:
            return publishing.publish(root, writer, written_at)

    def published(self, partition: Partition, run_id: UUID) -> Published | None:
        """A run, if it is there with a valid manifest and all its files; their content is not read."""
        with self.reached() as root:
            found = verifying.published(root, partition, run_id)
        if found is None:
            return None
        return Published(location=paths.location(partition, run_id), manifest=found, digest=found.digest, already=True)

    def runs(self, partition: Partition) -> list[UUID]:
        """The published runs of a partition."""
        with self.reached() as root:
            return verifying.runs(root, partition)

    def check(self, partition: Partition, run_id: UUID, digest: str) -> str | None:
        """What is wrong with a run, in words; None when its manifest and data are unchanged."""
        with self.reached() as root:
            return verifying.check(root, partition, run_id, digest)

    def verify(self, expected: Iterable[tuple[Partition, UUID, str]]) -> Iterator[Difference]:
        """What is missing, changed or foreign in the sink, compared with all runs that the database has."""
        with self.reached() as root:
            yield from verifying.verify(root, expected)

    def sweep_aside(self, is_ended: Callable[[UUID], bool], older_than: timedelta, now: datetime) -> int:
        """Remove what ended runs left aside, once it has not changed for this long. How many folders were removed."""
        with self.reached() as root:
            return aside.sweep(root, is_ended, older_than, now)

    def folder(self, published: Published) -> Path:
        """The folder of a run, for readers."""
        return self.root / published.location

    def files(self, published: Published) -> tuple[Path, ...]:
        """The data files of a run, for readers."""
        return tuple(self.folder(published) / file.name for file in published.manifest.files)


def _opened(root: Path) -> Folder:
    with reaching(str(root)):
        try:
            return Folder(os.open(root, os.O_RDONLY | os.O_DIRECTORY), str(root))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise SinkUnavailable(Cause.ABSENT, str(root), "there is no such folder") from error


def _write_id(folder: Folder) -> UUID:
    """Give the folder an id, unless another process does at the same time."""
    sink_id, name = uuid4(), f"{ID_FILE}.{secrets.token_hex(8)}"
    fd = folder.create(name)
    try:
        write_all(fd, (json.dumps({"format_version": VERSION, "sink_id": str(sink_id)}) + "\n").encode(), folder.root)
        seal_file(fd, folder.root)
    finally:
        os.close(fd)
    with reaching(folder.root):
        try:
            # Unlike a rename, a link never replaces: the id of a sink is written once.
            os.link(name, ID_FILE, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
        except FileExistsError as error:
            raise _exists(folder) from error
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder.fd)
    folder.sync()
    return sink_id


def _exists(folder: Folder) -> SinkRefused:
    happened = f"{folder.root} is a raw sink already."
    return SinkRefused("sink_exists", happened, "Open it, or choose another folder.", path=folder.root)


def _read_id(folder: Folder, expect: UUID | None) -> UUID:
    content = folder.read(ID_FILE, MAX_ID_BYTES)
    if content is None:
        raise SinkUnavailable(Cause.ABSENT, folder.root, f"the folder has no {ID_FILE}; perhaps it is not mounted")
    try:
        found = json.loads(content)
        version, sink_id = found["format_version"], UUID(found["sink_id"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise SinkUnavailable(Cause.ABSENT, folder.root, f"its {ID_FILE} is not the id of a sink") from error
    if version != VERSION:
        raise SinkRefused(
            "sink_version", f"The raw sink {folder.root} has format version {version}; this program knows {VERSION}.",
            "Use the release of Recoup that wrote it, or a later one.", path=folder.root,
        )  # fmt: skip
    if expect is not None and sink_id != expect:
        raise SinkUnavailable(Cause.ABSENT, folder.root, f"the folder is the sink {sink_id}, not {expect}")
    return sink_id
