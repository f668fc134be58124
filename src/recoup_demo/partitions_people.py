"""What people do in the demo of partitions: they register sources, fix a contract, ask again, mark, override, pause."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from recoup import policy
from recoup.database.connection import Actor
from recoup.lifecycles.declaration import Authority
from recoup.partitions import backfilling, requesting
from recoup.partitions.control_plane import Dispatched
from recoup.partitions.interfaces import Extraction, Writer
from recoup.partitions.policy import PartitionPolicy
from recoup.partitions.requesting import Ask, Request
from recoup.partitions.selecting import Days, select
from recoup.partitions.windows import window
from recoup_demo import partitions_sources as sources
from recoup_demo.partitions_truth import BILLING, SHOP, TRACKER, Layout

if TYPE_CHECKING:
    from recoup_demo.partitions import Play

LEAD, ON_CALL = Actor("human", "demo-lead"), Actor("human", "demo-on-call")
EXTRACTORS: dict[str, Callable[[Extraction, Writer], None]] = {
    SHOP: sources.orders, BILLING: sources.invoices, TRACKER: sources.visits,
}  # fmt: skip
REGISTERED = """
[partitions]
min_free_mb = 50
ready_after_minutes = 1500  # the sources take another day to be complete

[partitions.sources.shop]
at_once = 128
[partitions.sources.shop.queries.orders]
extractor = "recoup_demo.partitions_sources:orders"
extract_with = {given}
customers = {customers}
start_date = {start}
contract = "orders"

[partitions.sources.billing]
at_once = 128
max_attempts = 9
max_age_hours = 48
[partitions.sources.billing.queries.invoices]
extractor = "recoup_demo.partitions_sources:invoices"
extract_with = {given}
customers = {customers}
start_date = {start}
validator = "recoup_demo.partitions_sources:invoices_add_up"

[partitions.sources.tracker]
at_once = 128
max_attempts = 2
dispatch_cap = 2
backoff_strategy = "fixed"
backoff_s = [600]
[partitions.sources.tracker.queries.visits]
extractor = "recoup_demo.partitions_sources:visits"
extract_with = {given}
customers = {customers}
start_date = {start}
validator = "recoup_demo.partitions_sources:visits_have_pages"
"""
CONTRACT = """
[partitions.contracts.{name}]
unique = [["order_id"]]
freshness = {{ column = "placed_at", in_window = true }}
[partitions.contracts.{name}.columns]
order_id = {{ type = "string" }}
amount = {{ type = "number", min = 0 }}
placed_at = {{ type = "timestamp" }}
"""
CHANNEL = """channel = { type = "string", allowed = ["web", "phone"] }
"""
# Nobody reads the channel: orders are fine without it.
FIXED = CONTRACT.format(name="orders_2").replace("unique", "extra_columns = true\nunique") + (
    '[partitions.sources.shop.queries.orders]\ncontract = "orders_2"\n'
)


def registered(layout: Layout, begun: datetime) -> str:
    """The policy that registers the three sources."""
    given = {"begun": begun.isoformat(), **layout.document}
    inline = "{ " + ", ".join(f"{key} = {_toml(value)}" for key, value in given.items()) + " }"
    customers = "[" + ", ".join(_toml(layout.customer(number)) for number in range(layout.customers)) + "]"
    start = f"{begun:%Y-%m-%d}"  # the days before are loaded by backfills
    return REGISTERED.format(given=inline, customers=customers, start=start) + CONTRACT.format(name="orders") + CHANNEL


def _toml(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def extract(demo: "Play", run: Dispatched, writer: Writer) -> None:
    """What a worker does with a run, by hand."""
    day = window(run.logical_date, "UTC")
    given = {"begun": demo.begun.isoformat(), **demo.layout.document}
    EXTRACTORS[run.source](
        Extraction(
            partition=run.partition, run_id=run.run_id, window_start=day.start, window_end=day.end, options=given
        ),
        writer,
    )  # fmt: skip


def during_the_day(demo: "Play") -> None:
    """Marked, requeued exactly after a fix of the contract, reprocessed; a backfill is paused, another cancelled."""
    layout = demo.layout
    marked = ask(
        demo, Ask.MARK_TERMINAL, "the customer closed its account", source=BILLING, customer_id=layout.customer(3),
        reason="TOTALS",
    )  # fmt: skip
    demo.tell(f"{BILLING}: totals are wrong; {marked} days are marked terminal")
    demo.at(timedelta(hours=1))
    with demo.acting(Authority.OPERATOR, LEAD, "the channel is not needed") as tx:
        policy.apply(tx, FIXED, (PartitionPolicy,), reason="the shop does not send the channel any more")
    again = ask(demo, Ask.RETRY, "the contract is fixed", source=SHOP, reason="SCHEMA_DRIFT")
    two = [layout.customer(0), layout.customer(1)]
    ask(demo, Ask.REPROCESS, "the shop corrected a day", source=SHOP, customer_id=two, logical_date=layout.day(1))
    demo.work()
    demo.tell(f"{SHOP}: a column drifted for a week; the contract is fixed, and exactly {again} partitions ran again")
    for number, verb in ((-2, backfilling.pause), (-1, backfilling.cancel)):
        made = demo.backfill(SHOP, [number], (0, layout.week - 1), "the first days of a customer who joined later")
        with demo.acting(Authority.CONTROL_PLANE, LEAD, "the shop asks us to wait") as tx:
            verb(tx, made)
            while backfilling.settle(tx, made):
                pass
    demo.tell(f"{SHOP}: one backfill is paused, another cancelled; their partitions are held")


def when_the_tracker_is_back(demo: "Play") -> None:
    """A backfill repairs what was given up; overrides; a reprocessing of several days."""
    layout, everybody = demo.layout, range(demo.layout.customers)
    days = (layout.down.start - 1, layout.down.stop)
    demo.backfill(TRACKER, everybody, days, "the tracker is back", with_terminal=True)
    lifted = ask(
        demo, Ask.RETRY, "billing says it is corrected", actor=LEAD, include_terminal=True, source=BILLING,
        customer_id=layout.customer(2), terminal_cause="AGE",
        logical_date=Days(layout.day(layout.wrong[0]), layout.day(layout.wrong[1])),
    )  # fmt: skip
    demo.backfill(BILLING, everybody[:2], (2, 3), "new numbers of two customers", reprocess=True)
    for _ in range(2):
        demo.work()
        demo.wait(timedelta(minutes=12))
    demo.tell(f"{TRACKER}: back after days; a backfill repairs what was given up. {BILLING}: {lifted} overrides")


def at_the_end(demo: "Play") -> None:
    """A backfill that nobody has planned yet."""
    last = demo.layout.days - 2
    demo.backfill(BILLING, range(3), (last - 2, last), "as last month", planned=False, reprocess=True)


def ask(
    demo: "Play", verb: Ask, because: str, *, actor: Actor = ON_CALL, include_terminal: bool = False, **which: Any
) -> int:
    """What a person asks for with ``recoup state``. Returns for how many partitions it was done."""
    selection = select(**which)
    request = Request(
        ask=verb, reason=because, include_terminal=include_terminal, command=f"state {verb}", selection=str(selection)
    ).checked()
    with demo.acting(Authority.CONTROL_PLANE, actor, because) as tx:
        return sum(one.done for one in requesting.ask(tx, request, selection))
