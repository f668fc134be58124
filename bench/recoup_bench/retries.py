"""Every unit fails once and succeeds at its retry: the everyday of a recovery plane, and where job queues fall behind.

Ours works in simulated time, so that the 24 hours between the two attempts pass at once; a peer retries without a wait.
Peers take part here, and only here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial

from recoup import clock, gate
from recoup.gate import Failed, NewIntake, Passed
from recoup.lifecycles.declaration import Authority
from recoup_bench.ground import Ground
from recoup_bench.measure import Timed
from recoup_bench.moves import ADDED_MOST, REASON, WORKER, sliced
from recoup_bench.peers import Peer
from recoup_bench.workload import OURS, Size, Stopwatch, Trial, Workload

K = 1000
WAIT = timedelta(hours=24)
NAME = "fail-once"


class FailOnce(Trial):
    """What is worked on lies ready before the clock starts, for every variant."""

    def __init__(self, ground: Ground, size: Size, *, peers: Sequence[Peer] = ()) -> None:
        self.ground, self.size, self.peers = ground, size, peers
        for peer in peers:
            peer.setup(ground.conninfo)

    @property
    def units(self) -> int:
        return self.size.batches * K

    def prepare(self) -> None:
        self.ground.tidy(raw=False)

    def variants(self) -> Mapping[str, Callable[[], Timed]]:
        return {OURS: self.ours} | {peer.name: partial(self._peer, peer) for peer in self.peers}

    def ours(self) -> Timed:
        self._add()
        with Stopwatch() as watch:
            failed = self._work(retries=False)
            with self.ground.ours.transaction(Authority.OPERATOR) as tx:
                clock.advance(tx, WAIT)
            passed = self._work(retries=True)
        assert failed == passed == self.units, f"{failed} failed and {passed} passed of {self.units}"
        return Timed(units=passed, seconds=watch.seconds)

    def _add(self) -> None:
        companies = [NewIntake(company_name=f"Company {n}", state="TX") for n in range(self.units)]
        for some in sliced(companies, ADDED_MOST):
            with self.ground.ours.transaction(Authority.HUB) as tx:
                gate.add_intakes(tx, some)

    def _work(self, *, retries: bool) -> int:
        """Claim and finish until nothing is left: first attempts fail, retries pass."""
        done = 0
        while True:
            with self.ground.ours.transaction(Authority.GATE) as tx:
                claimed = gate.claim_attempts(tx, limit=K, worker=WORKER, retries=retries)
            if not claimed:
                return done
            outcomes: list[Passed | Failed] = [
                Passed(attempt_id=a.attempt_id, token=a.token)
                if retries
                else Failed(attempt_id=a.attempt_id, token=a.token, reason_code=REASON)
                for a in claimed
            ]
            with self.ground.ours.transaction(Authority.GATE) as tx:
                done += len(gate.finish_attempts(tx, outcomes))

    def _peer(self, peer: Peer) -> Timed:
        units = max(1, round(self.units * peer.share))
        return Timed(units=units, seconds=peer.run(units))

    def close(self) -> None:
        for peer in self.peers:
            peer.close()


def with_peers(peers: Sequence[Peer] = ()) -> Workload:
    """The workload, with these beside ours."""
    return Workload(
        name=NAME,
        says=f"every unit fails once and passes at its retry, {K} a transaction; peers beside it on request",
        unit="units",
        begin=partial(FailOnce, peers=peers),
        full=Size(batches=10, rounds=5, warm_ups=1),
        quick=Size(batches=2, rounds=3, warm_ups=1),
        simulated=True,
    )


WORKLOADS = (with_peers(),)
