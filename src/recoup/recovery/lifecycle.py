"""The lifecycles of recovery, and its log, the provenance."""

from recoup.lifecycles.declaration import (
    RECORD_CONTROL,
    Authority,
    Birth,
    Lifecycle,
    Move,
    MoveRule,
    On,
    Queue,
    Story,
)
from recoup.lifecycles.logs import Log
from recoup.recovery.vocabulary import (
    BreakerStatus,
    CandidateStatus,
    ConfigStatus,
    IncidentStatus,
    MatchStatus,
    ScopeStatus,
    TaskStatus,
)

MATCHER, RULE_ENGINE, EVALUATOR = Authority.MATCHER, Authority.RULE_ENGINE, Authority.EVALUATOR
CLAIM_WORKER, EXECUTOR, REVIEWER = Authority.CLAIM_WORKER, Authority.EXECUTOR, Authority.REVIEWER
SCOPED_EXECUTION, OPERATOR = Authority.SCOPED_EXECUTION, Authority.OPERATOR
PROVENANCE_LOG = "recovery.provenance"
SETTLE = ("recovery.settle_candidates",)  # what follows from a claim, an effect, an approval

INCIDENT = Lifecycle(
    table="recovery.incident",
    description="Failures of one source with one signature, while they come.",
    key=("incident_id",),
    births=(Birth(IncidentStatus.OPEN, MATCHER, "the first match of its source and signature"),),
    moves=(Move(IncidentStatus.OPEN, IncidentStatus.CLOSED, EVALUATOR, "no match of it is open, and none came"),),
    frozen=("incident_id", "source", "error_signature", "follows", "opened_at"),
    once=("closed_at",),
    rules=(On("insert", "recoup.rule_times", ("incident_id", "opened_at")), On("update", "recovery.rule_incidents")),
    recorders=(On("insert", "recovery.record_incidents"), On("update", "recovery.record_incidents")),
    story=Story(log=PROVENANCE_LOG, key=("incident_id",), about="starts_with(l.event_type, 'incident_')"),
)

NEW, EVALUATED, STUCK, RECOVERED, ACCEPTED, UNRECOVERED = MatchStatus

MATCH = Lifecycle(
    table="recovery.failure_match",
    description="One failure, to be recovered from. Its evaluations are its queue; it always has a next one.",
    key=("failure_match_id",),
    births=(Birth(NEW, MATCHER, "a failure was ingested; its evaluation is queued with it"),),
    moves=(
        Move(NEW, EVALUATED, EVALUATOR, "evaluated"),
        *(Move(status, status, EVALUATOR, "evaluated again, or woken") for status in (NEW, EVALUATED, STUCK)),
        *(Move(status, STUCK, EVALUATOR, "its evaluation failed five times") for status in (NEW, EVALUATED)),
        *(
            Move(status, target, EVALUATOR, says)
            for target, says in (
                (RECOVERED, "the failure is gone"),
                (ACCEPTED, "a person accepted it"),
                (UNRECOVERED, "nothing is left to try, or its time has passed"),
            )
            for status in (NEW, EVALUATED, STUCK)
        ),
        Move(STUCK, NEW, OPERATOR, "an operator resumes it"),
        *(
            Move(status, status, OPERATOR, "an operator reports its end outside, or wakes it")
            for status in (NEW, EVALUATED, STUCK)
        ),
    ),
    frozen=(
        "failure_match_id", "incident_id", "source", "idempotency_key", "subject_kind", "subject_ref", "error_code",
        "error_message", "error_signature", "category", "context", "digest", "follows", "match_until",
        "policy_version", "created_at",
    ),
    once=("ended_at", "recovered_at", "end_reason", "reported_end", "reported_by"),
    rising=("evaluation_no", "wakes", "updated_at"),
    rules=(On("insert", "recovery.rule_match_births"), On("update", "recovery.rule_match_moves")),
    recorders=(On("insert", "recovery.record_match_births"), On("update", "recovery.record_match_moves")),
    queue=Queue(
        table="recovery.match_queue",
        waiting=(NEW, EVALUATED, STUCK),
        unit="failure_match_id",
        round="evaluation_no",
        due="evaluate_at",
        claim="recovery.claim_matches",
        expire="recovery.expire_evaluations",
        end="recovery.end_evaluations",
        claimed_by=(EVALUATOR,),
        gives=(("failure_match_id", "ids"), ("evaluation_no", "rounds"), ("wakes", "wakes_")),
        lease="make_interval(secs => (recovery.policy() ->> 'evaluation_lease_s')::integer)",
        outcome="outcome",
    ),
    story=Story(log=PROVENANCE_LOG, key=("failure_match_id",), about="starts_with(l.event_type, 'match_')"),
    pausable=True,
)  # fmt: skip

