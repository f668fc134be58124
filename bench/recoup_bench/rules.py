"""Rules: fifty of them, evaluated for failures that wait for an action."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any
from uuid import UUID

from recoup.lifecycles.declaration import Authority
from recoup.recovery.facts import Claimed, look
from recoup.recovery.matches import NewFailure, ingest
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.recommending import recommend
from recoup.recovery.rules import Moment, compiled, evaluate, read_facts
from recoup_bench.ground import Ground
from recoup_bench.measure import OURS, Timed
from recoup_bench.workload import Aim, Size, Stage, Stopwatch, Trial, Workload, small

RULES = 50
VENDORS = 20
AT_ONCE = 1_000
# Comparisons, lists, texts, a pattern, and the context: what rules are made of.
CONDITIONS = (
    "source.startsWith('bench-') && category == 'TRANSIENT' && attempts == {n}",
    "has(context.vendor) && context.vendor == 'vendor-{n}' && incident_size > 100",
    "message.contains('status 5{n}') || code in ['E{n}', 'E{n}00']",
    "kind == 'outside' && message.matches('(?i)timed out after [0-9]+{n} s')",
    "hour >= 22 && weekday > 5 && age_s > {n} && !('retry_exponential' in tried)",
)


@cache
def policy() -> RecoveryPolicy:
    """The shipped policy, with fifty rules."""
    rules = {
        f"rule_{n}": {
            "when": CONDITIONS[n % len(CONDITIONS)].format(n=n), "action": "notify_ops", "weight": n / RULES,
        }
        for n in range(RULES)
    }  # fmt: skip
    return RecoveryPolicy.model_validate(RecoveryPolicy.shipped().model_dump() | {"rules": rules})


def failures(trial: Trial) -> Stage:
    """Failures of twenty vendors, ingested once."""
    source = f"bench-{uuid.uuid4()}"
    given = [
        NewFailure(
            source=source, key=f"k{n}", message=f"request timed out after {n} s: status 503", code=f"E{n % 100}",
            context={"vendor": f"vendor-{n % VENDORS}", "tries": n % 7, "tags": ["nightly", "eu"]},
        )
        for n in range(trial.units)
    ]  # fmt: skip
    ids: list[UUID] = []
    with trial.ground.ours.transaction(Authority.MATCHER) as tx:
        ids += (one.failure_match_id for one in ingest(tx, given) if one.failure_match_id is not None)
    while True:
        yield ids


def judged(trial: Trial) -> Timed:
    """What an evaluation does with rules: the rows are read, the rules evaluated, and one recommends.

    ``per_core``: failures for each second of processor time, of this process and of its server process. ``rules_us``:
    the microseconds of processor time that the rules of a failure take, without reading it.
    """
    watch, engine, units, by = Stopwatch(), 0.0, 0, policy()
    compiled(by)
    busy, server = time.process_time(), trial.ground.processor_us(OURS)
    for batch in trial.batches():
        with watch:
            seconds, done = _batch(trial.ground, batch, by)
        engine, units = engine + seconds, units + done
    spent = time.process_time() - busy + (trial.ground.processor_us(OURS) - server) / 1e6
    return Timed(
        units=units, seconds=watch.seconds, metrics={"per_core": units / spent, "rules_us": engine / units * 1e6}
    )  # fmt: skip


def _batch(ground: Ground, batch: Sequence[Any], by: RecoveryPolicy) -> tuple[float, int]:
    with ground.ours.transaction(Authority.READER) as tx:
        (now,) = tx.execute("select recoup.now()").fetchone() or (None,)
        assert now is not None
        seen = look(tx, [Claimed(one, 0, 0, one) for one in batch])
        facts = read_facts(tx, [Moment(one.claimed.failure_match_id, now, one.facts.candidates) for one in seen])
    began = time.process_time()
    verdicts = [evaluate(by, one) for one in facts]
    seconds = time.process_time() - began
    assert not any(verdict.errors for verdict in verdicts)
    for one, verdict in zip(seen, verdicts, strict=True):
        assert recommend(replace(one.facts, fired=verdict.true), by) is not None
    return seconds, len(seen)


EVALUATE = Workload(
    name="evaluate-rules",
    description=f"read failures, 1,000 at once, and evaluate {RULES} rules for each of them",
    unit="failures", k=AT_ONCE, stage=failures, ours=judged, aims=(Aim(metric="per_core", least=2_000),),
    full=Size(batches=10, rounds=9), quick=small(batches=2, rounds=3),
)  # fmt: skip
