"""The background task of the mint."""

from recoup.lifecycles.declaration import Authority
from recoup.mint.identities import mint, mint_lag
from recoup.worker.duty import MAX_BATCH, Duty

DUTIES: tuple[Duty, ...] = (
    Duty(
        name="mint",
        authority=Authority.MINT,
        cadence_s=2,
        description="mints an identity for every company that Gate Zero authorised",
        batch=lambda tx, _: mint(tx, limit=MAX_BATCH).events,
        lag=mint_lag,
    ),
)
