"""The mint: once per lineage, on the right intake, for what AIR authorised, and for nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from uuid import UUID

import pytest

from company import acting, advance, attempt_and, failed_intake, intake_in, new_batch, new_intake
from product import pause, resume
from recoup import mint
from recoup.database.connection import Database, Transaction
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused, Refusal

MINT_BY_HAND = """
insert into cl.company_identity (intake_id, company_name, company_domain, minted_at)
select intake_id, company_name, company_domain, recoup.now() from cl.gate_zero_intake where intake_id = %s
"""


@pytest.fixture
def own(fresh: Callable[..., Database]) -> Database:
    """A database in which nothing was minted before."""
    return fresh()


@pytest.fixture
def tx(own: Database) -> Iterator[Transaction]:
    with own.transaction(Authority.GATE) as connection:
        yield connection


def minted(database: Database) -> list[UUID]:
    """Run the mint until it finds nothing more; the intakes it minted, in order."""
    found: list[UUID] = []
    while True:
        with database.transaction(Authority.MINT) as tx:
            page = mint.mint(tx, limit=2)
        if not page.events:
            return found
        found += [identity.intake_id for identity in page.identities]


def events(database: Database, intake: UUID) -> list[tuple[object, ...]]:
    with database.transaction(Authority.READER) as tx:
        return tx.execute(
            "select stage_id, process_id, event_type, reason_code, entity_type, batch_id, payload_ref"
            "  from cl.sovereign_mint_air where entity_id = %s",
            (intake,),
        ).fetchall()


def test_what_passed_is_minted_once_and_says_so(own: Database) -> None:
    """One identity, one MINT with the fixed words; asking again mints nothing."""
    with own.transaction(Authority.GATE) as tx:
        batch = new_batch(tx)
        passed = new_intake(tx, batch_id=batch)
        attempt_and(tx, passed, None)
        failed_intake(tx)
        new_intake(tx)
    assert minted(own) == [passed]
    assert minted(own) == []
    with own.transaction(Authority.READER) as tx:
        (identity,) = mint.identities(tx)
    assert identity.intake_id == passed
    assert events(own, passed) == [
        (
            "SOVEREIGN_MINT", "MINT_SOVEREIGN_IDENTITY", "MINT", "IDENTITY_MINTED", "intake", batch,
            f"company:{identity.sovereign_company_id}",
        )
    ]  # fmt: skip


def test_a_re_entered_company_is_minted_on_its_new_intake(own: Database) -> None:
    """AUTH names the original; the identity belongs to the new one, and there is no second."""
    with own.transaction(Authority.GATE) as tx:
        original = failed_intake(tx)
        advance(tx, timedelta(hours=24))
        finished = attempt_and(tx, original, None)
    assert finished.reentered_as is not None
    assert minted(own) == [finished.reentered_as]
    with own.transaction(Authority.READER) as tx:
        told = tx.execute("select intake_id, mint_intake_id from cl.gate_zero_authorization").fetchall()
    assert told == [(original, finished.reentered_as)]


def test_many_pages_are_minted_in_order(own: Database) -> None:
    """Whatever the size of a page, each once, in the order of their authorisation."""
    with own.transaction(Authority.GATE) as tx:
        intakes = [new_intake(tx) for _ in range(7)]
    for intake in reversed(intakes):
        with own.transaction(Authority.GATE) as tx:
            attempt_and(tx, intake, None)
    assert minted(own) == list(reversed(intakes))


@pytest.mark.parametrize("status", ["PENDING", "FAILED", "EXHAUSTED", "REENTER_SUCCEEDED"])
def test_what_was_not_authorised_is_not_minted_by_hand(tx: Transaction, status: str) -> None:
    """The database refuses, and after a re-entry says which intake is meant."""
    intake = intake_in(tx, status)
    with pytest.raises(Exception, match="was not authorised") as caught, tx.transaction(), acting(tx, Authority.MINT):
        tx.execute(MINT_BY_HAND, (intake,))
    assert caught.value.sqlstate == "RC040"  # type: ignore[attr-defined]
    if status == "REENTER_SUCCEEDED":
        assert "mint the new intake" in caught.value.diag.message_hint  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("change", "sqlstate"),
    [
        ("company_name = company_name || ' Holding'", "RC041"),
        ("company_domain = 'elsewhere.example'", "RC041"),
        ("minted_at = minted_at - interval '1 hour'", "RC026"),
        ("minted_at = minted_at + interval '1 hour'", "RC026"),
    ],
)
def test_an_identity_is_what_its_intake_is(tx: Transaction, change: str, sqlstate: str) -> None:
    """Name and domain are the intake's, and it is minted now."""
    intake = intake_in(tx, "AUTHORIZED")
    column, value = change.split(" = ")
    given = {"company_name": "company_name", "company_domain": "company_domain", "minted_at": "recoup.now()"}
    given[column] = value.replace("minted_at", "recoup.now()")
    with pytest.raises(Exception, match="identity") as caught, tx.transaction(), acting(tx, Authority.MINT):
        tx.execute(
            "insert into cl.company_identity (intake_id, company_name, company_domain, minted_at)"
            f" select intake_id, {', '.join(given.values())} from cl.gate_zero_intake where intake_id = %s",
            (intake,),
        )
    assert caught.value.sqlstate == sqlstate  # type: ignore[attr-defined]


