"""Time: real, simulated, released.

Decisions in SQL go by ``recoup.now()``. A database is made real or simulated for good; a simulated one stands still
until it is moved, and can be released to real time once. Python passes a time to pure functions only.
"""

from __future__ import annotations

from recoup.lifecycles.declaration import Authority, Lifecycle, Move

CLOCK = Lifecycle(
    table="recoup.clock",
    says="The clock of one database. Its only row is made by `recoup migrate`.",
    key=("only_row",),
    births=(),
    moves=(
        Move("simulated", "simulated", Authority.OPERATOR, "moved forward"),
        Move("simulated", "released", Authority.OPERATOR, "joins real time, and never leaves it"),
    ),
    frozen=("only_row",),
    once=("released_at",),
    rising=("at",),
)
