"""The words a lifecycle is declared in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class Authority(StrEnum):
    """Who may act. Each is a database role, ``recoup_<value>``, that cannot log in."""

    GATE = "gate"  # opens and ends verification attempts, and all that follows from them
    MINT = "mint"  # mints company identities
    HUB = "hub"  # brings work in, and records its failures
    ERROR_WORKER = "error_worker"  # retries errors
    ARCHIVER = "archiver"  # moves errors to the archive
    MATCHER = "matcher"  # creates recovery candidates
    RULE_ENGINE = "rule_engine"  # evaluates rules
    EVALUATOR = "evaluator"  # selects actions, writes outcomes
    CLAIM_WORKER = "claim_worker"  # starts candidates
    ORPHAN_RECOVERY = "orphan_recovery"  # marks crashed runs
    SCOPED_EXECUTION = "scoped_execution"  # opens and closes scopes
    REVIEWER = "reviewer"  # approves and rejects
    RUNNER = "runner"  # runs, and beats
    EXTRACTOR = "extractor"  # writes raw partitions
    VALIDATOR = "validator"  # accepts or rejects them
    CONTROL_PLANE = "control_plane"  # schedules and requeues partitions
    CONSUMER = "consumer"  # reads what was accepted, subscribes to logs
    OPERATOR = "operator"  # the person who runs it all
    READER = "reader"  # looks, and changes nothing

    @property
    def role(self) -> str:
        return f"recoup_{self.value}"


@dataclass(frozen=True, slots=True)
class Birth:
    """A row may be made in this status by this authority."""

    status: str
    by: Authority
    says: str
    requires: tuple[str, ...] = ()  # columns that must not be null in a row born so
    through: tuple[str, ...] = ()  # made only as the consequence of these functions, never by hand


@dataclass(frozen=True, slots=True)
class Move:
    """A row may go from one status to another, or be changed within one, by this authority."""

    source: str
    target: str
    by: Authority
    says: str
    counts: bool = False  # the lifecycle's counter must rise by exactly one
    through: tuple[str, ...] = ()  # made only as the consequence of these functions, never by hand


@dataclass(frozen=True, slots=True)
class Exit:
    """A row in this status may be deleted by this authority."""

    status: str
    by: Authority
    says: str


Step = Birth | Move | Exit


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    """All that may happen to the rows of one table. What is not listed is refused by the database."""

    table: str
    says: str
    key: tuple[str, ...]
    births: tuple[Birth, ...]
    moves: tuple[Move, ...] = ()
    exits: tuple[Exit, ...] = ()
    status_column: str = "status"
    counter: str | None = None  # the column a counting move raises by exactly one
    frozen: tuple[str, ...] = ()  # never change after birth
    once: tuple[str, ...] = ()  # change once, from null to a value
    rising: tuple[str, ...] = ()  # never fall

    @property
    def steps(self) -> Iterator[Step]:
        yield from self.births
        yield from self.moves
        yield from self.exits

    @property
    def statuses(self) -> tuple[str, ...]:
        """Every status, in the order in which the declaration first names it."""
        named: dict[str, None] = {}
        for birth in self.births:
            named[birth.status] = None
        for move in self.moves:
            named[move.source] = None
            named[move.target] = None
        return tuple(named)

    @property
    def final(self) -> tuple[str, ...]:
        """Statuses with no way out."""
        leaves = {move.source for move in self.moves} | {leaving.status for leaving in self.exits}
        return tuple(status for status in self.statuses if status not in leaves)
