"""How a lifecycle is declared."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class Authority(StrEnum):
    """Who may act. Each authority is a database role, ``recoup_<value>``, that cannot log in."""

    GATE = "gate"  # starts and ends verification attempts, with their consequences
    MINT = "mint"  # mints company identities
    HUB = "hub"  # imports work, and records its failures
    ERROR_WORKER = "error_worker"  # retries errors
    ARCHIVER = "archiver"  # moves errors to the archive
    MATCHER = "matcher"  # creates recovery candidates
    RULE_ENGINE = "rule_engine"  # evaluates rules
    EVALUATOR = "evaluator"  # selects actions, writes outcomes
    CLAIM_WORKER = "claim_worker"  # starts candidates
    ORPHAN_RECOVERY = "orphan_recovery"  # marks crashed runs
    SCOPED_EXECUTION = "scoped_execution"  # opens and closes scopes
    EXECUTOR = "executor"  # makes the effects of claimed candidates
    REVIEWER = "reviewer"  # approves and rejects
    RUNNER = "runner"  # runs work, and sends heartbeats
    EXTRACTOR = "extractor"  # writes raw partitions
    VALIDATOR = "validator"  # accepts or rejects them
    CONTROL_PLANE = "control_plane"  # schedules and requeues partitions
    CONSUMER = "consumer"  # reads what was accepted, subscribes to logs
    OPERATOR = "operator"  # the person who runs the system
    KEY_MANAGER = "key_manager"  # makes, rotates and revokes keys of the API
    SERVICE = "service"  # the API: checks keys, keeps sessions, counts calls
    READER = "reader"  # reads, and changes nothing

    @property
    def role(self) -> str:
        return f"recoup_{self.value}"


@dataclass(frozen=True, slots=True)
class Birth:
    """This authority may insert a row in this status."""

    status: str
    authority: Authority
    description: str
    requires: tuple[str, ...] = ()  # columns that must not be null in such a row
    via: tuple[str, ...] = ()  # only as a consequence via these functions, never by hand


@dataclass(frozen=True, slots=True)
class Move:
    """This authority may move a row from one status to another, or change it within one."""

    source: str
    target: str
    authority: Authority
    description: str
    counts: bool = False  # the lifecycle's counter must increase by exactly one
    via: tuple[str, ...] = ()  # only as a consequence via these functions, never by hand


@dataclass(frozen=True, slots=True)
class Exit:
    """This authority may delete a row in this status."""

    status: str
    authority: Authority
    description: str


Step = Birth | Move | Exit


@dataclass(frozen=True, slots=True)
class On:
    """A function that runs after the guard of a table, once for each statement of this kind."""

    event: str  # insert, update or delete
    function: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRule:
    """A rule that the old and the new row of a move decide: evaluated in the guard's own pass over them.

    Names of functions. Those that take rows are SQL that the planner can inline.
    """

    broken: str  # (old row, new row, now, role that acts, policy): the code of the rule that is broken, or null
    refusal: str  # (code, old row, new row): sqlstate, message, hint and detail
    policy: str | None = None  # (): the policy values it uses, as jsonb, read once per statement
    gathers: str | None = None  # (old row, new row): what to evaluate for all rows together, as jsonb, or null
    then: str | None = None  # (role that acts, policy, all that was gathered or null): evaluates it; with gathers


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """Which rows of a lifecycle wait for work, in which queue, and what a claim returns.

    From it ``recoup migrate`` generates the consequences that keep the queue in step with the rows and check the token
    when work ends; the claim; the expiry of leases; and the handling of late and repeated reports.
    """

    table: str  # a table like recoup.queue_form, created by a migration
    waiting: tuple[str, ...]  # a row waits in these statuses …
    open: str | None = None  # … while this column is null
    # Columns of the lifecycle's table.
    unit: str  # identifies a row
    part: str | None = None  # which of several tables it is in
    round: str  # attempts that have ended
    due: str
    until: str | None = None  # not claimed after this time
    token: str = "token"  # of the attempt that ended last
    carries: tuple[str, ...] = ()  # repeated in the queue, under their names
    # Functions: claim and expire are generated, end is the domain's (parts, if it has any, units, tokens, outcomes,
    # failures). What it does not apply it passes to late_<table>_reports, which is generated too.
    claim: str
    expire: str
    end: str
    claimed_by: tuple[Authority, ...]
    gives: tuple[tuple[str, str], ...]  # columns that a claim returns, and the names of their arrays
    lease: str  # SQL: the default length of a lease
    lease_hours_most: int = 24
    breaks: bool = False  # whether its parts may be behind a breaker: one unit is then claimed to try it
    behind: str | None = None  # function of a unit: whether another one has to end before it is claimed
    outcome: str = "event_type"  # column of the log, which also has the token
    earlier_claims: str | None = None  # query: part, unit, round, worker of claims older than the log of claims


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """How a log records the steps of a row, so that the audit can compare the two."""

    log: str
    key: tuple[str, ...]  # columns of the log, in the order of the lifecycle's key
    gone: str | None = None  # the status that the log gives to a deleted row; None: none
    rebuilds: bool = True  # whether the log alone determines the rows; False: the domain compares them itself
    unborn: str | None = None  # condition for a row r that is older than the log and has no birth in it
    about: str | None = None  # condition for events l of a log that several lifecycles share; None: all are of its rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Where the birth digest of a row is, if its own log has it: in the columns digest and form."""

    log: str
    key: tuple[str, ...]  # columns of the log, in the order of the lifecycle's key
    born: str  # event of its birth


