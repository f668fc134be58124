"""Many that wait are woken at once: work grows with them, and not with its square."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from uuid import uuid4

from company import acting
from hub import PEOPLE
from plans import carried_out, handled, nodes
from recoup.database import embedded
from recoup.database.connection import Database, connect
from recoup.errors.recording import NewError
from recoup.errors.vocabulary import Want
from recoup.lifecycles.declaration import Authority
from recoup.recovery import following
from recoup.settings import Settings
from recovery.stage import Stage

SIZE = 1_000
AWAITED = """
[recovery.subjects.park_reasons]
"*" = ["ESCALATION_REQUIRED"]
"""


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


def test_a_page_of_errors_is_looked_up_whatever_the_statistics_say(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings
) -> None:
    """Statistics are from before a storm of errors, when there was no match of an error."""
    name = new_database()
    with (
        Database(server.uri(name), settings) as database,
        contextlib.closing(connect(server.uri(name, admin=True), settings)) as admin,
    ):
        stage = Stage(database)
        stage.apply(AWAITED)
        stage.outside(SIZE)
        admin.execute("analyze recovery.failure_match")
        parked = [
            NewError(table=PEOPLE, message="the EIN did not match", outreach_id=uuid4(), want=Want.PARK)
            for _ in range(SIZE)
        ]
        ids = [one.error_id for one in stage.hub.record_all(parked)]
        with database.transaction(Authority.MATCHER) as tx:
            following.match_subjects(tx, stage.policy)
        with carried_out(admin, kept=False) as plans, acting(admin, Authority.EVALUATOR):
            found = admin.execute(following.Q["of_errors"], {"tables": [PEOPLE] * SIZE, "ids": ids}).fetchall()
            assert len(found) == SIZE
            assert max(handled(node) for plan in plans.take() for node in nodes(plan["Plan"])) <= 10 * SIZE
