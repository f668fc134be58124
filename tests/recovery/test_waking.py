"""Many that wait are woken at once: work grows with them, and not with its square."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from company import acting
from plans import carried_out, handled, nodes
from recoup.database import embedded
from recoup.database.connection import Database, connect
from recoup.lifecycles.declaration import Authority
from recoup.settings import Settings
from recovery.stage import Stage

SIZE = 1_000


def test_those_woken_together_are_not_compared_with_each_other(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings
) -> None:
    """The tables were never analysed, so that nothing tells the planner how many wait."""
    name = new_database()
    with (
        Database(server.uri(name), settings) as database,
        contextlib.closing(connect(server.uri(name, admin=True), settings)) as admin,
    ):
        stage = Stage(database)
        matches = stage.outside(SIZE)
        stage.settle()
        with carried_out(admin, kept=False) as plans, acting(admin, Authority.EVALUATOR):
            assert admin.execute("select recovery.wake_matches(%s)", (matches,)).fetchone() == (SIZE,)
            assert max(handled(node) for plan in plans.take() for node in nodes(plan["Plan"])) <= 10 * SIZE
