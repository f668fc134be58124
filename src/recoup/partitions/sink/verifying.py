"""Is what was published still there, and unchanged? Compared with the digests that the database keeps."""

import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from recoup.partitions.identity import Partition
from recoup.partitions.sink import paths
from recoup.partitions.sink.availability import Cause, SinkUnavailable
from recoup.partitions.sink.folders import Folder
from recoup.partitions.sink.manifest import MAX_BYTES, NAME, Manifest, parse

_ONE_RUN = (Cause.DENIED, Cause.IO_ERROR)  # can be the fault of one file alone


class Kind(StrEnum):
    MISSING = "missing"  # the database has a run that the sink has not
    CHANGED = "changed"  # it is not the run that was published, or cannot be read
    FOREIGN = "foreign"  # the sink has something that the database does not know


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Something in which the sink differs from what is expected."""

    kind: Kind
    location: str
    message: str
    partition: Partition | None = None  # of something foreign: if its path is one of a run
    run_id: UUID | None = None


def manifest_in(run: Folder, partition: Partition, run_id: UUID) -> Manifest | None:
    """The manifest of a run, if it is a valid one, of this run."""
    content = run.read(NAME, MAX_BYTES)
    found = parse(content) if content is not None else None
    return found if found is not None and (found.partition, found.run_id) == (partition, run_id) else None


def complete(folder: Folder, partition: Partition, run_id: UUID) -> Manifest | None:
    """The manifest of a run in the folder of its partition, if every file that it lists has the right size."""
    run = folder.find(paths.run_folder(run_id))
    if run is None:
        return None
    with run:
        found = manifest_in(run, partition, run_id)
        if found is None or any(run.size(file.name) != file.bytes for file in found.files):
            return None
        return found


def published(root: Folder, partition: Partition, run_id: UUID) -> Manifest | None:
    """The manifest of a run that is in the sink as a whole. Its data is not read."""
    folder = root.find(*paths.folders(partition))
    if folder is None:
        return None
    with folder:
        return complete(folder, partition, run_id)


def runs(root: Folder, partition: Partition) -> list[UUID]:
    """The published runs of a partition."""
    names = paths.folders(partition)
    folder = root.find(*names)
    if folder is None:
        return []
    with folder:
        found = [one for name in folder.names() if (one := paths.parsed([*names, name])) is not None]
        return [run_id for _, run_id in found if complete(folder, partition, run_id) is not None]


def check(root: Folder, partition: Partition, run_id: UUID, digest: str) -> str | None:
    """What is wrong with a run, in words; None when its manifest and all its data are as they were published."""
    try:
        difference = _compared(root, partition, run_id, digest)
    except SinkUnavailable as error:
        if error.cause is not Cause.DENIED:
            raise
        return _unreadable(error)  # the sink itself was opened
    return None if difference is None else difference.message


def verify(root: Folder, expected: Iterable[tuple[Partition, UUID, str]]) -> Iterator[Difference]:
    """What is missing and what has changed of the expected runs; then what else is in the sink."""
    known: set[str] = set()
    for partition, run_id, digest in expected:
        known.add(paths.location(partition, run_id))
        try:
            difference = _compared(root, partition, run_id, digest)
        except SinkUnavailable as error:
            if error.cause not in _ONE_RUN:
                raise
            difference = _difference(Kind.CHANGED, partition, run_id, _unreadable(error))
        if difference is not None:
            yield difference
    yield from _foreign(root, (), known)


def _compared(root: Folder, partition: Partition, run_id: UUID, digest: str) -> Difference | None:
    run = root.find(*paths.folders(partition), paths.run_folder(run_id))
    if run is None:
        return _difference(Kind.MISSING, partition, run_id, f"It is not in the raw sink {root.root}.")
    with run:
        found = manifest_in(run, partition, run_id)
        problem = "It has no valid manifest." if found is None else _problem(run, found, digest)
    return None if problem is None else _difference(Kind.CHANGED, partition, run_id, problem)


def _problem(run: Folder, found: Manifest, digest: str) -> str | None:
    if found.digest != digest:
        return f"Its manifest has the digest {found.digest}, not {digest}."
    others = sorted({*run.names()} - {NAME, *(file.name for file in found.files)})
    if others:
        return f"{len(others):,} of its files are not in its manifest: {', '.join(map(repr, others[:5]))}."
    for file in found.files:
        size = run.size(file.name)
        if size is None:
            return f"{file.name} is missing, or is not a plain file."
        if size != file.bytes:
            return f"{file.name} has {size:,} bytes, not {file.bytes:,}."
        if run.sha256(file.name) != file.sha256:
            return f"The content of {file.name} has changed."
    return None


def _unreadable(error: SinkUnavailable) -> str:
    return f"It cannot be read: {error.detail}."


def _difference(kind: Kind, partition: Partition, run_id: UUID, message: str) -> Difference:
    location = paths.location(partition, run_id)
    return Difference(kind=kind, location=location, message=message, partition=partition, run_id=run_id)


def _foreign(folder: Folder, names: tuple[str, ...], known: set[str]) -> Iterator[Difference]:
    """What is in the sink and not known, at any depth. Hidden names next to the sources are the sink's own."""
    for name in folder.names():
        found = folder.stat(name)
        if found is None or (not names and (name.startswith(".") or name == "lost+found")):
            continue
        path, location = (*names, name), "/".join((*names, name))
        try:
            inner = folder.find(name) if name.startswith(f"{paths.COLUMNS[len(names)]}=") else None
        except SinkUnavailable as error:
            if error.cause not in _ONE_RUN:
                raise
            yield Difference(kind=Kind.FOREIGN, location=location, message=_unreadable(error))
            continue
        if inner is None:
            what = "a link" if stat.S_ISLNK(found.st_mode) else "not a folder of the sink"
            yield Difference(kind=Kind.FOREIGN, location=location, message=f"It is {what}.")
            continue
        with inner:
            if len(path) < len(paths.COLUMNS):
                yield from _foreign(inner, path, known)
            elif location not in known:
                yield _unknown_run(inner, path)


def _unknown_run(run: Folder, path: tuple[str, ...]) -> Difference:
    partition, run_id = paths.parsed(path) or (None, None)
    valid = partition is not None and run_id is not None and manifest_in(run, partition, run_id) is not None
    message = (
        "It is a published run that the database does not know." if valid else "It is not a run: no valid manifest."
    )
    return Difference(
        kind=Kind.FOREIGN, location="/".join(path), message=message, partition=partition, run_id=run_id
    )  # fmt: skip
