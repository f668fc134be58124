"""The report: every refused row with its reason and its original text."""

import contextlib
import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple
from uuid import uuid4

from recoup.files.opening import STDIN
from recoup.refusals import InputRefused

FORMULA_BEGINS = ("=", "+", "-", "@")
MAX_KEPT = 1_000
MAX_KEPT_CHARS = 2_000  # of one row; the report has all of it


class RefusedRow(NamedTuple):
    number: int  # its line, or in Parquet its row
    column: str | None
    reason: str
    message: str
    row: str


class Refused:
    """Counts refused rows, keeps the first thousand, and writes all of them to the report, if there is one."""

    def __init__(self, report: Path | None = None, part: IO[str] | None = None) -> None:
        self._report, self._part = report, part
        self.reasons: Counter[str] = Counter()
        self.kept: list[RefusedRow] = []

    @property
    def count(self) -> int:
        return self.reasons.total()

    def add(self, refused: RefusedRow) -> None:
        self._write(refused)
        self.reasons[refused.reason] += 1
        if len(self.kept) < MAX_KEPT:
            long = len(refused.row) > MAX_KEPT_CHARS
            self.kept.append(refused._replace(row=refused.row[:MAX_KEPT_CHARS] + "…") if long else refused)

    def _write(self, refused: RefusedRow) -> None:
        if self._report is None or self._part is None:
            return
        with _as_refusals(self._report):
            if self._report.suffix.lower() == ".csv":
                csv.writer(self._part).writerow(map(_inert, refused))
            else:
                self._part.write(json.dumps(refused._asdict(), ensure_ascii=False) + "\n")

    def finish(self) -> None:
        """Flush everything to disk. Call it before a commit, because a disk may be full."""
        if self._report is not None and self._part is not None:
            with _as_refusals(self._report):
                self._part.close()

    def publish(self) -> None:
        """Publish the report under its name. Call it after the commit that it reports on."""
        if self._report is not None and self._part is not None:
            with _as_refusals(self._report):
                Path(self._part.name).replace(self._report)


@contextlib.contextmanager
def reporting(report: Path | None, *, source: Path) -> Iterator[Refused]:
    """Where refused rows go. The report appears under its name when it is complete, or not at all."""
    if report is None:
        yield Refused()
        return
    with _as_refusals(report):
        _check(report, source)
        part = report.with_name(f".{report.name}.{uuid4().hex[:12]}.part").open("x", encoding="utf-8", newline="")
    try:
        if report.suffix.lower() == ".csv":
            csv.writer(part).writerow(RefusedRow._fields)
        yield Refused(report, part)
    finally:
        with contextlib.suppress(OSError):  # what is left in the buffer of a full disk
            part.close()
        Path(part.name).unlink(missing_ok=True)


def _check(report: Path, source: Path) -> None:
    if report.suffix.lower() not in (".csv", ".jsonl"):
        happened = f"The name of {report} does not imply a format for the report."
        raise InputRefused("report_format", happened, "Use a name that ends in .csv or .jsonl.", path=str(report))
    if report.is_dir():
        raise IsADirectoryError(f"{report} is a folder")
    if source != STDIN and report.exists() and report.samefile(source):
        happened = f"{report} is the file being imported."
        raise InputRefused("report_over_source", happened, "Name another file.", path=str(report))


def _inert(value: object) -> object:
    """A cell that no spreadsheet reads as a formula: one that begins like a formula is quoted."""
    return f"'{value}" if isinstance(value, str) and value.lstrip().startswith(FORMULA_BEGINS) else value


@contextlib.contextmanager
def _as_refusals(report: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        happened = f"The report cannot be written to {report}: {error.strerror or error}."
        raise InputRefused(
            "report_unwritable",
            happened,
            "Name a file in an existing folder that you may write to.",
            path=str(report),
        ) from error
