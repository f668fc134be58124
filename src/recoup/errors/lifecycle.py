"""The lifecycles of errors and of the months of their archives, and the logs of both."""

from collections.abc import Iterator
from enum import StrEnum

from recoup.errors.vocabulary import ErrorStatus
from recoup.lifecycles.declaration import (
    RECORD_CONTROL,
    Authority,
    Birth,
    Exit,
    Given,
    Lifecycle,
    Move,
    MoveRule,
    On,
    Queue,
    Story,
)
from recoup.lifecycles.logs import Log

HUB, WORKER, OPERATOR, ARCHIVER = Authority.HUB, Authority.ERROR_WORKER, Authority.OPERATOR, Authority.ARCHIVER
EXECUTOR, REVIEWER = Authority.EXECUTOR, Authority.REVIEWER
ACTIVE, RETRY_PENDING, PARKED, ESCALATED, RESOLVED = ErrorStatus
ERASE = "recoup.settle_error_redactions"
CANDIDATE = ("recovery.settle_candidates",)  # what follows from the steps of a recovery candidate
OPEN = (ACTIVE, RETRY_PENDING, PARKED, ESCALATED)


class MonthStatus(StrEnum):
    KEPT = "KEPT"  # its partition exists
    DROPPED = "DROPPED"  # its retention ended; count and digest remain


def _retries() -> Iterator[Move]:
    """A hub retries what it claims, and so does the worker with a hub's handler."""
    for by in (WORKER, HUB):
        yield Move(RETRY_PENDING, RETRY_PENDING, by, "a retry begins, or failed with others left")
        yield Move(RETRY_PENDING, PARKED, by, "the last retry failed, or the window closed")
        yield Move(RETRY_PENDING, ACTIVE, by, "the same where parking is not allowed: it is archived when it expires")
        yield Move(
            RETRY_PENDING, RESOLVED, by, "a retry succeeded" + (", or a later run of the work" if by is HUB else "")
        )


def _recovered() -> Iterator[Move]:
    """What recovery candidates do with errors that wait for a person."""
    for status in (PARKED, ESCALATED):
        yield Move(status, RETRY_PENDING, EXECUTOR, "unparked for a recovery candidate", via=CANDIDATE)
        yield Move(status, status, EXECUTOR, "escalated or archived for a recovery candidate", via=CANDIDATE)
        yield Move(status, status, REVIEWER, "reviewed, through the decision on a recovery candidate", via=CANDIDATE)
    yield Move(PARKED, ESCALATED, EXECUTOR, "escalated for a recovery candidate", via=CANDIDATE)


# The columns of the first form of birth digests, with those that may be erased.
FROZEN = (
    "error_table", "error_id", "outreach_id", "work_key", "error_code", "error_signature", "severity", "category",
    "ttl_tier", "decided_by", "clamped_from", "overruled", "policy_version", "created_at",
)  # fmt: skip
ERASABLE = ("error_message", "payload")

ERROR = Lifecycle(
    table="recoup.error",
    description="A failure of a hub. Resolving, superseding or archiving it sets archived_at: it stops blocking, and"
    " the archiver moves it.",
    key=("error_table", "error_id"),
    births=(
        Birth(ACTIVE, HUB, "nothing to do: IGNORE, or ARCHIVE"),
        Birth(RETRY_PENDING, HUB, "to be retried"),
        Birth(PARKED, HUB, "waits for a person"),
        Birth(ESCALATED, HUB, "it supersedes one that a person escalated"),
    ),
    moves=(
        *_retries(),
        *(Move(status, status, HUB, "a newer one supersedes it") for status in (ACTIVE, PARKED, ESCALATED)),
        *(Move(status, status, WORKER, "its tier is due, or its review is overdue") for status in (PARKED, ESCALATED)),
        Move(ACTIVE, RESOLVED, HUB, "a later run of the same work succeeded"),
        Move(ACTIVE, PARKED, OPERATOR, "a person parks it"),
        Move(ACTIVE, RETRY_PENDING, OPERATOR, "a person starts a retry"),
        Move(ACTIVE, RESOLVED, OPERATOR, "a person resolved it"),
        Move(PARKED, RETRY_PENDING, OPERATOR, "unparked: one more retry than it has had"),
        Move(PARKED, RESOLVED, OPERATOR, "a person resolved it"),
        Move(PARKED, ESCALATED, OPERATOR, "a person escalated it"),
        Move(ESCALATED, RETRY_PENDING, OPERATOR, "unparked: one more retry than it has had"),
        Move(ESCALATED, RESOLVED, OPERATOR, "a person resolved it"),
        Move(RETRY_PENDING, PARKED, OPERATOR, "a person parks it"),
        Move(RETRY_PENDING, RESOLVED, OPERATOR, "a person resolved it"),
        *(Move(status, status, OPERATOR, "assigned, reviewed, redacted, or archived by hand") for status in OPEN),
        Move(RESOLVED, RESOLVED, OPERATOR, "redacted", via=(ERASE,)),
        *_recovered(),
    ),
    exits=tuple(Exit(status, ARCHIVER, "to the archive") for status in ErrorStatus),
    frozen=(*FROZEN, "lineage_id"),
    erasable=ERASABLE,
    earlier_contents=((*FROZEN, *ERASABLE),),  # errors had no lineage
    once=("superseded_by", "archived_at", "archive_reason", "parked_since"),
    rising=("retry_count", "max_retries", "expires_at", "updated_at", "escalation_level"),
    move_rule=MoveRule(
        broken="recoup.error_move_broken",
        refusal="recoup.error_move_refusal",
        policy="recoup.error_policy",
        gathers="recoup.error_change",
        then="recoup.judge_error_changes",
    ),
    rules=(On("insert", "recoup.rule_error_births"), On("delete", "recoup.rule_error_exits")),
    recorders=(
        On("insert", "recoup.record_error_births"), On("update", "recoup.record_error_moves"),
        On("delete", "recoup.archive_errors_gone"),
    ),
    queue=Queue(
        table="recoup.error_queue",
        waiting=(RETRY_PENDING,),
        open="archived_at",
        unit="error_id",
        part="error_table",
        round="retry_count",
        due="next_retry_at",
        until="retry_until",
        carries=("category", "max_retries"),
        claim="recoup.claim_errors",
        expire="recoup.lapse_retries",
        end="recoup.end_retries",
        claimed_by=(HUB, WORKER),
        gives=(
            ("error_table", "tables"), ("error_id", "ids"), ("outreach_id", "entities"), ("work_key", "work_keys"),
            ("error_code", "codes"), ("error_message", "messages"), ("error_signature", "signatures"),
            ("severity", "severities"), ("category", "categories"), ("retry_count", "counts"),
            ("max_retries", "budgets"), ("payload", "payloads"), ("retry_with", "alternatives"),
            ("created_at", "created"),
        ),
        lease="make_interval(secs => (recoup.error_policy() ->> 'retry_lease_s')::integer)",
        breaks=True,
        earlier_claims="select error_table, error_id, retry_count, reason from recoup.error_event"
        " where event_type = 'CLAIMED'",
    ),
    story=Story(log="recoup.error_event", key=("error_table", "error_id"), gone="ARCHIVED", rebuilds=False),
    pausable=True,
    archive="recoup.error_archive",
    given=Given(log="recoup.error_event", key=("error_table", "error_id"), born="RECORDED"),
)  # fmt: skip

