"""Gate Zero in the console: every button to its row, companies with evidence, names as they were given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest
from playwright.sync_api import Page, expect

from console.test_pages import check, fits
from recoup import clock, gate
from recoup.database import embedded
from recoup.database.connection import Database
from recoup.gate import Evidence, Failed, NewIntake, Passed
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup.service import Role
from recoup.settings import Settings

Open = Callable[..., Page]
WAITS = (timedelta(hours=24), timedelta(hours=72))
HOSTILE = "<script>alert(1)</script> & ünïcode"
# Names of batches that are hard on addresses.
NAMES = ("2026/11 import", "a b?c=d&e#f%2Fg", "Ümläut “x” 漢字", "..", "'><b>")


@pytest.fixture(scope="module")
def db(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Database]:
    """A database of its own: its time is advanced by days."""
    with Database(server.uri(new_database()), settings) as database:
        yield database


@dataclass(frozen=True)
class Gate:
    """Gate Zero and those who work at it. Every call commits."""

    db: Database

    def batch(self, name: str | None = None, *, companies: int = 0) -> str:
        name = name or f"batch {uuid4().hex[:8]}"
        with self.db.transaction(Authority.HUB) as tx:
            gate.create_batch(tx, name)
            gate.add_intakes(tx, [NewIntake(company_name=f"Company {n}") for n in range(companies)], batch_id=name)
        return name

    def company(self, name: str = "Acme", *, batch: str | None = None) -> UUID:
        with self.db.transaction(Authority.HUB) as tx:
            (intake,) = gate.add_intakes(tx, [NewIntake(company_name=name, state="TX")], batch_id=batch)
        return intake

    def attempt(self, intake: UUID, reason: ReasonCode | None = None, evidence: Sequence[Evidence] = ()) -> None:
        with self.db.transaction(Authority.GATE) as tx:
            (one,) = gate.open_attempts(tx, [intake], worker="w")
        given: dict[str, Any] = {"attempt_id": one.attempt_id, "token": one.token, "evidence": evidence}
        with self.db.transaction(Authority.GATE) as tx:
            gate.finish_attempts(tx, [Passed(**given) if reason is None else Failed(reason_code=reason, **given)])

    def exhausted(self, name: str = "Acme", *, batch: str | None = None) -> UUID:
        intake = self.company(name, batch=batch)
        for wait in (*WAITS, None):
            self.attempt(intake, ReasonCode.NO_LINKEDIN_COMPANY)
            if wait is not None:
                with self.db.transaction(Authority.OPERATOR) as tx:
                    clock.advance(tx, wait)
        return intake

    def read(self, query: str, *given: Any) -> list[tuple[Any, ...]]:
        with self.db.transaction(Authority.READER) as tx:
            return tx.execute(query.encode(), given).fetchall()


@pytest.fixture(scope="module")
def desk(db: Database) -> Gate:
    return Gate(db)


def path(batch: str) -> str:
    return f"/gate/batches/{quote(batch, safe='')}"


def test_the_kill_switch_pauses_and_resumes(opened: Open, desk: Gate) -> None:
    batch = desk.batch(NAMES[0])
    page = opened(path(batch))
    page.get_by_role("link", name="Kill switch").click()
    page.get_by_label("Reason").fill("the directory is wrong")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("paused")
    expect(page.locator("#batch")).to_contain_text("the directory is wrong")
    query = "select paused_by is not null, pause_reason from cl.gate_zero_batch where batch_id = %s"
    assert desk.read(query, batch) == [(True, "the directory is wrong")]
    page.get_by_role("link", name="Resume recovery").click()
    page.get_by_label("Reason").fill("it is right again")
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("heading", level=1)).not_to_contain_text("paused")
    assert desk.read(query, batch) == [(False, None)]


def test_a_batch_is_created_and_declared_complete(opened: Open, desk: Gate) -> None:
    name = f"new {uuid4().hex[:8]}"
    page = opened("/gate")
    page.get_by_role("link", name="Create …").click()
    page.get_by_label("Batch id").fill(name)
    page.get_by_role("button", name="Create").click()
    page.get_by_role("link", name=name).click()
    page.get_by_role("link", name="Declare complete").click()
    page.get_by_role("button", name="Declare").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("COMPLETED")
    assert desk.read("select status from cl.gate_zero_batch where batch_id = %s", name) == [("COMPLETED",)]


def test_an_exhausted_company_is_restarted_with_a_correction(opened: Open, desk: Gate) -> None:
    old = desk.exhausted("Acme Freight")
    page = opened("/gate/exhausted")
    page.get_by_role("link", name="Acme Freight").click()
    expect(page.locator("#company")).to_contain_text("not tried any more")
    page.get_by_role("link", name="Restart …").click()
    page.get_by_label("Company domain").fill("acme.example")
    page.get_by_role("button", name="Restart").click()
    expect(page.locator("#company")).to_contain_text("Restarted as")
    assert page.get_by_role("link", name="Restart …").count() == 0
    query = "select company_name, company_domain, status from cl.gate_zero_intake where retry_of = %s"
    assert desk.read(query, old) == [("Acme Freight", "acme.example", "PENDING")]
    page.locator("#company dd a").first.click()
    expect(page.locator("#company")).to_contain_text("Restart of")


def test_a_refusal_is_shown_in_the_form(opened: Open, desk: Gate) -> None:
    company = desk.company()
    page = opened(f"/act/post_gate_intakes_intake_id_restart?path.intake_id={company}&back=/gate/companies/{company}")
    page.get_by_role("button", name="Restart").click()
    expect(page.get_by_role("alert")).to_contain_text("Refused")
    expect(page.get_by_role("alert")).to_contain_text("Next:")
    assert desk.read("select count(*) from cl.gate_zero_intake where retry_of = %s", company) == [(0,)]


def test_a_company_shows_what_each_check_saw_and_what_came_of_it(opened: Open, desk: Gate) -> None:
    company = desk.company(HOSTILE)
    found = [
        Evidence("dns", "passed", "it resolves"),
        Evidence("imprint", "imprint-missing", HOSTILE + "\u202e\x1b[31m"),
    ]
    desk.attempt(company, ReasonCode.DOMAIN_NO_IMPRINT, found)
    with desk.db.transaction(Authority.OPERATOR) as tx:
        clock.advance(tx, WAITS[0])
    desk.attempt(company, None, [Evidence("dns", "passed", "it resolves")])
    page = opened(f"/gate/companies/{company}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("<script>alert(1)</script>")
    expect(page.locator("#company")).to_contain_text("‹U+202E›")
    expect(page.get_by_role("region", name="Checks of attempt 1")).to_contain_text("imprint-missing")
    expect(page.get_by_role("region", name="Checks of attempt 1")).to_contain_text("‹U+001B›[31m")
    expect(page.get_by_role("region", name="Checks of attempt 2").locator("tbody tr")).to_have_count(1)
    expect(page.locator(".timeline li")).to_have_count(len(desk.read(
        "select from cl.gate_zero_air where entity_id = %s", company)))  # fmt: skip
    fits(page)
    check(page)
    page.locator("dd", has_text="AUTHORIZED").get_by_role("link").click()
    expect(page.locator("#company")).to_contain_text("Re-entered from")
    check(page)


@pytest.mark.parametrize("name", NAMES[1:])
def test_a_batch_is_found_by_its_name_whatever_it_is(opened: Open, desk: Gate, name: str) -> None:
    desk.batch(name, companies=2)
    page = opened("/gate")
    page.get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(name)
    expect(page.locator("#list tbody tr")).to_have_count(2)
    page.get_by_label("Name or domain").fill("Company 1")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("#list tbody tr")).to_have_count(1)
    expect(page.get_by_role("heading", level=1)).to_contain_text(name)
    check(page)
    fits(page)
    page.get_by_role("link", name="Kill switch").click()
    page.get_by_label("Reason").fill("a test")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(name)
    expect(page.get_by_role("heading", level=1)).to_contain_text("paused")
    assert desk.read("select pause_reason from cl.gate_zero_batch where batch_id = %s", name) == [("a test",)]


def test_companies_are_filtered_and_paged(opened: Open, desk: Gate) -> None:
    """Filters survive the next page, a reload and the way back."""
    batch = desk.batch(companies=55)
    failed = desk.company("Failed once", batch=batch)
    desk.attempt(failed, ReasonCode.TIMEOUT)
    page = opened(path(batch), scripts=False)
    expect(page.locator("#list tbody tr")).to_have_count(50)
    page.get_by_role("link", name="Next page").click()
    expect(page.locator("#list tbody tr")).to_have_count(6)
    page.goto(page.url.partition("?")[0])
    page.get_by_label("Status").select_option("FAILED")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("#list tbody tr")).to_have_count(1)
    page.reload()
    expect(page.get_by_label("Status")).to_have_value("FAILED")
    page.get_by_role("link", name="Failed once").click()
    expect(page.locator("#company")).to_contain_text("TIMEOUT")
    page.go_back()
    expect(page.get_by_label("Status")).to_have_value("FAILED")
    expect(page.locator("#list tbody tr")).to_have_count(1)


def test_who_is_due_and_who_is_exhausted_is_listed(opened: Open, desk: Gate) -> None:
    batch = desk.batch()
    desk.exhausted("Exhausted one", batch=batch)
    due = desk.company("Due one", batch=batch)
    desk.attempt(due, ReasonCode.TIMEOUT)
    with desk.db.transaction(Authority.OPERATOR) as tx:
        clock.advance(tx, WAITS[0])
    page = opened("/gate/eligible")
    expect(page.get_by_role("link", name="Due one")).to_be_visible()
    page.goto(f"{page.url.partition('/gate')[0]}/gate/exhausted?batch_id={quote(batch)}")
    expect(page.locator("#list tbody tr")).to_have_count(1)
    expect(page.locator("#list")).to_contain_text("MAX_ATTEMPTS_REACHED")


def test_exhausted_companies_are_paged_through_every_batch(desk: Gate) -> None:
    """Batch by batch, those last that belong to none; each once."""
    first, second = sorted((desk.batch(), desk.batch()))
    wanted = [desk.exhausted(batch=name) for name in (first, first, second, None)]
    seen: list[gate.Exhausted] = []
    with desk.db.transaction(Authority.READER) as tx:
        while page := gate.exhausted(tx, limit=1, after=(seen[-1].batch_id, seen[-1].intake_id) if seen else None):
            seen += page
        assert seen == gate.exhausted(tx, limit=1000)
        of_first = gate.exhausted(tx, batch_id=first, limit=1)
        of_first += gate.exhausted(tx, batch_id=first, limit=5, after=(first, of_first[0].intake_id))
    assert {one.intake_id for one in of_first} == set(wanted[:2])
    assert set(wanted) <= {one.intake_id for one in seen}
    assert len({one.intake_id for one in seen}) == len(seen)


def test_a_batch_follows_what_happens(opened: Open, desk: Gate) -> None:
    batch = desk.batch()
    page = opened(path(batch))
    expect(page.locator("#live")).to_be_visible()
    company = desk.company("Late Arrival", batch=batch)
    desk.attempt(company, ReasonCode.TIMEOUT)
    expect(page.locator("#list")).to_contain_text("Late Arrival", timeout=2_000)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER])
def test_who_may_not_sees_no_button(opened: Open, desk: Gate, role: Role) -> None:
    batch = desk.batch()
    company = desk.exhausted(batch=batch)
    page = opened(path(batch), role=role)
    expect(page.get_by_role("heading", level=1)).to_contain_text(batch)
    expect(page.locator("[data-act]")).to_have_count(0)
    page.goto(f"{page.url.partition('/gate')[0]}/gate/companies/{company}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("EXHAUSTED")
    expect(page.locator("[data-act]")).to_have_count(0)


def test_a_search_ends_and_is_continued(desk: Gate) -> None:
    """However few match: a page reads a window of companies, and the next one continues behind it."""
    batch = desk.batch(companies=7)
    with desk.db.transaction(Authority.READER) as tx:
        first = gate.scan_intakes(tx, batch_id=batch, name="Company 0", limit=5, window=4)
        assert (first.intakes, first.is_cut) == ([], True)
        second = gate.scan_intakes(tx, batch_id=batch, name="Company 0", limit=5, window=4, after=first.next)
        assert ([one.company_name for one in second.intakes], second.is_cut) == (["Company 0"], False)


def test_a_page_counts_what_the_report_counts(desk: Gate) -> None:
    batch = desk.batch(companies=3)
    company = desk.company("One", batch=batch)
    desk.attempt(company, ReasonCode.TIMEOUT)
    desk.exhausted(batch=batch)
    with desk.db.transaction(Authority.READER) as tx:
        found, is_whole = gate.funnel_among(tx, batch)
        assert is_whole
        assert found == gate.funnel(tx, batch_id=batch)
        assert gate.funnel_among(tx, batch, most=2)[1] is False
