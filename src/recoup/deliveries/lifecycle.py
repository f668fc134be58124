"""The lifecycle of a delivery, and its log."""

from enum import StrEnum

from recoup.lifecycles.declaration import Authority, Birth, Lifecycle, Move, MoveRule, On, Queue, Story
from recoup.lifecycles.logs import Log

EXECUTOR, OPERATOR = Authority.EXECUTOR, Authority.OPERATOR


class DeliveryStatus(StrEnum):
    QUEUED = "queued"  # waits for its first or next try, or is being tried
    DELIVERED = "delivered"  # its route accepted it
    DEAD = "dead"  # no try is left, its route is gone, or a person cancelled it


QUEUED, DELIVERED, DEAD = DeliveryStatus

DELIVERY = Lifecycle(
    table="recoup.delivery",
    description="A notice on its way out. Tried until its route accepts it, or until no try is left.",
    key=("delivery_id",),
    births=(
        Birth(
            QUEUED,
            EXECUTOR,
            "a recovery candidate notifies, or one that died is sent by the fallback route",
            via=("recovery.settle_candidates", "recoup.fall_back_deliveries"),
        ),
        Birth(
            QUEUED,
            Authority.ERROR_WORKER,
            "an alert notifies, or alerts are judged: a heartbeat",
            via=("recoup.notify_alerts", "recoup.beat"),
        ),
        Birth(QUEUED, OPERATOR, "a person sends it"),
    ),
    moves=(
        Move(QUEUED, QUEUED, EXECUTOR, "a try failed, others are left"),
        Move(QUEUED, DELIVERED, EXECUTOR, "its route accepted it"),
        Move(QUEUED, DEAD, EXECUTOR, "the last try failed, or its route is gone"),
        Move(QUEUED, DEAD, OPERATOR, "a person cancelled it"),
    ),
    frozen=(
        "delivery_id", "route", "subject", "body", "about", "dedup_key", "origin", "candidate_id", "policy_version",
        "created_at", "alert_id", "instead_of",
    ),
    earlier_contents=(
        (
            "delivery_id", "route", "subject", "body", "about", "dedup_key", "origin", "candidate_id",
            "policy_version", "created_at",
        ),
    ),
    once=("ended_at",),
    rising=("attempts", "updated_at"),
    move_rule=MoveRule(
        broken="recoup.delivery_move_broken",
        refusal="recoup.delivery_move_refusal",
        policy="recoup.delivery_policy",
    ),
    rules=(On("insert", "recoup.rule_delivery_births"),),
    recorders=(On("insert", "recoup.record_deliveries"), On("update", "recoup.record_deliveries")),
    consequences=(On("update", "recoup.fall_back_deliveries"),),
    queue=Queue(
        table="recoup.delivery_queue",
        waiting=(QUEUED,),
        unit="delivery_id",
        part="route",
        round="attempts",
        due="next_try_at",
        claim="recoup.claim_deliveries",
        expire="recoup.expire_deliveries",
        end="recoup.end_deliveries",
        claimed_by=(EXECUTOR,),
        gives=(
            ("delivery_id", "ids"), ("route", "routes"), ("subject", "subjects"), ("body", "bodies"),
            ("about", "abouts"), ("origin", "origins"), ("attempts", "counts"), ("created_at", "created"),
        ),
        lease="make_interval(secs => (recoup.delivery_policy() ->> 'lease_s')::integer)",
        lease_hours_most=1,
        behind="recoup.delivery_is_behind",
        outcome="outcome",
    ),
    story=Story(log="recoup.delivery_event", key=("delivery_id",)),
    pausable=True,
)  # fmt: skip

EVENTS = Log(
    table="recoup.delivery_event",
    at="logged_at",
    times=("next_try_at",),
    recorders=("recoup.record_deliveries",),
    columns=(
        (
            "seq", "xid", "incarnation", "logged_at", "delivery_id", "route", "from_status", "to_status", "attempts",
            "next_try_at", "outcome", "token", "reason", "actor", "actor_id", "authority", "login",
        ),
    ),
)  # fmt: skip
