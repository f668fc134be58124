"""What the policy on error TTL and parking promises of errors, line by line, in its sections 1 to 9.

An id names section and promise. Lines that say the same thing are held by one query, and stand behind it as further
ids.
"""

from collections.abc import Iterator

from psycopg.rows import dict_row
from psycopg.sql import SQL, Composable, Composed, Identifier, Literal

from recoup.audit.invariant import InFile, Invariant, Offending
from recoup.database.connection import Transaction
from recoup.database.queries import load

MAX_ASKED = 1000  # entities of which the gate is asked one by one


def _promotions(tx: Transaction) -> Iterator[Offending]:
    """Entities of which the gate and the printed query say different things."""
    queries = load("recoup.errors", "table_invariants.sql")
    blocking = [str(row[0]) for row in tx.execute(queries["blocking_tables"])]
    if not blocking:
        return
    # The condition of the printed query, without the entity: of all of them at once.
    whole = SQL(" union all ").join(
        SQL(
            "select outreach_id, {name} as error_table, error_id from {table} where outreach_id is not null"
            " and disposition in ('RETRY', 'PARKED') and archived_at is null"
        ).format(name=Literal(name), table=_relation(name))
        for name in blocking
    )
    entity = SQL("a.outreach_id")
    each = SQL(" or ").join(
        SQL("({})").format(queries["printed_promotion_check"].format(error_table=_relation(name), entity=entity))
        for name in blocking
    )
    for query in (
        queries["gate_by_tables"].format(printed=whole),
        queries["gate_by_entity"].format(printed=each, most=Literal(MAX_ASKED)),
    ):
        yield from _rows(tx, query)


def _relation(name: str) -> Composable:
    return Identifier(*name.split("."))


def _rows(tx: Transaction, query: Composed) -> Iterator[Offending]:
    with tx.cursor(row_factory=dict_row) as cursor:
        yield from cursor.execute(query, prepare=False)


_of = InFile("recoup.errors")
_log = InFile("recoup.errors", "log_invariants.sql")
_history = InFile("recoup.errors", "history_invariants.sql")
_tables = InFile("recoup.errors", "table_invariants.sql")

TTL: tuple[Invariant, ...] = (
    _of("errors/1/tiers", "error_rows",
        "Every error has one of the four tiers, and expires unless that is INFINITE."),
    _of("errors/1/ttl", "births",
        "An error expires a tier's days after it was created, or with the one that it superseded, whichever is later.",
        "errors/1/short", "errors/1/medium", "errors/1/long"),
    _of("errors/1/created-at", "births",
        "An error was created when it was recorded, or has the age of the one that it superseded."),
    _of("errors/1/infinite-stays", "error_rows", "What is kept for ever stays ACTIVE, and nothing INFINITE expires.",
        "errors/1/infinite"),
)  # fmt: skip

DISPOSITIONS: tuple[Invariant, ...] = (
    _of("errors/2/dispositions", "error_rows", "disposition is RETRY, PARKED, ARCHIVE or IGNORE."),
    _of("errors/2/status-of-disposition", "error_rows",
        "Status and disposition agree: RETRY waits for its retry, PARKED for a person, the others are ACTIVE."),
    _log("errors/2/state-machine", "neighbours",
        "Every event moves its error as the state machine lets it, and nothing follows an end but ARCHIVED."),
    _log("errors/2/told-disposition", "neighbours", "The log's dispositions agree with its statuses."),
)  # fmt: skip

TABLES: tuple[Invariant, ...] = (
    _tables("errors/3/tables", "error_tables", "Every error table of the policy is there, under its name."),
    _tables("errors/3/dead-tables", "error_tables", "No DEAD table is an error table."),
    _tables("errors/3/insert-only", "error_tables", "What is kept for ever never changes: its table is append-only."),
    _tables("errors/3/guards", "error_tables",
        "Every error table has every trigger of their parent, and nobody may write to it but through that."),
    _of("errors/3/policy-mapping", "births", "Every error is of a table that the policy on it lists."),
    _of("errors/3/allowed-at-birth", "births", "Every error was born with a disposition that its table allowed."),
    _log("errors/3/allowed-dispositions", "moves",
        "No error moved to a disposition that its table did not allow then."),
)  # fmt: skip

