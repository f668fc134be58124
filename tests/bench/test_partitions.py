"""The bench of contracts: the same rules by a contract and by hand; how fast is not tested."""

from __future__ import annotations

from dataclasses import replace

from benching import silent
from recoup.partitions.contracts import declared
from recoup.settings import Settings
from recoup_bench.partitions import BY_HAND, RULES
from recoup_bench.run import chosen, measure
from recoup_bench.workload import Size


def test_a_file_is_checked_by_a_contract_and_by_ten_queries(settings: Settings, template: str) -> None:
    (workload,) = chosen(["contract-10k"])
    tiny = replace(workload, k=2, quick=Size(batches=1, rounds=1, warm_ups=0))
    (outcome,) = measure([tiny], settings, say=silent, quick=True, template=template).outcomes
    ours, raw = outcome.variants
    assert len(BY_HAND) == 10
    assert declared(RULES).checks
    assert [done.units for done in (*ours.rounds, *raw.rounds)] == [2, 2]
    assert ours.metrics["times_by_hand"] > 0
