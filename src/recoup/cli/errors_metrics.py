"""``recoup errors stats``, ``metrics``, ``report`` and ``processed``: how errors are doing."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from recoup.alerts.policy import AlertPolicy
from recoup.cli.charts import bar, percent, sparkline
from recoup.cli.completers import error_tables
from recoup.cli.context import acting
from recoup.cli.layout import shown
from recoup.cli.output import Column, Demo, FileFormat, Json, command, print_fields, print_rows, shortened
from recoup.database.connection import Transaction
from recoup.errors import counting, trend
from recoup.errors import metrics as measuring
from recoup.errors import processed as processing
from recoup.errors import report as reporting
from recoup.errors.inputs import moment
from recoup.errors.metrics import METRICS, Metrics, TableMetrics
from recoup.errors.processed import NewProcessed, Processed
from recoup.errors.report import Report, TableDay
from recoup.errors.trend import KINDS, Trends
from recoup.files import Format, Row, Wanted, format_named, opened
from recoup.formatting import duration, plural, timestamp
from recoup.lifecycles.declaration import Authority
from recoup.policy import versions
from recoup.refusals import InputRefused

Tables = Annotated[
    tuple[str, ...],
    Parameter(name="--table", negative="", show_default=False, help="Only this table.", completer=error_tables),
]
DAYS = 14
MAX_MESSAGE_CHARS = 60
MAX_PATTERN_CHARS = 48
STATS_COLUMNS = (
    Column("error_table", "table", cut="middle", least=19, rank=0),
    Column("open", rank=1),
    Column("retry_pending", "pending", rank=3),
    Column("due_now", "due", rank=5),
    Column("retrying", rank=7),
    Column("parked", rank=2),
    Column("escalated", rank=6),
    Column("blocking", rank=4),
    Column("oldest_parked_at", "oldest parked", least=12, rank=9),
    Column("overdue", rank=8),
    Column("lapsed", "lease expired", rank=12),
    Column("ignored", rank=11),
    Column("to_archive", rank=14),
    Column("for_the_archiver", "closed", rank=13),
    Column("archived", rank=10),
)
METRIC_COLUMNS = (
    Column("error_table", "table", cut="middle", least=19, rank=0),
    Column("error_rate", "errors", rank=1),
    Column("park_rate", "parked", rank=2),
    Column("retry_exhaustion_rate", "exhausted", rank=3),
    Column("average_ttl_utilization", "TTL used", rank=5),
    Column("escalation_rate", "escalated", rank=4),
    Column("recorded", rank=6),
    Column("processed", rank=7),
    Column("ignored", rank=8),
)
DAY_COLUMNS = (
    Column("error_table", "table", cut="middle", least=19, rank=0),
    Column("recorded", rank=1),
    Column("rate", "error rate", rank=5),
    Column("parked", rank=2),
    Column("resolved", rank=3),
    Column("archived", rank=6),
    Column("expired_blocking", "expired blocking", rank=7),
    Column("sla_breached", "SLA breached", rank=9),
    Column("parked_now", "parked now", rank=4),
    Column("owner", cut="end", least=10, rank=8),
)
OLDEST_COLUMNS = (
    Column("error_id", "id", rank=0),
    Column("error_table", "table", cut="middle", least=14, rank=2),
    Column("parked_for_s", "parked for", rank=1),
    Column("owner", cut="end", least=10, rank=3),
    Column("park_reason", "reason", cut="end", least=14, rank=4),
    Column("error_message", "message", cut="end", least=16, rank=5),
)
GROUP_COLUMNS = (
    "errors",
    Column("code", cut="middle", least=12, rank=3),
    Column("error_id", "newest", rank=2),
    Column("pattern", cut="end", least=20, rank=1),
)
COUNTED = {
    "error_rate": "processed", "park_rate": "recorded", "retry_exhaustion_rate": "ended",
    "average_ttl_utilization": "errors", "escalation_rate": "parked",
}  # fmt: skip
WANTED = Wanted(
    columns={
        "table": ("error_table",), "count": (), "from": ("period_from",), "to": ("period_to",),
        "key": ("idempotency_key",),
    },
    required=("table", "count"),
    row_chars_most=100_000,
)  # fmt: skip


def stats(*, table: Tables = (), demo: Demo = False, json: Json = False) -> None:
    """Show how errors are doing: counts by table, the metrics of the last 24 hours, and the last days.

    Counts: open errors by status, what is due, what blocks, what is closed or archived. Reads every row, so with
    millions it takes seconds. overdue: not retried before the retry window closed. closed: waiting for the archiver.
    Narrow terminals show fewer columns; --json has every field.

    For example: recoup errors stats --table outreach.dol_errors
    """
    with acting(Authority.READER, demo=demo) as tx:
        counted = [one for one in counting.stats(tx) if not table or one.error_table in table]
        measured = measuring.metrics(tx, tables=table)
        hours = trend.trends(tx, tables=table)
        days = trend.trends(tx, step=timedelta(days=1), steps=DAYS, tables=table)
        policy = versions.active(tx).policy[AlertPolicy]
    if json:
        parts = zip(counted, measured.tables, hours.tables, days.tables, strict=True)
        rows = [{**asdict(one), "metrics": rates, "hours": h, "days": d} for one, rates, h, d in parts]
        print_rows(rows, as_json=True, empty="")
        return
    print_rows(
        [{**asdict(one), "archived": sum(one.archived.values())} for one in counted],
        as_json=False,
        columns=STATS_COLUMNS,
        empty=f"No error tables yet. Run: {command('migrate', demo=demo)}",
    )
    if counted:
        print()
        print_metrics(measured, policy)
        print()
        _print_trends("hour", hours)
        _print_trends("day", days)


def metrics(*, table: Tables = (), demo: Demo = False, json: Json = False) -> None:
    """Show the metrics of the last 24 hours: each rate against its threshold, and by table.

    Bars: the threshold is in the middle, the lowest of the policy's alert rules. A rate without a value has nothing to
    be computed from. The error rate needs processed counts of the hub: recoup errors processed TABLE COUNT. ! is above
    the threshold.

    For example: recoup errors metrics --table outreach.dol_errors
    """
    with acting(Authority.READER, demo=demo) as tx:
        found = measuring.metrics(tx, tables=table)
        policy = versions.active(tx).policy[AlertPolicy]
    print_fields(found, as_json=True) if json else print_metrics(found, policy)


def print_metrics(found: Metrics, policy: AlertPolicy) -> None:
    """The rates of all tables together as bars, then of each table."""
    whose = found.tables[0].error_table if len(found.tables) == 1 else f"{len(found.tables)} tables together"
    print(f"24 hours until {timestamp(found.until)}, {whose}")
    for metric in METRICS:
        one = getattr(found.overall, metric.name)
        of = f"of {one.of:,.0f} {COUNTED[metric.name]}"
        name = metric.name.replace("_", " ").replace("ttl", "TTL")
        above = policy.threshold(metric.name) or metric.threshold
        print(f"{name:<24}{percent(one.value):>7}  {bar(one.value, above)}  >{_threshold(above):>4}  {of}")
    overall = found.overall
    print(
        f"parked {overall.parked_errors:,}, blocking {overall.blocking_errors:,};"
        f" {overall.parked_per_day:,} of {overall.recorded:,} recorded were parked within 24 hours\n"
    )
    print_rows([_rates(one, policy) for one in found.tables], as_json=False, columns=METRIC_COLUMNS, empty="")
    missing = [one.error_table for one in found.tables if one.no_processed_count]
    if missing:
        print(f"\nNo processed count for an hour: {', '.join(missing)}")


def _threshold(share: float) -> str:
    return f"{round(share * 100, 1):g}%"


def _rates(one: TableMetrics, policy: AlertPolicy) -> dict[str, object]:
    told: dict[str, object] = {name: getattr(one, name) for name in ("error_table", "recorded", "ignored", "processed")}
    for metric in METRICS:
        value = getattr(one, metric.name).value
        above = policy.threshold(metric.name, one.error_table) or metric.threshold
        told[metric.name] = percent(value) + (" !" if value is not None and value > above else "")
    return told


def _print_trends(step: str, found: Trends) -> None:
    counts = {kind: getattr(found.overall, kind) for kind in KINDS}
    steps = len(found.overall.recorded)
    print(f"last {steps} {step}s, oldest first")
    for kind, values in counts.items():
        print(f"{kind:<10}{sparkline(values)}  {sum(values):,}; at most {plural(max(values), 'error')} in one {step}")


def report(
    *,
    day: Annotated[
        str | None,
        Parameter(show_default=False, help="A day in UTC, such as 2026-11-17, or today. Default: yesterday."),
    ] = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Print the report of a day: what was recorded, parked, resolved and archived, what expired while it blocked.

    And, as of now, which errors have been parked longest; and the largest groups of failures that began on that day.

    For example: recoup errors report --day 2026-11-17
    """
    with acting(Authority.READER, demo=demo) as tx:
        found = reporting.report(tx, _day(tx, day))
    print_fields(found, as_json=True) if json else _print_report(found)


