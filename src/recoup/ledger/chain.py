"""The chain of seals as arithmetic: which seal may follow which. Nothing here asks the database.

Over all logs the seals are numbered without gaps and each carries the digest of the one before it. Within a log the
windows tile: the first begins where nothing was visible, each next one where the last ended, pages follow each other,
and the next cluster begins where the last is closed. So no row can lie in two blocks, or between two.
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
    """One block: which rows (a window between two snapshots, or a page of it along seq), and its place in the chain."""

    number: int
    log: str
    canon: int
    incarnation: int
    system_identifier: int
    since: str
    until: str | None  # None: the rest of a cluster that is over
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
    """Something that is not as it was sealed. No number: it lies in no seal."""

    number: int | None
    log: str | None
    problem: str


class Chain:
    """What is known of the chain so far, while it is followed from its first seal to its last.

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
        """Hold the next seal against those before it."""
        yield from (Problem(seal.number, seal.log, problem) for problem in self._breaks(seal))
        self.seals += 1
        self.number, self.digest = seal.number, seal.digest
        self.before[seal.log] = seal
        self.rows[seal.log] = self.rows.get(seal.log, 0) + seal.rows
        if self.head is not None and seal.number == self.head.number:
            yield from self._meet(self.head, seal)

    def readable(self, seal: Seal) -> bool:
        """Whether the rows behind a seal can be put into the words that it was made of."""
        return 1 <= seal.canon <= self.canons.get(seal.log, 0)

    def _breaks(self, seal: Seal) -> Iterator[str]:
        if seal.number > self.number + 1:
            yield f"{seal.number - self.number - 1} seals before it are missing"
        if seal.number <= self.number:
            yield "another seal has its number"
        if seal.previous != self.digest:
            yield "it was made behind another seal than the one before it"
        if not self.readable(seal):
            yield f"this database does not know {seal.log} in version {seal.canon}"
        if self.clusters.get(seal.incarnation) != seal.system_identifier:
            yield f"its incarnation {seal.incarnation} is not the one that recoup.incarnation has"
        if not tiles(self.before.get(seal.log), seal):
            yield "it does not begin where the last seal of its log ended"
        if seal.until is None and seal.incarnation >= self.present:
            yield "it closes an incarnation that is not over"

    def _meet(self, head: Head, seal: Seal) -> Iterator[Problem]:
        if self.digest.hex() != head.digest and head.system_identifier not in self.clusters.values():
            yield Problem(head.number, None, "the head is of another database: no cluster of this one has its identity")
        elif self.digest.hex() != head.digest:
            yield Problem(head.number, None, "the chain was rewritten: this seal is not the head's")
        elif (head.incarnation, head.system_identifier, head.sealed_at) != (
            seal.incarnation, seal.system_identifier, seal.sealed_at,
        ):  # fmt: skip
            yield Problem(head.number, None, "the head's file was changed: its digest is the chain's, the rest is not")
        elif self.rows != head.rows:
            yield Problem(head.number, None, "the head names other numbers of rows than the chain has")

    def end(self, newest: int = 0) -> Iterator[Problem]:
        """No seal is left: does the chain reach as far as the newest and the head, and are all incarnations there?"""
        if self.number < newest:
            yield Problem(newest, None, "the seal itself was changed: its time is none")
        if sorted(self.clusters) != list(range(FIRST_INCARNATION, FIRST_INCARNATION + len(self.clusters))):
            yield Problem(None, "recoup.incarnation", "an incarnation is missing")
        if self.head is not None and self.number < self.head.number:
            reaches = f"the chain ends with seal {self.number}, and the head is seal {self.head.number}"
            yield Problem(None, None, f"{reaches}: it was cut off, or this is an older copy")


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
