"""What workers do for deliveries in the background."""

from recoup.deliveries import delivering
from recoup.lifecycles.declaration import Authority
from recoup.worker.duty import Duty

DUTIES: tuple[Duty, ...] = (
    Duty(
        name="deliver",
        authority=Authority.EXECUTOR,
        cadence_s=1,
        description="delivers every notice that is due by a route that can be used",
        flow=delivering.deliver_due,
        lag=delivering.QUEUE.due_lag,
        note=delivering.unserved,
    ),
    delivering.QUEUE.expiry(
        name="delivery-expiry",
        authority=Authority.EXECUTOR,
        description="counts as failed every try whose lease expired without a result",
    ),
)
