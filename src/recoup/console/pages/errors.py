"""Errors: the inbox by group, lists, the park queue, one error, metrics."""

from datetime import timedelta

from recoup.alerts.policy import AlertPolicy
from recoup.api import cursors
from recoup.api.answers import page
from recoup.api.routes.errors import ErrorFilter, ErrorsAsked, QueueAsked
from recoup.console.declare import Context, Section, Seen
from recoup.errors import active_policy, grouping, listing, lookup, metrics, parking, trend
from recoup.errors.verbs import VERBS, why_not
from recoup.errors.vocabulary import Category, ErrorStatus, Severity
from recoup.operations import Act
from recoup.policy import versions

ERRORS = Section(
    name="errors",
    title="Errors",
    links=(("Inbox", "/errors"), ("All errors", "/errors/list"), ("Park queue", "/errors/queue"),
           ("Metrics", "/errors/metrics")),
)  # fmt: skip
NEWEST = 20_000  # open errors that the inbox groups: what it reads does not grow with the table
GROUPS = 50
STEP, STEPS = timedelta(hours=1), 24


def _choices(seen: Seen) -> Context:
    return {
        "tables": lookup.tables(seen.tx),
        "statuses": [one.value for one in ErrorStatus],
        "severities": [one.value for one in Severity],
        "categories": [one.value for one in Category],
    }


@ERRORS.page("/errors", "errors/inbox.html")
def inbox(seen: Seen) -> Context:
    """The newest open errors by group: what has the same cause."""
    asked = seen.asked(ErrorFilter).filter()
    found = grouping.largest(seen.tx, asked, limit=GROUPS, newest=NEWEST)
    signatures = [one.error_signature for one in found.groups]
    recent = grouping.recent(seen.tx, asked, signatures, newest=NEWEST, step=STEP, steps=STEPS)
    tables = active_policy.reloaded(seen.tx).errors.tables
    owners = {name: table.owner for name, table in tables.items()}
    return {**_choices(seen), "groups": found, "recent": recent, "owners": owners, "newest": NEWEST}


@ERRORS.page("/errors/list", "errors/list.html")
def all_errors(seen: Seen) -> Context:
    """Errors that match, newest first."""
    asked = seen.asked(ErrorsAsked)
    after = cursors.read_number("errors", asked.after)
    found = listing.list_errors(seen.tx, asked.filter(), limit=asked.limit, archived=asked.archived, after=after)
    errors = page(found, asked.limit, "errors", lambda one: one.error_id)
    return {**_choices(seen), "page": errors, "filter": _filter(asked), "archived": asked.archived}


@ERRORS.page("/errors/queue", "errors/queue.html")
def queue(seen: Seen) -> Context:
    """Parked errors whose review is due, those first that are overdue."""
    asked = seen.asked(QueueAsked)
    return {**_choices(seen), "errors": listing.park_queue(seen.tx, asked.filter(), limit=asked.limit)}


@ERRORS.page("/errors/metrics", "errors/metrics.html")
def measured(seen: Seen) -> Context:
    """The metrics of the last 24 hours against their thresholds, and trends."""
    found = metrics.metrics(seen.tx)
    return {
        "metrics": found,
        "which": metrics.METRICS,
        "policy": versions.active(seen.tx).policy[AlertPolicy],
        "trends": trend.counted(seen.tx, step=STEP, steps=STEPS),
    }


@ERRORS.page("/errors/{error_id}", "errors/one.html")
def one(seen: Seen) -> Context:
    """One error: why it is in this status, its history, what it blocks, what to do."""
    found = listing.show(seen.tx, seen.params["error_id"])
    return {"error": found, "verbs": [] if found.row["archived_at"] else _allowed(seen, found)}


def _allowed(seen: Seen, found: listing.Shown) -> list[str]:
    """The verbs that the error's status allows, as far as that follows from its row."""
    name = found.row["error_table"]
    table = active_policy.reloaded(seen.tx).errors.tables.get(name)
    snapshot = parking.snapshot(found.row)
    # To somebody, who is not known yet: an assignment is refused only to the person who has it.
    acts = [Act(verb=verb.name, given={"to": ""}) for verb in VERBS]
    return [act.verb for act in acts if why_not(act, name, table, snapshot) is None]


def _filter(asked: ErrorFilter) -> dict[str, object]:
    """The filter as a verb over many takes it; empty: none is set."""
    given = ErrorFilter(**{name: getattr(asked, name) for name in ErrorFilter.model_fields})
    return given.model_dump(mode="json", exclude_defaults=True)
