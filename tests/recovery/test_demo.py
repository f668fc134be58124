"""The demo of recovery: every action, a rule, confidence that was learnt, and rows in every status of every table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from product import LIFECYCLES, chosen
from recoup.audit.examine import examine
from recoup.database.connection import Database
from recoup.lifecycles.declaration import Authority
from recoup.recovery.vocabulary import ActionType, Skip
from recoup.settings import Settings
from recoup_demo import recovery as demo

LOGS = ("recovery.run_trace", "recovery.provenance")


def rows(database: Database, query: str) -> list[tuple[Any, ...]]:
    with database.transaction(Authority.READER) as tx:
        return tx.execute(query.encode()).fetchall()


def test_everything_happens(fresh: Callable[..., Database], settings: Settings) -> None:
    database, said = fresh(), list[str]()
    demo.play(database, said.append)
    demo.ending(database, said.append)
    assert said
    stands = {
        life.table: {status for (status,) in rows(database, f"select distinct {life.status_column} from {life.table}")}
        for life in LIFECYCLES
        if life.table.startswith("recovery.") and life.table not in LOGS
    }
    assert stands == {life.table: set(life.statuses) for life in LIFECYCLES if life.table in stands}
    assert {"recovery.candidate", "recovery.scope", "recovery.run", "recovery.breaker"} <= stands.keys()
    # Each of the nine was executed, some without a person and some with.
    started = rows(
        database, "select action_type, decided_by is null from recovery.candidate where executed_at is not null"
    )
    assert {type_ for type_, _ in started} == set(ActionType)
    assert {by_itself for _, by_itself in started} == {True, False}
    # A worker died, a rule decided, something was undone, confidence rests on outcomes.
    kinds = {event for (event,) in rows(database, "select distinct event_type from recovery.provenance")}
    assert {"crashed", "manual_override", "confidence_updated", "scope_exhausted", "scope_revoked", "skipped"} <= kinds
    assert rows(database, "select from recovery.candidate where error = 'CRASHED' limit 1")
    assert rows(database, "select from recovery.evaluation where fired[1] not like 'plan.%' limit 1")
    assert rows(database, "select from recovery.candidate where undoes is not null and status = 'succeeded' limit 1")
    assert rows(database, "select from recovery.candidate where confidence_basis is not null and evidence > 5 limit 1")
    assert rows(database, "select from recovery.run where status = 'crashed' and retry_of is null limit 1")
    assert rows(database, f"select from recovery.candidate where skip_reason = '{Skip.DECISION_OVERDUE}' limit 1")
    with database.transaction(Authority.READER) as tx:
        assert demo.an_eventful_match(tx) is not None
        verdicts = examine(tx, chosen(["recovery", "runs", "deliveries", "rebuild", "laws"]), settings=settings)
    assert {verdict.id: verdict.rows for verdict in verdicts if not verdict.holds} == {}
