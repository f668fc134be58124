"""What is true of every partition in the demo: what its source has, and what has to become of it. Pure.

Three sources, their customers and days. Sources answer by this truth, and at the end Recoup has to agree with it.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum
from typing import Any, NamedTuple

from recoup.partitions.identity import Partition
from recoup.partitions.vocabulary import Hold, PartitionStatus, ScheduleStatus, TerminalCause

SHOP, BILLING, TRACKER = "shop", "billing", "tracker"
QUERIES = {SHOP: "orders", BILLING: "invoices", TRACKER: "visits"}
DAYS = 60
WITHOUT_TROUBLE = 8  # the last days: nothing goes wrong in them but what is open at the end
DAY = timedelta(days=1)


class End(NamedTuple):
    """The status of a partition at the end. None: it is not compared."""

    status: PartitionStatus
    schedule: ScheduleStatus
    hold: Hold | None = None
    causes: tuple[TerminalCause, ...] = ()
    attempts: int | None = None
    current: int | None = None  # number of the attempt whose run is the current one


_SUCCESS, _FAILED, _PENDING = PartitionStatus.SUCCESS, PartitionStatus.FAILED, PartitionStatus.PENDING
_IDLE, _WAITING, _OPEN = ScheduleStatus.IDLE, ScheduleStatus.WAITING, ScheduleStatus.OPEN
_HELD, _TERMINAL = ScheduleStatus.HELD, ScheduleStatus.TERMINAL
_ATTEMPTS, _AGE, _MARKED = TerminalCause


class Kind(Enum):
    """What happens to a partition, and its status at the end."""

    GOOD = "good", End(_SUCCESS, _IDLE, attempts=1, current=1)
    EMPTY = "a day without data", End(_SUCCESS, _IDLE, attempts=1, current=1)
    LATE = "its data comes late", End(_SUCCESS, _IDLE, attempts=3, current=3)
    DRIFT = (
        "a column is missing or of another type, until the contract is fixed",
        End(_SUCCESS, _IDLE, attempts=2, current=2),
    )
    HELD = "a column is missing, and nobody decided yet", End(_FAILED, _HELD, Hold.OPERATOR, attempts=1)
    DOWN = "its source is down", End(_SUCCESS, _IDLE, attempts=3, current=3)
    GONE = "its source is down, and then does not know it", End(_FAILED, _TERMINAL, causes=(_ATTEMPTS,), attempts=3)
    AGED = "its totals are wrong", End(_FAILED, _TERMINAL, causes=(_AGE,))
    CORRECTED = "its totals are corrected after a week", End(_SUCCESS, _IDLE)
    STILL_WRONG = "its totals are corrected, its owner believes", End(_FAILED, _WAITING)
    MARKED = "its totals are wrong, and nobody needs them", End(_FAILED, _TERMINAL, causes=(_MARKED,))
    REPROCESSED = "its source corrected it", End(_SUCCESS, _IDLE, attempts=2, current=2)
    SPOILED = "its source spoiled it", End(_SUCCESS, _IDLE, attempts=2, current=1)
    PAUSED = "its backfill is paused", End(_PENDING, _HELD, Hold.PAUSED, attempts=0)
    CANCELLED = "its backfill was cancelled", End(_PENDING, _HELD, Hold.CANCELLED, attempts=0)
    NOT_YET = "of the last day, and late", End(_FAILED, _WAITING, attempts=1)
    EXTRACTED_NOW = "of the last day, and extracted now", End(_PENDING, _OPEN, attempts=0)
    VALIDATED_NOW = "of the last day, and validated now", End(_PENDING, _OPEN, attempts=0)
    WAITING = "of the last day, and not dispatched yet", End(_PENDING, _WAITING, attempts=0)

    @property
    def end(self) -> End:
        return self.value[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Which partitions there are."""

    last: date
    customers: int
    days: int = DAYS

    @property
    def first(self) -> date:
        return self.day(0)

    @property
    def week(self) -> int:
        """Days of an outage: a week, or less where there are few days."""
        return max(2, self.days * 7 // DAYS)

    @property
    def drift(self) -> range:
        """Days of the shop with another schema."""
        return range(self.days // 3, self.days // 3 + self.week)

    @property
    def down(self) -> range:
        """Days of which the tracker cannot be asked."""
        return range(self.days // 2, self.days // 2 + self.week)

    @property
    def wrong(self) -> range:
        """Days whose invoices do not add up."""
        return range(self.days // 4, self.days // 4 + max(3, self.week))

    @property
    def undecided(self) -> range:
        """Days of the tracker without a column."""
        return range(self.down.start - 2, self.down.start)

    def day(self, number: int) -> date:
        return self.last - (self.days - 1 - number) * DAY

    def number(self, day: date) -> int:
        return self.days - 1 - (self.last - day).days

    def customer(self, number: int) -> str:
        """By number; negative ones are counted from the last."""
        return f"c{number % self.customers + 1:02}"

    def partitions(self) -> list[Partition]:
        """Every partition, day by day."""
        return [
            self.partition(source, customer, number)
            for number in range(self.days)
            for source in QUERIES
            for customer in range(self.customers)
        ]

    def partition(self, source: str, customer: int, day: int) -> Partition:
        return Partition(source, self.customer(customer), QUERIES[source], self.day(day))

    def kind(self, partition: Partition) -> Kind:
        """What happens to a partition."""
        customer, day = int(partition.customer_id[1:]) - 1, self.number(partition.logical_date)
        from_last = self.customers - customer  # 1: the last one
        if day >= self.days - 1:
            return _last_day(partition.source, customer, from_last)
        found = _OF_SOURCE[partition.source](self, customer, from_last, day)
        if found is not None:
            return found
        if day < self.days - WITHOUT_TROUBLE and partition.source != TRACKER and (3 * customer + day) % 23 == 11:
            return Kind.LATE
        return Kind.EMPTY if partition.source == BILLING and (customer + 2 * day) % 13 == 0 else Kind.GOOD

    @property
    def document(self) -> dict[str, Any]:
        """As the policy gives it to extractors."""
        return {"last": self.last.isoformat(), "customers": self.customers, "days": self.days}

    @classmethod
    def of(cls, document: Any) -> "Layout":
        last = date.fromisoformat(document["last"])
        return cls(last=last, customers=int(document["customers"]), days=int(document["days"]))


def _last_day(source: str, customer: int, from_last: int) -> Kind:
    match from_last:
        case 1:
            return Kind.EXTRACTED_NOW
        case 2:
            return Kind.VALIDATED_NOW
        case 3:
            return Kind.WAITING
        case _:
            return Kind.NOT_YET if source == BILLING and customer % 5 == 0 else Kind.GOOD


def _shop(layout: Layout, customer: int, from_last: int, day: int) -> Kind | None:
    if day in layout.drift:
        return Kind.DRIFT
    if day < layout.week and from_last <= 2:
        return Kind.PAUSED if from_last == 2 else Kind.CANCELLED
    if day == 1 and customer <= 1:
        return Kind.REPROCESSED if customer == 0 else Kind.SPOILED
    return None


def _billing(layout: Layout, customer: int, _from_last: int, day: int) -> Kind | None:
    if day in layout.wrong and customer == 2:
        return {0: Kind.CORRECTED, 1: Kind.STILL_WRONG}.get(day - layout.wrong.start, Kind.AGED)
    if day in layout.wrong[:2] and customer == 3:
        return Kind.MARKED
    if day in (2, 3) and customer <= 1:
        return Kind.SPOILED if (customer, day) == (1, 3) else Kind.REPROCESSED
    return None


def _tracker(layout: Layout, customer: int, from_last: int, day: int) -> Kind | None:
    if day in layout.down:
        return Kind.GONE if from_last == 1 else Kind.DOWN
    return Kind.HELD if day in layout.undecided and customer == 1 else None


_OF_SOURCE = {SHOP: _shop, BILLING: _billing, TRACKER: _tracker}
