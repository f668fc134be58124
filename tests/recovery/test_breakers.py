"""Breakers: what depends on one that is open waits; one unit tries it; its end decides."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest

from hub import DOL, TRANSIENT
from recoup.database.connection import Transaction
from recoup.errors import retrying
from recoup.errors.retrying import Claimed
from recoup.lifecycles.declaration import Authority
from recoup.recovery import breakers, executing
from recoup.recovery.executing import Executor, Outcome
from recoup.refusals import LawRefused
from recovery.stage import RETRY, NewStage, Stage

BREAK = "circuit_breaker"


def open_(stage: Stage, name: str) -> bool:
    with stage.person("olga", Authority.OPERATOR) as tx:
        return breakers.open_breaker(tx, name, reason="the vendor is down")


def close(stage: Stage, name: str) -> None:
    with stage.person("olga", Authority.OPERATOR) as tx:
        breakers.close_breaker(tx, name)


def settle(stage: Stage) -> int:
    with stage.db.transaction(Authority.EVALUATOR) as tx:
        return breakers.settle(tx)


def breaker(stage: Stage, name: str) -> dict[str, Any]:
    return stage.row("select * from recovery.breaker where name = %s", name)


def claim(stage: Stage, *, limit: int = 10, lease: timedelta | None = None, tables: list[str] | None = None) -> list[Claimed]:
    with stage.db.transaction(Authority.ERROR_WORKER) as tx:
        return retrying.claim(tx, limit=limit, worker="w", lease=lease, tables=tables)


def end(stage: Stage, one: Claimed, *, well: bool) -> None:
    given = {"error_table": one.error_table, "error_id": one.error_id, "token": one.token}
    with stage.db.transaction(Authority.ERROR_WORKER) as tx:
        retrying.finish(tx, [retrying.Succeeded(**given) if well else retrying.Failed(**given, failure="down")])


def due(stage: Stage, count: int, table: str = DOL) -> list[int]:
    """Errors whose retry is due."""
    made = [stage.hub.record(TRANSIENT, table=table, code=f"E{uuid.uuid4().hex[:8]}") for _ in range(count)]
    stage.advance(hours=1)
    return made


def test_what_depends_on_it_waits_and_one_unit_tries_it(new_stage: NewStage) -> None:
    stage = new_stage()
    due(stage, 5)
    assert open_(stage, DOL)
    assert not open_(stage, DOL)  # it stays as it is
    assert claim(stage) == []
    assert (breaker(stage, DOL)["status"], breaker(stage, DOL)["probes"]) == ("open", 0)
    stage.advance(seconds=61)
    (probe,) = claim(stage)
    assert claim(stage) == []
    row = breaker(stage, DOL)
    assert (row["status"], row["probe_unit"], row["probe_token"]) == (
        "half_open", f"{DOL}/{probe.error_id}", probe.token,
    )  # fmt: skip
    # It fails: open for twice as long.
    end(stage, probe, well=False)
    assert claim(stage) == []
    row = breaker(stage, DOL)
    assert (row["status"], row["wait_s"], row["probe_token"]) == ("open", 120, None)
    stage.advance(seconds=61)
    assert claim(stage) == []
    stage.advance(seconds=61)
    (probe,) = claim(stage)
    end(stage, probe, well=True)
    # The next claim sees that, and takes what waits.
    assert len(claim(stage)) == 4
    row = breaker(stage, DOL)
    assert (row["status"], row["closed_by"], row["probes"]) == ("closed", "probe", 2)
    told = stage.rows("select to_status from recoup.control_log where subject = 'recovery.breaker' order by seq")
    assert [event["to_status"] for event in told] == ["open", "half_open", "open", "half_open", "closed"]
    stage.whole()