def test_nobody_but_the_mint_mints(tx: Transaction) -> None:
    """Not even the gate that authorised it."""
    intake = intake_in(tx, "AUTHORIZED")
    with pytest.raises(Exception, match="permission denied"), tx.transaction():
        tx.execute(MINT_BY_HAND, (intake,))


def test_minted_by_hand_and_by_the_duty_is_minted_once(own: Database) -> None:
    """The duty passes over what exists; by hand a second one is refused in words."""
    with own.transaction(Authority.GATE) as tx:
        first, second = intake_in(tx, "AUTHORIZED"), intake_in(tx, "AUTHORIZED")
    with own.transaction(Authority.MINT) as tx:
        tx.execute(MINT_BY_HAND, (first,))
    assert minted(own) == [second]
    with pytest.raises(Refusal) as caught, own.transaction(Authority.MINT) as tx:
        tx.execute(MINT_BY_HAND, (first,))
    assert caught.value.code == "minted_already"


def test_a_paused_mint_mints_nothing_and_loses_nothing(own: Database) -> None:
    """Neither the duty nor a hand; once resumed, all of it."""
    with own.transaction(Authority.GATE) as tx:
        intake = intake_in(tx, "AUTHORIZED")
    with own.transaction(Authority.OPERATOR) as tx:
        pause(tx, "table", "cl.company_identity", reason="stock-taking")
    assert minted(own) == []
    with pytest.raises(LawRefused) as caught, own.transaction(Authority.MINT) as tx:
        tx.execute(MINT_BY_HAND, (intake,))
    assert caught.value.code == "paused"
    with own.transaction(Authority.OPERATOR) as tx:
        resume(tx, "table", "cl.company_identity", reason="counted")
    assert minted(own) == [intake]


def test_a_mint_that_rolls_back_has_minted_nothing(own: Database) -> None:
    """Identities and place in the log are one: neither without the other."""
    with own.transaction(Authority.GATE) as tx:
        intake = intake_in(tx, "AUTHORIZED")
    with pytest.raises(RuntimeError), own.transaction(Authority.MINT) as tx:
        assert len(mint.mint(tx).identities) == 1
        raise RuntimeError
    assert minted(own) == [intake]


def test_the_lag_is_the_age_of_the_oldest_that_waits(own: Database) -> None:
    """None when nothing waits."""
    with own.transaction(Authority.GATE) as tx:
        assert mint.mint_lag(tx) is None
        intake_in(tx, "AUTHORIZED")
        advance(tx, timedelta(minutes=5))
    with own.transaction(Authority.READER) as tx:
        assert mint.mint_lag(tx) == pytest.approx(300, abs=1)
    minted(own)
    with own.transaction(Authority.READER) as tx:
        assert mint.mint_lag(tx) is None


def test_a_second_subscriber_gets_the_same_authorisations(own: Database) -> None:
    """The mint's subscription is one of many; each has a place of its own."""
    from recoup.ledger import subscriptions

    with own.transaction(Authority.GATE) as tx:
        intake = intake_in(tx, "AUTHORIZED")
    minted(own)
    with own.transaction(Authority.CONSUMER) as tx:
        subscriptions.subscribe(tx, mint.AUTHORIZATIONS, "billing")
        page = subscriptions.read(tx, mint.AUTHORIZATIONS, "billing")
        subscriptions.acknowledge(tx, page)
    assert [event["mint_intake_id"] for event in page.events] == [intake]
