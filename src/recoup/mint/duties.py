"""What workers do for the mint by themselves."""

from recoup.lifecycles.declaration import Authority
from recoup.mint.identities import mint, mint_lag
from recoup.worker.duty import BATCH_MOST, Duty

DUTIES: tuple[Duty, ...] = (
    Duty(
        name="mint",
        authority=Authority.MINT,
        cadence_s=2,
        says="mints an identity for every company that Gate Zero authorised",
        batch=lambda tx, _: mint(tx, limit=BATCH_MOST).events,
        lag=mint_lag,
    ),
)
