"""The doctor's checks of recovery."""

from collections.abc import Iterator

from recoup.database import failures
from recoup.database.connection import Transaction
from recoup.health import CheckResult, judged, read
from recoup.recovery import executing
from recoup.recovery.duties import installed

MAX_COUNTED = 10_000
STUCK = """
select count(*), min(m.updated_at)
  from (select m.updated_at from recovery.failure_match m
         where m.evaluation_failures > 0 and m.status = 'stuck' limit %(most)s) m
"""
BOTH = """
select pg_has_role(session_user, 'recoup_reviewer', 'member')
   and pg_has_role(session_user, 'recoup_claim_worker', 'member')
"""


def matches(connection: Transaction) -> Iterator[CheckResult]:
    """Whether evaluations of some matches fail."""
    wrong = None
    for count, since in read(connection, STUCK, {"most": MAX_COUNTED}):
        if count:
            more = "at least " if count == MAX_COUNTED else ""
            wrong = f"{more}{count:,} stuck since {since:%Y-%m-%d %H:%M}Z: their evaluations fail"
    next_step = "See why: recoup recovery matches --stuck. After a fix: recoup recovery evaluate MATCH"
    yield judged("matches", "none is stuck", wrong, next_step, verdict="warning")


def candidates(connection: Transaction) -> Iterator[CheckResult]:
    """Whether candidates that may start wait for an action that nobody executes here."""
    if connection.info.dbname == failures.DEMO:
        return
    rows = read(
        connection, executing.Q["waiting_for_executors"].as_string(), {"known": list(executing.served(installed()))}
    )
    missing = ", ".join(f"{name} ({count:,})" for name, count in rows)
    yield judged(
        "candidates",
        "none waits for an executor",
        f"no executor here for {missing}" if missing else None,
        "Install one (entry point recoup.actions), or execute them elsewhere: db.recovery.claim",
        verdict="warning",
    )


def separation(connection: Transaction) -> Iterator[CheckResult]:
    """Whether one login may both approve candidates and start them: as installed, it may. Not a problem by itself."""
    ((both,),) = read(connection, BOTH) or ((False,),)
    found = (
        "this login may both approve and execute; for logins that may not: docs/howto/separate-logins.md"
        if both
        else "this login may not both approve and execute"
    )
    yield CheckResult(check="approvals", verdict="ok", found=found)
