"""Time: real, simulated, released.

Decisions in SQL use ``recoup.now()``. A database is created real or simulated; a simulated clock only moves when an
operator moves it, and can be released to real time once. Python passes a time to pure functions only.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import CONTROL_LOG, RECORD_CONTROL, Authority, Lifecycle, Move, On, Story
from recoup.refusals import InputRefused

CLOCK = Lifecycle(
    table="recoup.clock",
    description="The clock of the database. `recoup migrate` inserts its only row.",
    key=("only_row",),
    births=(),
    moves=(
        Move("simulated", "simulated", Authority.OPERATOR, "moved forward"),
        Move("simulated", "released", Authority.OPERATOR, "released to real time, for good"),
    ),
    frozen=("only_row",),
    once=("released_at",),
    rising=("at",),
    recorders=(On("update", "recoup.release_clock"), On("update", RECORD_CONTROL, ("at", "released_at"))),
    consequences=(On("update", "recoup.wake"),),
    # Inserted by a migration, which no log names as actor.
    story=Story(log=CONTROL_LOG, key=("key",), rebuilds=False, unborn="true"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockStatus:
    """The status of the clock and its time."""

    status: str
    now: datetime
    released_at: datetime | None


def read(tx: Transaction) -> ClockStatus:
    """The status of this database's clock, and its time."""
    status, now, released_at = tx.execute("select status, recoup.now(), released_at from recoup.clock").fetchone() or ()
    return ClockStatus(status=status, now=now, released_at=released_at)


def advance(tx: Transaction, by: timedelta) -> ClockStatus:
    """Move a simulated clock forward. Time never runs backwards, and a real clock cannot be moved."""
    if by <= timedelta(0):
        raise InputRefused("clock_backwards", f"The clock cannot be moved by {by}.", "Move it forward.", by=str(by))
    if tx.execute("update recoup.clock set at = at + %s where status = 'simulated'", (by,)).rowcount == 0:
        raise _not_simulated(read(tx))
    return read(tx)


def release(tx: Transaction) -> ClockStatus:
    """Release a simulated clock to real time, for good. Refused while it is ahead of real time."""
    changed = tx.execute(
        "update recoup.clock set status = 'released', released_at = clock_timestamp() where status = 'simulated'"
    )
    if changed.rowcount == 0:
        raise _not_simulated(read(tx))
    return read(tx)


def _not_simulated(reading: ClockStatus) -> InputRefused:
    return InputRefused(
        "clock_not_simulated",
        f"This database's clock is {reading.status}: it follows the server's clock.",
        "Only a database made with `recoup migrate --simulated-from TIME` can be moved.",
        status=reading.status,
    )
