"""Runs in the console: their silence, their trace, and how recovery goes on."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from playwright.sync_api import Page, expect

from console.test_pages import check
from recoup.database import embedded
from recoup.database.connection import Database
from recoup.lifecycles.declaration import Authority
from recoup.runs import NewRun, listing, running
from recoup.service import Role
from recoup.settings import Settings
from recovery.stage import Stage
from recovery.subjects import crashed_run

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def db(server: embedded.Server, settings: Settings, new_database: Callable[..., str]) -> Iterator[Database]:
    """A database of its own: its clock is moved."""
    with Database(server.uri(new_database()), settings) as database:
        yield database


@pytest.fixture(scope="module")
def stage(db: Database) -> Stage:
    return Stage(db)


def started(stage: Stage, kind: str, **more: Any) -> running.Started:
    with stage.db.transaction(Authority.RUNNER) as tx:
        return running.start(tx, [NewRun(kind=kind, **more)], owner="host-1")[0]


def test_a_run_is_queued_by_its_button(opened: Open, stage: Stage) -> None:
    kind = f"import-{uuid.uuid4().hex[:8]}"
    page = opened("/runs")
    page.get_by_role("link", name="Queue a run …").click()
    page.get_by_label("Kind").fill(kind)
    page.get_by_label("Input").fill('{"day": 1}')
    page.get_by_role("button", name="Queue").click()
    expect(page.get_by_role("status").first).to_contain_text("Done")
    row = stage.row("select status, input from recovery.run where kind = %s", kind)
    assert (row["status"], row["input"]) == ("queued", {"day": 1})


def test_a_viewer_sees_no_button(opened: Open) -> None:
    page = opened("/runs", role=Role.VIEWER)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator("[data-act]")).to_have_count(0)


def test_runs_by_status_with_their_silence(opened: Open, stage: Stage) -> None:
    kind = f"sync-{uuid.uuid4().hex[:8]}"
    run = started(stage, kind)
    stage.advance(minutes=7)
    page = opened(f"/runs?kind={kind}")
    expect(page.locator("tbody tr")).to_contain_text("silent 7m")
    page.get_by_role("navigation", name="Status").get_by_role("link", name="crashed").click()
    expect(page.locator("main")).to_contain_text("No runs match.")
    page.reload()
    assert page.get_by_label("Kind").input_value() == kind
    page.go_back()
    expect(page.locator("tbody tr")).to_have_count(1)
    stage.advance(hours=2)
    page.goto(f"{page.url.partition('/runs')[0]}/runs/orphans")
    expect(page.locator("tbody")).to_contain_text(str(run.run_id))
    check(page)


def test_a_crashed_run_leads_to_its_recovery(opened: Open, stage: Stage) -> None:
    run = crashed_run(stage)
    stage.settle(executing=False)
    match: UUID = stage.match_of(run)["failure_match_id"]
    page = opened(f"/runs/{run}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("crashed")
    check(page)
    page.locator(f"a[href='/recovery/matches/{match}']").click()
    expect(page.locator(f"a[href='/runs/{run}']").first).to_be_visible()
    stage.scope(match)
    stage.settle(executing=False)
    assert stage.approve(stage.candidate(match)["candidate_id"]) == [None]
    stage.settle()
    (retry,) = stage.rows("select run_id from recovery.run where retry_of = %s", run)
    page.goto(f"{page.url.partition('/recovery')[0]}/runs/{run}")
    page.locator(f"a[href='/runs/{retry['run_id']}']").click()
    expect(page.locator("main")).to_contain_text("a recovery")


def test_a_trace_is_bounded_and_hostile_notes_are_texts(opened: Open, stage: Stage) -> None:
    run = started(stage, f"<b>loud</b>-{uuid.uuid4().hex[:6]}", input={"</pre>": "<script>"})
    with stage.db.transaction(Authority.RUNNER) as tx:
        for n in range(5):
            running.note(tx, run.run_id, run.token, f"note {n} <script>alert(1)</script> \u202e {'x' * 90_000}")
    with stage.db.transaction(Authority.READER) as tx:
        latest = listing.show(tx, run.run_id, latest=2).trace
        assert [one.reason[:6] for one in latest if one.reason] == ["note 3", "note 4"]
        assert [one.seq for one in latest] == [one.seq for one in listing.show(tx, run.run_id).trace[-2:]]
        assert all(len(one.reason or "") <= listing.MAX_REASON for one in latest)
    page = opened(f"/runs/{run.run_id}")
    expect(page.locator(".timeline")).to_contain_text("<script>alert(1)</script> ‹U+202E›")
    assert len(page.content()) < 100_000
    check(page)
    page.set_viewport_size({"width": 360, "height": 800})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_the_list_follows_what_happens(opened: Open, stage: Stage) -> None:
    kind = f"live-{uuid.uuid4().hex[:8]}"
    page = opened(f"/runs?kind={kind}")
    expect(page.locator("#live")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(0)
    started(stage, kind)
    expect(page.locator("tbody tr")).to_have_count(1, timeout=2_000)


def test_a_run_that_is_not_there(opened: Open) -> None:
    page = opened(f"/runs/{uuid.uuid4()}")
    expect(page.get_by_role("alert")).to_contain_text("There is no run")
