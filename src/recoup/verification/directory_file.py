"""A directory that is a file: CSV, JSONL or Parquet, read once and again when it changes."""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from recoup.refusals import InputRefused
from recoup.verification.directory import Entry, entry_of
from recoup.verification.domains import domain_of, registrable
from recoup.verification.findings import Finding, NotPassed
from recoup.verification.names import company_words

NEEDED = ("domain", "name", "states")
YES = frozenset({"true", "t", "yes", "y", "1"})
NO = frozenset({"false", "f", "no", "n", "0"})
ROWS_AT_A_TIME = 10_000


class _Read(NamedTuple):
    """The file as it was read, and by what one knows that it has changed."""

    stamp: tuple[int, int, int]
    by_domain: dict[str, Entry]
    by_name: dict[str, Entry]
    unreadable: str = ""  # why there is nothing in it


class FileDirectory:
    """Looks companies up in a file, by domain, else by name among the entries that have no domain.

    An entry of the same name with another domain is another company.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = _read(path)
        self._reading = asyncio.Lock()

    async def entry(self, domain: str, name: str) -> Entry:
        known = await self._present()
        by_domain = (known.by_domain[key] for key in (domain, registrable(domain)) if key in known.by_domain)
        entry = next(by_domain, None) or known.by_name.get(company_words(name))
        if entry is None:
            raise NotPassed(Finding.NO_ENTRY, f"the directory has no entry for {domain or name}")
        return entry

    async def close(self) -> None:
        """Nothing is held open."""

    async def _present(self) -> _Read:
        """The file as it is now. While it cannot be read, as when it is being written, the directory is out."""
        async with self._reading:
            try:
                stamp = _stamp(self._path)
            except OSError as error:
                raise NotPassed(Finding.DIRECTORY_OUT, f"{self._path}: {error.strerror}") from error
            if stamp != self._read.stamp:
                try:
                    self._read = await asyncio.to_thread(_read, self._path)
                except InputRefused as refusal:
                    self._read = _Read(stamp, {}, {}, unreadable=refusal.happened)
        if self._read.unreadable:
            raise NotPassed(Finding.DIRECTORY_OUT, self._read.unreadable)
        return self._read


def _read(path: Path) -> _Read:
    """The whole file, or a refusal that names what is wrong with it. One that has not changed is not read again."""
    try:
        return _read_as(path, _stamp(path))
    except OSError as error:
        raise _refused(f"{path}: {error.strerror or error}") from error


@lru_cache(maxsize=1)
def _read_as(path: Path, stamp: tuple[int, int, int]) -> _Read:
    by_domain: dict[str, Entry] = {}
    by_name: dict[str, Entry] = {}
    try:
        for number, row in enumerate(_rows(path), 1):
            _take_in(row, by_domain, by_name, f"row {number} of {path}")
    except (ValueError, NotImplementedError, RecursionError, csv.Error) as error:  # of which pyarrow's and json's are
        raise _refused(f"{path}: {error}") from error
    return _Read(stamp, by_domain, by_name)


def _take_in(row: Mapping[str, Any], by_domain: dict[str, Entry], by_name: dict[str, Entry], where: str) -> None:
    try:
        entry = entry_of({**row, "found": _found(row.get("found"))}, where)
    except NotPassed as fell:
        if fell.finding is not Finding.NO_ENTRY:
            raise ValueError(fell.said) from fell
        return
    domain = domain_of(str(row.get("domain") or ""))
    if domain is not None:
        _add(by_domain, domain.removeprefix("www."), entry)
    elif row.get("name"):
        _add(by_name, company_words(str(row["name"])), entry)


def _add(entries: dict[str, Entry], key: str, entry: Entry) -> None:
    """A company may have several rows, one for each state."""
    known = entries.get(key)
    entries[key] = entry if known is None else Entry(known.states + entry.states, known.scope or entry.scope)


def _found(given: object) -> object:
    """Whether a row is an entry: so, unless it says otherwise."""
    text = str(given).strip().lower()
    return True if given is None or not text or text in YES else False if text in NO else given


def _stamp(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    match path.suffix.lower():
        case ".csv":
            return _csv_rows(path)
        case ".jsonl" | ".ndjson":
            return _jsonl_rows(path)
        case ".parquet":
            return _parquet_rows(path)
    raise InputRefused(
        "directory_kind",
        f"{path} is neither a URL nor a file of a known kind.",
        "Name a URL that begins with https://, or a .csv, .jsonl or .parquet file: policy gate.verification.directory",
    )


def _csv_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        _check_columns(path, reader.fieldnames or ())
        yield from reader


def _jsonl_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError(f"line {number} is not an object")  # noqa: TRY004 - of the file, not of our types
            if number == 1:
                _check_columns(path, row)
            yield row


def _parquet_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        from pyarrow import parquet  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise InputRefused(
            "parquet_missing",
            "Parquet files need pyarrow, which is not installed.",
            "Install the extra: pip install 'recoup[parquet]'. Or save the file as CSV.",
        ) from error
    with parquet.ParquetFile(path) as file:
        _check_columns(path, file.schema_arrow.names)
        for batch in file.iter_batches(batch_size=ROWS_AT_A_TIME):
            yield from batch.to_pylist()


def _check_columns(path: Path, columns: Any) -> None:
    missing = [column for column in NEEDED if column not in columns]
    if missing:
        raise InputRefused(
            "directory_columns",
            f"{path} lacks {', '.join(missing)}.",
            f"A directory has the columns {', '.join(NEEDED)}, and found and scope if need be.",
            missing=missing,
        )


def _refused(happened: str) -> InputRefused:
    return InputRefused(
        "directory_unreadable",
        f"The directory cannot be read. {happened.rstrip('.')}.",
        "Mend the file, or name another one.",
    )
