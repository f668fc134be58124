"""The lifecycle of a pause."""

from enum import StrEnum

from recoup.lifecycles.declaration import Authority, Birth, Lifecycle, Move, On
from recoup.lifecycles.logs import Log


class PauseStatus(StrEnum):
    PAUSED = "PAUSED"  # no claim within its scope
    RUNNING = "RUNNING"  # was paused before


PAUSED, RUNNING = PauseStatus

PAUSE = Lifecycle(
    table="recoup.pause",
    description="Something an operator stopped. Every change is logged in recoup.pause_log.",
    key=("scope", "scope_id"),
    births=(Birth(PAUSED, Authority.OPERATOR, "paused for the first time"),),
    moves=(
        Move(PAUSED, RUNNING, Authority.OPERATOR, "resumed"),
        Move(RUNNING, PAUSED, Authority.OPERATOR, "paused again"),
    ),
    frozen=("scope", "scope_id"),
    rising=("changed_at",),
    rules=(On("insert", "recoup.rule_pauses"), On("update", "recoup.rule_pauses")),
    recorders=(On("insert", "recoup.record_pauses"), On("update", "recoup.record_pauses")),
    consequences=(On("update", "recoup.wake"),),
)

PAUSE_LOG = Log(
    table="recoup.pause_log",
    at="logged_at",
    recorders=("recoup.record_pauses",),
    columns=(
        (
            "seq", "xid", "incarnation", "logged_at", "event_type", "scope", "scope_id", "reason", "actor", "actor_id",
            "authority",
        ),
        (
            "seq", "xid", "incarnation", "logged_at", "event_type", "scope", "scope_id", "reason", "actor", "actor_id",
            "authority", "login",
        ),
    ),
)  # fmt: skip
