"""The lifecycles of an alert and of a silence, and the log of alerts."""

from enum import StrEnum

from recoup.lifecycles.declaration import RECORD_CONTROL, Authority, Birth, Lifecycle, Move, MoveRule, On, Story
from recoup.lifecycles.logs import Log

ERROR_WORKER, OPERATOR = Authority.ERROR_WORKER, Authority.OPERATOR


class AlertStatus(StrEnum):
    FIRING = "firing"  # above its threshold for long enough
    RECOVERED = "recovered"  # well below it for long enough
    NO_DATA = "no_data"  # without a value for too long


class SilenceStatus(StrEnum):
    ACTIVE = "active"  # nobody is notified of what it covers
    EXPIRED = "expired"  # its time has come
    ENDED = "ended"  # a person ended it


FIRING, RECOVERED, NO_DATA = AlertStatus
ACTIVE, EXPIRED, ENDED = SilenceStatus

ALERT = Lifecycle(
    table="recoup.alert",
    description="One time that a rule of the policy fired for a key. It ends for good: the next time is another row.",
    key=("alert_id",),
    births=(Birth(FIRING, ERROR_WORKER, "a value was above its threshold for long enough"),),
    moves=(
        Move(FIRING, FIRING, ERROR_WORKER, "it still fires, and notifies again"),
        Move(FIRING, RECOVERED, ERROR_WORKER, "the value was well below the threshold for long enough"),
        Move(FIRING, NO_DATA, ERROR_WORKER, "there was no value for too long"),
    ),
    frozen=(
        "alert_id", "rule", "key", "signal", "unit", "severity", "action", "threshold", "value", "sample", "facts",
        "policy_version", "fired_at",
    ),
    once=("ended_at",),
    rising=("notices", "unsent", "notified_at", "updated_at"),
    move_rule=MoveRule(
        broken="recoup.alert_move_broken",
        refusal="recoup.alert_move_refusal",
    ),
    rules=(On("insert", "recoup.rule_alert_births"),),
    recorders=(On("insert", "recoup.record_alerts"), On("update", "recoup.record_alerts")),
    consequences=(On("insert", "recoup.notify_alerts"), On("update", "recoup.notify_alerts")),
    story=Story(log="recoup.alert_event", key=("alert_id",)),
)  # fmt: skip

SILENCE = Lifecycle(
    table="recoup.silence",
    description="A time in which nobody is notified of some alerts. They fire and end as always.",
    key=("silence_id",),
    births=(Birth(ACTIVE, OPERATOR, "a person asks for silence"),),
    moves=(
        Move(ACTIVE, EXPIRED, ERROR_WORKER, "its time has come"),
        Move(ACTIVE, ENDED, OPERATOR, "a person ended it"),
    ),
    frozen=("silence_id", "rule", "key", "until", "reason", "created_by", "created_at"),
    once=("ended_at",),
    rules=(On("insert", "recoup.rule_silences"), On("update", "recoup.rule_silences")),
    recorders=(
        On("insert", RECORD_CONTROL, ("rule", "key", "until", "created_by")),
        On("update", RECORD_CONTROL, ("ended_at",)),
    ),
)

EVENTS = Log(
    table="recoup.alert_event",
    at="logged_at",
    recorders=("recoup.record_alerts",),
    columns=(
        (
            "seq", "xid", "incarnation", "logged_at", "alert_id", "rule", "key", "from_status", "to_status", "value",
            "worst", "notices", "routes", "unsent", "actor", "actor_id", "authority", "login",
        ),
    ),
)  # fmt: skip
