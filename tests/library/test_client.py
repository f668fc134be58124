"""The client: every verb under the authority that owns it, by plain names."""

from __future__ import annotations

import uuid

import pytest

from hub import DOL
from library.conftest import Program
from recoup import Authority, Failed, NewError, Succeeded
from recoup.client import Client
from recoup.gate import NewIntake, Passed
from recoup.refusals import InputRefused

VENDOR = "the request timed out"


def test_an_error_from_its_failure_to_its_end(client: Client) -> None:
    entity = uuid.uuid4()
    recorded = client.errors.record(table=DOL, outreach_id=str(entity), message="no such column: ein", code="EIN")
    assert client.errors.is_blocked(str(entity))
    (one,) = client.errors.list(entities=str(entity), statuses="PARKED")
    assert (one.error_id, one.error_code) == (recorded.error_id, "EIN")
    assert [found.error_id for found in client.errors.blocking([entity])] == [recorded.error_id]
    for answers in (
        client.errors.assign(recorded, to="ada"),
        client.errors.review(recorded.error_id, actor="ada"),
        client.errors.escalate(one, reason="no answer", actor="ada"),
        client.errors.unpark(f"{DOL}/{recorded.error_id}", reason="fixed"),
        client.errors.park([recorded], reason="not fixed"),
        client.errors.resolve(recorded, reason="fixed by hand"),
    ):
        assert [answer.done for answer in answers] == [True], answers
    assert not client.errors.is_blocked(entity)
    assert [event.event_type for event in client.errors.show(recorded).events] == [
        "RECORDED", "ASSIGNED", "REVIEWED", "ESCALATED", "UNPARKED", "PARKED", "RESOLVED",
    ]  # fmt: skip


def test_retries_are_claimed_and_finished(client: Client) -> None:
    made = [NewError(table=DOL, outreach_id=uuid.uuid4(), message="no such column: x", code=str(n)) for n in range(2)]
    ids = client.errors.record(made)
    client.errors.unpark(ids)  # due at once
    claimed = [error for error in client.errors.claim(limit=100, tables=[DOL]) if error.error_id in {i[1] for i in ids}]
    assert len(claimed) == 2
    good, bad = claimed
    ended = client.errors.finish(
        [
            Succeeded(error_table=good.error_table, error_id=good.error_id, token=good.token),
            Failed(error_table=bad.error_table, error_id=bad.error_id, token=bad.token, failure="still no"),
        ]
    )
    assert {one.error_id: one.status for one in ended}[good.error_id] == "RESOLVED"
    assert client.errors.show(bad).row["last_failure"] == "still no"


def test_gate_zero_by_its_verbs(client: Client) -> None:
    batch = f"batch-{uuid.uuid4().hex[:8]}"
    client.gate.create_batch(batch)
    (intake,) = client.gate.add_intakes([NewIntake(company_name="Acme", state="TX")], batch_id=batch)
    assert client.gate.pause_batch(batch, reason="lunch")
    assert client.gate.resume_batch(batch)
    (attempt,) = client.gate.open_attempts([intake], worker="w")
    (done,) = client.gate.finish_attempts([Passed(attempt_id=attempt.attempt_id, token=attempt.token)])
    assert done.status == "passed"
    assert client.gate.find_batch(batch).batch_id == batch
    assert client.gate.funnel(batch_id=batch)
    assert len(client.gate.history([intake])) >= 2


def test_a_subscription_reads_every_event_once(client: Client) -> None:
    recorded = client.errors.record(table=DOL, outreach_id=uuid.uuid4(), message="x")
    name = f"reader-{uuid.uuid4().hex[:8]}"
    subscription = client.subscribe("recoup.error_event", name)
    seen = [event["error_id"] for page in subscription for event in page.events]
    assert recorded.error_id in seen
    assert list(client.subscribe("recoup.error_event", name)) == [], "it goes on where it was"
    assert subscription.cancel()
    with pytest.raises(InputRefused, match="no log") as refused:
        client.subscribe("recoup.nothing", name)
    assert "recoup.error_event" in refused.value.next_step


def test_an_event_and_what_follows_from_it_are_one_transaction(client: Client, program: Program) -> None:
    client.errors.record(table=DOL, outreach_id=uuid.uuid4(), message="x")
    with program.connect() as own:
        subscription = client.subscribe("recoup.error_event", f"reader-{uuid.uuid4().hex[:8]}", tx=own)
        own.commit()
        page = subscription.read(limit=10_000, tx=own)
        own.execute("insert into app.filings values ('event')")
        subscription.acknowledge(page, tx=own)
        own.rollback()
        assert subscription.read(limit=10_000, tx=own).events == page.events


def test_policy_stats_groups_and_audit(client: Client) -> None:
    client.errors.record(table=DOL, outreach_id=uuid.uuid4(), message=VENDOR)
    assert client.policy.active().version == client.policy.history()[0].version
    assert DOL in {one.error_table for one in client.errors.stats()}
    assert client.errors.groups(tables=DOL).all_errors >= 1
    assert [one.holds for one in client.audit(only=["errors/2/dispositions"])] == [True]


def test_a_client_is_the_database_that_it_was(client: Client) -> None:
    with client.transaction(Authority.HUB) as tx:
        assert tx.execute("select current_user").fetchone() == ("recoup_hub",)


def test_what_is_unclear_is_refused(client: Client) -> None:
    with pytest.raises(InputRefused, match="either"):
        client.errors.record()  # type: ignore[call-overload]
    with pytest.raises(InputRefused, match="no such filter") as refused:
        client.errors.list(state="PARKED")
    assert "statuses" in refused.value.next_step
    with pytest.raises(InputRefused, match="is no UUID"):
        client.errors.is_blocked("company 5")
