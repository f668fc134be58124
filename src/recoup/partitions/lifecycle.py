"""The lifecycles of a partition, its runs and its schedule, and their logs.

The control plane acts on schedules and opens runs; extractors and validators act on runs. A partition itself is never
changed by hand: its status follows from its runs and its schedule.
"""

from recoup.lifecycles.declaration import RECORD_CONTROL, Authority, Birth, Lifecycle, Move, MoveRule, On, Story
from recoup.lifecycles.logs import Log
from recoup.partitions.vocabulary import PartitionStatus, RunStatus, ScheduleStatus, SinkStatus

CONTROL_PLANE, EXTRACTOR, VALIDATOR = Authority.CONTROL_PLANE, Authority.EXTRACTOR, Authority.VALIDATOR
EXECUTOR = Authority.EXECUTOR
PENDING, SUCCESS, FAILED = PartitionStatus
OPEN, PUBLISHED, ACCEPTED, REJECTED, LOST = RunStatus
WAITING, BUSY, HELD, TERMINAL, IDLE = ScheduleStatus
AVAILABLE, UNAVAILABLE = SinkStatus

BY_RUN = ("partitions.settle_run_moves",)
BY_SCHEDULE = ("partitions.settle_schedules",)
BY_REQUEST = ("partitions.settle_requeue_requests",)  # of a recovery candidate, for the control plane
TO_OPEN = ("partitions.settle_run_births", "partitions.settle_run_moves")

PARTITION = Lifecycle(
    table="partitions.partition_state",
    description="What became of a partition. Its status follows from its runs and its schedule, never by hand.",
    key=("partition_id",),
    births=(Birth(PENDING, CONTROL_PLANE, "it is enqueued, together with its schedule"),),
    moves=(
        Move(PENDING, SUCCESS, VALIDATOR, "a run was accepted, and is the current one", counts=True, via=BY_RUN),
        Move(PENDING, FAILED, VALIDATOR, "a run was rejected", counts=True, via=BY_RUN),
        Move(SUCCESS, SUCCESS, VALIDATOR, "it was reprocessed; the current run changes only if the new one"
             " was accepted", counts=True, via=BY_RUN),
        # Asked for, never automatic: a failure that requeues itself becomes a retry storm.
        Move(FAILED, PENDING, CONTROL_PLANE, "it is dispatched again, or asked for again", via=BY_SCHEDULE),
        Move(FAILED, PENDING, EXECUTOR, "it is asked for again, for a recovery candidate", via=BY_SCHEDULE),
    ),
    counter="attempt_count",
    frozen=("partition_id", "source", "customer_id", "query_name", "logical_date", "created_at"),
    rising=("attempt_count", "updated_at"),
    rules=(On("insert", "partitions.rule_partition_births"),),
    recorders=(On("insert", "partitions.record_partitions"), On("update", "partitions.record_partitions")),
    story=Story(log="partitions.partition_event", key=("partition_id",), about="l.subject = 'partition'"),
    pausable=True,
)  # fmt: skip

RUN = Lifecycle(
    table="partitions.run",
    description="One extraction of a partition with its verdict. A retry is a new run.",
    key=("run_id",),
    births=(Birth(OPEN, CONTROL_PLANE, "its partition is dispatched"),),
    moves=(
        Move(OPEN, OPEN, EXTRACTOR, "its extraction starts, once under a token"),
        Move(OPEN, OPEN, CONTROL_PLANE, "its lease is extended"),
        Move(OPEN, PUBLISHED, EXTRACTOR, "its data is in the raw sink"),
        Move(OPEN, LOST, CONTROL_PLANE, "its extractor failed or is gone, and others may be dispatched"),
        Move(OPEN, REJECTED, VALIDATOR, "nothing to validate came of the last dispatch"),
        Move(PUBLISHED, PUBLISHED, CONTROL_PLANE, "its lease is extended, has expired, or it is dispatched to be"
             " validated again"),
        Move(PUBLISHED, PUBLISHED, VALIDATOR, "its validation starts, once under a token"),
        Move(PUBLISHED, LOST, CONTROL_PLANE, "its data is gone from the raw sink"),
        Move(PUBLISHED, ACCEPTED, VALIDATOR, "its validator accepted it"),
        Move(PUBLISHED, REJECTED, VALIDATOR, "its validator rejected it, raised, or was lost too often"),
    ),
    frozen=("run_id", "partition_id", "number", "dispatch_no", "lane", "pool", "reprocesses", "alternative",
            "candidate_id", "policy_version", "opened_at"),
    once=("sink_id", "location", "manifest_digest", "format", "rows", "bytes", "published_at", "ended_at",
          "ended_with", "rule", "validator", "validator_version", "contract_digest"),
    rising=("validations", "turn", "dispatched_at", "updated_at"),
    move_rule=MoveRule(broken="partitions.run_move_broken", refusal="partitions.run_move_refusal"),
    rules=(On("insert", "partitions.rule_run_births"), On("update", "partitions.rule_run_moves")),
    recorders=(On("insert", "partitions.record_run_births"), On("update", "partitions.record_run_moves")),
    consequences=(On("insert", "partitions.settle_run_births"), On("update", "partitions.settle_run_moves")),
    story=Story(log="partitions.partition_event", key=("run_id",), about="l.subject = 'run'"),
)  # fmt: skip

