"""The other actions in the demo of recovery: a rule that recommends one, breakers, a key that is set and restored."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from uuid import UUID

from recoup import policy
from recoup.lifecycles.declaration import Authority
from recoup.recovery import breakers, config, executing, review, undoing
from recoup.recovery.executing import Claimed, RolledBack, Subject
from recoup.recovery.policy import RecoveryPolicy
from recoup.worker.standalone import Standalone

if TYPE_CHECKING:
    from recoup_demo.recovery import Play

SEARCH, MAIL, MODEL, IMPORT = "search-index", "mail-relay", "summaries", "importer"
BREAK, RECONFIGURE, ROLLBACK = "circuit_breaker", "reconfigure", "rollback"
FALLBACK, ESCALATE, RETRY = "fallback_model", "escalate_to_ops", "retry_exponential"
KEY = "importer.batch_size"
RULES = """
[recovery.rules.nobody_is_there]
when = "message.contains('connection refused')"
action = "circuit_breaker"
weight = 0.9
description = "a retry is useless while nobody listens"
"""


def other_model(one: Claimed, subject: Subject) -> Any:
    """What executes fallbacks: the other model works for all but one, and that one cleans up after itself."""
    if subject.subject_ref.endswith("-1"):
        return RolledBack("the other model refused; its draft was deleted", {"deleted": 1})
    return {"model": "small", "key": one.idempotency_key}


def play(demo: "Play") -> None:
    """A rule, and the actions that it or people choose."""
    if find_spec("cel_expr_python") is not None:  # the extra with which conditions of rules are evaluated
        with demo.acting(Authority.OPERATOR) as tx:
            policy.apply(tx, RULES, (RecoveryPolicy,), reason="nobody waits for a vendor that is down")
    demo.policy = Standalone(demo.database, Authority.READER, name="demo").policy[RecoveryPolicy]
    _breakers(demo)
    _undone(demo)
    _fallback(demo)
    _escalated(demo)


def _proposed(demo: "Play", match: UUID, action: str, **parameters: Any) -> UUID:
    """Proposed by one person and approved by another."""
    with demo.acting(Authority.OPERATOR, demo.LEAD) as tx:
        made = review.propose(tx, match, action, demo.policy, parameters=parameters or None)
    demo.decide(review.approve, [str(made)], note=None)
    demo.duties()
    return made


def _breakers(demo: "Play") -> None:
    """One that is opened for a failure, and closed by a person."""
    (match,) = demo.ingest(SEARCH, "index {}: connection refused", 1)
    demo.duties()
    demo.open_scope(SEARCH, (BREAK, RETRY), max_attempts=5, reason="until search is back")
    demo.duties()
    if demo.pending(SEARCH):
        demo.decide(review.approve, demo.pending(SEARCH), note="search is down")
        demo.duties()
    else:
        _proposed(demo, match, BREAK)
    with demo.acting(Authority.OPERATOR, demo.LEAD, "search answers again") as tx:
        breakers.close_breaker(tx, SEARCH)
    demo.duties()
    demo.tell(f"{SEARCH}: nothing was sent to it while its breaker was open")


def _undone(demo: "Play") -> None:
    """A key is changed, and changed back."""
    (match,) = demo.ingest(IMPORT, "file {} took too long", 1)
    with demo.acting(Authority.OPERATOR, demo.LEAD, "as always") as tx:
        config.put(tx, "importer.at_once", 4)
    demo.duties()
    demo.open_scope(IMPORT, (RECONFIGURE, ROLLBACK), max_attempts=5, reason="smaller batches may help")
    changed = _proposed(demo, match, RECONFIGURE, key=KEY, value=50)
    with demo.acting(Authority.OPERATOR, demo.LEAD) as tx:
        restored = undoing.rollback(tx, changed, demo.policy, reason="it did not help")
    demo.duties()
    with demo.acting(Authority.READER) as tx:
        (source,) = tx.execute(
            "select m.source from recovery.candidate c join recovery.failure_match m using (failure_match_id)"
            " where c.candidate_id = %s",
            (restored,),
        ).fetchone() or (IMPORT,)
    if source != IMPORT:
        demo.open_scope(source, (ROLLBACK,), max_attempts=1, reason="it did not help")
        demo.duties()
    demo.decide(review.approve, [str(restored)], note="it did not help")
    demo.duties()
    demo.tell(f"{IMPORT}: {KEY} was set, and is as it was before")


def _fallback(demo: "Play") -> None:
    """Another model, for two failures; one undid itself."""
    matches = demo.ingest(MODEL, "summary {}: the model is overloaded", 2)
    demo.duties()
    demo.open_scope(MODEL, (FALLBACK,), max_attempts=5, reason="the small model is good enough")
    for match in matches:
        _proposed(demo, match, FALLBACK)


def _escalated(demo: "Play") -> None:
    (match,) = demo.ingest(MAIL, "message {} was refused: mailbox unknown", 1)
    demo.duties()
    demo.open_scope(MAIL, (ESCALATE,), max_attempts=2, reason="for the owner of the list")
    _proposed(demo, match, ESCALATE)


def last_day(demo: "Play") -> None:
    """What is open at the end: a breaker that waits, and one that is being tried; and one that was closed."""
    with demo.acting(Authority.OPERATOR, demo.LEAD) as tx:
        breakers.open_breaker(tx, MAIL, reason="the relay is moved tonight")
        breakers.open_breaker(tx, SEARCH, reason="search is rebuilt")
        breakers.open_breaker(tx, MODEL, reason="the model is replaced")
    with demo.acting(Authority.OPERATOR, demo.LEAD, "the new model is there") as tx:
        breakers.close_breaker(tx, MODEL)
    matches = demo.ingest(SEARCH, "index {}: too many documents", 2, first=1)
    demo.duties()
    demo.open_scope(SEARCH, (RETRY,), max_attempts=5, reason="until search is back")
    demo.duties()
    demo.decide(review.approve, demo.pending(SEARCH)[: len(matches)], note=None)
    with demo.acting(Authority.READER) as tx:
        (wait,) = tx.execute("select wait_s from recovery.breaker where name = %s", (SEARCH,)).fetchone() or (60,)
    demo.pass_seconds(wait + 1)
    with demo.acting(Authority.CLAIM_WORKER) as tx:
        executing.claim(tx, limit=10, worker="demo-worker-that-tries", actions=[RETRY])