CONTROL_LOG = "recoup.control_log"
CONTENT_LOG = "recoup.content_log"  # digests of rows at their birth
RECORD_CONTROL = "recoup.record_control"  # the recorder of tables without a log of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    """Everything that may happen to the rows of one table. The database refuses what is not listed."""

    table: str
    description: str
    key: tuple[str, ...]
    births: tuple[Birth, ...]
    moves: tuple[Move, ...] = ()
    exits: tuple[Exit, ...] = ()
    status_column: str = "status"
    counter: str | None = None  # the column that a counting move increases by one
    frozen: tuple[str, ...] = ()  # never change after birth
    erasable: tuple[str, ...] = ()  # the same, except that a secret may be erased; the domain's own rule checks that
    once: tuple[str, ...] = ()  # change once, from null to a value
    rising: tuple[str, ...] = ()  # never decrease
    move_rule: MoveRule | None = None
    # What runs after the guard, in this order; within one kind in the order of the functions' names.
    rules: tuple[On, ...] = ()  # refuse what a list of steps cannot express
    recorders: tuple[On, ...] = ()  # write the events
    consequences: tuple[On, ...] = ()  # changes of other rows
    queue: Queue | None = None  # in which its rows wait for work
    story: Story | None = None  # where its steps are recorded; by default the control log, if it is recorded there
    pausable: bool = False  # whether its rows are claimed, and claims on them can be paused
    formerly: tuple[str, ...] = ()  # earlier names of the table, which its log still has
    archive: str | None = None  # the table that deleted rows are moved to, unchanged
    given: Given | None = None  # where digests of its rows are; by default, and if it freezes anything, the content log
    follows: bool = False  # whether logs determine all its values, so that no digest is needed
    # Lists of columns that digests of its rows were over before ``frozen`` was what it is now, oldest first.
    earlier_contents: tuple[tuple[str, ...], ...] = ()

    @property
    def followers(self) -> Iterator[tuple[str, On]]:
        """Everything that runs after the guard. Triggers fire in the order of their names: the letter comes first."""
        groups = (
            ("b", self.rules), ("c", (*self.recorders, *self.digesting)), ("d", (*self.consequences, *self.queueing)),
        )  # fmt: skip
        for place, group in groups:
            for follower in group:
                yield place, follower

    @property
    def contents(self) -> tuple[tuple[str, ...], ...]:
        """The columns that digests of its rows cover, one list per form, oldest first.

        A digest is made at birth, of what never changes; where that is only the key there is none. A list that was in
        use stays: old digests were made with it.
        """
        digested = self.births and set(self.frozen) > set(self.key) and not self.follows
        return (*self.earlier_contents, (*self.frozen, *self.erasable)) if digested else ()

    @property
    def digesting(self) -> Iterator[On]:
        """The recorder of the birth digests of its rows."""
        if self.contents and self.given is None:
            schema, table = self.table.split(".")
            yield On("insert", f"{schema}.content_{table}_births")

    @property
    def queueing(self) -> Iterator[On]:
        """The consequences that keep its queue up to date."""
        schema, table = self.table.split(".")
        for event, kind, steps in (
            ("insert", "births", self.births), ("update", "moves", self.moves), ("delete", "exits", self.exits),
        ):  # fmt: skip
            if self.queue is not None and steps:
                yield On(event, f"{schema}.queue_{table}_{kind}")

    @property
    def controlled(self) -> tuple[str, ...] | None:
        """The columns that the control log repeats; None: its steps are not recorded there."""
        found = [on.arguments for on in self.recorders if on.function == RECORD_CONTROL]
        return tuple(dict.fromkeys(name for arguments in found for name in arguments)) if found else None

    @property
    def recorded(self) -> Story | None:
        """Where its steps are recorded, if anywhere."""
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
        """Statuses that no move or exit leaves."""
        leaves = {move.source for move in self.moves} | {leaving.status for leaving in self.exits}
        return tuple(status for status in self.statuses if status not in leaves)
