"""Writes and publishes a run in child processes, each of which is killed before its n-th call to the system.

Prints one JSON line per child: how it ended, and the calls that it made. The last one is not killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
from pyarrow import parquet  # type: ignore[import-untyped,unused-ignore]

sys.path.insert(0, str(Path(__file__).parents[2]))
from partitions.sink.given import PARTITION, ROWS
from recoup.partitions.sink import RunWriter, Sink

RUN = UUID(int=7)
CALLS = ("open", "mkdir", "write", "fchmod", "fsync", "rename", "unlink", "link")  # what can change something
assert parquet


def extract(writer: RunWriter, kind: str) -> None:
    if kind == "jsonl":
        writer.rows(ROWS)
    else:
        writer.table(pa.table({"a": [1, 2]}))
        writer.table(pa.table({"b": [3]}))


def die_at(step: int, calls: list[str]) -> None:
    """Have every call to the system counted, and the process killed before this one."""

    def counting(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            if len(calls) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            calls.append(name)
            return call(*arguments, **options)

        return counted

    for name in CALLS:
        setattr(os, name, counting(name, getattr(os, name)))


def child(root: Path, kind: str, step: int, report: int) -> None:
    calls: list[str] = []
    sink = Sink.open(root)
    die_at(step, calls)
    with sink.writing(PARTITION, RUN) as writer:
        extract(writer, kind)
    sink.publish(writer)
    sys.stdout = os.fdopen(report, "w")
    print(json.dumps(calls), flush=True)


def main(root: Path, kind: str) -> None:
    for step in range(1000):
        sink = Sink.create(root / str(step))
        reads, writes = os.pipe()
        pid = os.fork()
        if pid == 0:
            child(sink.root, kind, step, writes)
            os._exit(0)
        os.close(writes)
        _, status = os.waitpid(pid, 0)
        with os.fdopen(reads) as report:
            calls = json.loads(report.read() or "[]")
        ended = os.waitstatus_to_exitcode(status)
        print(json.dumps({"step": step, "ended": ended, "calls": calls}), flush=True)
        if ended != -signal.SIGKILL:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
