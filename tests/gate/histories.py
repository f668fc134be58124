"""Every lawful history of an intake, and one check that holds any number of intakes to it."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

from recoup.database.connection import Transaction

# One letter per event: histories become words, and the grammar a list of words.
LETTERS = {
    ("ATTEMPT", "START"): "S",
    ("ATTEMPT", "RETRY"): "R",
    ("PASS", "CHECKS_PASSED"): "P",
    ("AUTH", "EXISTENCE_CONFIRMED"): "A",
    ("REENTER", "RECOVERY_SUCCESS"): "N",
    ("EXHAUSTED", "MAX_ATTEMPTS_REACHED"): "M",
    ("EXHAUSTED", "RECOVERY_WINDOW_CLOSED"): "W",
}  # anything else of type FAIL is F

# History: status of the intake, status of its recovery, attempt_count. There are no others.
LAWFUL: dict[str, tuple[str, str | None, int | None]] = {
    "": ("PENDING", None, None),
    "S": ("PENDING", None, None),
    "SPA": ("AUTHORIZED", None, None),
    "SF": ("FAILED", "ACTIVE", 1),
    "SFW": ("EXHAUSTED", "EXHAUSTED", 1),
    "SFR": ("FAILED", "ACTIVE", 1),
    "SFRPAN": ("REENTER_SUCCEEDED", "SUCCEEDED", 1),
    "SFRF": ("FAILED", "ACTIVE", 2),
    "SFRFW": ("EXHAUSTED", "EXHAUSTED", 2),
    "SFRFR": ("FAILED", "ACTIVE", 2),
    "SFRFRPAN": ("REENTER_SUCCEEDED", "SUCCEEDED", 2),
    "SFRFRFM": ("EXHAUSTED", "EXHAUSTED", 3),
}

# A history ends in S or R while an attempt is open, and only then.
OPEN = ("S", "R")
WAITS = (timedelta(hours=24), timedelta(hours=72))
# Where time stands still an attempt ends a microsecond after it began, and its wait counts from the time itself.
GRACE = timedelta(microseconds=1)


def lawful(tx: Transaction, *intakes: UUID) -> list[str]:
    """Hold each intake's history to the grammar, and its rows to its history. Returns the histories as words.

    Looks at the printed order (event_timestamp), at seq, actors and waits, and at intake, recovery and attempts.
    """
    events: dict[UUID, list[Any]] = defaultdict(list)
    for event in tx.execute(
        "select entity_id, event_type, reason_code, event_timestamp, seq, actor, payload_ref, batch_id"
        "  from cl.gate_zero_air where entity_id = any(%s) order by entity_id, event_timestamp",
        (list(intakes),),
    ):
        events[event[0]].append(event[1:])
    rows = {
        row[0]: row[1:]
        for row in tx.execute(
            "select i.intake_id, i.status, r.status, r.attempt_count, i.reentered_from, i.batch_id,"
            "       (select array_agg(a.status order by a.attempt_number) from cl.gate_zero_attempt a"
            "         where a.intake_id = i.intake_id),"
            "       (select n.intake_id from cl.gate_zero_intake n where n.reentered_from = i.intake_id)"
            "  from cl.gate_zero_intake i left join cl.gate_zero_recovery r on r.intake_id = i.intake_id"
            " where i.intake_id = any(%s)",
            (list(intakes),),
        )
    }
    return [_check(intake, events[intake], rows[intake]) for intake in intakes]


def _check(intake: UUID, events: list[Any], row: Any) -> str:
    status, recovery, count, reentered_from, batch, attempts, reentered_as = row
    word = "".join(LETTERS.get((kind, reason), "F" if kind == "FAIL" else "?") for kind, reason, *_ in events)
    told = f"{intake}: {word or 'no events'}, {status}, {recovery} {count}, attempts {attempts}"
    if reentered_from is not None:
        assert (word, status, recovery, attempts) == ("", "AUTHORIZED", None, None), told
        return word
    assert word in LAWFUL, told
    assert (status, recovery, count) == LAWFUL[word], told
    _check_order(events, told)
    assert all(event[5] is None or event[0] in ("PASS", "AUTH", "FAIL", "REENTER") for event in events), told
    assert all(event[6] == batch for event in events), told

    open_now = [attempt for attempt in attempts or () if attempt == "open"]
    assert len(open_now) == (1 if word.endswith(OPEN) else 0), told
    assert len(attempts or ()) == sum(letter in OPEN for letter in word), told
    if word.endswith("N"):
        assert events[-1][5] == f"intake:{reentered_as}", told
    else:
        assert reentered_as is None, told
    return word


def _check_order(events: list[Any], told: str) -> None:
    times = [event[2] for event in events]
    assert all(earlier < later for earlier, later in pairwise(times)), told
    numbers = [event[3] for event in events]
    assert numbers == sorted(set(numbers)), told
    assert all(event[4] in ("system", "ai", "human") for event in events), told
    failures = [event[2] for event in events if event[0] == "FAIL"]
    retries = [event[2] for event in events if event[1] == "RETRY"]
    for wait, failed_at, retried_at in zip(WAITS, failures, retries, strict=False):
        assert retried_at - failed_at >= wait - GRACE, told
