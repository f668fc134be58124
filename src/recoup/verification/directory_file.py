"""A directory that is a file: CSV, JSONL or Parquet, read once and again when it changes."""

import asyncio
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from recoup.files import Wanted, format_named, opened
from recoup.refusals import InputRefused
from recoup.verification.directory import Entry, entry_of
from recoup.verification.domains import domain_of, page_of, registrable
from recoup.verification.findings import Finding, NotPassed
from recoup.verification.names import company_words

NEEDED = ("domain", "name", "states")
OPTIONAL = ("found", "scope", "linkedin_url")
WANTED = Wanted(columns=dict.fromkeys((*NEEDED, *OPTIONAL), ()), required=NEEDED, row_chars_most=4_000_000)
YES = frozenset({"true", "t", "yes", "y", "1"})
NO = frozenset({"false", "f", "no", "n", "0"})
OWN_WORDS = frozenset({"directory_columns", "directory_unreadable", "parquet_missing"})


class _Read(NamedTuple):
    """The file as it was read, and by what one knows that it has changed."""

    stamp: tuple[int, int, int]
    by_domain: dict[str, Entry]
    by_name: dict[str, Entry]
    by_page: dict[str, Entry]
    unreadable: str = ""  # why there is nothing in it


class FileDirectory:
    """Looks companies up in a file: by LinkedIn page, else by domain, else by name among entries without a domain.

    An entry of the same name with another domain is another company.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = _read(path)
        self._reading = asyncio.Lock()

    async def entry(self, domain: str, name: str, linkedin_url: str = "") -> Entry:
        known = await self._present()
        by_domain = (known.by_domain[key] for key in (domain, registrable(domain)) if key in known.by_domain)
        by_page = known.by_page.get(page_of(linkedin_url)) if linkedin_url else None
        entry = by_page or next(by_domain, None) or known.by_name.get(company_words(name))
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
                    self._read = _Read(stamp, {}, {}, {}, unreadable=refusal.happened)
        if self._read.unreadable:
            raise NotPassed(Finding.DIRECTORY_OUT, self._read.unreadable)
        return self._read


def _read(path: Path) -> _Read:
    """The whole file, or a refusal that names what is wrong with it. One that has not changed is not read again."""
    if format_named(path) is None:
        raise InputRefused(
            "directory_kind",
            f"{path} is neither a URL nor a file of a known kind.",
            "Name a URL that begins with https://, or a .csv, .jsonl or .parquet file: "
            "policy gate.verification.directory",
        )
    try:
        return _read_as(path, _stamp(path))
    except OSError as error:
        raise _refused(f"{path}: {error.strerror or error}") from error
    except InputRefused as refusal:
        if refusal.code in OWN_WORDS:
            raise
        where = "" if str(path) in refusal.happened else f"{path}: "
        raise _refused(where + refusal.happened) from refusal


@lru_cache(maxsize=1)
def _read_as(path: Path, stamp: tuple[int, int, int]) -> _Read:
    found = _Read(stamp, {}, {}, {})
    with opened(path, WANTED) as source:
        _check_columns(path, source.missing)
        for place, row in enumerate(source.rows):
            if row.broken is not None:
                raise _refused(f"{source.noun.capitalize()} {row.number} of {path}: {row.broken[1]}")
            if place == 0:  # of JSONL the first row has to have them
                _check_columns(path, [column for column in NEEDED if column not in row.values])
            _take_in(row.values, found, f"{source.noun} {row.number} of {path}")
    return found


def _take_in(row: Mapping[str, Any], found: _Read, where: str) -> None:
    try:
        entry = entry_of({**row, "found": _found(row.get("found"))}, where)
    except NotPassed as fell:
        if fell.finding is not Finding.NO_ENTRY:
            raise _refused(fell.message) from fell
        return
    if entry.linkedin_url:
        _add(found.by_page, page_of(entry.linkedin_url), entry)
    domain = domain_of(str(row.get("domain") or ""))
    if domain is not None:
        _add(found.by_domain, domain.removeprefix("www."), entry)
    elif row.get("name"):
        _add(found.by_name, company_words(str(row["name"])), entry)


def _add(entries: dict[str, Entry], key: str, entry: Entry) -> None:
    """A company may have several rows, one for each state."""
    known = entries.get(key)
    entries[key] = (
        entry if known is None else known._replace(states=known.states + entry.states, scope=known.scope or entry.scope)
    )


def _found(given: object) -> object:
    """Whether a row is an entry. It is one unless it says no."""
    text = str(given).strip().lower()
    return True if given is None or not text or text in YES else False if text in NO else given


def _stamp(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino


def _check_columns(path: Path, missing: Iterable[str]) -> None:
    if missing := list(missing):
        raise InputRefused(
            "directory_columns",
            f"{path} lacks {', '.join(missing)}.",
            f"A directory has the columns {', '.join(NEEDED)}, and may have {', '.join(OPTIONAL)}.",
            missing=missing,
        )


def _refused(happened: str) -> InputRefused:
    return InputRefused(
        "directory_unreadable",
        f"The directory cannot be read. {happened.rstrip('.')}.",
        "Fix the file, or name another one.",
    )
