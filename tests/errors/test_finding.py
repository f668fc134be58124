"""Companies by batch, status and name, page by page; and everything found by what a person has at hand."""

from __future__ import annotations

import uuid

import pytest

from hub import DOL, STRUCTURAL, Hub
from recoup import gate
from recoup.database.connection import Database
from recoup.domain import finders
from recoup.domains import DOMAINS
from recoup.errors import parking
from recoup.errors.listing import Filter
from recoup.errors.lookup import ErrorKey
from recoup.errors.subject import SUBJECT
from recoup.find import Result, Wanted, find
from recoup.gate import NewIntake
from recoup.lifecycles.declaration import Authority
from recoup.operations import begin
from recoup.refusals import InputRefused

NAMES = ("Acme Industrial", "ACME Tools 100%", "Acme_Tools", "Birch", "Cedar")


@pytest.fixture(scope="module")
def db(hub: Hub) -> Database:
    return hub.db


@pytest.fixture(scope="module")
def batch(db: Database) -> str:
    """A batch of five companies."""
    name = f"batch-{uuid.uuid4().hex}"
    new = [NewIntake(company_name=one, company_domain=f"{one.split()[0].lower()}.{name}.example") for one in NAMES]
    with db.transaction(Authority.OPERATOR) as tx:
        gate.create_batch(tx, name)
    with db.transaction(Authority.HUB) as tx:
        gate.add_intakes(tx, new, batch_id=name)
    return name


def found(db: Database, text: str, *, limit: int = 20) -> Result:
    with db.transaction(Authority.READER) as tx:
        return find(tx, text, finders(DOMAINS), limit=limit)


def only(db: Database, text: str) -> tuple[str, str]:
    (one,) = found(db, text).found
    return one.kind, one.id


def test_companies_are_listed_by_batch_status_and_name(db: Database, batch: str) -> None:
    with db.transaction(Authority.READER) as tx:
        listed = gate.list_intakes(tx, batch_id=batch)
        assert {one.company_name for one in listed} == set(NAMES)
        ids = [one.intake_id for one in listed]
        assert ids == sorted(ids, reverse=True), "the newest first"
        prefixed = gate.list_intakes(tx, batch_id=batch, name="acme")
        assert {one.company_name for one in prefixed} == set(NAMES[:3])
        assert [one.company_name for one in gate.list_intakes(tx, batch_id=batch, name="acme_")] == ["Acme_Tools"]
        assert [one.company_name for one in gate.list_intakes(tx, name=f"birch.{batch}")] == ["Birch"]
        assert len(gate.list_intakes(tx, batch_id=batch, statuses=["PENDING"])) == len(NAMES)
        assert gate.list_intakes(tx, batch_id=batch, statuses=["FAILED", "EXHAUSTED"]) == []
        with pytest.raises(InputRefused, match="no batch"):
            gate.list_intakes(tx, batch_id="nothing")


def test_a_list_continues_after_the_last_one(db: Database, batch: str) -> None:
    """Nothing twice, nothing left out."""
    with db.transaction(Authority.READER) as tx:
        whole = [one.intake_id for one in gate.list_intakes(tx, batch_id=batch)]
        first = gate.list_intakes(tx, batch_id=batch, limit=2)
        rest = gate.list_intakes(tx, batch_id=batch, after=first[-1].intake_id)
    assert [one.intake_id for one in (*first, *rest)] == whole


def test_a_company_is_found_by_name_domain_and_id(db: Database, batch: str) -> None:
    """Whole or its beginning, in any case; a part of a name only where nothing begins with it."""
    with db.transaction(Authority.READER) as tx:
        (cedar,) = gate.list_intakes(tx, batch_id=batch, name="Cedar")
    company = ("company", str(cedar.intake_id))
    for text in (f"CEDAR.{batch}.example", f"cedar.{batch}", str(cedar.intake_id), f"{str(cedar.intake_id)[:30]}…"):
        assert only(db, text) == company, text
    assert found(db, f"cedar.{batch}").searched == ()
    result = found(db, f"dar.{batch}")
    assert [(one.kind, one.id) for one in result.found] == [company]
    assert "newest 50,000 companies" in " ".join(result.searched)
    (one,) = result.found
    assert one.status == f"PENDING: waiting for its first attempt; batch {batch}"
    assert one.next_step == f"recoup gate history {cedar.intake_id}"


def test_batches_and_operations_are_found(db: Database, hub: Hub, batch: str) -> None:
    assert only(db, batch[:30].upper()) == ("batch", batch)
    with db.transaction(Authority.OPERATOR) as tx:
        act = SUBJECT.act("resolve", reason="x")
        operation = begin(tx, SUBJECT, act, Filter(codes=(uuid.uuid4().hex,)))
    assert only(db, str(operation)[:18]) == ("operation", str(operation))


def test_errors_are_found(hub: Hub) -> None:
    """By id, work key, entity, signature, and by a text of their message."""
    entity, key = uuid.uuid4(), f"person {uuid.uuid4().hex} 100%"
    error_id = hub.record(f"{STRUCTURAL} {key}", outreach_id=entity, work_key=key)
    error = ("error", f"{DOL}/{error_id}")
    for text in (str(error_id), f"{DOL}/{error_id}", key, key[:30]):
        assert error in [(one.kind, one.id) for one in found(hub.db, text).found], text
    assert found(hub.db, key.replace("%", "_")).found == []
    (one,) = found(hub.db, str(entity)[:13]).found
    assert (one.kind, one.status) == ("entity", "blocked by 1 error; 1 error, 1 open")
    assert one.next_step == f"recoup errors blocked {entity}"
    signature = hub.row(error_id)["error_signature"]
    assert ("signature", signature) in [(one.kind, one.id) for one in found(hub.db, signature[:12]).found]
    result = found(hub.db, key[7:].upper())  # within the message
    assert [(one.kind, one.id) for one in result.found] == [error]
    assert "newest 50,000 errors" in " ".join(result.searched)
    with hub.db.transaction(Authority.OPERATOR, reason="fixed") as tx:
        parking.resolve(tx, [ErrorKey(DOL, error_id)])
    hub.sweep_all()
    assert [one.status for one in found(hub.db, str(error_id)).found if one.kind == "error"] == ["ARCHIVED: RESOLVED"]
    (one,) = found(hub.db, str(entity)).found
    assert (one.status, one.next_step.split()[2]) == ("not blocked; 1 error, 0 open", "list")


def test_what_cannot_be_searched_for_is_refused(db: Database) -> None:
    for text in ("", "  ", "…", "a\0b", "x" * 501):
        with pytest.raises(InputRefused) as refused:
            found(db, text)
        assert refused.value.code == "text_unusable"
    assert found(db, "'; drop table recoup.error; --").found == []


def test_beginnings_of_ids() -> None:
    """From four digits on, with or without hyphens."""
    assert Wanted(text="01a", limit=1).ids is None
    assert Wanted(text="acme", limit=1).ids is None
    low, high = Wanted(text="01a1-EA", limit=1).ids or (None, None)
    assert (str(low), str(high)) == ("01a1ea00-0000-0000-0000-000000000000", "01a1eaff-ffff-ffff-ffff-ffffffffffff")
