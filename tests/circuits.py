"""Breakers in every status, each step by whoever owns it."""

from __future__ import annotations

from datetime import timedelta

from company import ERRORS, acting, advance, claimed_error
from recoup.database.connection import Transaction
from recoup.errors import retrying
from recoup.lifecycles.declaration import Authority
from recoup.recovery import breakers

WAIT = timedelta(seconds=61)
PROBE = (
    "status = 'half_open', probes = probes + 1, probe_subject = 'recoup.error',"
    f" probe_unit = (select q.part || '/' || q.unit from recoup.error_queue q where q.part = '{ERRORS}'"
    " and q.token is not null limit 1),"
    f" probe_token = (select q.token from recoup.error_queue q where q.part = '{ERRORS}' and q.token is not null"
    " limit 1), probe_until = t.now_ + interval '1 minute', closed_at = null, closed_by = null"
)
NO_PROBE = "probe_subject = null, probe_unit = null, probe_token = null, probe_until = null"
AGAIN = (
    f"status = 'open', {NO_PROBE}, wait_s = wait_s * 2, open_until = t.now_ + make_interval(secs => wait_s * 2),"
    " closed_at = null, closed_by = null"
)
OPENED = (
    f"status = 'open', {NO_PROBE}, wait_s = 60, opened_at = t.now_, open_until = t.now_ + interval '60 seconds',"
    " opened_by = recoup.acting_id(), reason = 'x', candidate_id = null, probes = 0, closed_at = null, closed_by = null"
)
CLOSED = f"status = 'closed', {NO_PROBE}, closed_at = coalesce(closed_at, t.now_), closed_by = {{}}"
BORN = (
    "(name, status, parts, wait_s, max_wait_s, opened_at, open_until, opened_by, reason{more})"
    " select 'vendor', '{status}', b.parts, b.wait_s, b.max_wait_s, now_, now_ + make_interval(secs => b.wait_s),"
    " recoup.acting_id(), 'x'{values} from (select recoup.now() as now_) t, recovery.breaker_terms('vendor') b"
)


def change(actor: Authority | str | None, source: str, target: str) -> str:
    """What a step says, for whoever takes it."""
    if target == "half_open":
        return PROBE
    if target == "open":
        return AGAIN if source == "half_open" else OPENED
    return CLOSED.format("recoup.acting_id()" if actor is Authority.OPERATOR else "'probe'")


def opened(tx: Transaction, name: str = ERRORS) -> str:
    with acting(tx, Authority.OPERATOR):
        assert breakers.open_breaker(tx, name, reason="it is down")
    return name


def due(tx: Transaction) -> str:
    """Open, with its wait over and a unit that was claimed before."""
    claimed_error(tx)
    opened(tx)
    advance(tx, WAIT)
    return ERRORS


def closed(tx: Transaction) -> str:
    """Closed, with a unit that is claimed."""
    claimed_error(tx)
    return breaker_in(tx, "closed")


def tried(tx: Transaction, *, well: bool | None = None) -> str:
    """Half open, with a probe that runs, or ended well or badly."""
    due(tx)
    with acting(tx, Authority.ERROR_WORKER):
        now = "(select recoup.now() as now_) t"
        tx.execute(f"update recovery.breaker set {PROBE} from {now} where name = '{ERRORS}'".encode())
        if well is not None:
            unit, token = tx.execute(
                "select probe_unit, probe_token from recovery.breaker where status = 'half_open'"
            ).fetchone() or ("", None)
            given = {"error_table": ERRORS, "error_id": int(unit.partition("/")[2]), "token": token}
            retrying.finish(tx, [retrying.Succeeded(**given) if well else retrying.Failed(**given, failure="down")])
    return ERRORS


def breaker_in(tx: Transaction, status: str) -> str:
    if status == "half_open":
        return tried(tx)
    opened(tx)
    if status == "closed":
        with acting(tx, Authority.OPERATOR):
            breakers.close_breaker(tx, ERRORS)
    return ERRORS
