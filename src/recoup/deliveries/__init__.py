"""Deliveries: the outbox of notices. Queued in the transaction that has a reason for one, delivered by a worker.

These functions take a transaction as their first argument. ``recoup.connect().deliveries`` has the same verbs, each
under its own authority. A notice is delivered at least once; every try has the same idempotency key.
"""

from recoup.deliveries.lifecycle import DeliveryStatus
from recoup.deliveries.listing import Delivery, Event, Shown, deliveries, show
from recoup.deliveries.sending import cancel, retry, send

__all__ = ["Delivery", "DeliveryStatus", "Event", "Shown", "cancel", "deliveries", "retry", "send", "show"]
