"""The lifecycle of a pause."""

from __future__ import annotations

from enum import StrEnum

from recoup.lifecycles.declaration import Authority, Birth, Lifecycle, Move


class PauseStatus(StrEnum):
    PAUSED = "PAUSED"  # no claim within its scope
    RUNNING = "RUNNING"  # was paused once


PAUSED, RUNNING = PauseStatus

PAUSE = Lifecycle(
    table="recoup.pause",
    says="Something an operator stopped. Every change is logged in recoup.pause_log.",
    key=("scope", "scope_id"),
    births=(Birth(PAUSED, Authority.OPERATOR, "paused for the first time"),),
    moves=(
        Move(PAUSED, RUNNING, Authority.OPERATOR, "resumed"),
        Move(RUNNING, PAUSED, Authority.OPERATOR, "paused again"),
    ),
    frozen=("scope", "scope_id"),
    rising=("changed_at",),
)
