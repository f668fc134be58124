"""A retry is a new run: a copy of one that failed or crashed, made by the consequence of a candidate alone."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from company import acting
from recoup.client import Client
from recoup.database.connection import Database, Transaction
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused
from recoup.runs import Failed, NewRun, Started, Succeeded, listing, running
from recoup.runs.lifecycle import RUN

# What stands in for a candidate here: a table whose consequence queues retries, as the owner for the executor.
STAND_IN = """
create table recovery.stand_in (run_id uuid, candidate_id uuid, alternative jsonb);
grant insert on recovery.stand_in to recoup_executor;
create function recovery.settle_stand_in() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform set_config('recoup.acting_role', 'recoup_executor', true);
  perform recovery.queue_retries(array_agg(n.run_id), array_agg(n.candidate_id), array_agg(n.alternative))
     from new_rows n;
  return null;
end $$;
alter function recovery.settle_stand_in() owner to recoup_owner;
create trigger d_settle after insert on recovery.stand_in referencing new table as new_rows
  for each statement execute function recovery.settle_stand_in();
"""


@pytest.fixture
def tx(scratch: Transaction) -> Transaction:
    scratch.execute(STAND_IN)
    return scratch


def ended(tx: Transaction, outcome: type[Succeeded | Failed], **new: Any) -> Started:
    with acting(tx, Authority.RUNNER):
        (run,) = running.start(tx, [NewRun(**({"kind": "import", "input": {"day": 1}, "source": "crm"} | new))])
        running.finish(tx, [outcome(**run._asdict())])
    return run


def retried(tx: Transaction, run: uuid.UUID, alternative: str | None = None) -> None:
    with acting(tx, Authority.EXECUTOR):
        tx.execute("insert into recovery.stand_in values (%s, gen_random_uuid(), %s)", (run, alternative))


def test_a_retry_is_a_copy_that_names_the_run_and_the_candidate(tx: Transaction) -> None:
    run = ended(tx, Failed)
    before = listing.show(tx, run.run_id)
    retried(tx, run.run_id, '{"model": "small"}')
    (again,) = (one for one in listing.list_runs(tx, kind="import") if one.retry_of == run.run_id)
    shown = listing.show(tx, again.run_id)
    assert (shown.status, shown.kind, shown.source, shown.input) == ("queued", "import", "crm", {"day": 1})
    assert shown.candidate_id is not None
    assert shown.retry_with == {"model": "small"}
    with acting(tx, Authority.RUNNER):
        claimed = {one.run_id: one for one in running.claim(tx, kind="import", limit=100)}
    assert claimed[again.run_id].retry_with == {"model": "small"}
    # The crashed or failed run itself is as it was.
    after = listing.show(tx, run.run_id)
    assert after.retried_by == again.run_id
    assert (after.status, after.finished_at, after.trace) == (before.status, before.finished_at, before.trace)


def test_a_run_is_retried_once(tx: Transaction) -> None:
    run = ended(tx, Failed)
    retried(tx, run.run_id)
    with pytest.raises(Exception, match="run_retry_of"):
        retried(tx, run.run_id)


@pytest.mark.parametrize("status", ["queued", "running", "succeeded", "unknown"])
def test_only_what_failed_or_crashed_is_retried(tx: Transaction, status: str) -> None:
    with acting(tx, Authority.RUNNER):
        match status:
            case "queued":
                (run,) = running.queue(tx, [NewRun(kind="import")])
            case "running":
                run = running.start(tx, [NewRun(kind="import")])[0].run_id
            case "succeeded":
                run = ended(tx, Succeeded).run_id
            case _:
                run = uuid.uuid4()
    with pytest.raises(Exception, match=r"is not retried|There is no run"):
        retried(tx, run)


def test_a_runner_makes_no_retry_by_hand(client: Client) -> None:
    run = client.runs.start("import")
    client.runs.finish(Failed(**run._asdict()))
    with pytest.raises(LawRefused, match="no right"), client.transaction(Authority.RUNNER) as tx:
        tx.execute(
            "insert into recovery.run (kind, source, status, owner, created_at, queued_at, retry_of, candidate_id)"
            " select 'import', 'import', 'queued', 'x', now_, now_, %s, gen_random_uuid()"
            " from (select recoup.now() as now_) t", (run.run_id,),
        )  # fmt: skip


def test_a_retry_with_another_input_is_refused(tx: Transaction) -> None:
    run = ended(tx, Failed)
    tx.execute(
        "create or replace function recovery.settle_stand_in() returns trigger language plpgsql security definer as $$"
        " begin perform set_config('recoup.acting_role', 'recoup_executor', true);"
        " insert into recovery.run (kind, source, input, status, owner, created_at, queued_at, retry_of, candidate_id)"
        " select 'import', 'crm', '{}', 'queued', 'x', recoup.now(), recoup.now(), n.run_id, n.candidate_id"
        " from new_rows n; return null; end $$"
    )
    with pytest.raises(Exception, match="the kind, the source and the input of run"):
        retried(tx, run.run_id)


def test_the_declared_consequence_may_be_made_later(db: Database) -> None:
    """The retry's birth is declared via a function of the recovery domain."""
    (birth,) = (one for one in RUN.births if one.authority is Authority.EXECUTOR)
    assert birth.via == ("recovery.settle_candidates",)
    assert birth.requires == ("retry_of", "candidate_id")
