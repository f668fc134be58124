"""The made-up companies of the local world. For one seed they are the same for ever."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from random import Random
from typing import NamedTuple, TypeVar
from zlib import crc32

from recoup.reasons import ReasonCode
from recoup.refusals import InputRefused
from recoup.world.kinds import APPEARS_AS, HOSTILE, MIX, RECOVERIES, TRUTH, Kind, Truth
from recoup.world.names import STATES, company_name, domain_name, slug, spellings, without_legal_form

COUNT_MOST = 1_000_000
T = TypeVar("T")


class Company(NamedTuple):
    """A company as an intake gives it, and what is true of it."""

    name: str
    domain: str
    state: str
    linkedin_url: str | None
    kind: Kind
    truth: Truth

    def truth_on(self, day: int) -> ReasonCode | None:
        """The verdict that a verification on this day should come to; None is a pass."""
        return self.truth[min(day, len(self.truth) - 1)]

    def kind_on(self, day: int) -> Kind:
        """As what it appears on this day."""
        return APPEARS_AS[self.truth_on(day)] if self.kind is Kind.RECOVERING else self.kind

    def pick(self, choices: Sequence[T], *, of: str) -> T:
        """One of several ways, always the same for this company and purpose."""
        return choices[crc32(f"{of} {self.domain}".encode()) % len(choices)]


def companies(count: int, *, seed: int = 7, hostile: bool = False) -> list[Company]:
    """So many companies, by the proportions of MIX in every 200. The first of each kind come first, so that a small
    world has them all."""
    if not 0 <= count <= COUNT_MOST:
        raise InputRefused(
            "world_size", f"A world of {count:,} companies.", f"Ask for 0 to {COUNT_MOST:,} of them.", count=count
        )
    chance = Random(seed)
    taken: set[str] = set()
    stories = cycle(RECOVERIES)
    return [_company(kind, chance, taken, stories) for kind in islice(_kinds(chance, hostile=hostile), count)]


def _kinds(chance: Random, *, hostile: bool) -> Iterator[Kind]:
    rare = HOSTILE if hostile else ()
    left = dict(MIX) | {Kind.GOOD: MIX[Kind.GOOD] - len(rare)}
    while True:
        first = [*MIX, *rare]
        others = [kind for kind, number in left.items() for _ in range(number - 1)]
        chance.shuffle(first)
        chance.shuffle(others)
        yield from first
        yield from others


def _company(kind: Kind, chance: Random, taken: set[str], stories: Iterator[Truth]) -> Company:
    name = company_name(chance)
    page = slug(without_legal_form(name), between="-")
    return Company(
        name=name,
        domain=domain_name(name, taken, chance),
        state=chance.choice(spellings(chance.choice(list(STATES)))),
        linkedin_url=f"https://www.linkedin.com/company/{page}" if chance.random() < 0.9 else None,
        kind=kind,
        truth=next(stories) if kind is Kind.RECOVERING else TRUTH[kind],
    )