PARKING: tuple[Invariant, ...] = (
    _of("errors/4/parked-fields", "error_rows", "A PARKED error has parked_at, parked_by and park_reason.",
        "errors/4/disposition", "errors/4/parked-at", "errors/4/parked-by", "errors/4/park-reason"),
    _of("errors/4/escalation-level", "error_rows",
        "escalation_level is 0 to 3; what is ESCALATED has a level, a time and somebody to whom."),
    _of("errors/4/owner", "error_rows",
        "Somebody owns every parked error: who it is assigned to, or its table's owner.",
        "errors/4/assigned-to"),
    _of("errors/4/park-reasons", "births",
        "What is born parked has one of the five reasons, or that of its predecessor."),
    _of("errors/4/parking-triggers", "births",
        "What is born parked says by which trigger: its code, no retry can help, a person decides, or none is left.",
        "errors/4/non-retryable-error", "errors/4/escalation-required", "errors/4/external-dependency",
        "errors/4/data-quality"),
    _of("errors/4/kept-reason", "births",
        "Where parking was asked for and is not allowed, the error keeps the park reason."),
    _log("errors/4/max-retries-parks", "moves",
        "What had its last retry, or outlived its window, was parked wherever its table allows that.",
        "errors/4/max-retries-exceeded"),
    _history("errors/4/by-people", "by_people",
        "Who parked, assigned, reviewed or escalated an error is in its log, unless it inherited that."),
    _log("errors/4/exits", "neighbours",
        "A parked error left that status by UNPARKED, RESOLVED, ESCALATED or ARCHIVED only.",
        "errors/4/unpark", "errors/4/resolve", "errors/4/escalate", "errors/4/archive"),
)  # fmt: skip

RETRIES: tuple[Invariant, ...] = (
    _of("errors/5/max-retries", "births",
        "max_retries is its category's or its hub's, what it inherited, or one more than it had when it was unparked.",
        "errors/9/dol-max-retries", "errors/9/company-target-auto-park"),
    _log("errors/5/backoff", "schedule", "The next retry comes a wait after the last failure, as its category has it."),
    _log("errors/5/no-retry-before-its-time", "schedule", "No retry began before it was due."),
    _of("errors/5/window", "births",
        "The window closes so many hours after the error was created; a retry that a person started has none."),
    _history("errors/5/no-retry-after-window", "histories", "No retry began after the window had closed."),
    _of("errors/5/structural-is-parked", "births", "No structural error waits for a retry at birth."),
    _log("errors/5/retry-count", "neighbours",
        "retry_count rises by one when a retry ends, and at no other time.", "laws/L9/retry-count"),
    _of("errors/5/born-without-retries", "births", "An error that superseded none is born with no retries behind it."),
    _history("errors/5/last-retry-at", "histories", "last_retry_at is when the last retry was claimed."),
    _of("errors/5/next-retry-at", "error_rows", "Only what is RETRY_PENDING has a next retry, and within its window."),
    _of("errors/5/retry-exhausted", "error_rows", "retry_exhausted says whether retry_count has reached max_retries."),
    _of("errors/5/pending-has-a-retry-left", "error_rows",
        "What is RETRY_PENDING has a retry left, and a time for it."),
    _history("errors/5/retries-end", "histories", "No failed retry was followed by another one beyond max_retries."),
    _history("errors/5/retry-to-park", "histories",
        "What had its last retry is parked by system as MAX_RETRIES_EXCEEDED or RETRY_WINDOW_CLOSED, and keeps that"
        " reason where it is not."),
    _log("errors/5/one-retry-at-a-time", "neighbours", "A retry begins only when the one before it has ended.",
        "laws/L5/one-retry-at-a-time"),
)  # fmt: skip

PROMOTION: tuple[Invariant, ...] = (
    Invariant(
        id="errors/6/promotion-check-query",
        description="The gate blocks whom the printed query blocks in some blocking table, and nobody else.",
        check=_promotions,
        also=("errors/6/blocking-tables", "errors/6/isolation"),
    ),
)

