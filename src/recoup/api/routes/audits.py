"""What the audit found, and how far the logs are sealed, over HTTP."""

from typing import Annotated

from fastapi import Query

from recoup.api import cursors
from recoup.api.answers import Listing, Page, page
from recoup.api.declare import Area, Paged
from recoup.audit import AuditResult, results
from recoup.database.connection import Transaction
from recoup.ledger import seals
from recoup.ledger.seals import LogSeals

AUDITS = Area(name="audit", about="Results of the audit that were kept, and the seals of the logs.")


class AuditsAsked(Paged):
    """Which results."""

    broken: bool = False


@AUDITS.get("/v1/audit", whole=True)
def list_results(tx: Transaction, *, asked: Annotated[AuditsAsked, Query()]) -> Page[AuditResult]:
    """List results of the audit that were kept, newest first; with broken those that found something.

    An audit is run with `recoup audit --record`, where it may take long.
    """
    after = cursors.read_number("audit", asked.after)
    found = results.results(tx, broken=asked.broken, limit=asked.limit, after=after)
    return page(found, asked.limit, "audit", lambda one: one.seq)


@AUDITS.get("/v1/seals", whole=True)
def list_seals(tx: Transaction) -> Listing[LogSeals]:
    """List the logs that are sealed: how many blocks, the last seal, and how far that is behind."""
    return Listing(items=seals.standings(tx))
