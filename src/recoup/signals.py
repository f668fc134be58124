"""Signals: numbers of a domain that alerts are raised on.

A domain declares what it measures, and the alerts of the policy name signals by their names: neither knows the other.
Signals that one statement can read belong to one source, so that reading all of them costs few statements.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from recoup.database.connection import Transaction
from recoup.policy import Policy

OVERALL = "overall"  # the key of a signal that has no parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A number that is measured for the whole, or for each part of it, such as an error table."""

    name: str
    unit: Literal["share", "count", "seconds"]
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The present value of a signal for one key."""

    signal: str
    value: float | None  # None: there is nothing to measure, which is not the same as 0
    key: str = OVERALL
    sample: int | None = None  # what a share was computed from; None: it is not a share
    facts: Mapping[str, Any] = field(default_factory=dict)  # for the notice: what to check first


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Signals that are measured together. Read as the reader; it changes nothing."""

    signals: tuple[Signal, ...]
    measure: Callable[[Transaction, Policy], Iterable[Reading]]
