"""The bench of rules: fifty of them over failures; how fast is not tested."""

from __future__ import annotations

from dataclasses import replace

from benching import silent
from recoup.settings import Settings
from recoup_bench.rules import RULES, policy
from recoup_bench.run import chosen, measure
from recoup_bench.workload import Size


def test_fifty_rules_are_evaluated_for_every_failure(settings: Settings, template: str) -> None:
    (workload,) = chosen(["evaluate-rules"])
    tiny = replace(workload, k=20, quick=Size(batches=2, rounds=1, warm_ups=0))
    (outcome,) = measure([tiny], settings, say=silent, quick=True, template=template).outcomes
    (ours,) = outcome.variants
    assert len(policy().rules) == RULES == 50
    assert [done.units for done in ours.rounds] == [40]
    assert ours.metrics["per_core"] > 0
    assert ours.metrics["rules_us"] > 0