EVALUATED_BY_PLAN = (
    "failure_match_id", "evaluation_no", "rules", "fired", "recommended_action", "weight", "facts", "policy_version",
    "evaluated_at",
)  # fmt: skip
EVALUATION = Lifecycle(
    table="recovery.evaluation",
    description="What the rules recommend for a match. It never changes.",
    key=("failure_match_id", "evaluation_no"),
    births=(Birth("done", RULE_ENGINE, "the rules were evaluated"),),
    frozen=(*EVALUATED_BY_PLAN, "errors"),
    earlier_contents=(EVALUATED_BY_PLAN,),  # there were no rules that could fail
    rules=(On("insert", "recovery.rule_evaluations"),),
    recorders=(On("insert", "recovery.record_evaluations"),),
    story=Story(
        log=PROVENANCE_LOG, key=("failure_match_id", "number"), about="l.event_type = 'rule_evaluated'"
    ),
)  # fmt: skip

PENDING, APPROVED, REJECTED, EXECUTING, SUCCEEDED, FAILED, ROLLED_BACK, SKIPPED = CandidateStatus

CANDIDATE = Lifecycle(
    table="recovery.candidate",
    description="One action that may recover a match. It is started at most once.",
    key=("candidate_id",),
    births=(Birth(PENDING, MATCHER, "created, with confidence 0"),),
    moves=(
        Move(PENDING, PENDING, MATCHER, "its confidence is estimated"),
        Move(PENDING, PENDING, EVALUATOR, "its action and its scope are selected"),
        Move(PENDING, APPROVED, REVIEWER, "a person approved it"),
        Move(PENDING, REJECTED, REVIEWER, "a person rejected it"),
        Move(APPROVED, EXECUTING, CLAIM_WORKER, "started"),
        Move(PENDING, EXECUTING, CLAIM_WORKER, "started without a person, as its gates allow"),
        Move(EXECUTING, EXECUTING, EXECUTOR, "its effect is made"),
        Move(EXECUTING, EXECUTING, EVALUATOR, "a person acted on its subject meanwhile"),
        Move(EXECUTING, SUCCEEDED, EVALUATOR, "the failure is gone, or its own effect is done"),
        Move(EXECUTING, FAILED, EVALUATOR, "it did not work, or its lease expired"),
        Move(EXECUTING, ROLLED_BACK, EVALUATOR, "it undid itself"),
        Move(PENDING, SKIPPED, EVALUATOR, "not executed, by rule"),
        Move(APPROVED, SKIPPED, EVALUATOR, "not executed, by rule"),
    ),
    frozen=(
        "candidate_id", "failure_match_id", "incident_id", "error_signature", "subject_kind", "follows", "proposed_by",
        "recommended_action", "decide_by", "policy_version", "created_at",
    ),
    once=(
        "decided_by", "decided_at", "decision_note", "executed_at", "worker", "token", "lease_until",
        "idempotency_key", "effect_made_at", "reported", "awaits", "outcome_by", "overridden_by",
        "finished_at", "skip_reason", "result",
    ),
    rising=("updated_at",),
    move_rule=MoveRule(
        broken="recovery.candidate_move_broken",
        refusal="recovery.candidate_move_refusal",
        policy="recovery.gates",
    ),
    rules=(On("insert", "recovery.rule_candidate_births"),),
    recorders=(On("insert", "recovery.record_candidate_births"), On("update", "recovery.record_candidate_moves")),
    consequences=(On("update", "recovery.settle_candidates"),),
    story=Story(
        log=PROVENANCE_LOG,
        key=("candidate_id",),
        about="l.candidate_id is not null and l.event_type not in ('manual_override', 'crashed')",
    ),
    pausable=True,
)  # fmt: skip

ACTIVE, EXHAUSTED, EXPIRED, REVOKED = ScopeStatus

SCOPE = Lifecycle(
    table="recovery.scope",
    description="A boundary: which actions may be executed for an incident, how often, at what cost, until when.",
    key=("scope_id",),
    births=(Birth(ACTIVE, SCOPED_EXECUTION, "opened by an operator, or by policy"),),
    moves=(
        Move(ACTIVE, ACTIVE, CLAIM_WORKER, "a claim spends attempts and cost", via=SETTLE),
        Move(ACTIVE, EXHAUSTED, CLAIM_WORKER, "a claim spent the last of it", via=SETTLE),
        Move(ACTIVE, EXPIRED, SCOPED_EXECUTION, "its time has passed"),
        Move(ACTIVE, REVOKED, SCOPED_EXECUTION, "an operator revoked it"),
    ),
    frozen=(
        "scope_id", "incident_id", "allowed_actions", "max_attempts", "cost_limit", "least_cost", "ttl_seconds",
        "expires_at", "opened_by", "reason", "policy_version", "opened_at",
    ),
    once=("ended_at",),
    rising=("attempts_used", "cost_used"),
    move_rule=MoveRule(broken="recovery.scope_move_broken", refusal="recovery.scope_move_refusal"),
    rules=(On("insert", "recovery.rule_scope_births"),),
    recorders=(On("insert", "recovery.record_scope_births"), On("update", "recovery.record_scope_moves")),
    story=Story(log=PROVENANCE_LOG, key=("scope_id",), about="starts_with(l.event_type, 'scope_')"),
)  # fmt: skip

