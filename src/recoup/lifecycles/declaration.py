"""The words a lifecycle is declared in."""

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
    authority: Authority
    description: str
    requires: tuple[str, ...] = ()  # columns that must not be null in a row born so
    via: tuple[str, ...] = ()  # made only as the consequence of these functions, never by hand


@dataclass(frozen=True, slots=True)
class Move:
    """A row may go from one status to another, or be changed within one, by this authority."""

    source: str
    target: str
    authority: Authority
    description: str
    counts: bool = False  # the lifecycle's counter must rise by exactly one
    via: tuple[str, ...] = ()  # made only as the consequence of these functions, never by hand


@dataclass(frozen=True, slots=True)
class Exit:
    """A row in this status may be deleted by this authority."""

    status: str
    authority: Authority
    description: str


Step = Birth | Move | Exit


@dataclass(frozen=True, slots=True)
class On:
    """A function that runs behind the guard of a table, once for each statement of this kind."""

    event: str  # insert, update or delete
    function: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRule:
    """What a list of steps cannot say of a move, and its two rows can: judged in the guard's own pass over them.

    Names of functions. Those that are given rows are SQL that the planner can inline.
    """

    broken: str  # (old row, new row, now, role that acts, policy): the code of the rule that is broken, or null
    refusal: str  # (code, old row, new row): sqlstate, message, hint and detail
    policy: str | None = None  # (): what it decides by, as jsonb, read once per statement
    gathers: str | None = None  # (old row, new row): what is to be judged of all rows together, as jsonb, or null
    then: str | None = None  # (role that acts, policy, all that was gathered or null): judges it; with gathers


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """Which rows of a lifecycle wait to be worked on, in which queue, and what a claim of them gives.

    From it ``recoup migrate`` writes out the consequences that keep the queue in step with the rows and fence whoever
    ends work by the token of its claim; the claim; the expiry of leases; and what becomes of late and second reports.
    """

    table: str  # of the form recoup.queue_form, made by a migration
    waiting: tuple[str, ...]  # a row waits in these statuses …
    open: str | None = None  # … while this column is null
    # Columns of the lifecycle's table.
    unit: str  # identifies a row by itself
    part: str | None = None  # which of several tables it is in
    round: str  # attempts that have ended
    due: str
    until: str | None = None  # not claimed after this time
    token: str = "token"  # of the attempt that ended last
    carries: tuple[str, ...] = ()  # repeated in the queue, under their names
    # Functions: claim and expire are written out, end is the domain's (parts, if it has any, units, tokens, outcomes,
    # failures). What it does not apply it hands to late_<table>_reports, which is written out, too.
    claim: str
    expire: str
    end: str
    claimed_by: tuple[Authority, ...]
    gives: tuple[tuple[str, str], ...]  # columns that a claim gives back, and the names of their arrays
    lease: str  # SQL: how long a lease is, if the claim does not say
    lease_hours_most: int = 24
    outcome: str = "event_type"  # column of the log; it has the token, too
    earlier_claims: str | None = None  # query: part, unit, round, worker of claims older than the log of claims


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """How a log tells of a row's steps, so that the audit can hold each against the other."""

    log: str
    key: tuple[str, ...]  # columns of the log, in the order of the lifecycle's key
    gone: str | None = None  # the status that the log gives to a row that left; None: it gives none
    rebuilds: bool = True  # whether the rows follow from the log alone; False: the domain compares them itself
    unborn: str | None = None  # condition on a row r whose birth the log does not have, because it is younger


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Where the digest of what a row was given is, if its own log has it: in the columns digest and form."""

    log: str
    key: tuple[str, ...]  # columns of the log, in the order of the lifecycle's key
    born: str  # event of its birth


CONTROL_LOG = "recoup.control_log"
CONTENT_LOG = "recoup.content_log"  # of what rows were given at birth
RECORD_CONTROL = "recoup.record_control"  # the recorder of whatever has no log of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    """All that may happen to the rows of one table. What is not listed is refused by the database."""

    table: str
    description: str
    key: tuple[str, ...]
    births: tuple[Birth, ...]
    moves: tuple[Move, ...] = ()
    exits: tuple[Exit, ...] = ()
    status_column: str = "status"
    counter: str | None = None  # the column a counting move raises by exactly one
    frozen: tuple[str, ...] = ()  # never change after birth
    erasable: tuple[str, ...] = ()  # the same, but for a secret that is erased; the domain's own rule sees to it
    once: tuple[str, ...] = ()  # change once, from null to a value
    rising: tuple[str, ...] = ()  # never fall
    move_rule: MoveRule | None = None
    # What runs behind the guard, in this order, within one kind in the order of the functions' names.
    rules: tuple[On, ...] = ()  # refuse what a list of steps alone cannot say
    recorders: tuple[On, ...] = ()  # write the events
    consequences: tuple[On, ...] = ()  # what follows for other rows
    queue: Queue | None = None  # in which its rows wait to be worked on
    story: Story | None = None  # where its steps are recorded; by default the control log, if it is recorded there
    pausable: bool = False  # whether its rows are claimed, and claims on them can be paused
    formerly: tuple[str, ...] = ()  # names that the table had before; its log still has them
    archive: str | None = None  # the table that its rows leave to, as they are
    given: Given | None = None  # where digests of its rows are; by default, and if it freezes anything, the content log
    follows: bool = False  # whether all its rows hold follows from logs, so that no digest is needed
    # Lists of columns that digests of its rows were over before ``frozen`` was what it is now, oldest first.
    earlier_contents: tuple[tuple[str, ...], ...] = ()

    @property
    def followers(self) -> Iterator[tuple[str, On]]:
        """All that runs behind the guard. Triggers fire in the order of their names: the letter comes first."""
        groups = (
            ("b", self.rules), ("c", (*self.recorders, *self.digesting)), ("d", (*self.consequences, *self.queueing)),
        )  # fmt: skip
        for place, group in groups:
            for follower in group:
                yield place, follower

    @property
    def contents(self) -> tuple[tuple[str, ...], ...]:
        """The columns that digests of its rows are over, one list per form, oldest first.

        A digest is made at birth, so it is over what never changes; none is, where that is the key alone. A list
        that was in use stays: old digests have it.
        """
        digested = self.births and set(self.frozen) > set(self.key) and not self.follows
        return (*self.earlier_contents, (*self.frozen, *self.erasable)) if digested else ()

    @property
    def digesting(self) -> Iterator[On]:
        """The recorder of what its rows were given at birth."""
        if self.contents and self.given is None:
            schema, table = self.table.split(".")
            yield On("insert", f"{schema}.content_{table}_births")

    @property
    def queueing(self) -> Iterator[On]:
        """The consequences that keep its queue in step."""
        schema, table = self.table.split(".")
        for event, kind, steps in (
            ("insert", "births", self.births), ("update", "moves", self.moves), ("delete", "exits", self.exits),
        ):  # fmt: skip
            if self.queue is not None and steps:
                yield On(event, f"{schema}.queue_{table}_{kind}")

    @property
    def controlled(self) -> tuple[str, ...] | None:
        """The columns that the control log repeats of it; None: its steps are not recorded there."""
        found = [on.arguments for on in self.recorders if on.function == RECORD_CONTROL]
        return tuple(dict.fromkeys(name for arguments in found for name in arguments)) if found else None

    @property
    def told(self) -> Story | None:
        """Where its steps are recorded, if they are."""
        return self.story or (Story(log=CONTROL_LOG, key=("key",)) if self.controlled is not None else None)

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
