"""A process that has everything imported and forks workers of recovery on request, many at once, and ends them.

Orders and answers are lines of JSON. A worker does its work over and over until it is told to stop, or is killed.
Whoever ends in another way has failed: it says why, and its exit code is not 0.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "gate"))
sys.path.insert(0, str(Path(__file__).parents[1] / "stress"))
from actors import die_with_parent, end

from hub import Hub, failed, succeeded
from recoup import observe
from recoup.database.connection import Actor, Database, Transaction
from recoup.lifecycles.declaration import Authority
from recoup.recovery import evaluation, execution, review
from recoup.recovery.executing import Claimed, Executor, Subject
from recoup.settings import Settings
from recoup.worker.standalone import Standalone
from recovery_ward import RETRY, Ward

IDLE_S = 0.005
OUTSIDE_S = 0.01  # what a call of another system takes at most
Pass = Callable[[], int]  # returns how much it did


def execute_here(db: Database, name: str) -> Pass:
    """The effect is a row of this database."""

    def effect(tx: Transaction, one: Claimed, _: Subject) -> None:
        tx.execute("insert into ward.effect (candidate_id) values (%s)", (one.candidate_id,))

    hands = Standalone(db, Authority.CLAIM_WORKER, name=name)
    return lambda: execution.execute_due(hands, {RETRY: Executor(effect, database=True)})


def execute_outside(db: Database, name: str, path: str) -> Pass:
    """The effect is a line in a file, with the key that tells one start from another."""
    file, chance = os.open(path, os.O_WRONLY | os.O_APPEND), Random(name)

    def effect(one: Claimed, _: Subject) -> None:
        time.sleep(chance.uniform(0, OUTSIDE_S))
        os.write(file, f"{one.idempotency_key}\n".encode())
        time.sleep(chance.uniform(0, OUTSIDE_S))

    hands = Standalone(db, Authority.CLAIM_WORKER, name=name)
    return lambda: execution.execute_due(hands, {RETRY: Executor(effect)})


def execute_ours(db: Database, name: str) -> Pass:
    hands = Standalone(db, Authority.CLAIM_WORKER, name=name)
    return lambda: execution.execute_due(hands, {})


def evaluate(db: Database, name: str) -> Pass:
    hands = Standalone(db, Authority.EVALUATOR, name=name)
    return lambda: evaluation.evaluate_due(hands)


def expire_evaluations(db: Database, name: str) -> Pass:
    def work() -> int:
        with db.transaction(Authority.EVALUATOR) as tx:
            return evaluation.expire(tx)

    return work


def approve(db: Database, name: str) -> Pass:
    """A person who approves every retry; each is shown to somebody else at times, so it may be decided already."""

    def work() -> int:
        ward = Ward(db)
        pending = ward.rows(
            "select candidate_id::text from recovery.candidate where status = 'pending' and scope_id is not null"
            " and action_name = %s order by 1 limit 200",
            RETRY,
        )
        if not pending:
            return 0
        with db.transaction(Authority.REVIEWER, actor=Actor("human", name)) as tx:
            return sum(answer.done for answer in review.approve(tx, [unit for (unit,) in pending], note="a test"))

    return work


def retry_errors(db: Database, name: str) -> Pass:
    """A hub at its retries: of errors with an even number they succeed, of the others they fail."""
    hub = Hub(db)

    def work() -> int:
        claimed = hub.claim(limit=50, worker=name)
        if claimed:
            hub.finish([succeeded(one) if one.error_id % 2 == 0 else failed(one) for one in claimed])
        return len(claimed)

    return work


ROLES: dict[str, Callable[..., Pass]] = {
    "execute here": execute_here,
    "execute outside": execute_outside,
    "execute ours": execute_ours,
    "match-subjects": lambda db, _: Ward(db).match,
    "recovery-wake": lambda db, _: Ward(db).wake,
    "recovery-evaluate": evaluate,
    "evaluation-expiry": expire_evaluations,
    "candidate-expiry": lambda db, _: Ward(db).expire,
    "approve": approve,
    "retry errors": retry_errors,
}


def live(told: dict[str, Any]) -> None:
    """Work until told to stop."""
    going = [True]
    signal.signal(signal.SIGTERM, lambda *_: going.clear())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    db = Database(told["conninfo"], Settings(home=Path("nowhere"), actor=told["name"], pool_max=2))
    work = ROLES[told["role"]](db, told["name"], *told["given"])
    while going:
        if not work():
            time.sleep(IDLE_S)


def main() -> None:
    observe.configure(level="critical")
    # Who was just forked is told to stop when it can hear it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # whatever else is printed goes elsewhere
        for line in sys.stdin:
            told = json.loads(line)
            if "end" in told:
                answer: object = end(told["end"], signal.Signals(told["how"]), told["patience_s"])
            elif (answer := os.fork()) == 0:
                code = 1
                try:
                    die_with_parent()
                    sys.stdin.close()
                    live(told)
                    code = 0
                except BaseException:  # noqa: BLE001 - whatever ended it is told
                    traceback.print_exc()
                finally:
                    sys.stderr.flush()
                    os._exit(code)
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
