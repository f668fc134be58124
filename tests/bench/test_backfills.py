"""The bench of backfills: both sides plan the same members, a chunk at a time; how fast is not tested."""

from __future__ import annotations

from dataclasses import replace

from benching import silent
from recoup.partitions.backfilling import CHUNK
from recoup.settings import Settings
from recoup_bench.run import chosen, measure
from recoup_bench.workload import Size


def test_a_backfill_is_planned_by_both_sides_alike(settings: Settings, template: str) -> None:
    (workload,) = chosen(["backfill-plan"])
    assert workload.k == CHUNK == 10_000
    assert workload.full.batches * workload.k == 100_000
    tiny = replace(workload, k=4, quick=Size(batches=3, rounds=1, warm_ups=0))
    (outcome,) = measure(
        [tiny], settings, say=silent, quick=True, template=template
    ).outcomes  # it compares what both sides made
    assert [done.units for one in outcome.variants for done in one.rounds] == [12, 12]