TASK = Lifecycle(
    table="recovery.task",
    description="Something that a person is asked to do, with a due time.",
    key=("task_id",),
    births=(Birth(TaskStatus.OPEN, EXECUTOR, "the action manual or escalate made it", via=SETTLE),),
    moves=(
        Move(TaskStatus.OPEN, TaskStatus.DONE, OPERATOR, "a person did it"),
        Move(TaskStatus.OPEN, TaskStatus.CANCELLED, OPERATOR, "a person decided not to"),
    ),
    frozen=("task_id", "incident_id", "action_name", "owner", "subject", "due_at", "created_at"),
    once=("ended_at", "ended_by", "note"),
    rules=(On("update", "recovery.rule_tasks"),),
    recorders=(On("insert", RECORD_CONTROL, ("owner", "due_at")), On("update", RECORD_CONTROL, ("ended_by", "note"))),
)

CONFIG = Lifecycle(
    table="recovery.config",
    description="A key that programs read, with all its versions; the last one counts. Nothing of it changes.",
    key=("key", "version"),
    births=(
        Birth(ConfigStatus.SET, EXECUTOR, "the action reconfigure set it, or a rollback restored it", via=SETTLE),
        Birth(ConfigStatus.REMOVED, EXECUTOR, "a rollback: before, it was not set", via=SETTLE),
        Birth(ConfigStatus.SET, OPERATOR, "a person set it"),
    ),
    frozen=("key", "version", "status", "value", "candidate_id", "set_by", "reason", "set_at"),
    rules=(On("insert", "recovery.rule_config"),),
    recorders=(On("insert", RECORD_CONTROL, ("candidate_id",)),),
)

# Every authority that claims may take the probe, and read how it ended; a duty reads that, too.
PROBERS = (
    Authority.HUB, Authority.ERROR_WORKER, Authority.GATE, Authority.RUNNER, Authority.CONTROL_PLANE, CLAIM_WORKER,
)  # fmt: skip
CLOSED, OPEN, HALF_OPEN = BreakerStatus
OPENED = ("parts", "wait_s", "max_wait_s", "opened_at", "open_until", "opened_by", "reason", "candidate_id", "probes")

BREAKER = Lifecycle(
    table="recovery.breaker",
    description="A dependency that may be down. While it is not closed, what depends on it is not claimed, but for one"
    " unit that tries it.",
    key=("name",),
    births=(
        Birth(OPEN, OPERATOR, "a person opens it"),
        Birth(OPEN, EXECUTOR, "the action circuit_breaker opens it", via=SETTLE),
    ),
    moves=(
        Move(CLOSED, OPEN, OPERATOR, "a person opens it"),
        Move(CLOSED, OPEN, EXECUTOR, "the action circuit_breaker opens it", via=SETTLE),
        *(Move(OPEN, HALF_OPEN, by, "its wait has ended, and a claim takes the probe") for by in PROBERS),
        *(Move(HALF_OPEN, CLOSED, by, "its probe ended well") for by in (*PROBERS, EVALUATOR)),
        *(Move(HALF_OPEN, OPEN, by, "its probe failed, or outlived its lease") for by in (*PROBERS, EVALUATOR)),
        *(Move(status, CLOSED, OPERATOR, "a person closes it") for status in (OPEN, HALF_OPEN)),
        *(Move(status, CLOSED, EXECUTOR, "the action rollback closes it", via=SETTLE) for status in (OPEN, HALF_OPEN)),
    ),
    frozen=("name",),
    rules=(On("insert", "recovery.rule_breakers"), On("update", "recovery.rule_breakers")),
    recorders=(
        On("insert", RECORD_CONTROL, OPENED),
        On("update", RECORD_CONTROL, (*OPENED, "probe_subject", "probe_unit", "probe_token", "probe_until",
                                      "closed_at", "closed_by")),
    ),
    consequences=(On("update", "recoup.wake"),),
)  # fmt: skip

PROVENANCE = Log(
    table=PROVENANCE_LOG,
    at="logged_at",
    recorders=(
        "recovery.record_incidents", "recovery.record_match_births", "recovery.record_match_moves",
        "recovery.record_evaluations", "recovery.record_candidate_births", "recovery.record_candidate_moves",
        "recovery.record_scope_births", "recovery.record_scope_moves",
    ),
    columns=(
        (
            "seq", "xid", "incarnation", "logged_at", "event_type", "candidate_id", "failure_match_id", "incident_id",
            "scope_id", "number", "from_status", "to_status", "action_name", "confidence", "evidence", "token",
            "outcome", "reason", "facts", "policy_version", "actor", "actor_id", "authority", "login",
        ),
    ),
)  # fmt: skip
