"""Gate Zero: batches and their kill switch, companies with their attempts, who is next, who is not tried any more."""

from typing import Annotated
from urllib.parse import quote
from uuid import UUID

from pydantic import Field

from recoup import gate, mint
from recoup.api import cursors
from recoup.api.answers import Page, page
from recoup.api.declare import Name, Paged
from recoup.api.routes import gate as routes
from recoup.console.declare import Context, Section, Seen
from recoup.console.pages.operations import as_id
from recoup.gate import batches
from recoup.gate.lifecycle import IntakeStatus

GATE = Section(
    name="gate",
    title="Gate Zero",
    links=(("Batches", "/gate"), ("Companies", "/gate/companies"), ("Due now", "/gate/eligible"),
           ("Exhausted", "/gate/exhausted"), ("Identities", "/gate/identities")),
)  # fmt: skip
BATCHES = 25  # of one page: companies of each are counted
STATUSES = [one.value for one in IntakeStatus]
Many = Annotated[int, Field(ge=1, le=1000)]


class BatchesAsked(Paged):
    """Which page of batches."""

    limit: Annotated[int, Field(ge=1, le=BATCHES)] = BATCHES


class EligibleAsked(Paged):
    """How many companies."""

    limit: Many = 100


class ExhaustedAsked(Paged):
    """Which exhausted companies."""

    batch_id: Name | None = None


def batch_path(batch_id: str) -> str:
    """Where a batch is shown. A browser takes dots alone for a step in its path: these names go behind it."""
    if batch_id in (".", ".."):
        return f"/gate/batches/?batch_id={batch_id}"
    return f"/gate/batches/{quote(batch_id, safe='')}"


@GATE.page("/gate", "gate/batches.html")
def all_batches(seen: Seen) -> Context:
    """Batches, newest first, with the companies of each as far as they are counted."""
    found = routes.list_batches(seen.tx, asked=seen.asked(BatchesAsked))
    counts = batches.counts(seen.tx, [one.batch_id for one in found.items])
    return {"page": found, "counts": counts, "batch_path": batch_path}


@GATE.page("/gate/batches/{batch_id:path}", "gate/batch.html")
def batch(seen: Seen) -> Context:
    """One batch: its funnel, its kill switch, and its companies."""
    asked = seen.asked(routes.IntakesAsked)
    name = seen.params["batch_id"] or asked.batch_id or ""
    found = gate.find_batch(seen.tx, name)
    funnel, is_whole = gate.funnel_among(seen.tx, name)
    if not is_whole and seen.value("count") == "all":  # asked for: it reads the whole batch
        funnel, is_whole = gate.funnel(seen.tx, batch_id=name), True
    return {
        "batch": found, "funnel": funnel, "is_whole": is_whole, "steps": _steps(funnel), "statuses": STATUSES,
        **_companies(seen, asked, name),
    }  # fmt: skip


@GATE.page("/gate/companies", "gate/companies.html")
def companies(seen: Seen) -> Context:
    """Companies that match, newest first."""
    asked = seen.asked(routes.IntakesAsked)
    return {"statuses": STATUSES, "batch_path": batch_path, **_companies(seen, asked, asked.batch_id)}


@GATE.page("/gate/companies/{intake_id}", "gate/company.html")
def company(seen: Seen) -> Context:
    """One company: why it is in this status, its attempts with evidence, what it came from and what came of it."""
    intake_id = as_id(seen.params["intake_id"], "intake")
    (found,) = gate.find_intakes(seen.tx, [intake_id])
    followers = gate.followers(seen.tx, intake_id)
    checks: dict[UUID, list[gate.CheckResult]] = {}
    for one in gate.evidence(seen.tx, [intake_id]):
        checks.setdefault(one.attempt_id, []).append(one)
    lineage = [intake_id, *(one.intake_id for one in followers if one.how == "reentered")]
    restarted = any(one.how == "restarted" for one in followers)
    return {
        "intake": found,
        "status_text": gate.status_text(found),
        "attempts": gate.attempts_on(seen.tx, [intake_id]),
        "checks": checks,
        "followers": followers,
        "identities": mint.identities_of(seen.tx, lineage),
        "events": gate.history(seen.tx, [intake_id]),
        "may_restart": found.status == IntakeStatus.EXHAUSTED and not restarted,
        "batch_path": batch_path,
    }


@GATE.page("/gate/eligible", "gate/eligible.html")
def eligible(seen: Seen) -> Context:
    """Failed companies that may be tried again now, longest due first."""
    asked = seen.asked(EligibleAsked)
    return {"companies": gate.eligible(seen.tx, limit=asked.limit), "limit": asked.limit}


@GATE.page("/gate/exhausted", "gate/exhausted.html")
def exhausted(seen: Seen) -> Context:
    """Companies that are not tried any more, and why."""
    asked = seen.asked(ExhaustedAsked)
    after = cursors.read("exhausted", asked.after, tuple[str | None, UUID])
    if asked.batch_id is not None:
        gate.find_batch(seen.tx, asked.batch_id)
    found = gate.exhausted(seen.tx, batch_id=asked.batch_id, limit=asked.limit, after=after)
    return {
        "page": page(found, asked.limit, "exhausted", lambda one: (one.batch_id, one.intake_id)),
        "batch_path": batch_path,
    }


@GATE.page("/gate/identities", "gate/identities.html")
def identities(seen: Seen) -> Context:
    """Minted company identities, newest first."""
    asked = seen.asked(EligibleAsked)
    return {"identities": mint.identities(seen.tx, limit=asked.limit), "limit": asked.limit}


def _companies(seen: Seen, asked: routes.IntakesAsked, batch_id: str | None) -> Context:
    found = gate.scan_intakes(
        seen.tx, batch_id=batch_id, statuses=asked.status, name=asked.name, limit=asked.limit,
        after=cursors.read_id("intakes", asked.after),
    )  # fmt: skip
    after = None if found.next is None else cursors.written("intakes", found.next)
    return {"page": Page(items=found.intakes, next=after), "is_cut": found.is_cut}


def _steps(funnel: gate.Funnel) -> list[tuple[str, int]]:
    return [
        ("came in", funnel.came_in),
        ("passed at first", funnel.passed_at_first),
        ("passed in a retry", funnel.recovered),
        ("minted", funnel.minted),
        ("wait for the first", funnel.waiting_first),
        ("wait for a retry", funnel.waiting_retry),
        ("exhausted", funnel.exhausted),
    ]