SCHEDULE = Lifecycle(
    table="partitions.schedule",
    description="When the control plane works on a partition next, and why not.",
    key=("partition_id",),
    births=(Birth(WAITING, CONTROL_PLANE, "its partition is enqueued"),),
    moves=(
        Move(WAITING, BUSY, CONTROL_PLANE, "a run is dispatched", via=TO_OPEN),
        Move(WAITING, WAITING, CONTROL_PLANE, "it is asked for now, or in another lane"),
        Move(WAITING, HELD, CONTROL_PLANE, "its backfill is paused or cancelled"),
        Move(WAITING, TERMINAL, CONTROL_PLANE, "it is too old, or a person marked it"),
        Move(WAITING, IDLE, CONTROL_PLANE, "a reprocessing is given up before it began"),
        Move(BUSY, WAITING, CONTROL_PLANE, "its run failed, and the next waits by the backoff"),
        Move(BUSY, HELD, CONTROL_PLANE, "its run failed for a structural reason, or its backfill was held meanwhile"),
        Move(BUSY, TERMINAL, CONTROL_PLANE, "its run failed for the last time"),
        Move(BUSY, IDLE, CONTROL_PLANE, "its run was accepted, or its reprocessing rejected"),
        Move(HELD, WAITING, CONTROL_PLANE, "it is released"),
        Move(HELD, HELD, CONTROL_PLANE, "it is held for another reason"),
        Move(HELD, TERMINAL, CONTROL_PLANE, "a person marked it"),
        Move(HELD, IDLE, CONTROL_PLANE, "a reprocessing is given up before it began"),
        Move(TERMINAL, TERMINAL, CONTROL_PLANE, "a person marked it, too"),
        Move(TERMINAL, WAITING, CONTROL_PLANE, "a logged override"),
        Move(TERMINAL, TERMINAL, EXECUTOR, "its gap is accepted, for a recovery candidate", via=BY_REQUEST),
        Move(TERMINAL, WAITING, EXECUTOR, "a logged override, for a recovery candidate", via=BY_REQUEST),
        Move(IDLE, WAITING, CONTROL_PLANE, "it is to be reprocessed"),
    ),
    frozen=("partition_id", "source", "query_name", "first_enqueued_at"),
    once=("first_dispatched_at",),
    rising=("attempts_seen", "granted_attempts", "requested_at", "updated_at"),
    move_rule=MoveRule(broken="partitions.schedule_move_broken", refusal="partitions.schedule_move_refusal"),
    rules=(On("insert", "partitions.rule_schedule_births"), On("update", "partitions.rule_schedule_moves")),
    recorders=(On("insert", "partitions.record_schedules"), On("update", "partitions.record_schedules")),
    consequences=(
        On("update", "partitions.settle_backfill_items"), On("update", "partitions.settle_schedules"),
    ),
    story=Story(log="partitions.partition_event", key=("partition_id",), about="l.subject = 'schedule'"),
)  # fmt: skip

SINK = Lifecycle(
    table="partitions.sink",
    description="A registered raw sink, and whether workers can use it.",
    key=("sink_id",),
    births=(Birth(AVAILABLE, Authority.OPERATOR, "a person registers it"),),
    moves=(
        Move(AVAILABLE, UNAVAILABLE, CONTROL_PLANE, "a worker cannot use it"),
        Move(UNAVAILABLE, UNAVAILABLE, CONTROL_PLANE, "the worker still cannot use it"),
        Move(UNAVAILABLE, AVAILABLE, CONTROL_PLANE, "the worker can use it again"),
    ),
    frozen=("sink_id", "name", "registered_at", "registered_by"),
    rising=("updated_at",),
    rules=(On("insert", "partitions.rule_sinks"), On("update", "partitions.rule_sinks")),
    recorders=(
        On("insert", RECORD_CONTROL, ("name",)),
        On("update", RECORD_CONTROL, ("cause", "message", "host", "outage_at", "restored_at")),
    ),
)

EVENTS = Log(
    table="partitions.partition_event",
    at="logged_at",
    recorders=(
        "partitions.record_partitions", "partitions.record_run_births", "partitions.record_run_moves",
        "partitions.record_schedules",
    ),
    columns=(
        (
            "seq", "xid", "incarnation", "logged_at", "subject", "partition_id", "run_id", "event_type", "from_status",
            "to_status", "reason", "facts", "token", "actor", "actor_id", "authority", "login",
        ),
    ),
)  # fmt: skip

ATTEMPTS = Log(
    table="partitions.attempt",
    at="logged_at",
    times=("opened_at", "published_at"),
    recorders=("partitions.record_run_moves",),
    columns=(
        (
            "seq", "xid", "incarnation", "logged_at", "partition_id", "run_id", "number", "verdict", "reason", "rule",
            "message", "error_signature", "category", "rows", "bytes", "digest", "location", "sink_id", "validator",
            "validator_version", "contract_digest", "policy_version", "opened_at", "published_at", "actor",
            "actor_id", "authority", "login", "accepted_run_id",
        ),
    ),
)  # fmt: skip

OVERRIDES = Log(
    table="partitions.override_log",
    at="logged_at",
    recorders=("partitions.record_schedules",),
    columns=(
        (
            "seq", "xid", "incarnation", "logged_at", "command", "selection", "partitions", "before", "after",
            "reason", "actor", "actor_id", "authority", "login",
        ),
    ),
)  # fmt: skip