def _day(tx: Transaction, text: str | None) -> date | None:
    if text is None or text == "yesterday":
        return None
    if text == "today":
        ((now, _),) = tx.execute(measuring.Q["now"]).fetchall()
        today: date = now.astimezone(UTC).date()
        return today
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputRefused(
            "day_unusable", f"{text[:50]!r} is no day.", "Write it as 2026-11-17, today or yesterday."
        ) from None


def _print_report(found: Report) -> None:
    all_ = found.overall
    print(f"Errors on {found.day}{'' if found.is_over else ', so far'} (UTC)\n")
    rate = f"; error rate {percent(all_.error_rate)} of {all_.processed:,} processed" if all_.processed else ""
    print(f"{all_.recorded:,} recorded, {all_.ignored:,} of them ignored{rate}")
    print(f"{all_.parked:,} parked, {all_.unparked:,} unparked, {all_.escalated:,} escalated")
    print(f"{all_.resolved:,} resolved, {all_.archived:,} archived")
    if all_.expired_blocking:
        print(f"{plural(all_.expired_blocking, 'error')} expired while blocking an entity")
    if all_.sla_breached:
        print(f"{all_.sla_breached:,} times a review came too late, or not at all")
    print()
    print_rows([_day_row(one) for one in found.tables], as_json=False, columns=DAY_COLUMNS, empty="")
    print("\nParked longest, of those parked now:")
    oldest = [{**asdict(one), "error_message": shortened(one.error_message, MAX_MESSAGE_CHARS)}
              for one in found.oldest_parked]  # fmt: skip
    print_rows(oldest, as_json=False, columns=OLDEST_COLUMNS, empty="Nothing is parked.")
    print("\nLargest groups of failures that began on this day:")
    groups = [
        {"errors": one.errors, "code": one.error_code, "error_id": one.error_id,
         "pattern": shortened(one.pattern, MAX_PATTERN_CHARS)}
        for one in found.groups
    ]  # fmt: skip
    print_rows(groups, as_json=False, columns=GROUP_COLUMNS, empty="None.")


