"""How well signatures and categories do on labelled messages, in the figures that log parsers are measured by."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from recoup.categories import Category
from recoup.signatures.judging import judge
from recoup.signatures.keys import VERSION, signature
from recoup.signatures.rules import Judgement


class Labelled(NamedTuple):
    """A message, the program it is of, and the place in that program that printed it."""

    system: str
    label: str
    text: str


class Judged(NamedTuple):
    """An error, its category by its vendor's word, and where that word stands."""

    vendor: str
    category: Category
    code: str | None
    message: str
    source: str


@dataclass(frozen=True, slots=True)
class Grouping:
    """How a grouping agrees with the truth."""

    messages: int
    places: int
    groups: int
    accuracy: float  # the share of messages whose group holds just the messages of their place
    precision: float  # of the pairs that are grouped together, how many belong together
    recall: float  # of the pairs that belong together, how many are grouped together

    @property
    def f1(self) -> float:
        """Precision and recall in one."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


class Confusion(NamedTuple):
    """A place that was split into groups, or a group that holds several places: with an example of each part."""

    kind: str
    messages: int
    parts: tuple[tuple[int, str], ...]


class Categories(NamedTuple):
    """The share of errors that are rightly transient or not, and the share whose category is right."""

    errors: int
    transient: float
    category: float


def labelled(path: Path) -> list[Labelled]:
    """The messages of a file of JSON Lines."""
    return [Labelled(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def judged(path: Path) -> list[Judged]:
    """The errors of a file of JSON Lines."""
    rows = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    return [Judged(**{**row, "category": Category(row["category"])}) for row in rows]


def texts(path: Path) -> set[str]:
    """The messages of a file of either kind, without their labels."""
    rows = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    return {row.get("text") or row["message"] for row in rows}


def grouping(messages: Sequence[Labelled], version: int = VERSION) -> Grouping:
    """How the signatures of one program's messages agree with the places that printed them."""
    keys = [signature(message.text, version=version).key for message in messages]
    places = [message.label for message in messages]
    sizes, together = Counter(places), Counter(zip(keys, places, strict=True))
    groups = Counter(keys)
    right = sum(n for (key, place), n in together.items() if n == groups[key] == sizes[place])
    pairs = _pairs(together.values())
    return Grouping(
        messages=len(messages),
        places=len(sizes),
        groups=len(groups),
        accuracy=right / len(messages),
        precision=pairs / (_pairs(groups.values()) or 1),
        recall=pairs / (_pairs(sizes.values()) or 1),
    )


def by_system(messages: Iterable[Labelled]) -> dict[str, list[Labelled]]:
    """The messages of each program."""
    found: dict[str, list[Labelled]] = defaultdict(list)
    for message in messages:
        found[message.system].append(message)
    return dict(sorted(found.items()))


def confusions(messages: Sequence[Labelled]) -> list[Confusion]:
    """What went wrong in the grouping of one program's messages, the largest first."""
    places: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    groups: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for message in messages:
        key = signature(message.text).key
        places[message.label][key].append(message.text)
        groups[key][message.label].append(message.text)
    found = [_confusion("split", parts) for parts in places.values() if len(parts) > 1]
    found += [_confusion("merged", parts) for parts in groups.values() if len(parts) > 1]
    return sorted(found, key=lambda one: -one.messages)


def categories(errors: Sequence[Judged]) -> Categories:
    """How the categories of errors agree with their vendors' word."""
    found = [(error, judge(error.message, error.code).category) for error in errors]
    transient = sum((kind is Category.TRANSIENT) == (error.category is Category.TRANSIENT) for error, kind in found)
    right = sum(kind is error.category for error, kind in found)
    return Categories(len(errors), transient / len(errors), right / len(errors))


def misjudged(errors: Sequence[Judged]) -> list[tuple[Judged, Judgement]]:
    """The errors whose category is wrong, and what decided it."""
    found = ((error, judge(error.message, error.code)) for error in errors)
    return [(error, judgement) for error, judgement in found if judgement.category is not error.category]


def _pairs(sizes: Iterable[int]) -> int:
    return sum(n * (n - 1) // 2 for n in sizes)


def _confusion(kind: str, parts: dict[str, list[str]]) -> Confusion:
    found = sorted(((len(texts), texts[0]) for texts in parts.values()), reverse=True)
    return Confusion(kind, sum(n for n, _ in found), tuple(found))
