"""Publishing a run: the manifest, then one rename. Readers see the whole run or nothing, whenever a process is killed.

The order on disk is what counts: files, manifest, the folder that names them, the path, and only then the rename. Each
step can be repeated; a run that is published already is found to be, by its manifest.
"""

import contextlib
import errno
import os
from dataclasses import dataclass, field
from datetime import datetime

from recoup.partitions.sink import paths
from recoup.partitions.sink.aside import ASIDE
from recoup.partitions.sink.availability import SinkRefused, reaching
from recoup.partitions.sink.folders import Folder, seal_file, write_all
from recoup.partitions.sink.manifest import NAME, Manifest, rendered
from recoup.partitions.sink.verifying import complete
from recoup.partitions.sink.writing import RunWriter

_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EISDIR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A run in the sink."""

    location: str  # relative to the root of the sink
    manifest: Manifest
    digest: str  # of the manifest
    already: bool = field(default=False, compare=False)  # it had been published before this call


def publish(root: Folder, writer: RunWriter, written_at: datetime | None = None) -> Published:
    """Make a written run visible, as a whole. Published already with the same data: nothing is changed."""
    new = writer.manifest(written_at)
    name = paths.run_folder(new.run_id)
    with root.make(*paths.folders(new.partition)) as partition, root.make(ASIDE) as aside:
        written = aside.find(writer.aside)
        if written is not None:
            with written:
                _write_manifest(written, new)
                moved = _moved(aside, writer.aside, partition, name)
        else:
            moved = False
        if moved:
            aside.sync()
            return _settled(partition, name, new)
        found = complete(partition, new.partition, new.run_id)
        if found is None and written is None:
            raise SinkRefused(
                "written_removed",
                f"What run {new.run_id} wrote aside is not in the raw sink {root.root} any more.",
                "Extract the partition again, under another run.",
                run_id=str(new.run_id),
            )
        if found is None or not found.same_data(new):
            raise SinkRefused(
                "run_published",
                f"{partition.named(name)} is in the raw sink {root.root} already, with other content.",
                "A published run is never overwritten: extract the partition again, under another run.",
                run_id=str(new.run_id),
                location=partition.named(name),
            )
        return _settled(partition, name, found, already=True)


def _write_manifest(folder: Folder, new: Manifest) -> None:
    with reaching(folder.root), contextlib.suppress(FileNotFoundError):
        os.unlink(NAME, dir_fd=folder.fd)  # of an earlier call that did not come to its end
    fd = folder.create(NAME)
    try:
        write_all(fd, rendered(new), folder.root)
        seal_file(fd, folder.root)
    finally:
        os.close(fd)
    folder.sync()


def _moved(aside: Folder, written: str, partition: Folder, name: str) -> bool:
    """Whether the folder was moved. Not onto another one: only an empty folder, which is no run, is replaced."""
    with reaching(aside.root):
        try:
            os.rename(written, name, src_dir_fd=aside.fd, dst_dir_fd=partition.fd)
        except OSError as error:
            if error.errno in _TAKEN:
                return False
            raise
    return True


def _settled(partition: Folder, name: str, manifest: Manifest, *, already: bool = False) -> Published:
    """The run as published, once its place is on disk. Also if another process put it there, and was killed then."""
    run = partition.find(name)
    if run is not None:
        with run:
            # A folder that is not writable cannot be moved, so this comes after the rename.
            with reaching(run.root):
                os.fchmod(run.fd, 0o555)
            run.sync()
        partition.sync()
    return Published(location=partition.named(name), manifest=manifest, digest=manifest.digest, already=already)
