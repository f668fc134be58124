"""Who verifies, and the result. The flow itself is in ``flow.py``."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from recoup.gate.intake import retry_lag, verify_lag
from recoup.reasons import ReasonCode
from recoup.refusals import InputRefused
from recoup.worker.duty import Context


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
