"""Verification as a flow: hundreds of companies at a time, on one event loop, until none is waiting.

An attempt opens in a transaction that commits before its company is verified (recoup.work.flow).
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from recoup import observe
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.gate.attempts import Attempt, Failed, Passed, claim_attempts, finish_attempts
from recoup.gate.policy import LEASE_SPARE_S, GatePolicy
from recoup.gate.verifying import Tally
from recoup.verification.checks import Candidate
from recoup.verification.findings import VERDICTS, Evidence, Finding
from recoup.verification.verifier import Verdict, Verifier
from recoup.work.flow import Flow, Turn, Work
from recoup.worker.duty import Context

Q = load("recoup.gate", "intakes.sql")


class Opened(NamedTuple):
    """An open attempt and its company."""

    attempt: Attempt
    candidate: Candidate


def flow(hands: Context, *, retries: bool, tell: Callable[[Tally], None] | None) -> Tally:
    """Verify everything that is waiting. ``tell`` gets the tally after each transaction."""
    rules = hands.policy[GatePolicy].verification
    lease_s = float(hands.policy[GatePolicy].attempt_lease_s)
    tally = Tally()
    with _loop() as loop, _entered(loop, Verifier(rules, directory_key=hands.settings.directory_key)) as verifier:
        work = Work(
            turn=lambda tx, ended, room: (
                _finished(tx, ended) if ended else [],
                _claimed(tx, room, worker=hands.name, retries=retries) if room else [],
            ),
            start=lambda opened: _submitted(loop, verifier, opened.candidate, lease_s - LEASE_SPARE_S),
            raised=lambda opened, error: _broken(hands, opened, error),
            name=lambda opened: str(opened.attempt.attempt_id),
            at_once=rules.at_once,
            lease_s=lease_s,
            grace_s=0.0,
            goes_on=lambda: hands.policy[GatePolicy].verification == rules,  # other rules: a new flow
            written=lambda turn: _count(tally, turn, tell),
        )
        running = Flow(hands, work)
        try:
            running.run()
        finally:
            tally.refused = running.refused
    return tally


def _claimed(tx: Transaction, room: int, *, worker: str, retries: bool) -> list[Opened]:
    claimed = claim_attempts(tx, limit=room, worker=worker, retries=retries)
    rows = tx.execute(Q["candidates"], {"intakes": [a.intake_id for a in claimed]}) if claimed else ()
    candidates = {row[0]: Candidate(*row[1:]) for row in rows}
    return [Opened(attempt, candidates[attempt.intake_id]) for attempt in claimed]


def _finished(tx: Transaction, ended: Sequence[tuple[Opened, Verdict]]) -> list[str]:
    became = {one.attempt_id: one.status for one in finish_attempts(tx, [_outcome(*one) for one in ended])}
    return [became[opened.attempt.attempt_id] for opened, _ in ended]


def _outcome(opened: Opened, verdict: Verdict) -> Passed | Failed:
    attempt_id, token = opened.attempt.attempt_id, opened.attempt.token
    if verdict.reason_code is None:
        return Passed(attempt_id=attempt_id, token=token, evidence=verdict.evidence)
    return Failed(attempt_id=attempt_id, token=token, reason_code=verdict.reason_code, evidence=verdict.evidence)


def _count(tally: Tally, turn: Turn, tell: Callable[[Tally], None] | None) -> None:
    for (_, verdict), status in zip(turn.ended, turn.became, strict=True):
        if status == "late":
            tally.late += 1
        elif verdict.reason_code is None:
            tally.passed += 1
        else:
            tally.failed[verdict.reason_code] += 1
    tally.claimed += turn.claimed
    tally.turns += 1
    tally.database_s += turn.seconds
    if tell is not None:
        tell(tally)


# On the event loop --------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _loop() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop in its own thread: verifying and writing do not wait for each other."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="verifying", daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        asyncio.run_coroutine_threadsafe(loop.shutdown_default_executor(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextlib.contextmanager
def _entered(loop: asyncio.AbstractEventLoop, verifier: Verifier) -> Iterator[Verifier]:
    asyncio.run_coroutine_threadsafe(verifier.__aenter__(), loop).result()
    try:
        yield verifier
    finally:
        asyncio.run_coroutine_threadsafe(_left(verifier), loop).result()


async def _left(verifier: Verifier) -> None:
    """Cancel what still runs if the flow was interrupted: its attempts are swept when their leases have expired."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await verifier.__aexit__(None, None, None)


def _submitted(
    loop: asyncio.AbstractEventLoop, verifier: Verifier, candidate: Candidate, patience_s: float
) -> "Future[Verdict]":
    return asyncio.run_coroutine_threadsafe(_verified(verifier, candidate, patience_s), loop)


async def _verified(verifier: Verifier, candidate: Candidate, patience_s: float) -> Verdict:
    """Within the lease, whatever it waits for, such as a free connection to a busy host."""
    try:
        async with asyncio.timeout(patience_s):
            return await verifier.verify(candidate)
    except TimeoutError:
        return _no_verdict(Finding.CHECK_SLOW, f"no verdict within {patience_s:g} s")


def _broken(hands: Context, opened: Opened, error: BaseException) -> Verdict:
    """A bug of the verifier is no verdict on the company, and does not leave its attempt open."""
    observe.logger(worker=hands.name).error(
        "verification broke", attempt=str(opened.attempt.attempt_id), exc_info=error
    )
    return _no_verdict(Finding.CHECK_BROKE, f"{type(error).__name__} in the verifier itself")


def _no_verdict(finding: Finding, message: str) -> Verdict:
    return Verdict(VERDICTS[finding], (Evidence("verifier", finding, message),))
