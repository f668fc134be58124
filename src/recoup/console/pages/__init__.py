"""Pages by subject, in the order of the navigation."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from recoup.console.declare import Section
from recoup.console.pages import keys, policy  # noqa: F401 - they add their pages to the section of control
from recoup.console.pages.alerts import ALERTS
from recoup.console.pages.backfills import PARTITIONS
from recoup.console.pages.control import CONTROL
from recoup.console.pages.errors import ERRORS
from recoup.console.pages.finding import FINDING
from recoup.console.pages.gate import GATE
from recoup.console.pages.operations import OPERATIONS
from recoup.console.pages.overview import OVERVIEW, errors_by_hour, events_by_domain
from recoup.console.pages.recovery import RECOVERY
from recoup.console.pages.runs import RUNS
from recoup.console.pages.why import WHY
from recoup.database.connection import Transaction

SECTIONS: Sequence[Section] = (
    OVERVIEW, ERRORS, RECOVERY, RUNS, GATE, PARTITIONS, ALERTS, OPERATIONS, CONTROL, WHY, FINDING,
)  # fmt: skip

# What scripts draw: times in seconds, and series of as many values.
PLOTS: Mapping[str, Callable[[Transaction], Mapping[str, Any]]] = {
    "errors": errors_by_hour,
    "domains": events_by_domain,
}

__all__ = ["PLOTS", "SECTIONS"]
