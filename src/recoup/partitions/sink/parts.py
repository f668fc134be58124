"""The files of a run while they are written: bytes are counted and digested on their way to the disk."""

import contextlib
import hashlib
import io
import os
import stat
from pathlib import Path
from typing import Any

from recoup.partitions.sink.availability import reaching
from recoup.partitions.sink.folders import Folder, seal_file, write_all
from recoup.partitions.sink.manifest import DataFile
from recoup.refusals import InputRefused

MAX_PART_BYTES = 2**28  # then the next file is begun
GROUP_ROWS = 2**17  # of a Parquet file; smaller batches are collected
GROUP_BYTES = 2**26
_BUFFER_BYTES = 2**20


class Part(io.RawIOBase):
    """A file of a run, written from its beginning to its end."""

    def __init__(self, folder: Folder, name: str) -> None:
        self.name, self.size, self.rows = name, 0, 0
        self._folder, self._digest, self._abandoned = folder, hashlib.sha256(), False
        self._fd = -1  # if there is no file, there is nothing to close
        self._fd = folder.create(name)

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.size

    def write(self, data: Any) -> int:
        data = memoryview(data).cast("B")
        if not self._abandoned:
            write_all(self._fd, data, self._folder.root)
            self._digest.update(data)
            self.size += len(data)
        return len(data)

    def finish(self) -> DataFile:
        """Have the file on disk, read-only."""
        seal_file(self._fd, self._folder.root)
        self.close()
        return DataFile(name=self.name, bytes=self.size, rows=self.rows, sha256=self._digest.hexdigest())

    def abandon(self) -> None:
        """Write no more, whatever still has this file open."""
        self._abandoned = True
        self.close()

    def close(self) -> None:
        if not self.closed:
            super().close()
            with contextlib.suppress(OSError):  # all of it is on disk, or the file is abandoned
                os.close(self._fd)


class Lines:
    """A part of JSON lines."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self._pending: list[bytes] = []
        self._bytes = 0

    def add(self, line: bytes) -> None:
        self._pending.append(line)
        self._bytes += len(line)
        self.part.rows += 1
        if self._bytes >= _BUFFER_BYTES:
            self._flush()

    def _flush(self) -> None:
        self.part.write(b"".join(self._pending))
        self._pending, self._bytes = [], 0

    def finish(self) -> DataFile:
        self._flush()
        return self.part.finish()

    def abandon(self) -> None:
        self.part.abandon()


class Columns:
    """A part in Parquet. Small batches are collected into groups of rows."""

    def __init__(self, part: Part, schema: Any) -> None:
        from pyarrow import parquet  # type: ignore[import-untyped,unused-ignore]

        self.part, self.schema = part, schema
        self._pending: list[Any] = []
        self._rows = self._bytes = 0
        self._writer = parquet.ParquetWriter(part, schema)

    def add(self, batch: Any) -> None:
        self._pending.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= GROUP_ROWS or self._bytes >= GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]

        self._writer.write_table(pa.Table.from_batches(self._pending, self.schema), GROUP_ROWS)
        self.part.rows += self._rows
        self._pending, self._rows, self._bytes = [], 0, 0

    def finish(self) -> DataFile:
        if self._rows:
            self._flush()
        self._writer.close()
        return self.part.finish()

    def abandon(self) -> None:
        # Arrow writes the end of a file when it closes it, now or when its memory is freed: into nothing, then.
        self.part.abandon()
        with contextlib.suppress(Exception):
            self._writer.close()


def copy(path: Path, part: Part) -> None:
    """Write the content of a plain file of the extractor's into the part."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe does not block
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError("it is not a plain file")
    except OSError as error:
        happened = f"{path} cannot be read: {error.strerror or error}."
        raise InputRefused("file_unreadable", happened, "Give an existing file.", path=str(path)) from error
    with os.fdopen(fd, "rb", buffering=0) as file:
        while data := file.read(_BUFFER_BYTES):
            part.write(data)


def lines_in(folder: Folder, name: str) -> int:
    """How many lines of a file have something on them, however long they are."""
    count, begun = 0, False
    with _reading(folder, name) as file, reaching(folder.root):
        while data := file.read(_BUFFER_BYTES):
            first, *others = data.split(b"\n")
            begun = begun or bool(first.strip())
            for line in others:
                count += begun
                begun = bool(line.strip())
    return count + begun


def rows_in_parquet(folder: Folder, name: str, path: Path) -> int:
    """How many rows a copied Parquet file has."""
    import pyarrow as pa
    from pyarrow import parquet

    with _reading(folder, name) as file:
        try:
            with reaching(folder.root):
                return int(parquet.ParquetFile(file).metadata.num_rows)
        except (pa.ArrowException, OSError) as error:
            happened = f"{path} is not a complete Parquet file: {str(error).splitlines()[0].rstrip('.')}."
            raise InputRefused("file_not_parquet", happened, "Write it again.", path=str(path)) from error


def _reading(folder: Folder, name: str) -> io.BufferedReader:
    fd = folder.open(name)
    if fd is None:
        raise FileNotFoundError(folder.named(name))
    return os.fdopen(fd, "rb")