def _day_row(one: TableDay) -> dict[str, object]:
    return {**asdict(one), "rate": percent(one.error_rate), "sla_breached": one.sla_breached or None,
            "expired_blocking": one.expired_blocking or None}  # fmt: skip


def processed(
    table: Annotated[str | None, Parameter(completer=error_tables)] = None,
    count: int | None = None,
    /,
    *,
    from_: Annotated[str | None, Parameter(name="--from")] = None,
    to: str | None = None,
    key: str | None = None,
    file: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    format_: FileFormat = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Report how many units of work a hub has processed, those that failed included: error rates are shares of them.

    For example: recoup errors processed outreach.dol_errors 1200 --from 2026-11-17T09:00Z --to 2026-11-17T10:00Z

    A report that is sent again with the same key counts once; with another content it is refused. A file is JSONL, CSV
    or Parquet, with the columns table, count, from, to and key; all of it is stored, or nothing.

    Parameters
    ----------
    table
        The error table of the hub.
    count
        How many.
    from_
        Beginning of the period, in ISO 8601. Default: its end.
    to
        End of the period. Default: now.
    key
        Names the report, so that it can be sent again.
    file
        A file of reports. - reads standard input.
    format_
        The format, if the name does not give it. Default: jsonl.
    """
    if (file is None) is (table is None or count is None):
        raise InputRefused(
            "processed_unclear",
            "Give either a table and a count, or a file.",
            "For example: recoup errors processed outreach.dol_errors 1200",
        )
    if file is not None:
        _processed_file(file, format_, demo=demo, as_json=json)
        return
    assert table is not None
    assert count is not None
    new = NewProcessed(table=table, count=count, period_from=_time(from_), period_to=_time(to), key=key)
    with acting(Authority.HUB, demo=demo) as tx:
        (stored,) = processing.report(tx, [new])
    if json:
        print_fields(stored, as_json=True)
        return
    print(f"{shown(stored.error_table)}: {stored.count:,} processed{_period(stored)}{_again(stored)}")


def _period(one: Processed) -> str:
    if one.period_from == one.period_to:
        return f" at {timestamp(one.period_to)}"
    length = duration(one.period_to - one.period_from)
    return f" in {length}, until {timestamp(one.period_to)}"


def _again(one: Processed) -> str:
    return "" if one.is_new else "; reported before, and counted once"


def _time(text: object) -> datetime | None:
    return None if text is None or text == "" else moment(text)


def _processed_file(path: Path, format_: Format | str | None, *, demo: bool, as_json: bool) -> None:
    """Store the reports of a file: all of them, or none."""
    found = Format(format_) if format_ is not None else format_named(path) or Format.JSONL
    stored: list[Processed] = []
    with opened(path, WANTED, found) as source, acting(Authority.HUB, demo=demo) as tx:
        if source.missing:
            raise InputRefused(
                "columns_missing", f"{path} has no column {' and no column '.join(source.missing)}.",
                "Name them table and count.",
            )  # fmt: skip
        reports = _read(source.rows, source.noun)
        while part := list(islice(reports, processing.MAX_REPORTS)):
            stored += processing.report(tx, part)
    if as_json:
        print_rows(stored, as_json=True, empty="")
        return
    new: Sequence[Processed] = [one for one in stored if one.is_new]
    print(f"{plural(len(new), 'report')} of {sum(one.count for one in new):,} processed units stored;"
          f" {len(stored) - len(new):,} had been reported before")  # fmt: skip


def _read(rows: Iterator[Row], noun: str) -> Iterator[NewProcessed]:
    for row in rows:
        values, where = row.values, f"{noun.capitalize()} {row.number}"
        if row.broken is not None:
            raise InputRefused("line_unreadable", f"{where}: {row.broken[1]}", "Nothing was stored. Fix it.")
        count = values.get("count")
        try:
            number = int(str(count))
        except ValueError:
            raise InputRefused(
                "count_unusable", f"{where}: {str(count)[:50]!r} is no count.", "Nothing was stored. Fix it."
            ) from None
        yield NewProcessed(
            table=str(values.get("table") or ""),
            count=number,
            period_from=_time(values.get("from")),
            period_to=_time(values.get("to")),
            key=None if values.get("key") in (None, "") else str(values["key"]),
        )
