"""A verification from claim to outcome, against the local world: how much of the time is bookkeeping.

The world answers every question in 20 ms, and every company answers: what is waited for is answers, and not timeouts,
which would hide the bookkeeping behind them.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from recoup import policy
from recoup.gate import verifying
from recoup.gate.importing import import_file
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup.world import World, files
from recoup_bench.ground import Ground
from recoup_bench.measure import Timed
from recoup_bench.workload import OURS, Bound, Size, Stopwatch, Trial, Workload

WORKER = "bench"
AT_ONCE = 200
ANSWER_MS = 20
SPARE = 1.1  # of the world's companies some do not answer; this many more are made
COLUMNS = ("company_name", "company_domain", "linkedin_url", "state")


class Verify(Trial):
    """Every round imports the same companies anew, untimed, and verifies them."""

    def __init__(self, ground: Ground, size: Size) -> None:
        self.ground = ground
        self.intakes = size.batches * AT_ONCE
        self.round = 0
        with ExitStack() as stack:
            self.world = stack.enter_context(World(count=round(self.intakes * SPARE), answer_ms=ANSWER_MS))
            answering = [c for c in self.world.companies if c.truth_on(0) is not ReasonCode.TIMEOUT]
            self.file = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "companies.csv"
            files.write_rows(self.file, files.intake_rows(answering[: self.intakes]), COLUMNS)
            with ground.ours.transaction(Authority.OPERATOR) as tx:
                policy.apply(tx, _document(self.world), reason="the bench verifies the local world")
            self._open = stack.pop_all()

    def prepare(self) -> None:
        self.round += 1
        imported = import_file(self.ground.ours, self.file, batch_id=f"round-{self.round}", complete=True)
        assert imported.accepted == self.intakes, f"{imported.accepted} of {self.intakes} were imported"
        self.ground.tidy(raw=False)

    def variants(self) -> Mapping[str, Callable[[], Timed]]:
        return {OURS: self.ours}

    def ours(self) -> Timed:
        hands = verifying.Alone(self.ground.ours, name=WORKER)
        with Stopwatch() as watch:
            tally = verifying.verify(hands, retries=False)
        looked = tally.passed + tally.failed.total()
        assert looked == self.intakes, f"{looked} of {self.intakes} were verified"
        return Timed(
            units=looked,
            seconds=watch.seconds,
            figures={
                "database_share": tally.database_s / watch.seconds,
                "turns": tally.turns,
                "outcomes_a_turn": looked / tally.turns,
                "timeouts": tally.failed[ReasonCode.TIMEOUT],
            },
        )

    def close(self) -> None:
        self._open.close()


def _document(world: World) -> str:
    """A policy that looks at the world, with nothing in the way of so many at once."""
    says = {**world.policy, "at_once": AT_ONCE, "per_host": AT_ONCE, "directory_at_once": AT_ONCE}
    return "[gate.verification]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in says.items())


WORKLOADS = (
    Workload(
        name="verify",
        says=f"verify companies of the local world, {AT_ONCE} at once, each answer in {ANSWER_MS} ms",
        unit="intakes",
        begin=Verify,
        full=Size(batches=50, rounds=3, warm_ups=1),
        quick=Size(batches=5, rounds=1, warm_ups=0),
        bound=Bound(figure="database_share", most=0.25),
    ),
)
