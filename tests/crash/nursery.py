"""A process that has everything imported and forks workers on request, so that killing many of them is cheap.

It talks in lines of JSON. Told a task, it forks a worker, which connects, says that it is ready and waits for a line;
when the worker is gone, it says how that ended.
"""

from __future__ import annotations

import dataclasses
import gc
import importlib
import json
import math
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import recoup.verification  # noqa: F401 - imported once, for all of them
from recoup import mint, policy
from recoup.database import pool
from recoup.database.connection import Database, Transaction
from recoup.errors import archive, importing, retrying
from recoup.errors.recording import NewError, record
from recoup.errors.retrying import Succeeded
from recoup.gate import verifying
from recoup.lifecycles.declaration import Authority
from recoup.operations import batches, many
from recoup.partitions import working
from recoup.recovery import evaluation, execution
from recoup.recovery.executing import Claimed, Executor, Subject
from recoup.settings import Settings
from recoup.worker.standalone import Standalone

sys.path.insert(0, str(Path(__file__).parents[1]))  # for domains that are tests only
from recovery_ward import RETRY

NAME = "victim"
FILE_STEPS = ("os.mkdir", "os.rename", "os.chmod", "os.remove")
SMALL = 2  # errors of one batch, so that there are several


def verify_first(db: Database) -> Callable[[], object]:
    hands = Standalone(db, Authority.GATE, name=NAME)
    return lambda: verifying.verify(hands, retries=False)


def verify_again(db: Database) -> Callable[[], object]:
    hands = Standalone(db, Authority.GATE, name=NAME)
    return lambda: verifying.verify(hands, retries=True)


def connected(db: Database) -> None:
    with db.transaction(Authority.READER):
        """Connected."""


def mint_a_page(db: Database) -> Callable[[], object]:
    connected(db)

    def work() -> None:
        with db.transaction(Authority.MINT) as tx:
            mint.mint(tx)

    return work


def record_errors(db: Database, *entities: str) -> Callable[[], object]:
    """One batch, of one failure of each."""
    connected(db)
    errors = [
        NewError(table="outreach.dol_errors", message="the request timed out", outreach_id=UUID(one))
        for one in entities
    ]

    def work() -> None:
        with db.transaction(Authority.HUB) as tx:
            record(tx, errors)

    return work


def record_file(db: Database, path: str) -> Callable[[], object]:
    connected(db)
    importing.BATCH = SMALL

    def work() -> None:
        importing.import_file(db, Path(path))

    return work


def retry_errors(db: Database) -> Callable[[], object]:
    """What is due, as a hub does it: claim, fix, report."""
    connected(db)

    def work() -> None:
        with db.transaction(Authority.HUB) as tx:
            claimed = retrying.claim(tx, limit=10, worker=NAME)
        outcomes = [Succeeded(error_table=one.error_table, error_id=one.error_id, token=one.token) for one in claimed]
        with db.transaction(Authority.HUB) as tx:
            retrying.finish(tx, outcomes)

    return work


def found(path: str) -> Any:
    """What a path such as ``recoup.errors.subject:SUBJECT`` means."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def carry_on(db: Database, subject: str, operation: str) -> Callable[[], object]:
    """An operation over many, in small batches."""
    connected(db)
    batches.BATCH = SMALL
    return lambda: many.carry_on(db, found(subject), UUID(operation))


def duty(db: Database, domain: str, name: str) -> Callable[[], object]:
    """One batch of a duty, as a worker does it."""
    connected(db)
    (chosen,) = (one for one in found(domain).duties if one.name == name)
    with db.transaction(Authority.READER) as tx:
        rules = policy.in_force(tx).policy

    def work() -> None:
        with db.transaction(chosen.authority) as tx:
            chosen.batch(tx, rules)

    return work


def sweep_errors(db: Database) -> Callable[[], object]:
    connected(db)

    def work() -> None:
        with db.transaction(Authority.ARCHIVER) as tx:
            archive.sweep(tx)

    return work


def drop_month(db: Database) -> Callable[[], object]:
    connected(db)

    def work() -> None:
        with db.transaction(Authority.ARCHIVER) as tx:
            archive.drop_month(tx)

    return work


def evaluate_matches(db: Database) -> Callable[[], object]:
    hands = Standalone(db, Authority.EVALUATOR, name=NAME)
    return lambda: evaluation.evaluate_due(hands)


def execute_candidates(db: Database, where: str) -> Callable[[], object]:
    """Those whose effect is a row of ours, a row of the test in the same transaction, or a line in a file."""

    def here(tx: Transaction, one: Claimed, _: Subject) -> None:
        tx.execute("insert into ward.effect (candidate_id) values (%s)", (one.candidate_id,))

    def outside(one: Claimed, _: Subject) -> None:
        with Path(where).open("a") as file:
            file.write(f"{one.idempotency_key}\n")

    found = {"ours": {}, "here": {RETRY: Executor(here, database=True)}}.get(where, {RETRY: Executor(outside)})
    hands = Standalone(db, Authority.CLAIM_WORKER, name=NAME)
    return lambda: execution.execute_due(hands, found)


def work_on_partitions(db: Database, sink: str, step: str) -> Callable[[], object]:
    """Dispatched, extracted, validated; killed before this step in the raw sink, unless it has fewer."""
    settings = dataclasses.replace(db.settings, sink=Path(sink), partition_slots=1)
    hands = Standalone(Database(db.conninfo, settings), Authority.CONTROL_PLANE, name=NAME)
    left = [int(step)]

    def count(event: str, given: tuple[Any, ...]) -> None:
        # Whatever makes, moves, seals or removes a file.
        is_step = event in FILE_STEPS or (event == "open" and isinstance(given[2], int) and given[2] & os.O_CREAT)
        if is_step and left[0]:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        sys.addaudithook(count)
        working.work_due(hands)

    return work


TASKS: dict[str, Callable[..., Callable[[], object]]] = {
    "verify": verify_first,
    "retry": verify_again,
    "mint": mint_a_page,
    "record errors": record_errors,
    "record file": record_file,
    "retry errors": retry_errors,
    "carry on": carry_on,
    "duty": duty,
    "sweep errors": sweep_errors,
    "drop month": drop_month,
    "evaluate matches": evaluate_matches,
    "execute candidates": execute_candidates,
    "work on partitions": work_on_partitions,
}


def main() -> None:
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # whatever else is printed goes elsewhere

        def tell(**said: object) -> None:
            print(json.dumps(said), file=answers, flush=True)

        gc.freeze()  # what is looked at is copied
        sys.dont_write_bytecode = True  # which would be files, too
        pool.TRUSTED_S = math.inf  # a machine that stands still for a second adds no statement
        for line in sys.stdin:
            told = json.loads(line)
            worker = os.fork()
            if worker == 0:
                # One connection: statements come one after the other.
                db = Database(told["conninfo"], Settings(home=Path("nowhere"), actor=NAME, pool_max=1))
                work = TASKS[told["task"]](db, *told["given"])
                tell(ready=os.getpid())
                sys.stdin.readline()
                work()
                os._exit(0)
            _, status = os.waitpid(worker, 0)
            tell(ended=os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
