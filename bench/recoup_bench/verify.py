"""A verification from claim to outcome, against the local world: how much of the time is bookkeeping.

The world answers every request in 20 ms, and every company answers: time is spent waiting for answers and not for
timeouts, which would hide the bookkeeping.
"""

from __future__ import annotations

import json
import tempfile
from itertools import count
from pathlib import Path

from recoup import policy
from recoup.gate import verifying
from recoup.gate.importing import import_file
from recoup.gate.policy import GatePolicy
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup.worker.standalone import Standalone
from recoup_bench.gate_zero import GATE_ZERO
from recoup_bench.ground import WORKER
from recoup_bench.measure import Timed
from recoup_bench.workload import Aim, Size, Stage, Stopwatch, Trial, Workload
from recoup_demo.world import World, files

AT_ONCE = 200
ANSWER_MS = 20
SPARE = 1.1  # of the world's companies some do not answer; this many more are made
COLUMNS = ("company_name", "company_domain", "linkedin_url", "state")


def companies(trial: Trial) -> Stage:
    """The same companies of a local world, imported again for each round."""
    ground, rows = trial.ground, trial.units
    with World(count=round(rows * SPARE), answer_ms=ANSWER_MS) as world, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "companies.csv"
        answering = [c for c in world.companies if c.truth_on(0) is not ReasonCode.TIMEOUT]
        files.write_rows(file, files.intake_rows(answering[:rows]), COLUMNS)
        with ground.ours.transaction(Authority.OPERATOR) as tx:
            policy.apply(tx, _document(world), (GatePolicy,), reason="the bench verifies the local world")
        for number in count(1):
            imported = import_file(ground.ours, file, batch_id=f"round-{number}", complete=True)
            assert imported.accepted == rows, f"{imported.accepted} of {rows} were imported"
            ground.tidy(GATE_ZERO)
            yield range(rows)


def _document(world: World) -> str:
    """A policy that verifies against the world, with no limit below the number at once."""
    values = {**world.policy, "at_once": AT_ONCE, "per_host": AT_ONCE, "directory_at_once": AT_ONCE}
    return "[gate.verification]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())


def verified(trial: Trial) -> Timed:
    with Stopwatch() as watch:
        tally = verifying.verify(Standalone(trial.ground.ours, Authority.GATE, name=WORKER), retries=False)
    done = tally.passed + tally.failed.total()
    assert done == trial.units, f"{done} of {trial.units} were verified"
    metrics = {
        "database_share": tally.database_s / watch.seconds,
        "turns": tally.turns,
        "outcomes_a_turn": done / tally.turns,
        "timeouts": tally.failed[ReasonCode.TIMEOUT],
    }
    return Timed(units=done, seconds=watch.seconds, metrics=metrics)


VERIFY = Workload(
    name="verify", description=f"verify companies of the local world, {AT_ONCE} at once, each answer in {ANSWER_MS} ms",
    unit="intakes", k=AT_ONCE, stage=companies, ours=verified, aims=(Aim(metric="database_share", most=0.25),),
    full=Size(batches=50, rounds=3, warm_ups=1), quick=Size(batches=5, rounds=1, warm_ups=0),
)  # fmt: skip
