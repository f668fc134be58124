"""What workers do for the service in the background: drop what nobody asks for any more."""

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.policy import Policy
from recoup.service.policy import ServicePolicy
from recoup.worker.duty import MAX_BATCH, Duty, seconds

REQUESTS = load("recoup.service", "requests.sql")
SESSIONS = load("recoup.service", "sessions.sql")


def _clean(tx: Transaction, policy: Policy) -> int:
    (slots,) = tx.execute(REQUESTS["drop_old"]).fetchone() or (0,)
    sessions = tx.execute(SESSIONS["drop_ended"], {"limit": MAX_BATCH}).rowcount
    given = {"days": policy[ServicePolicy].denied_days, "limit": MAX_BATCH}
    return int(slots) + sessions + tx.execute(REQUESTS["drop_denied"], given).rowcount


DUTIES: tuple[Duty, ...] = (
    Duty(
        name="service-cleanup",
        authority=Authority.SERVICE,
        cadence_s=60,
        description="drops sessions that have ended, answers of two days ago, and old counts of denied calls",
        batch=_clean,
        lag=lambda tx: seconds(tx, SESSIONS["lag"]),
    ),
)
