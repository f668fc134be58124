"""What the tests of the bench share."""

from __future__ import annotations

from recoup_bench.ground import Ground
from recoup_bench.run import chosen
from recoup_bench.workload import Size, Trial


def begun(ground: Ground, name: str, *, batches: int) -> Trial:
    """A workload whose first round is prepared."""
    (workload,) = chosen([name])
    trial = Trial(workload, ground, Size(batches=batches))
    trial.prepare()
    return trial


def silent(line: str) -> None:
    assert line