ARCHIVE: tuple[Invariant, ...] = (
    _of("errors/7/archive-fields", "error_rows",
        "What is over has its time and one of four reasons; what is archived also by whom and with what disposition."),
    _of("errors/7/ttl-expired", "error_rows", "Only what had expired was archived as TTL_EXPIRED."),
    _history("errors/7/archive-reason", "histories",
        "An archive reason is what the log says: retried or resolved, superseded, archived by a person, or expired.",
        "errors/7/manual-archive", "errors/7/resolved"),
    _of("errors/7/superseded-by", "superseding",
        "What was superseded names a newer error of the same failure, at least as old and with as many retries.",
        "errors/7/superseded"),
    _of("errors/7/superseded-inherits", "births",
        "What superseded another was born with its retries, and parked if that was."),
    _of("errors/7/never-weakened", "births",
        "What superseded another is no less than that was, and says what it asked for instead."),
    _of("errors/7/one-open", "superseding", "Of one failure of one entity at most one error is open in a table."),
    _tables("errors/7/destination", "error_tables", "Every error table of the policy has its archive."),
    _tables("errors/7/archive-guards", "error_tables",
        "Every part of an archive takes rows from the recorder of exits alone, and is append-only."),
    _history("errors/7/moved-once", "histories", "An error is either live or archived, once, and the log says so."),
    _history("errors/7/nothing-lost", "histories",
        "Every error that was recorded is live, or archived, or in a month that was dropped.",
        "laws/L6/no-error-lost"),
    _history("errors/7/archived-at", "histories", "archived_at is when it was over, or was found expired."),
    _history("errors/7/archived-by", "histories", "archived_by is who ended it; of what expired, the archiver."),
    _of("errors/7/final-disposition", "error_rows", "final_disposition is the disposition that it had."),
    _history("errors/7/was-blocking", "histories",
        "What expired in a blocking table with work left to do is marked so."),
    _history("errors/2/repeated", "repeated",
        "What an error repeats of its last retry and of people's decisions is what its events say."),
    _history("errors/2/erased-by-people", "erasures",
        "Texts of an error changed only where an operator erased a secret."),
    _history("errors/7/archived-as-it-was", "archived", "An archived error is as it was when it left."),
    _tables("errors/7/in-its-month", "archived_in_their_month", "Every archived error lies in its month."),
    _tables("errors/7/months", "months", "Every kept month of an archive is there, and no dropped one."),
    _tables("errors/7/retention", "months", "No month of an archive was dropped before its retention was over."),
    _tables("errors/7/dropped-is-counted", "months",
        "A dropped month has its digest, and as many errors as the log says left then."),
)  # fmt: skip

DECISION: tuple[Invariant, ...] = (
    _of("errors/8/disposition", "births",
        "What became of a new error is what its code, its severity or its table says, as far as its table allows it.",
        "errors/8/high", "errors/8/medium", "errors/9/people-park-on-missing-name"),
    _of("errors/8/clamps", "births", "What was wanted and is not allowed is on the error, and nothing else is."),
    _of("errors/8/ttl-override", "births",
        "The tier is its hub's, its severity's or its table's, in this order; INFINITE is never overridden.",
        "errors/9/company-target-ttl", "errors/9/people-ttl"),
    _of("errors/8/critical-parks", "births", "A CRITICAL error is parked at once where its table allows it.",
        "errors/8/critical"),
    _of("errors/8/low-never-blocks", "births", "A LOW error blocks nothing.", "errors/8/low"),
    _of("errors/9/hub-rules-first", "births",
        "Decided by a person, else by the hub's rule for its code, the policy's, its severity, its table."),
)  # fmt: skip

LAWS: tuple[Invariant, ...] = (
    _log("laws/L1/error-authority", "neighbours",
        "What only a person does was done by an operator, and retries by a worker or a hub."),
    _of("laws/L8/error-stamped", "births", "Every error carries the policy that was in force when it was recorded."),
    _history("rebuild/recoup.error", "histories",
        "What the log says of an error is what stands in its table, or in its archive."),
    _tables("errors/operations-recorded", "operations",
        "Every item of an operation that is done has its event in the log."),
)  # fmt: skip

INVARIANTS: tuple[Invariant, ...] = (
    *TTL, *DISPOSITIONS, *TABLES, *PARKING, *RETRIES, *PROMOTION, *ARCHIVE, *DECISION, *LAWS,
)  # fmt: skip
