"""What every domain measures for alerts, over rows that its own verbs made."""

from __future__ import annotations

from datetime import timedelta

import product
from company import acting, advance, claimed_delivery, delivery_in, new_batch, run_in, tried_delivery
from incidents import match_in, move_match
from recoup.alerts.policy import AlertPolicy
from recoup.database.connection import Transaction
from recoup.deliveries import delivering
from recoup.domain import sources
from recoup.domains import MEASURED
from recoup.lifecycles.declaration import Authority
from recoup.policy import versions
from recoup.worker import register

SOURCES = sources(MEASURED)


def measured(tx: Transaction) -> dict[tuple[str, str], float | None]:
    policy = versions.active(tx).policy
    with acting(tx, Authority.READER):
        return {(one.signal, one.key): one.value for source in SOURCES for one in source.measure(tx, policy)}


def value(tx: Transaction, signal: str, key: str = "overall") -> float | None:
    return measured(tx)[signal, key]


def test_every_signal_is_declared_once_and_says_what_it_is() -> None:
    names = [signal.name for source in SOURCES for signal in source.signals]
    assert len(names) == len(set(names))
    assert all(signal.description for source in SOURCES for signal in source.signals)


def test_everything_can_be_measured_where_nothing_has_happened(scratch: Transaction) -> None:
    """And what has no parts is 0 then, not unknown."""
    policy = versions.active(scratch).policy
    for source in SOURCES:
        declared = {signal.name for signal in source.signals}
        with acting(scratch, Authority.READER):
            assert {one.signal for one in source.measure(scratch, policy)} <= declared
    signals = {rule.signal for rule in policy[AlertPolicy].rules.values()} - {"sources_failing"}
    assert signals <= {signal.name for source in SOURCES for signal in source.signals}


def test_lost_workers_are_counted_for_an_hour(scratch: Transaction) -> None:
    with acting(scratch, Authority.RUNNER):
        register.register(scratch, name="w", duties=[])
    before = value(scratch, "workers_lost") or 0
    advance(scratch, timedelta(minutes=5))
    with acting(scratch, Authority.ORPHAN_RECOVERY):
        lost = scratch.execute(register.Q["lose_silent"], {"lost_after_s": 60, "limit": 1000}).rowcount
    assert value(scratch, "workers_lost") == before + lost
    advance(scratch, timedelta(minutes=61))
    assert value(scratch, "workers_lost") == 0


def test_a_duty_fails_until_it_runs_again(scratch: Transaction) -> None:
    with acting(scratch, Authority.RUNNER):
        worker = register.register(scratch, name="w", duties=[])
        register.tally(scratch, worker, "of-this-test", done=1)
        assert value(scratch, "duties_failing", "of-this-test") == 0
        advance(scratch, timedelta(seconds=1))
        register.tally_failure(scratch, worker, "of-this-test", "no")
        assert value(scratch, "duties_failing", "of-this-test") == 1
        advance(scratch, timedelta(seconds=1))
        register.tally(scratch, worker, "of-this-test", done=0)
        assert value(scratch, "duties_failing", "of-this-test") == 0
        register.tally_failure(scratch, worker, "of-this-test", "no")
        register.stop(scratch, worker)
    assert ("duties_failing", "of-this-test") not in measured(scratch), "a worker that is gone fails no more"


def test_dead_deliveries_are_counted_for_a_day(scratch: Transaction) -> None:
    before = value(scratch, "deliveries_dead", "log") or 0
    delivery_in(scratch, "dead")
    assert value(scratch, "deliveries_dead", "log") == before, "a person cancelled it"
    claimed = claimed_delivery(scratch, tried_delivery(scratch, times=11))
    with acting(scratch, Authority.EXECUTOR):
        delivering.finish(scratch, [(claimed, "no")])
    assert value(scratch, "deliveries_dead", "log") == before + 1
    advance(scratch, timedelta(hours=25))
    assert value(scratch, "deliveries_dead", "log") == 0


def test_deliveries_that_no_worker_takes_are_counted_until_one_does(scratch: Transaction) -> None:
    """Each for itself: one that is tried is not counted, and nothing where people paused it."""
    before = value(scratch, "deliveries_waiting", "log") or 0
    delivery_in(scratch, "queued")
    delivery_in(scratch, "queued")
    advance(scratch, timedelta(minutes=15))
    assert value(scratch, "deliveries_waiting", "log") == before
    advance(scratch, timedelta(seconds=1))
    assert value(scratch, "deliveries_waiting", "log") == before + 2
    with acting(scratch, Authority.EXECUTOR):
        (claimed,) = delivering.claim(scratch, limit=1, worker="w", routes=["log"])
    assert value(scratch, "deliveries_waiting", "log") == before + 1
    with acting(scratch, Authority.EXECUTOR):
        delivering.finish(scratch, [(claimed, "no")])
    assert value(scratch, "deliveries_waiting", "log") == before + 1, "it is tried again later"
    for scope, name in (("duty", "deliver"), ("table", "recoup.delivery"), ("global", None)):
        with acting(scratch, Authority.OPERATOR):
            product.pause(scratch, scope, name, reason="a test")
        assert value(scratch, "deliveries_waiting", "log") == 0
        with acting(scratch, Authority.OPERATOR):
            product.resume(scratch, scope, name, reason="a test")
    assert value(scratch, "deliveries_waiting", "log") == before + 1


def test_a_batch_is_overdue_after_its_days(scratch: Transaction) -> None:
    before = value(scratch, "batches_overdue") or 0
    new_batch(scratch)
    assert value(scratch, "batches_overdue") == before
    advance(scratch, timedelta(days=60))
    assert (value(scratch, "batches_overdue") or 0) > before


def test_stuck_matches_are_counted(scratch: Transaction) -> None:
    before = value(scratch, "matches_stuck") or 0
    match_in(scratch, "evaluated")
    assert value(scratch, "matches_stuck") == before
    move_match(scratch, match_in(scratch, "new"), "status = 'stuck', evaluation_failures = 9, updated_at = t.now_")
    assert value(scratch, "matches_stuck") == before + 1


def test_crashed_runs_are_counted_for_a_day(scratch: Transaction) -> None:
    run_in(scratch, "crashed")
    assert (value(scratch, "runs_orphaned") or 0) > 0
    advance(scratch, timedelta(hours=25))
    assert value(scratch, "runs_orphaned") == 0
