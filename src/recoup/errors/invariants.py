"""What the policy on error TTL and parking guarantees of errors, line by line, in its sections 1 to 10.

An id names section and guarantee. Lines that say the same thing are held by one query; their ids are its further ids.
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
_tiers = InFile("recoup.errors", "escalation_invariants.sql")
_tables = InFile("recoup.errors", "table_invariants.sql")
_metrics = InFile("recoup.errors", "metrics_invariants.sql")

TTL: tuple[Invariant, ...] = (
    _of("errors/1/tiers", "error_rows",
        "Every error has one of the four tiers, and expires unless that is INFINITE."),
    _of("errors/1/ttl", "births",
        "An error expires a tier's days after it was created, or with the one that it superseded, whichever is later.",
        "errors/1/short", "errors/1/medium", "errors/1/long"),
    _of("errors/1/created-at", "births",
        "An error was created when it was recorded, or has the age of the one that it superseded."),
    _of("errors/1/infinite-stays", "error_rows",
        "Errors that are kept for ever stay ACTIVE, and nothing INFINITE expires.",
        "errors/1/infinite"),
)  # fmt: skip

DISPOSITIONS: tuple[Invariant, ...] = (
    _of("errors/2/dispositions", "error_rows", "disposition is RETRY, PARKED, ARCHIVE or IGNORE."),
    _of("errors/2/status-of-disposition", "error_rows",
        "Status and disposition agree: RETRY is RETRY_PENDING, PARKED is PARKED or ESCALATED, the others are ACTIVE."),
    _log("errors/2/state-machine", "neighbours",
        "Every event is a move that the state machine allows, and only ARCHIVED follows an end."),
    _log("errors/2/told-disposition", "neighbours", "The log's dispositions agree with its statuses."),
)  # fmt: skip

TABLES: tuple[Invariant, ...] = (
    _tables("errors/3/tables", "error_tables", "Every error table of the policy exists, under its name."),
    _tables("errors/3/dead-tables", "error_tables", "No DEAD table is an error table."),
    _tables("errors/3/insert-only", "error_tables", "A table whose errors are kept for ever is append-only."),
    _tables("errors/3/guards", "error_tables",
        "Every error table has every trigger of the parent, and is written through the parent only."),
    _of("errors/3/policy-mapping", "births", "Every error is of a table that the policy on it lists."),
    _of("errors/3/allowed-at-birth", "births", "Every error was born with a disposition that its table allowed."),
    _log("errors/3/allowed-dispositions", "moves",
        "No error moved to a disposition that its table did not allow then."),
)  # fmt: skip

PARKING: tuple[Invariant, ...] = (
    _of("errors/4/parked-fields", "error_rows", "A PARKED error has parked_at, parked_by and park_reason.",
        "errors/4/disposition", "errors/4/parked-at", "errors/4/parked-by", "errors/4/park-reason"),
    _of("errors/4/escalation-level", "error_rows",
        "escalation_level is 0 to 3; an ESCALATED error has a level, a time and an owner."),
    _of("errors/4/owner", "error_rows",
        "Every parked error has an owner: the person it is assigned to, or its table's owner.",
        "errors/4/assigned-to"),
    _of("errors/4/park-reasons", "births",
        "An error that is parked at birth has one of the six reasons, or that of its predecessor."),
    _of("errors/4/parking-triggers", "births",
        "An error parked at birth has the right reason: its code, no retry can help, a person decides, none is left.",
        "errors/4/non-retryable-error", "errors/4/escalation-required", "errors/4/external-dependency",
        "errors/4/data-quality"),
    _of("errors/4/kept-reason", "births",
        "Where parking was asked for and is not allowed, the error keeps the park reason."),
    _log("errors/4/max-retries-parks", "moves",
        "An error whose retries are used or whose window closed was parked, wherever its table allows that.",
        "errors/4/max-retries-exceeded"),
    _history("errors/4/by-people", "by_people",
        "The person who parked, assigned, reviewed or escalated an error is in its log, unless it was inherited."),
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
        "The window closes a number of hours after the error was created; a retry that a person started has none."),
    _history("errors/5/no-retry-after-window", "histories", "No retry began after the window had closed."),
    _of("errors/5/structural-is-parked", "births", "No STRUCTURAL error is to be retried at birth."),
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
        "An error without retries left is parked by system as MAX_RETRIES_EXCEEDED or RETRY_WINDOW_CLOSED, and has that"
        " reason where it is not parked."),
    _log("errors/5/one-retry-at-a-time", "neighbours", "A retry begins only when the one before it has ended.",
        "laws/L5/one-retry-at-a-time"),
)  # fmt: skip

PROMOTION: tuple[Invariant, ...] = (
    Invariant(
        id="errors/6/promotion-check-query",
        description="The gate blocks the entities that the printed query blocks in some blocking table, and no others.",
        check=_promotions,
        also=("errors/6/blocking-tables", "errors/6/isolation"),
    ),
)

ARCHIVE: tuple[Invariant, ...] = (
    _of("errors/7/archive-fields", "error_rows",
        "A closed error has its time and one of four reasons; an archived one its disposition and who archived it."),
    _of("errors/7/ttl-expired", "error_rows", "Only what had expired was archived as TTL_EXPIRED."),
    _history("errors/7/archive-reason", "histories",
        "An archive reason is what the log says: retried or resolved, superseded, archived by a person, or expired.",
        "errors/7/manual-archive", "errors/7/resolved"),
    _of("errors/7/superseded-by", "superseding",
        "A superseded error names a newer error of the same failure, with at least its age and its retries.",
        "errors/7/superseded"),
    _of("errors/7/lineage", "superseding",
        "An error that superseded another has its lineage; any other begins its own."),
    _of("errors/7/superseded-inherits", "births",
        "An error that superseded another began with its retries, and parked if that was."),
    _of("errors/7/never-weakened", "births",
        "An error that superseded another is not weaker, and has in overruled what it asked for."),
    _of("errors/7/one-open", "superseding", "Of one failure of one entity at most one error is open in a table."),
    _tables("errors/7/destination", "error_tables", "Every error table of the policy has its archive."),
    _tables("errors/7/archive-guards", "error_tables",
        "Every part of an archive takes rows from the recorder of exits alone, and is append-only."),
    _history("errors/7/moved-once", "histories", "An error is either live or archived, once, and the log says so."),
    _history("errors/7/nothing-lost", "histories",
        "Every error that was recorded is live, or archived, or in a month that was dropped.",
        "laws/L6/no-error-lost"),
    _history("errors/7/archived-at", "histories", "archived_at is when it was closed, or found expired."),
    _history("errors/7/archived-by", "histories", "archived_by is who closed it; for expired errors, the archiver."),
    _of("errors/7/final-disposition", "error_rows", "final_disposition is the disposition that it had."),
    _history("errors/7/was-blocking", "histories",
        "An error that expired in a blocking table while it blocked is marked."),
    _history("errors/2/repeated", "repeated",
        "The columns on the last retry and on people's decisions agree with the events."),
    _history("errors/2/erased-by-people", "erasures",
        "Texts of an error changed only where an operator erased a secret."),
    _history("errors/7/archived-as-it-was", "archived", "An archived error is as it was when it left."),
    _tables("errors/7/in-its-month", "archived_in_their_month",
        "Every archived error is in the partition of its month."),
    _tables("errors/7/months", "months", "Every kept month of an archive exists, and no dropped one."),
    _tables("errors/7/retention", "months", "No month of an archive was dropped before its retention ended."),
    _tables("errors/7/dropped-is-counted", "months",
        "A dropped month has its digest, and as many errors as the log says left then."),
)  # fmt: skip

ESCALATION: tuple[Invariant, ...] = (
    _tiers("errors/10/every-parked-error-has-a-tier", "tier_rows",
        "Every parked error has a tier, with its owner and the time by which it has to be reviewed.",
        "errors/10/escalated-at", "errors/10/escalated-to"),
    _tiers("errors/10/escalation-level", "tier_rows", "The tier of an error is the one that the log says."),
    _tiers("errors/10/hub-team", "tier_rows", "The first tier belongs to the team of the table."),
    _tiers("errors/10/parked-since", "tier_rows",
        "parked_since is when an error was first parked, or the error that it superseded."),
    _tiers("errors/10/sla-hours", "tier_rows",
        "A review is due as many hours after its tier was reached as the policy has for it."),
    _tiers("errors/10/sla-met", "tier_rows", "A review that met its SLA was in its tier, and in time."),
    _tiers("errors/10/sla-breached", "tier_rows",
        "A review that is overdue was found so after it was due, and logged."),
    _tiers("errors/10/kept-for-every-tier", "tier_rows",
        "No parked error expired before it was in the last tier and its review there was due."),
    _tiers("errors/10/tier-is-due", "tier_events",
        "A tier that was raised with time was due, and the tiers between were skipped."),
    _tiers("errors/10/tier-owner", "tier_events",
        "A tier that was raised with time went to its owner: the hub team, the hub lead, the platform team.",
        "errors/10/hub-lead", "errors/10/platform-team"),
    _tiers("errors/10/sla-once", "tier_events", "An overdue review is logged once for each tier, after it was due."),
)  # fmt: skip

DECISION: tuple[Invariant, ...] = (
    _of("errors/8/disposition", "births",
        "The disposition of a new error follows from its code, severity or table, as far as its table allows it.",
        "errors/8/high", "errors/8/medium", "errors/9/people-park-on-missing-name"),
    _of("errors/8/clamps", "births", "clamped_from is what was wanted and is not allowed, and null otherwise."),
    _of("errors/8/ttl-override", "births",
        "The tier is its hub's, its severity's or its table's, in this order; INFINITE is never overridden.",
        "errors/9/company-target-ttl", "errors/9/people-ttl"),
    _of("errors/8/critical-parks", "births", "A CRITICAL error is parked at once where its table allows it.",
        "errors/8/critical"),
    _of("errors/8/low-never-blocks", "births", "A LOW error does not begin to block.", "errors/8/low"),
    _of("errors/9/hub-rules-first", "births",
        "Decided by a person, else by the hub's rule for its code, the policy's, its severity, its table."),
)  # fmt: skip

LAWS: tuple[Invariant, ...] = (
    _log("laws/L1/error-authority", "neighbours",
        "Decisions were made by an operator or for a recovery candidate, retries by a worker or a hub, and clearing by"
        " a hub."),
    _log("laws/L5/tracebacks", "tracebacks", "A traceback is of a retry that failed under its token."),
    _of("laws/L8/error-stamped", "births",
        "Every error has the version of the policy that was active when it was recorded."),
    _history("rebuild/recoup.error", "histories",
        "An error in its table, or in its archive, agrees with the log."),
    _tables("errors/operations-recorded", "operations",
        "Every item of an operation that is done has its event in the log."),
)  # fmt: skip

METRICS: tuple[Invariant, ...] = (
    _metrics("errors/11/tally", "tally", "The counts that metrics are read from are those of the log."),
)

INVARIANTS: tuple[Invariant, ...] = (
    *TTL, *DISPOSITIONS, *TABLES, *PARKING, *RETRIES, *PROMOTION, *ARCHIVE, *DECISION, *ESCALATION, *METRICS, *LAWS,
)  # fmt: skip
