"""What watches over the errors of the demo: counts that hubs report, alerts, and an operation that stops itself."""

from datetime import timedelta

from recoup.alerts import judging, listing, people
from recoup.database.connection import Actor, Database
from recoup.domain import sources
from recoup.domains import MEASURED
from recoup.errors import processed, retrying
from recoup.errors.listing import Filter
from recoup.errors.processed import NewProcessed
from recoup.errors.subject import SUBJECT
from recoup.errors.vocabulary import ErrorStatus
from recoup.lifecycles.declaration import Authority
from recoup.operations import begin, steps
from recoup.policy import versions

CANARY = 5


def report(database: Database, hub: Actor, tables: dict[str, int]) -> None:
    """Hubs report what they processed in the last day."""
    with database.transaction(Authority.HUB, actor=hub) as tx:
        processed.report(tx, [NewProcessed(table=table, count=count) for table, count in tables.items()])


def judge(database: Database, worker: Actor) -> None:
    """Measure everything, and fire and end alerts."""
    with database.transaction(Authority.ERROR_WORKER, actor=worker) as tx:
        judging.judge(tx, versions.active(tx).policy, sources(MEASURED))


def firing(database: Database) -> list[str]:
    """The rules that fire now."""
    with database.transaction(Authority.READER) as tx:
        return sorted({one.rule for one in listing.alerts(tx)})


def silence(database: Database, person: Actor, rule: str) -> None:
    with database.transaction(Authority.OPERATOR, actor=person) as tx:
        people.silence(tx, rule, lasts=timedelta(hours=12), reason="the import is known, and checked by hand")


def let_a_few_go(database: Database, person: Actor, hub: Actor, table: str, code: str) -> str:
    """Unpark with a canary what is not fixed: the first few fail again, and the rest stays parked. Returns why."""
    wanted = Filter(tables=(table,), statuses=(ErrorStatus.PARKED,), codes=(code,))
    with database.transaction(Authority.OPERATOR, actor=person, reason="the vendor says it is fixed") as tx:
        act = SUBJECT.act("unpark", reason="the vendor says it is fixed")
        operation = begin(tx, SUBJECT, act, wanted, canary=CANARY)
    steps.continue_one(database, SUBJECT, operation, actor=person)
    with database.transaction(Authority.HUB, actor=hub) as tx:
        claimed = retrying.claim(tx, limit=1000, worker=hub.id, tables=[table])
        retrying.finish(tx, [_failed(one) for one in claimed])
    steps.continue_one(database, SUBJECT, operation, actor=person)
    with database.transaction(Authority.READER) as tx:
        return str(steps.story(tx, operation)[-1].why)


def _failed(one: retrying.Claimed) -> retrying.Failed:
    return retrying.Failed(error_table=one.error_table, error_id=one.error_id, token=one.token, failure="as before")
