"""Judging: measure every signal, and let the database decide by the rules of the policy which alerts fire and end.

One worker at a time judges, and holds a row before it measures: no reading is older than one that was judged before. A
source that fails, or takes too long, has no values this time; that is a signal of its own, and the others are judged.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import psycopg

from recoup import observe
from recoup.alerts.policy import AlertPolicy
from recoup.database.arrays import Routine
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors.policy import ErrorPolicy
from recoup.lifecycles.declaration import Authority
from recoup.policy import Policy
from recoup.redaction import in_words, redacted
from recoup.signals import Reading, Signal, Source
from recoup.worker.duty import seconds

Q = load("recoup.alerts", "alerts.sql")
MAX_READINGS = 10_000
MAX_KEY_BYTES = 200
MAX_FACTS = 5_000  # characters as JSON
MAX_FAILURE = 300
MAX_FAILURES = 20
LARGEST = 1e15
FAILING = Signal(name="sources_failing", unit="count", description="groups of signals that could not be measured")
JUDGE = Routine(
    name="recoup.judge_alerts",
    sets=(
        {
            "signals": "text", "keys": "text", "units": "text", "readings": "numeric", "samples": "bigint",
            "facts_": "jsonb",
        },
    ),
    plain={"failures_": "jsonb"},
    results={"fired": "fired", "notified": "notified", "ended": "ended", "expired": "expired"},
)  # fmt: skip


def judge(tx: Transaction, policy: Policy, sources: Sequence[Source]) -> int:
    """Measure everything, and fire, repeat and end alerts. Returns how many moved; 0 if it is not time yet."""
    (ours,) = tx.execute(Q["begin"], {"every_s": policy[AlertPolicy].every_s}).fetchone() or (False,)
    if not ours:
        return 0
    readings, failures = measured(tx, policy, sources)
    return sum(judged(tx, policy, readings, sources, failures=failures).values())


def judged(
    tx: Transaction,
    policy: Policy,
    readings: Iterable[Reading],
    sources: Sequence[Source],
    *,
    failures: Mapping[str, str],
) -> dict[str, int]:
    """Judge readings, in one call. Returns how many alerts fired, notified again and ended, and silences expired."""
    units = {signal.name: signal.unit for source in sources for signal in source.signals} | {FAILING.name: FAILING.unit}
    failing = Reading(signal=FAILING.name, value=len(failures), facts=dict(list(failures.items())[:MAX_FAILURES]))
    own_keys = policy[ErrorPolicy].redact_keys
    found = [one for one in (*readings, failing) if one.signal in units][:MAX_READINGS]
    return JUDGE.call(
        tx,
        signals=[one.signal for one in found],
        keys=[one.key for one in found],
        units=[units[one.signal] for one in found],
        readings=[_number(one.value) for one in found],
        samples=[one.sample for one in found],
        facts_=[_facts(one.facts, own_keys) for one in found],
        failures_=json.dumps(dict(list(failures.items())[:MAX_FAILURES])),
    )


def measured(tx: Transaction, policy: Policy, sources: Sequence[Source]) -> tuple[list[Reading], dict[str, str]]:
    """What every source reads now, and what could not be measured and why, by the names of its signals."""
    found: list[Reading] = []
    failures: dict[str, str] = {}
    timeout = f"{policy[AlertPolicy].source_timeout_s}s"
    for source in sources:
        name = ", ".join(signal.name for signal in source.signals)
        try:
            # Undone at once, with the role: a source reads, and can do nothing else.
            with tx.transaction(force_rollback=True):
                tx.execute(Q["as_reader"], {"role": Authority.READER.role, "timeout": timeout})
                own = list(_usable(source, source.measure(tx, policy)))
        except Exception as error:
            if isinstance(error, psycopg.Error) and (tx.closed or tx.broken):
                raise
            failures[name] = in_words(f"{type(error).__name__}: {error}".split("\n")[0])[:MAX_FAILURE]
            observe.logger().error("signals could not be measured", signals=name, failure=failures[name])
        else:
            found += own
    return found, failures


def note(tx: Transaction) -> str | None:
    """What could not be measured the last time."""
    (failures,) = tx.execute(Q["failures"]).fetchone() or ({},)
    return "; ".join(f"{name}: {why}" for name, why in failures.items()) or None


def lag(tx: Transaction) -> float | None:
    """How long ago alerts should have been judged."""
    return seconds(tx, Q["lag"])


def _usable(source: Source, readings: Iterable[Reading]) -> Iterator[Reading]:
    mine = {signal.name for signal in source.signals}
    for one in readings:
        if one.signal not in mine:
            raise ValueError(f"{one.signal} is not a signal of this source")
        if not 1 <= len(one.key.encode(errors="replace")) <= MAX_KEY_BYTES or not one.key.isprintable():
            raise ValueError(f"a key of {one.signal} is not a name of up to {MAX_KEY_BYTES} bytes")
        yield one


def _number(value: float | None) -> str | None:
    if value is None or math.isnan(value):
        return None
    return repr(max(-LARGEST, min(LARGEST, value)))


def _facts(facts: Mapping[str, Any], own_keys: Sequence[str]) -> str:
    """As JSON, without secrets; nothing at all if it is too long for a notice."""
    text = json.dumps(redacted(dict(facts), own_keys), default=str)
    return text if len(text) <= MAX_FACTS and "\\u0000" not in text else "{}"
