"""Who verifies, and the result. The flow itself is in ``flow.py``."""

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from recoup import policy
from recoup.database.connection import Actor, Database, Transaction
from recoup.gate.intake import retry_lag, verify_lag
from recoup.lifecycles.declaration import Authority
from recoup.policy import Policy
from recoup.reasons import ReasonCode
from recoup.refusals import InputRefused
from recoup.settings import Settings
from recoup.worker.duty import Context


class Standalone:
    """Verification without a worker: the command line, the demo, a bench."""

    def __init__(self, database: Database, *, name: str, actor: Actor | None = None) -> None:
        self.name = name
        self.settings: Settings = database.settings
        self.stopping = False
        self._database = database
        self._actor = actor or Actor("system", name)
        with database.transaction(Authority.READER) as tx:
            self._policy = policy.in_force(tx).policy

    @property
    def policy(self) -> Policy:
        return self._policy

    def transaction(self) -> AbstractContextManager[Transaction]:
        return self._database.transaction(Authority.GATE, actor=self._actor)

    def stop(self) -> None:
        """Claim nothing more; finish what was claimed."""
        self.stopping = True

    def may_claim(self, tx: Transaction) -> bool:
        return not self.stopping

    def tally(self, tx: Transaction, done: int) -> None:
        """Only the flow itself counts them."""


@dataclass(slots=True)
class Tally:
    """The result of a flow, so far."""

    claimed: int = 0
    passed: int = 0
    failed: Counter[ReasonCode] = field(default_factory=Counter)
    late: int = 0  # the lease expired before they reported: stored, and not applied
    refused: int = 0  # outcomes that the database refused; their attempts are swept
    turns: int = 0
    database_s: float = 0.0

    @property
    def done(self) -> int:
        return self.passed + self.failed.total() + self.late


def verify(by: Context, *, retries: bool, tell: Callable[[Tally], None] | None = None) -> Tally:
    """Verify everything that is waiting: first attempts, or due retries. Returns when nothing is left."""
    with by.transaction() as tx:
        waits = by.may_claim(tx) and (retry_lag if retries else verify_lag)(tx) is not None
    if not waits:
        return Tally()
    try:
        from recoup.gate.flow import flow  # the network's libraries, for those who verify
    except ModuleNotFoundError as error:
        raise InputRefused(
            "gate_extra_missing",
            f"Companies are waiting, and the package that verifies them is not installed ({error.name}).",
            "Install it: pip install 'recoup[gate]'; or leave verification to other workers: recoup worker --duty …",
        ) from error
    return flow(by, retries=retries, tell=tell)
