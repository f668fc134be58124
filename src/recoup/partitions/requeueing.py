"""Requests of recovery: what the effect of a candidate asks the control plane for.

The executor makes the request as the consequence of its candidate, and the schedule moves as the consequence of the
request, in the same statement. So nothing else of the executor's reaches a schedule, and nothing is half done.
"""

from recoup.lifecycles.declaration import RECORD_CONTROL, Authority, Birth, Lifecycle, On

REQUEST = Lifecycle(
    table="partitions.requeue_request",
    description="What a recovery candidate asks the control plane for: to retry a terminal partition, or to mark it.",
    key=("candidate_id",),
    births=(
        Birth(
            "made",
            Authority.EXECUTOR,
            "the effect of a candidate; the schedule of its partition moves with it",
            via=("recovery.settle_candidates",),
        ),
    ),
    frozen=("candidate_id", "seq", "status", "partition_id", "verb", "alternative", "approver", "requested_at"),
    rules=(On("insert", "partitions.rule_requeue_requests"),),
    recorders=(On("insert", RECORD_CONTROL, ("partition_id", "verb", "approver")),),
    consequences=(On("insert", "partitions.settle_requeue_requests"),),
)
