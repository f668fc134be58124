"""A process that has everything imported and bears workers when it is told to, so that killing many of them is cheap.

It talks in lines of JSON. Told a task, it forks a worker, which connects, says that it is ready and waits for a line;
when the worker is gone, it says how that ended.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import recoup.verification  # noqa: F401 - imported once, for all of them
from recoup import mint
from recoup.database.connection import Database
from recoup.gate import verifying
from recoup.lifecycles.declaration import Authority
from recoup.settings import Settings

NAME = "victim"


def verify_first(db: Database) -> Callable[[], object]:
    hands = verifying.Alone(db, name=NAME)
    return lambda: verifying.verify(hands, retries=False)


def verify_again(db: Database) -> Callable[[], object]:
    hands = verifying.Alone(db, name=NAME)
    return lambda: verifying.verify(hands, retries=True)


def mint_a_page(db: Database) -> Callable[[], object]:
    with db.transaction(Authority.READER):
        """Connected."""

    def work() -> None:
        with db.transaction(Authority.MINT) as tx:
            mint.mint(tx)

    return work


TASKS: dict[str, Callable[[Database], Callable[[], object]]] = {
    "verify": verify_first,
    "retry": verify_again,
    "mint": mint_a_page,
}


def main() -> None:
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # whatever else is printed goes elsewhere

        def tell(**said: object) -> None:
            print(json.dumps(said), file=answers, flush=True)

        for line in sys.stdin:
            told = json.loads(line)
            worker = os.fork()
            if worker == 0:
                # One connection: statements come one after the other.
                db = Database(told["conninfo"], Settings(home=Path("nowhere"), actor=NAME, pool_max=1))
                work = TASKS[told["task"]](db)
                tell(ready=os.getpid())
                sys.stdin.readline()
                work()
                os._exit(0)
            _, status = os.waitpid(worker, 0)
            tell(ended=os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
