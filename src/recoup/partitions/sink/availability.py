"""When a sink cannot be used at all: full, read-only, unmounted, damaged. The fault is then of no run and no extractor.

Only calls that touch the sink are translated. An extractor whose own disk is full has failed by itself.
"""

import contextlib
import errno
from collections.abc import Iterator
from enum import StrEnum

from recoup.refusals import Refusal


class Cause(StrEnum):
    """Why a sink cannot be used."""

    ABSENT = "absent"  # no folder, no id file in it, or the id of another sink
    FULL = "full"  # the disk or the quota
    READ_ONLY = "read_only"  # the file system
    DENIED = "denied"  # this user may not read or write there
    IO_ERROR = "io_error"  # the device fails, or its server does not answer
    STALE = "stale"  # a network file system forgot its handles


CAUSES = {
    errno.ENOSPC: Cause.FULL,
    errno.EDQUOT: Cause.FULL,
    errno.EROFS: Cause.READ_ONLY,
    errno.EACCES: Cause.DENIED,
    errno.EPERM: Cause.DENIED,
    errno.EIO: Cause.IO_ERROR,
    errno.ENXIO: Cause.IO_ERROR,
    errno.ENODEV: Cause.IO_ERROR,
    errno.ENOTCONN: Cause.IO_ERROR,
    errno.ETIMEDOUT: Cause.IO_ERROR,
    errno.ESTALE: Cause.STALE,
}
NEXT_STEPS = {
    Cause.ABSENT: "Mount the sink, or correct its folder: work resumes by itself once the id file is there. If there"
    " never was one: recoup state sink create",
    Cause.FULL: "Free space on its disk. Work resumes by itself.",
    Cause.READ_ONLY: "Mount it writable. Work resumes by itself.",
    Cause.DENIED: "Give the user of the worker the right to read and write there.",
    Cause.IO_ERROR: "Check the disk or its server. Work resumes by itself once it answers.",
    Cause.STALE: "Mount it again. Work resumes by itself.",
}


class SinkUnavailable(Refusal):
    """The sink cannot be used now. Nothing is counted against the run that met it."""

    def __init__(self, cause: Cause, path: str, detail: str) -> None:
        happened = f"The raw sink {path} is unavailable ({cause}): {detail}."
        super().__init__("sink_unavailable", happened, NEXT_STEPS[cause], cause=str(cause), path=path)
        self.cause, self.path, self.detail = cause, path, detail

    def __reduce__(self) -> tuple[type["SinkUnavailable"], tuple[Cause, str, str]]:
        """It is raised in worker processes, and reported by the process that submitted the task."""
        return SinkUnavailable, (self.cause, self.path, self.detail)


class SinkRefused(Refusal):
    """The sink refuses one run: what is there already is never overwritten."""


@contextlib.contextmanager
def reaching(path: str) -> Iterator[None]:
    """Around calls that touch the sink: errors of the file system as a whole become ``SinkUnavailable``."""
    try:
        yield
    except OSError as error:
        cause = CAUSES.get(error.errno or 0)
        if cause is None:
            raise
        raise SinkUnavailable(cause, path, error.strerror or str(error)) from error
