"""Verification as a flow: claim, look, write; hundreds at a time, until nothing is left that waits.

An attempt opens in a transaction that commits before its company is looked at, and its outcome is written in a later
one, so a process that dies in between leaves an open attempt, which is swept when its lease has lapsed. What was found
and what is claimed next share one transaction: two round trips for a whole set, and no more is claimed than starts at
once. A slow site holds up nobody but itself.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import psycopg
from psycopg import errors

from recoup import observe
from recoup.database.queries import load
from recoup.gate.attempts import Attempt, Failed, Passed, claim_attempts, finish_attempts
from recoup.gate.policy import LEASE_SPARE_S, GatePolicy
from recoup.gate.verifying import Tally
from recoup.reasons import ReasonCode
from recoup.refusals import Refusal
from recoup.verification.checks import Candidate
from recoup.verification.findings import Finding
from recoup.verification.verifier import Verdict, Verifier
from recoup.worker.duty import Hands

Q = load("recoup.gate", "intakes.sql")
LINGER_S = 0.1  # what was found waits so long for company before it is written
ENOUGH = 3  # written sooner when a third of what may run at once has been found
AWAY_PAUSE_S = 1.0
_AWAY = (errors.OperationalError, errors.InterfaceError)  # the server, not a row: tried again


class Looked(NamedTuple):
    """A company that was looked at."""

    attempt: Attempt
    verdict: Verdict


class Flow:
    """One flow, from its first claim to its last outcome."""

    def __init__(self, hands: Hands, *, retries: bool, tell: Callable[[Tally], None] | None) -> None:
        self.hands = hands
        self.retries = retries
        self.tell = tell
        self.tally = Tally()
        self.rules = hands.policy[GatePolicy].verification
        self.patience_s = float(hands.policy[GatePolicy].attempt_lease_s - LEASE_SPARE_S)
        self.looking: set[asyncio.Task[None]] = set()
        self.looked: asyncio.Queue[Looked] = asyncio.Queue()
        # Its own: in the loop's, the directory's look-ups of names could hold up what is to be written.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="verifying")
        self._log = observe.logger(worker=hands.name)

    async def run(self) -> None:
        try:
            async with Verifier(self.rules, directory_key=self.hands.settings.directory_key) as verifier:
                found: list[Looked] = []
                while True:
                    claimed = await self._turn(found, self._room())
                    for attempt, candidate in claimed:
                        task = asyncio.create_task(self._look(verifier, attempt, candidate))
                        self.looking.add(task)
                        task.add_done_callback(self.looking.discard)
                    if not self.looking and self.looked.empty():
                        return
                    found = await self._found()
        finally:
            for task in self.looking:
                task.cancel()
            await asyncio.gather(*self.looking, return_exceptions=True)
            self._thread.shutdown()

    async def _look(self, verifier: Verifier, attempt: Attempt, candidate: Candidate) -> None:
        """Within the lease, whatever it waits for: its turn at a host that everybody asks, for example."""
        try:
            async with asyncio.timeout(self.patience_s):
                verdict = await verifier.verify(candidate)
        except TimeoutError:
            said = f"check:turn no verdict within {self.patience_s:g} s"
            verdict = Verdict(ReasonCode.TIMEOUT, Finding.CHECK_SLOW, "turn", said)
        except Exception as error:  # noqa: BLE001 - a task that ends without a verdict would be waited for, for ever
            self._log.error("verification broke", attempt=str(attempt.attempt_id), exc_info=error)
            said = f"check:turn {type(error).__name__} in the verifier itself"
            verdict = Verdict(ReasonCode.API_UNAVAILABLE, Finding.CHECK_BROKE, "turn", said)
        self.looked.put_nowait(Looked(attempt, verdict))

    def _room(self) -> int:
        """How many more to take on: a good part of what may run at once, or none. Other rules: none, and a new flow."""
        room = self.rules.at_once - len(self.looking)
        ready = not self.looking or room * ENOUGH >= self.rules.at_once
        return room if ready and self.hands.policy[GatePolicy].verification == self.rules else 0

    async def _found(self) -> list[Looked]:
        """What was found next, gathered for a moment."""
        found = [await self.looked.get()]
        until = time.monotonic() + LINGER_S
        while len(found) * ENOUGH < self.rules.at_once and (self.looking or not self.looked.empty()):
            try:
                found.append(self.looked.get_nowait())
            except asyncio.QueueEmpty:
                try:
                    async with asyncio.timeout(until - time.monotonic()):
                        found.append(await self.looked.get())
                except TimeoutError:
                    break
        return found

    # The database's side, in a thread -------------------------------------------------------------------------------

    async def _turn(self, found: Sequence[Looked], room: int) -> list[tuple[Attempt, Candidate]]:
        """Write what was found, and claim what starts now. While the server is away, what was found is kept."""
        patience = time.monotonic() + self.hands.policy[GatePolicy].attempt_lease_s
        while True:
            try:
                return await asyncio.get_running_loop().run_in_executor(
                    self._thread, self._write_and_claim, found, room
                )
            except _AWAY as error:
                if not found or time.monotonic() > patience:
                    raise
                self._log.warning("cannot write what was found; trying again", found=len(found), failure=str(error))
                await asyncio.sleep(AWAY_PAUSE_S)

    def _write_and_claim(self, found: Sequence[Looked], room: int) -> list[tuple[Attempt, Candidate]]:
        try:
            return self._transact(found, room)
        except _AWAY:
            raise
        except (psycopg.Error, Refusal):
            if not found:
                raise
        # One bad row takes neither the others with it, nor does a claim that is refused.
        for one in found:
            try:
                self._transact([one], 0)
            except _AWAY:
                raise
            except (psycopg.Error, Refusal) as error:
                self.tally.refused += 1
                self._log.error("outcome refused", attempt=str(one.attempt.attempt_id), failure=str(error))
        return []

    def _transact(self, found: Sequence[Looked], room: int) -> list[tuple[Attempt, Candidate]]:
        begun = time.monotonic()
        claimed: list[Attempt] = []
        candidates: dict[object, Candidate] = {}
        with self.hands.transaction() as tx:
            finished = finish_attempts(tx, [_outcome(one) for one in found]) if found else []
            if found:
                self.hands.tally(tx, len(finished))
            if room and self.hands.may_claim(tx):
                claimed = claim_attempts(tx, limit=room, worker=self.hands.name, retries=self.retries)
                rows = tx.execute(Q["candidates"], {"intakes": [a.intake_id for a in claimed]}) if claimed else ()
                candidates = {row[0]: Candidate(*row[1:]) for row in rows}
        verdicts = {one.attempt.attempt_id: one.verdict for one in found}
        for ended in finished:
            self._count(ended.status, verdicts[ended.attempt_id])
        self.tally.claimed += len(claimed)
        self.tally.turns += 1
        self.tally.database_s += time.monotonic() - begun
        if self.tell is not None:
            self.tell(self.tally)
        return [(attempt, candidates[attempt.intake_id]) for attempt in claimed]

    def _count(self, status: str, verdict: Verdict) -> None:
        if status == "late":
            self.tally.late += 1
        elif verdict.reason_code is None:
            self.tally.passed += 1
        else:
            self.tally.failed[verdict.reason_code] += 1


def _outcome(looked: Looked) -> Passed | Failed:
    attempt, verdict = looked
    if verdict.reason_code is None:
        return Passed(attempt_id=attempt.attempt_id, token=attempt.token, payload_ref=verdict.said)
    return Failed(
        attempt_id=attempt.attempt_id, token=attempt.token, reason_code=verdict.reason_code, payload_ref=verdict.said
    )
