"""Runs: executions of work with a heartbeat, what became of each, and which have fallen silent."""

from recoup.api.routes import runs as routes
from recoup.console.declare import Context, Section, Seen
from recoup.console.pages.operations import as_id
from recoup.policy import versions
from recoup.recovery import listing as recovery
from recoup.recovery.vocabulary import SubjectKind
from recoup.runs import listing, orphans
from recoup.runs.vocabulary import RunStatus

RUNS = Section(name="runs", title="Runs", links=(("Runs", "/runs"), ("Orphans", "/runs/orphans")))
LATEST = 500  # events of one run on its page
MAX_ORPHANS = 200


@RUNS.page("/runs", "runs/list.html")
def runs(seen: Seen) -> Context:
    """Runs, newest first."""
    asked = seen.asked(routes.RunsAsked)
    return {
        "page": routes.list_runs(seen.tx, asked=asked),
        "statuses": [one.value for one in RunStatus],
        "threshold": orphans.threshold(versions.active(seen.tx).policy),
    }


@RUNS.page("/runs/orphans", "runs/orphans.html")
def silent(seen: Seen) -> Context:
    """Runs that the next sweep would mark crashed, and those that it marked."""
    return {
        "orphans": orphans.orphans(seen.tx, limit=MAX_ORPHANS),
        "threshold": orphans.threshold(versions.active(seen.tx).policy),
        "most": MAX_ORPHANS,
    }


@RUNS.page("/runs/{run_id}", "runs/one.html")
def one(seen: Seen) -> Context:
    """One run: its status, its trace, what it was a retry of, and what recovers it."""
    found = listing.show(seen.tx, as_id(seen.params["run_id"], "run"), latest=LATEST)
    return {
        "run": found,
        "latest": LATEST,
        "matches": recovery.matches_of(seen.tx, SubjectKind.RUN, str(found.run_id)),
        "threshold": orphans.threshold(versions.active(seen.tx).policy),
    }
