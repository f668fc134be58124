"""The chain of seals: which seal may follow which. Pure arithmetic, without the database.

Over all logs the seals are numbered without gaps and each carries the digest of the one before it. Within a log the
ranges are complete: the first begins where nothing was visible, each next one where the last ended, pages follow each
other, and the next cluster begins where the last is closed. So no row can be in two blocks, or between two.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from recoup.ledger.heads import Head

BEGINNING = "1:1:"  # the snapshot in which nothing is visible
FIRST_INCARNATION = 1


class SealedLog(NamedTuple):
    """A log that is sealed: its table, the newest version of its canonical text, the column that says when."""

    log: str
    canon: int
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """One sealed block: its rows (between two snapshots, or a page of these along seq), and its place in the chain."""

    number: int
    log: str
    canon: int
    incarnation: int
    system_identifier: int
    since: str
    until: str | None  # None: the rest of an earlier cluster
    after_seq: int
    last_seq: int
    closes: bool
    rows: int
    sealed_at: datetime
    actor_id: str
    previous: bytes = field(repr=False)
    digest: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it was sealed. Without a number it belongs to no seal."""

    number: int | None
    log: str | None
    problem: str


class Chain:
    """The chain up to the current seal, while it is followed from its first seal to its last.

    ``clusters`` are the incarnations and the identities of their clusters, ``canons`` the newest version of each log's
    canonical text, as the database has them now.
    """

    def __init__(self, clusters: Mapping[int, int], canons: Mapping[str, int], head: Head | None = None) -> None:
        self.clusters = clusters
        self.canons = canons
        self.head = head
        self.present = max(clusters, default=FIRST_INCARNATION)
        self.seals = 0
        self.number = 0
        self.digest = bytes(32)
        self.before: dict[str, Seal] = {}
        self.rows: dict[str, int] = {}

    def follow(self, seal: Seal) -> Iterator[Problem]:
        """Check the next seal against those before it."""
        yield from (Problem(seal.number, seal.log, problem) for problem in self._breaks(seal))
        self.seals += 1
        self.number, self.digest = seal.number, seal.digest
        self.before[seal.log] = seal
        self.rows[seal.log] = self.rows.get(seal.log, 0) + seal.rows
        if self.head is not None and seal.number == self.head.number:
            yield from self._meet(self.head, seal)

    def readable(self, seal: Seal) -> bool:
        """Whether this database knows the canonical text that a seal was made with."""
        return 1 <= seal.canon <= self.canons.get(seal.log, 0)

    def _breaks(self, seal: Seal) -> Iterator[str]:
        if seal.number > self.number + 1:
            yield f"{seal.number - self.number - 1} seals before it are missing"
        if seal.number <= self.number:
            yield "another seal has its number"
        if seal.previous != self.digest:
            yield "it does not carry the digest of the seal before it"
        if not self.readable(seal):
            yield f"this database does not know {seal.log} in version {seal.canon}"
        if self.clusters.get(seal.incarnation) != seal.system_identifier:
            yield f"its incarnation {seal.incarnation} does not match recoup.incarnation"
        if not tiles(self.before.get(seal.log), seal):
            yield "it does not begin where the last seal of its log ended"
        if seal.until is None and seal.incarnation >= self.present:
            yield "it closes an incarnation that has not ended"

    def _meet(self, head: Head, seal: Seal) -> Iterator[Problem]:
        if self.digest.hex() != head.digest and head.system_identifier not in self.clusters.values():
            yield Problem(head.number, None, "the head is from another database: no cluster here has its identity")
        elif self.digest.hex() != head.digest:
            yield Problem(head.number, None, "the chain was rewritten: this seal differs from the head")
        elif (head.incarnation, head.system_identifier, head.sealed_at) != (
            seal.incarnation, seal.system_identifier, seal.sealed_at,
        ):  # fmt: skip
            yield Problem(head.number, None, "the head's file was changed: only its digest matches the chain")
        elif self.rows != head.rows:
            yield Problem(head.number, None, "the head has other row counts than the chain")

    def end(self, newest: int = 0) -> Iterator[Problem]:
        """After the last seal: does the chain reach the newest seal and the head, and are all incarnations present?"""
        if self.number < newest:
            yield Problem(newest, None, "the seal itself was changed: its time is invalid")
        if sorted(self.clusters) != list(range(FIRST_INCARNATION, FIRST_INCARNATION + len(self.clusters))):
            yield Problem(None, "recoup.incarnation", "an incarnation is missing")
        if self.head is not None and self.number < self.head.number:
            reaches = f"the chain ends at seal {self.number}, but the head is seal {self.head.number}"
            yield Problem(None, None, f"{reaches}: seals were removed, or this is an older copy")


def tiles(before: Seal | None, seal: Seal) -> bool:
    """Whether a seal begins exactly where the one before it of its log ended."""
    begins = (seal.incarnation, seal.since, seal.after_seq)
    if not seal.closes and seal.last_seq <= seal.after_seq:
        return False
    if before is None:
        return begins == (FIRST_INCARNATION, BEGINNING, 0)
    if not before.closes:
        return begins == (before.incarnation, before.since, before.last_seq) and seal.until == before.until
    if before.until is None:
        return begins == (before.incarnation + 1, BEGINNING, 0)
    return begins == (before.incarnation, before.until, 0)
