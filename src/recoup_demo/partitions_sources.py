"""The sources of the demo: what they answer at which time, as extractors; and validators of two of them.

The orders of the shop are validated by a data contract of the policy.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from recoup.partitions.interfaces import Extraction, Validation, Verdict, Writer
from recoup_demo.partitions_truth import Kind, Layout

LATE = timedelta(minutes=25)  # after the first load: what is late has come
UP_AGAIN = timedelta(hours=100)
THE_PRESENT = timedelta(days=5, hours=12)
ROWS = 3
# The time of the sources: simulated while the demo is played, afterwards the machine's.
now: Callable[[], datetime] = lambda: datetime.now(UTC)  # noqa: E731 - replaced by the play


class _Asked:
    """One question to a source."""

    def __init__(self, extraction: Extraction) -> None:
        self.extraction = extraction
        self.since = now() - datetime.fromisoformat(extraction.options["begun"])
        self.kind = Layout.of(extraction.options).kind(extraction.partition)
        self.seed = extraction.partition.logical_date.toordinal() * 31 + int(extraction.partition.customer_id[1:])

    @property
    def is_first(self) -> bool:
        """Before anybody asked for it again."""
        return self.since < timedelta(hours=1)

    @property
    def is_late(self) -> bool:
        return self.since < {Kind.LATE: LATE, Kind.NOT_YET: THE_PRESENT}.get(self.kind, timedelta(0))

    def times(self) -> Iterator[tuple[int, str]]:
        """When something happened on this day: a number, and an instant."""
        window = self.extraction.window_end - self.extraction.window_start
        for number in range(ROWS):
            yield number, (self.extraction.window_start + window * (number + 1) / (ROWS + 2)).isoformat()


def orders(extraction: Extraction, writer: Writer) -> None:
    """Orders of a shop: none yet while they are late; for a week with a channel that is a number, or none."""
    asked = _Asked(extraction)
    spoiled = asked.kind is Kind.SPOILED and not asked.is_first
    rows: list[dict[str, Any]] = [
        {
            "order_id": f"{asked.seed}-{number}",
            "amount": -1.0 if spoiled else (asked.seed % 900 + number) / 10,
            "channel": ("web", "phone")[number % 2],
            "placed_at": at,
        }
        for number, at in asked.times()
    ]
    if asked.kind is Kind.DRIFT:
        others = [{key: value for key, value in row.items() if key != "channel"} for row in rows]
        rows = others if asked.seed % 2 else [row | {"channel": 7} for row in others]
    writer.rows([] if asked.is_late else rows)


def invoices(extraction: Extraction, writer: Writer) -> None:
    """Invoices: incomplete while they are late; some whose lines do not add up."""
    asked = _Asked(extraction)
    wrong = (
        asked.kind in (Kind.AGED, Kind.STILL_WRONG, Kind.MARKED)
        or (asked.kind is Kind.CORRECTED and asked.since < UP_AGAIN)
        or (asked.kind is Kind.SPOILED and not asked.is_first)
    )
    rows = [
        {"invoice": f"{asked.seed}-{number}", "lines": [number, 5], "total": number + 5 + wrong, "of": ROWS}
        for number in range(ROWS)
    ]
    writer.rows([] if asked.kind is Kind.EMPTY else rows[:1] if asked.is_late else rows)


def visits(extraction: Extraction, writer: Writer) -> None:
    """Visits of pages: of some days the tracker cannot be asked, of others it does not say which page."""
    asked = _Asked(extraction)
    if asked.kind in (Kind.DOWN, Kind.GONE) and asked.since < UP_AGAIN:
        raise ConnectionError("tracker.example: connection refused")
    if asked.kind is Kind.GONE:
        raise LookupError(f"tracker.example has no account {extraction.partition.customer_id}")
    rows: list[dict[str, Any]] = [{"page": f"/{n}", "seconds": asked.seed % 60, "at": at} for n, at in asked.times()]
    if asked.kind is Kind.HELD:
        rows = [{key: value for key, value in row.items() if key != "page"} for row in rows]
    writer.rows(rows)


def invoices_add_up(validation: Validation) -> Verdict:
    """All invoices of the day are there, and the lines of each add up to its total. A day without any is fine."""
    rows = list(_rows(validation))
    if rows and len(rows) < rows[0]["of"]:
        message = f"{len(rows)} of {rows[0]['of']} invoices are there so far"
        return Verdict(accepted=False, reason="INCOMPLETE", rule="all_there", message=message)
    for row in rows:
        if sum(row["lines"]) != row["total"]:
            message = f"the lines of an invoice add up to {sum(row['lines'])}, its total is {row['total']}"
            return Verdict(accepted=False, reason="TOTALS", rule="totals", message=message)
    return Verdict(accepted=True)


def visits_have_pages(validation: Validation) -> Verdict:
    """Every visit has its page."""
    for row in _rows(validation):
        if "page" not in row:
            return Verdict(accepted=False, reason="SCHEMA_DRIFT", rule="page", message="column page is missing")
    return Verdict(accepted=True)


def _rows(validation: Validation) -> Iterator[Mapping[str, Any]]:
    for path in validation.files:
        with path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)