ARCHIVE_MONTH = Lifecycle(
    table="recoup.error_archive_month",
    description="A month of an archive. Making the row makes its partition; dropping it drops the partition.",
    key=("error_table", "month"),
    births=(Birth(MonthStatus.KEPT, ARCHIVER, "its partition is made"),),
    moves=(Move(MonthStatus.KEPT, MonthStatus.DROPPED, ARCHIVER, "its retention ended"),),
    frozen=("error_table", "month", "made_at"),
    once=("dropped_at", "rows", "digest"),
    rules=(On("update", "recoup.rule_archive_months"),),
    recorders=(On("insert", RECORD_CONTROL), On("update", RECORD_CONTROL, ("rows", "digest"))),
    consequences=(On("insert", "recoup.settle_archive_months"), On("update", "recoup.settle_archive_months")),
)

REDACTION = Lifecycle(
    table="recoup.error_redaction",
    description="Texts of an error that are erased after it was recorded. Making the row erases them.",
    key=("redaction_id",),
    births=(Birth("DONE", OPERATOR, "a person erases what should not have been recorded"),),
    moves=(
        # What one erasure leaves may hold what the next one erases.
        Move("DONE", "DONE", OPERATOR, "its texts are in the error, and not kept here", via=(ERASE,)),
    ),
    frozen=("redaction_id", "error_table", "error_id", "digest", "redacted_at"),
    rules=(On("insert", "recoup.rule_error_redactions"),),
    recorders=(On("insert", RECORD_CONTROL, ("error_table", "error_id", "digest")),),
    consequences=(On("insert", ERASE),),
)  # fmt: skip

TRACEBACK = Lifecycle(
    table="recoup.retry_traceback",
    description="The traceback of a retry that failed. It never changes.",
    key=("traceback_id",),
    births=tuple(Birth("KEPT", by, "a retry failed") for by in (HUB, WORKER)),
    exits=(
        Exit("KEPT", OPERATOR, "it holds a secret"),
        Exit("KEPT", ARCHIVER, "the archive of its error was dropped"),
    ),
    frozen=("traceback_id", "error_table", "error_id", "retry", "token", "traceback", "recorded_at"),
    rules=(On("insert", "recoup.rule_retry_tracebacks"), On("delete", "recoup.rule_traceback_exits")),
    recorders=(On("insert", RECORD_CONTROL), On("delete", RECORD_CONTROL)),
)

EVENTS = Log(
    table="recoup.error_event",
    at="logged_at",
    recorders=("recoup.record_error_births", "recoup.record_error_moves", "recoup.archive_errors_gone"),
    columns=(
        (
            "seq", "xid", "incarnation", "logged_at", "error_table", "error_id", "event_type", "from_status",
            "to_status", "disposition", "retry_count", "reason", "facts", "actor", "actor_id", "authority",
        ),
        (
            "seq", "xid", "incarnation", "logged_at", "error_table", "error_id", "event_type", "from_status",
            "to_status", "disposition", "retry_count", "reason", "facts", "token", "actor", "actor_id", "authority",
        ),
        (
            "seq", "xid", "incarnation", "logged_at", "error_table", "error_id", "event_type", "from_status",
            "to_status", "disposition", "retry_count", "reason", "facts", "token", "actor", "actor_id", "authority",
            "login", "form", "digest",
        ),
    ),
)  # fmt: skip
# Not sealed: its months are dropped when their retention ends, and the digest of each is in the control log.
ARCHIVE = Log(table="recoup.error_archive", at="archived_at", recorders=("recoup.archive_errors_gone",))
PROCESSED = Log(
    table="recoup.processed",
    at="logged_at",
    times=("period_from", "period_to"),
    door="recoup.stamp_processed",
    columns=(
        (
            "seq", "xid", "incarnation", "logged_at", "error_table", "period_from", "period_to", "count",
            "idempotency_key", "actor", "actor_id", "authority", "login",
        ),
    ),
)  # fmt: skip
