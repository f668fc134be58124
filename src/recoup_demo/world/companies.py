"""The made-up companies of the local world. For one seed they are the same for ever."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle, islice
from random import Random
from typing import NamedTuple, TypeVar
from zlib import crc32

from recoup.reasons import ReasonCode
from recoup.refusals import InputRefused
from recoup_demo.world.kinds import APPEARS_AS, MIX, RECOVERIES, AnyKind, Kind, Truth
from recoup_demo.world.names import STATES, company_name, domain_name, slug, spellings, without_legal_form

MAX_COUNT = 1_000_000
T = TypeVar("T")


class Company(NamedTuple):
    """A company as an intake gives it, and what is true of it."""

    name: str
    domain: str
    state: str
    linkedin_url: str | None
    kind: AnyKind
    truth: Truth

    def truth_on(self, day: int) -> ReasonCode | None:
        """The verdict that a verification on this day should come to; None is a pass."""
        return self.truth[min(day, len(self.truth) - 1)]

    def kind_on(self, day: int) -> AnyKind:
        """As what it appears on this day."""
        return APPEARS_AS[self.truth_on(day)] if self.kind is Kind.RECOVERING else self.kind

    def pick(self, choices: Sequence[T], *, of: str) -> T:
        """One of several ways, always the same for this company and purpose."""
        return choices[crc32(f"{of} {self.domain}".encode()) % len(choices)]


def companies(count: int, *, seed: int = 7, rare: Iterable[AnyKind] = ()) -> list[Company]:
    """This number of companies, in the proportions of MIX in every 200. The first of each kind come first, so that a
    small world has them all. One of each rare kind takes the place of a good company."""
    if not 0 <= count <= MAX_COUNT:
        raise InputRefused(
            "world_size", f"A world of {count:,} companies.", f"Ask for 0 to {MAX_COUNT:,} of them.", count=count
        )
    chance = Random(seed)
    taken: set[str] = set()
    stories = cycle(RECOVERIES)
    return [_company(kind, kind.truth or next(stories), chance, taken) for kind in islice(_kinds(chance, rare), count)]


def _kinds(chance: Random, rare: Iterable[AnyKind]) -> Iterator[AnyKind]:
    mix = {**MIX, **dict.fromkeys(rare, 1)}
    mix[Kind.GOOD] -= len(mix) - len(MIX)
    while True:
        first = list(mix)
        others = [kind for kind, number in mix.items() for _ in range(number - 1)]
        chance.shuffle(first)
        chance.shuffle(others)
        yield from first
        yield from others


def _company(kind: AnyKind, truth: Truth, chance: Random, taken: set[str]) -> Company:
    name = company_name(chance)
    page = slug(without_legal_form(name), between="-")
    return Company(
        name=name,
        domain=domain_name(name, taken, chance),
        state=chance.choice(spellings(chance.choice(list(STATES)))),
        linkedin_url=f"https://www.linkedin.com/company/{page}" if chance.random() < 0.9 else None,
        kind=kind,
        truth=truth,
    )
