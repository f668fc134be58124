"""What all event logs share: one sequence, append-only tables, the settled read, named subscriptions.

Each domain has its own log table and its own recorder in SQL. The ledger guarantees that a subscriber sees every
committed event once, and the events of one entity in the order in which they happened, whatever the order of commits.
"""

from recoup.ledger.subscriptions import Log, Page, acknowledge, read, subscribe, unsubscribe

__all__ = ["Log", "Page", "acknowledge", "read", "subscribe", "unsubscribe"]
