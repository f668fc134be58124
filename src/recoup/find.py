"""Find things by what a person has at hand: an id or its beginning, a name, a domain, a signature.

Each domain says how its own rows are found (``Domain.finders``). Ids, names and their beginnings are looked up along
indexes. Only where they give nothing, texts are searched: the newest rows of each kind, as the result says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from recoup.database.connection import Transaction
from recoup.refusals import InputRefused

MAX_CHARS = 500
LAST = "\U0010ffff"  # sorts behind every other character
MIN_ID_DIGITS = 4  # of a uuid, from which on its beginning is looked up
_ID = re.compile(r"[0-9a-fA-F-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Something that was found: what it is, its status, and what to do next."""

    kind: str  # company, error, batch, …
    id: str
    title: str | None
    status: str
    next_step: str  # a command


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A text to find, and what it may be the beginning of."""

    text: str
    limit: int

    @property
    def texts(self) -> dict[str, str]:
        """The bounds of texts that begin with it, in the order of text_pattern_ops; as given, and in lower case."""
        lower = self.text.lower()
        return {"from": self.text, "to": self.text + LAST, "from_lower": lower, "to_lower": lower + LAST}

    @property
    def ids(self) -> tuple[UUID, UUID] | None:
        """The first and the last uuid that begin with it; None: none can."""
        digits = self.text.replace("-", "")
        if not _ID.fullmatch(self.text) or not MIN_ID_DIGITS <= len(digits) <= 32:
            return None
        return UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))

    @property
    def is_id(self) -> bool:
        """Whether it is a whole uuid, which is nobody's name."""
        low, high = self.ids or (None, None)
        return low is not None and low == high


@dataclass(frozen=True, slots=True, kw_only=True)
class Finder:
    """How a domain finds its rows."""

    look_up: Callable[[Transaction, Wanted], Sequence[Found]]  # along indexes
    search: Callable[[Transaction, Wanted], Sequence[Found]] | None = None  # in texts, of the newest rows only
    searched: str | None = None  # which rows that are: the newest 50,000 errors


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What was found, and which texts had to be searched."""

    found: Sequence[Found]
    searched: Sequence[str]


def find(tx: Transaction, text: str, finders: Iterable[Finder], *, limit: int = 20) -> Result:
    """Everything that a text may mean, at most ``limit`` of each kind."""
    wanted, all_ = Wanted(text=usable(text), limit=limit), tuple(finders)
    found = [one for finder in all_ for one in finder.look_up(tx, wanted)]
    if found:
        return Result(found=found, searched=())
    searching = [finder for finder in all_ if finder.search is not None]
    found = [one for finder in searching if finder.search for one in finder.search(tx, wanted)]
    return Result(found=found, searched=[finder.searched for finder in searching if finder.searched])


def usable(text: str) -> str:
    """A text that can be searched for, as it was given or cut by a list; or a refusal."""
    clean = text.strip().rstrip("…")
    if not clean or len(clean) > MAX_CHARS or "\0" in clean:
        raise InputRefused(
            "text_unusable", f"{text[:50]!r} cannot be searched for.", "Give a name, a domain, an id or its beginning."
        )
    return clean
