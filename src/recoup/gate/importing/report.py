"""The report: every refused row with its reason, and as it was."""

from __future__ import annotations

import contextlib
import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple
from uuid import uuid4

from recoup.gate.importing.files import STDIN
from recoup.refusals import InputRefused

KEPT_MOST = 1_000
KEPT_CHARS_MOST = 2_000  # of one row; the report has it whole


class RefusedRow(NamedTuple):
    number: int  # its line, or in Parquet its row
    column: str | None
    reason: str
    said: str
    row: str


class Refused:
    """Counts refused rows, keeps the first thousand, and writes all of them down."""

    def __init__(
        self, write: Callable[[RefusedRow], object], finish: Callable[[], None], publish: Callable[[], None]
    ) -> None:
        self._write = write
        self.finish = finish  # everything is written down; before the commit, for a disk may be full
        self.publish = publish  # the report appears under its name; behind the commit, for it tells of one
        self.reasons: Counter[str] = Counter()
        self.kept: list[RefusedRow] = []

    @property
    def count(self) -> int:
        return self.reasons.total()

    def add(self, refused: RefusedRow) -> None:
        self._write(refused)
        self.reasons[refused.reason] += 1
        if len(self.kept) < KEPT_MOST:
            long = len(refused.row) > KEPT_CHARS_MOST
            self.kept.append(refused._replace(row=refused.row[:KEPT_CHARS_MOST] + "…") if long else refused)


@contextlib.contextmanager
def reporting(target: Path | None, *, source: Path) -> Iterator[Refused]:
    """Where refused rows go. The report appears under its name when it is published, whole, or not at all."""
    if target is None:
        yield Refused(lambda _: None, lambda: None, lambda: None)
        return
    with _as_refusals(target):
        _check(target, source)
        part = target.with_name(f".{target.name}.{uuid4().hex[:12]}.part")
        file = part.open("x", encoding="utf-8", newline="")

    def finish() -> None:
        with _as_refusals(target):
            file.close()

    def publish() -> None:
        with _as_refusals(target):
            part.replace(target)

    try:
        write = _writer(target, file)

        def written(refused: RefusedRow) -> None:
            with _as_refusals(target):
                write(refused)

        yield Refused(written, finish, publish)
    finally:
        with contextlib.suppress(OSError):  # what is left in the buffer of a full disk
            file.close()
        part.unlink(missing_ok=True)


def _check(target: Path, source: Path) -> None:
    if target.suffix.lower() not in (".csv", ".jsonl"):
        raise InputRefused(
            "report_format",
            f"The name of {target} does not tell how to write the report.",
            "Let it end in .csv or .jsonl.",
            path=str(target),
        )
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder")
    if source != STDIN and target.exists() and target.samefile(source):
        raise InputRefused(
            "report_over_source", f"{target} is the file being imported.", "Name another file.", path=str(target)
        )


def _writer(target: Path, file: IO[str]) -> Callable[[RefusedRow], object]:
    if target.suffix.lower() == ".csv":
        rows = csv.writer(file)
        rows.writerow(RefusedRow._fields)
        return rows.writerow
    return lambda refused: file.write(json.dumps(refused._asdict(), ensure_ascii=False) + "\n")


@contextlib.contextmanager
def _as_refusals(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputRefused(
            "report_unwritable",
            f"The report cannot be written to {target}: {error.strerror or error}.",
            "Name a file in a folder that is there and that you may write to.",
            path=str(target),
        ) from error
