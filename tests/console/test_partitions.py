"""Partitions in the console: the grid, every verb from its button to its row, gaps, backfills."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from console.conftest import with_key
from console.test_pages import check, fits
from partitions.people import DAY, FIRST, POLICY, Ward
from recoup.client import Client
from recoup.console.sessions import COOKIE
from recoup.database import embedded
from recoup.database.connection import Database
from recoup.lifecycles.declaration import Authority
from recoup.partitions import backfilling, pages, select
from recoup.partitions.identity import Partition
from recoup.service import Role, sessions
from recoup.settings import Settings

Open = Callable[..., Page]
HOSTILE = "<script>alert(1)</script>\u202eevil \x1b[31m"


@pytest.fixture(scope="module")
def address_of(new_database: Callable[..., str], server: embedded.Server) -> str:
    return server.uri(new_database())


@pytest.fixture(scope="module")
def db(address_of: str, settings: Settings) -> Iterator[Database]:
    """A database of its own: its time is advanced."""
    with Database(address_of, settings) as database:
        yield database


@pytest.fixture(scope="module")
def shared(db: Database, address_of: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    root = tmp_path_factory.mktemp("data") / "sink"
    with Client(address_of, replace(db.settings, sink=root)) as client:
        yield Ward(client, root)


@pytest.fixture
def ward(shared: Ward) -> Ward:
    return shared.next_source()


def id_of(ward: Ward, key: Partition) -> int:
    query = (
        "select partition_id from partitions.partition_state where source = %s and customer_id = %s"
        " and query_name = %s and logical_date = %s"
    )
    ((found,),) = ward.read(query, *key)
    return int(found)


def status(ward: Ward, key: Partition) -> tuple[Any, ...]:
    """Status of the partition and of its schedule, and who asked for it."""
    query = (
        "select p.status, s.status, s.requested_by is not null from partitions.partition_state p"
        " join partitions.schedule s using (partition_id) where partition_id = %s"
    )
    (found,) = ward.read(query, id_of(ward, key))
    return found


def test_the_grid_shows_each_partition_and_leads_to_it(opened: Open, ward: Ward) -> None:
    ward.accept(ward.key(0), ward.key(1))
    ward.reject(ward.key(2))
    ward.enqueue(ward.key(0, customer="zeta"))
    page = opened(f"/partitions?of={ward.source}%2Forders&first={FIRST}&last={FIRST + 3 * DAY}")
    grid = page.get_by_role("region", name="Grid of partitions")
    row = grid.get_by_role("row", name="acme")
    assert [one.strip() for one in row.locator("td").all_inner_texts()][:3] == ["●", "●", "✗"]
    expect(row.locator("td").nth(3)).to_have_attribute("title", f"{FIRST + 3 * DAY} never enqueued")
    expect(grid.get_by_role("row", name="zeta").get_by_role("link", name="pending")).to_have_text("○")
    check(page)
    row.get_by_role("link", name="failed").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"acme, {FIRST + 2 * DAY}")
    expect(page.locator("#partition")).to_contain_text("2 rows are null")
    check(page)
    page.get_by_role("link", name="Grid").nth(1).click()
    expect(page.get_by_role("region", name="Grid of partitions")).to_be_visible()


def test_days_are_stepped_through_and_too_many_are_refused(opened: Open, ward: Ward) -> None:
    ward.accept(ward.key(0))
    page = opened(f"/partitions?of={ward.source}%2Forders", scripts=False)
    expect(page.get_by_label("To")).to_have_value(FIRST.isoformat())
    page.get_by_role("link", name="Earlier days").click()
    expect(page.get_by_label("To")).to_have_value((FIRST - 30 * DAY).isoformat())
    page.get_by_label("From").fill("2020-01-01")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("alert")).to_contain_text("92 days")
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("92 days")


# Of one partition: its verb, how it came to be, what the button says, the form, what its row is afterwards.
VERBS = [
    ("reject", "Retry …", {}, ("pending", "waiting", True)),
    ("exhaust", "Retry …", {"Include terminal": True, "Reason": "the source is mended"}, ("pending", "waiting", True)),
    ("accept", "Reprocess …", {}, ("success", "waiting", True)),
    ("reject", "Mark terminal …", {"Reason": "it never comes"}, ("failed", "terminal", False)),
]


@pytest.mark.parametrize(("brought", "label", "form", "became"), VERBS)
def test_a_partition_is_changed_by_its_button(
    opened: Open, ward: Ward, brought: str, label: str, form: dict[str, Any], became: tuple[Any, ...]
) -> None:
    key = ward.key()
    getattr(ward, brought)(key)
    page = opened(f"/partitions/{id_of(ward, key)}")
    page.get_by_role("link", name=label).click()
    for name, value in form.items():
        if value is True:
            page.get_by_label(name).check()
        else:
            page.get_by_label(name).fill(value)
    page.locator("form.sheet button.main").click()
    expect(page.get_by_role("status").first).to_contain_text("Done")
    assert status(ward, key)[:2] == became[:2]
    expect(page.get_by_role("region", name="Requests", exact=True)).to_contain_text("POST /v1/partitions")


def test_a_refusal_is_shown_in_the_form(opened: Open, ward: Ward) -> None:
    key = ward.key()
    ward.exhaust(key)
    page = opened(f"/partitions/{id_of(ward, key)}")
    page.get_by_role("link", name="Retry …").click()
    page.locator("form.sheet button.main").click()
    expect(page.get_by_role("alert")).to_contain_text("terminal")
    expect(page.get_by_role("alert")).to_contain_text("Next:")
    assert status(ward, key)[1] == "terminal"


def test_many_are_previewed_and_selected_ones_are_named(opened: Open, ward: Ward) -> None:
    keys = [ward.key(number) for number in range(4)]
    ward.reject(*keys)
    page = opened(f"/partitions/list?source={ward.source}&status=failed")
    expect(page.locator("#list tbody tr")).to_have_count(4)
    page.get_by_label(str(keys[0])).check()
    page.get_by_role("button", name="Mark terminal …").click()
    page.get_by_label("Reason").fill("it never comes")
    page.locator("form.sheet button.main").click()
    expect(page.locator("#operation")).to_contain_text("1 done")
    assert [status(ward, key)[1] for key in keys] == ["terminal", "waiting", "waiting", "waiting"]
    page.goto(f"{page.url.partition('/operations')[0]}/partitions/list?source={ward.source}&status=failed")
    page.get_by_role("link", name="Retry …").click()
    expect(page.locator("#preview")).to_contain_text("3 rows")
    expect(page.locator("#preview")).to_contain_text("1 row will not be changed")
    page.locator("form.sheet button.main").click()
    expect(page.locator("#operation")).to_contain_text("3 done")
    assert [status(ward, key)[0] for key in keys] == ["failed", "pending", "pending", "pending"]


def test_terminal_partitions_are_overridden_with_a_reason(opened: Open, ward: Ward) -> None:
    key = ward.key()
    ward.exhaust(key)
    page = opened(f"/partitions/terminal?source={ward.source}")
    expect(page.locator("#list tbody tr")).to_contain_text("ATTEMPTS")
    page.locator("input[name='body.units']").check()
    page.get_by_role("button", name="Retry …").click()
    expect(page.get_by_label("Include terminal")).to_be_checked()
    page.get_by_label("Reason").fill("the source is mended")
    page.locator("form.sheet button.main").click()
    expect(page.locator("#operation")).to_contain_text("1 done")
    assert status(ward, key)[:2] == ("pending", "waiting")
    page.goto(f"{page.url.partition('/operations')[0]}/partitions/overrides")
    expect(page.locator("#list tbody tr").first).to_contain_text("the source is mended")


def test_gaps_are_of_four_kinds(opened: Open, ward: Ward) -> None:
    ward.accept(ward.key(0))
    ward.exhaust(ward.key(1))
    ward.reject(ward.key(2))
    ward.enqueue(ward.key(3))
    page = opened(f"/partitions/gaps?of={ward.source}%2Forders&first={FIRST}&last={FIRST + 4 * DAY}")
    cards = page.locator("#list .card")
    assert [one.split() for one in cards.all_inner_texts()] == [
        ["6", "never", "enqueued"], ["1", "pending"], ["1", "failed"], ["1", "terminal"],
    ]  # fmt: skip
    check(page)
    cards.get_by_role("link", name="terminal").click()
    expect(page.locator("#list tbody tr")).to_have_count(1)
    page.reload()
    expect(page.locator("#list tbody tr")).to_have_count(1)
    page.locator("#list tbody a").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"acme, {FIRST + DAY}")


def test_a_backfill_is_planned_started_paused_resumed_and_cancelled(opened: Open, ward: Ward) -> None:
    ward.accept(ward.key(0))
    page = opened("/backfills/new", scripts=False)
    page.get_by_label("Source").select_option(ward.source)
    page.get_by_label("First day").fill(FIRST.isoformat())
    page.get_by_label("Last day").fill((FIRST + 2 * DAY).isoformat())
    page.get_by_label("Customers").fill("acme\nzeta")
    page.get_by_label("Queries").fill("orders")
    page.get_by_role("button", name="Preview").click()
    rows = page.get_by_role("region", name="What is found").locator("tbody tr")
    assert [[cell.strip() for cell in row.split("\t")][:2] for row in rows.all_inner_texts()] == [
        ["new", "5"], ["success", "1"],
    ]  # fmt: skip
    page.get_by_role("link", name="Start …").click()
    expect(page.get_by_label("Customer id")).to_have_value("acme\nzeta")
    page.get_by_label("Reason").fill("history for the new report")
    page.locator("form.sheet button.main").click()
    page.locator("#list tbody tr", has_text=ward.source).get_by_role("link").click()
    ((backfill,),) = ward.read(
        "select backfill_id from partitions.backfill where selection ->> 'source' = %s", ward.source
    )
    with ward.client.transaction(Authority.CONTROL_PLANE) as tx:
        assert not backfilling.plan(tx, backfill)
    page.reload()
    expect(page.locator("#list tbody tr")).to_have_count(6)
    expect(page.locator("#backfill .card").first).to_contain_text("5")
    check_status = "select status from partitions.backfill where backfill_id = %s"
    for label, became in (("Pause …", "paused"), ("Resume …", "running"), ("Cancel …", "cancelled")):
        page.get_by_role("link", name=label).click()
        page.get_by_label("Reason").fill("a test")
        page.locator("form.sheet button.main").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text(became)
        assert ward.read(check_status, backfill) == [(became,)]
    page.get_by_label("Status").select_option("left")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("#list tbody tr")).to_have_count(1)


def test_a_backfill_is_followed_live(opened: Open, ward: Ward) -> None:
    with ward.client.transaction(Authority.CONTROL_PLANE) as tx:
        selection = backfilling.selected(tx, ward.source, FIRST, FIRST, customers=["acme"], queries=["orders"])
        backfill = backfilling.start(tx, selection, reason=HOSTILE.replace("\x1b", ""))
    page = opened(f"/backfills/{backfill}")
    expect(page.locator("#backfill")).to_contain_text("‹U+202E›")
    check(page)
    fits(page)
    expect(page.locator("#live")).to_be_visible()
    with ward.client.transaction(Authority.CONTROL_PLANE) as tx:
        backfilling.plan(tx, backfill)
    expect(page.get_by_role("heading", level=1)).to_contain_text("running", timeout=2_000)


def test_hostile_messages_and_names_are_text(opened: Open, ward: Ward) -> None:
    key = ward.key(customer="a b&c=<i>")
    ward.reject(key, message=HOSTILE + "x" * 15_000, reason="R", rule="<b>")
    page = opened(f"/partitions/list?source={ward.source}&customer_id={quote(key.customer_id)}")
    expect(page.locator("#list tbody tr")).to_have_count(1)
    expect(page.locator("#list")).to_contain_text("<script>alert(1)</script>")
    check(page)
    page.locator("#list tbody a").click()
    expect(page.locator("#partition")).to_contain_text("‹U+202E›")
    check(page)
    fits(page)
    page.goto(f"{page.url.partition('/partitions')[0]}/find?text={quote(str(key), safe='')}")
    page.locator("tbody a").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("a b&c=<i>")


def test_a_list_follows_what_happens(opened: Open, ward: Ward) -> None:
    page = opened(f"/partitions/list?source={ward.source}")
    expect(page.locator("#live")).to_be_visible()
    ward.enqueue(ward.key())
    expect(page.locator("#list tbody tr")).to_have_count(1, timeout=2_000)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER])
def test_who_may_not_sees_no_button(opened: Open, ward: Ward, role: Role) -> None:
    ward.reject(ward.key())
    page = opened(f"/partitions/{id_of(ward, ward.key())}", role=role)
    expect(page.get_by_role("heading", level=1)).to_contain_text("failed")
    expect(page.locator("[data-act]")).to_have_count(0)
    base = page.url.partition("/partitions")[0]
    for path in (f"/partitions/list?source={ward.source}&status=failed", "/partitions/terminal", "/backfills"):
        page.goto(f"{base}{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.locator("[data-act], [formaction]")).to_have_count(0)
    page.goto(f"{base}/act/post_backfills")
    expect(page.get_by_role("alert")).to_contain_text("role_may_not")


def test_a_hub_sees_its_own_sources(opened: Open, db: Database, shared: Ward, at: str) -> None:
    mine, theirs = shared.next_source().source, shared.next_source().source
    shared.policy(POLICY + f'[service.hubs.mine]\nsources = ["{mine}"]\n')
    shared.source = mine
    shared.reject(shared.key())
    shared.source = theirs
    shared.reject(shared.key())
    page = opened("/partitions")
    token = sessions.open_session(db, with_key(db, Role.VIEWER, hub="mine")).token
    page.context.add_cookies([{"name": COOKIE, "value": token, "url": at, "httpOnly": True, "sameSite": "Strict"}])
    page.goto(f"{at}/partitions/list")
    expect(page.locator("#list tbody tr")).to_have_count(1)
    expect(page.locator("#list tbody tr")).to_contain_text(mine)
    page.goto(f"{at}/partitions")
    assert page.get_by_label("Source and query").locator("option").all_inner_texts() == [
        f"{mine} / orders", f"{mine} / refunds",
    ]  # fmt: skip
    for path in (f"/partitions?of={theirs}%2Forders", f"/partitions/{id_of(shared, shared.key())}"):
        page.goto(f"{at}{path}")
        expect(page.get_by_role("alert")).to_contain_text("There is no")
    for path in ("/partitions/gaps", "/partitions/terminal", "/partitions/overrides", "/backfills", "/gate",
                 "/gate/companies", "/gate/eligible", "/gate/exhausted", "/gate/identities"):  # fmt: skip
        page.goto(f"{at}{path}")
        expect(page.locator("#list")).to_be_visible()
        assert theirs not in page.content()


def test_customers_are_paged_and_those_of_the_policy_are_among_them(ward: Ward) -> None:
    ward.enqueue(*(ward.key(customer=f"c{number:02}") for number in range(5)))
    ward.enqueue(ward.key(customer="other", query="refunds"))
    with ward.client.transaction(Authority.READER) as tx:
        names: list[str] = []
        after: str | None = ""
        while after is not None:
            found = pages.customers(tx, ward.source, "orders", after=after, limit=2, steps=3)
            names += found.names
            after = found.next
        assert names == ["acme", "c00", "c01", "c02", "c03", "c04", "zeta"]
        assert pages.customers(tx, ward.source, "refunds").names == ["other"]


def test_a_search_is_continued_where_it_ended(ward: Ward) -> None:
    ward.enqueue(*(ward.key(number) for number in range(6)))
    ward.enqueue(ward.key(2, customer="zeta", query="refunds"))
    selection = select(source=ward.source, query_name="refunds")
    with ward.client.transaction(Authority.READER) as tx:
        found = pages.scan(tx, selection, window=4)
        assert (found.partitions, found.is_cut) == ([], True)
        found = pages.scan(tx, selection, window=4, after=found.next)
        assert [one.customer_id for one in found.partitions] == ["zeta"]
        assert found.next is None
        page = pages.scan(tx, select(source=ward.source), limit=5)
        rest = pages.scan(tx, select(source=ward.source), limit=5, after=page.next)
    assert [(one.query_name, one.logical_date) for one in (*page.partitions, *rest.partitions)] == [
        *(("orders", FIRST + number * DAY) for number in range(6)), ("refunds", FIRST + 2 * DAY),
    ]  # fmt: skip


def test_a_large_backfill_is_estimated_from_a_sample(ward: Ward) -> None:
    with ward.client.transaction(Authority.CONTROL_PLANE) as tx:
        customers = [f"c{number:03}" for number in range(100)]
        selection = backfilling.selected(tx, ward.source, FIRST, FIRST, customers=customers, queries=["orders"])
        backfill = backfilling.start(tx, selection, reason="a test")
        backfilling.plan(tx, backfill)
        exact, about = backfilling.show(tx, backfill), backfilling.show_progress(tx, backfill, sample=10)
        assert backfilling.show_progress(tx, backfill) == exact
    assert (about.waiting, about.ended) == (exact.waiting, exact.ended) == (100, 0)


def test_days_of_a_grid_are_bounded() -> None:
    assert pages.shifted(date(1, 1, 2), date(1, 1, 9), -1) is None
    assert pages.shifted(FIRST, FIRST + DAY, 1) == (FIRST + 2 * DAY, FIRST + 3 * DAY)
