"""Recovery in the console: from each button to the row, refusals where they happen, roles, hostile texts."""

from __future__ import annotations

import re
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
from recoup.recovery import breakers
from recoup.recovery.calibration import calibration
from recoup.recovery.matches import NewFailure
from recoup.service import Role
from recoup.settings import Settings
from recovery.stage import MANUAL, NOTIFY, RETRY, Stage

Open = Callable[..., Page]
RECONFIGURE = "reconfigure"
LONG = "x" * 900_000  # one line
HOSTILE = '<script>alert(1)</script> \x1b[31mred\x1b[0m \u202egnp.exe "><img/src=x/onerror=alert(2)>'


@pytest.fixture(scope="module")
def db(server: embedded.Server, settings: Settings, new_database: Callable[..., str]) -> Iterator[Database]:
    """A database of its own: here workers do what they find."""
    with Database(server.uri(new_database()), settings) as database:
        yield database


@pytest.fixture(scope="module")
def stage(db: Database) -> Stage:
    return Stage(db)


def waiting(stage: Stage, **more: Any) -> UUID:
    """A failure whose candidate waits for a decision, within a scope."""
    (match,) = stage.outside(**more)
    stage.settle(executing=False)
    stage.scope(match)
    stage.settle(executing=False)
    assert stage.candidate(match)["status"] == "pending"
    return match


def task_of(stage: Stage, owner: str) -> UUID:
    """An open task that a candidate awaits."""
    (match,) = stage.outside()
    stage.scope(match)
    made = stage.propose(match, MANUAL, owner=owner)
    assert stage.approve(made) == [None]
    stage.execute()
    return UUID(stage.candidate(match)["awaits"]["key"])


def press(page: Page, link: str | None, button: str, **fields: str) -> None:
    """From a button to its form, and off it goes."""
    if link is not None:
        page.get_by_role("link", name=link, exact=True).first.click()
    for label, value in fields.items():
        page.get_by_role("textbox", name=label.replace("_", " ")).fill(value)
    page.get_by_role("button", name=button, exact=True).click()


def done(page: Page) -> None:
    expect(page.get_by_role("status").first).to_contain_text("Done")


# Decisions ------------------------------------------------------------------------------------------------------------


def test_a_candidate_is_approved_from_the_queue(opened: Open, stage: Stage) -> None:
    match = waiting(stage, message="the vendor is away")
    page = opened(f"/recovery?source={stage.match(match)['source']}")
    card = page.locator("li.candidate")
    expect(card).to_have_count(1)
    for words in ("the vendor is away", RETRY, "has no outcome", "cost", "10 attempts and 100 units left", "in 3d"):
        expect(card).to_contain_text(words)
    press(page, "Approve …", "Approve", Reason="the vendor is back")
    done(page)
    row = stage.candidate(match)
    assert (row["status"], row["decision_note"]) == ("approved", "the vendor is back")
    expect(page.locator("li.candidate")).to_contain_text("for a worker to start it")


def test_a_candidate_is_rejected_from_its_story_without_scripts(opened: Open, stage: Stage) -> None:
    match = waiting(stage)
    page = opened(f"/recovery/matches/{stage.candidate(match)['candidate_id']}", scripts=False)
    press(page, "Reject …", "Reject", Reason="the data is wrong")
    done(page)
    row = stage.candidate(match)
    assert (row["status"], row["decision_note"]) == ("rejected", "the data is wrong")


@pytest.mark.parametrize(("verb", "status"), [("Approve", "approved"), ("Reject", "rejected")])
def test_selected_candidates_are_decided_together(opened: Open, stage: Stage, verb: str, status: str) -> None:
    source = f"job-{uuid.uuid4().hex[:8]}"
    matches = stage.outside(3, source=source)
    stage.settle(executing=False)
    stage.scope(matches[0])
    stage.settle(executing=False)
    page = opened(f"/recovery?source={source}")
    boxes = page.locator("input[name='body.units']")
    expect(boxes).to_have_count(3)
    boxes.nth(0).check()
    boxes.nth(2).check()
    page.get_by_role("button", name=f"{verb} …").click()
    press(page, None, verb, Reason="all of them are the same")
    done(page)
    assert sorted(stage.candidate(one)["status"] for one in matches) == sorted([status, "pending", status])


def test_a_candidate_that_changed_since_it_was_shown_is_refused(opened: Open, stage: Stage) -> None:
    (match,) = stage.outside()
    stage.settle(executing=False)
    page = opened(f"/recovery?source={stage.match(match)['source']}")
    expect(page.locator("li.candidate")).to_contain_text("none that allows it")
    page.get_by_role("link", name="Reject …").click()
    page.get_by_label("Reason").fill("nobody may do that")
    stage.scope(match)  # now it can be executed: that is another decision
    page.get_by_role("button", name="Reject", exact=True).click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("It has changed since it was shown.")
    expect(alert).to_contain_text("Next:")
    assert page.get_by_label("Reason").input_value() == "nobody may do that"
    assert stage.candidate(match)["status"] == "pending"


def test_of_selected_ones_each_refusal_is_shown(opened: Open, stage: Stage) -> None:
    source = f"job-{uuid.uuid4().hex[:8]}"
    first, second = stage.outside(2, source=source)
    stage.settle(executing=False)
    stage.scope(first)
    stage.settle(executing=False)
    page = opened(f"/recovery?source={source}")
    page.get_by_label("All of this page").check()
    page.get_by_role("button", name="Approve …").click()
    stage.reject(stage.candidate(second)["candidate_id"])
    press(page, None, "Approve", Reason="go on")
    expect(page.locator("main")).to_contain_text("It is rejected, not pending.")
    assert (stage.candidate(first)["status"], stage.candidate(second)["status"]) == ("approved", "rejected")


def test_who_proposed_it_does_not_decide_it(opened: Open, stage: Stage) -> None:
    (match,) = stage.outside()
    stage.scope(match)
    stage.propose(match, RETRY, by=stage.db.settings.actor)
    page = opened(f"/recovery/matches/{match}")
    expect(page.locator("li.candidate").first).to_contain_text("somebody else decides")
    expect(page.get_by_role("link", name="Approve …")).to_have_count(0)


# Failures -------------------------------------------------------------------------------------------------------------


def test_an_action_is_proposed(opened: Open, stage: Stage) -> None:
    (match,) = stage.outside()
    page = opened(f"/recovery/matches/{match}")
    page.locator("select[name='body.action']").select_option(NOTIFY)
    page.get_by_role("button", name="Propose …").click()
    assert page.get_by_role("textbox", name="Action").input_value() == NOTIFY
    press(page, None, "Propose", Reason="they want to know")
    done(page)
    row = stage.candidate(match)
    assert (row["action_name"], row["proposed_by"]) == (NOTIFY, stage.db.settings.actor)


def test_a_match_is_evaluated_and_reported_as_recovered(opened: Open, stage: Stage) -> None:
    match = waiting(stage)
    page = opened(f"/recovery/matches/{match}")
    before = stage.match(match)["wakes"]
    press(page, "Evaluate now …", "Evaluate", Reason="the vendor said so")
    done(page)
    assert stage.match(match)["wakes"] > before
    press(page, "It is recovered …", "Report", Reason="switched the vendor")
    done(page)
    assert stage.match(match)["reported_by"] == stage.db.settings.actor
    expect(page.get_by_role("link", name="It is recovered …")).to_have_count(0)
    stage.settle(executing=False)
    page.goto(page.url.partition("?")[0])
    expect(page.get_by_role("heading", level=1)).to_contain_text("recovered")
    expect(page.get_by_role("link", name="Evaluate now …")).to_have_count(0)
    expect(page.locator(".timeline").last).to_contain_text("switched the vendor")


def test_what_was_done_is_rolled_back(opened: Open, stage: Stage) -> None:
    (match,) = stage.outside()
    stage.settle()
    stage.scope(match, actions=[RECONFIGURE, "rollback"])
    made = stage.propose(match, RECONFIGURE, key=f"k.{uuid.uuid4().hex[:8]}", value=3)
    assert stage.approve(made) == [None]
    stage.settle()
    page = opened(f"/recovery/matches/{made}")
    press(page, "Roll back …", "Propose", Reason="it made things worse")
    done(page)
    (undo,) = stage.rows("select * from recovery.candidate where undoes = %s", made)
    assert undo["proposed_by"] == stage.db.settings.actor
    expect(page.get_by_role("link", name="Roll back …")).to_have_count(0)


def test_a_failure_is_reported(opened: Open, stage: Stage) -> None:
    key = f"order-{uuid.uuid4().hex[:8]}"
    page = opened("/recovery/matches")
    press(page, "Report a failure …", "Report", Source="crm", Key=key, Message="the CRM timed out")
    done(page)
    assert stage.match_of(key)["error_message"] == "the CRM timed out"


# Scopes, tasks, breakers, actions -------------------------------------------------------------------------------------


def test_a_scope_is_opened_for_what_lacks_one_and_revoked(opened: Open, stage: Stage) -> None:
    (match,) = stage.outside()
    stage.propose(match, RETRY)
    page = opened(f"/recovery/matches/{match}")
    press(page, "Open a scope …", "Open", Reason="the vendor is back", Max_attempts="3")
    done(page)
    (scope,) = stage.rows("select * from recovery.scope where incident_id = %s", stage.match(match)["incident_id"])
    assert (scope["allowed_actions"], scope["max_attempts"], scope["status"]) == ([RETRY], 3, "active")
    page.goto(f"{page.url.partition('/recovery')[0]}/recovery/scopes/{scope['scope_id']}")
    expect(page.locator("main")).to_contain_text("3 of 3 left")
    check(page)
    press(page, "Revoke …", "Revoke", Reason="not now")
    done(page)
    assert stage.row("select status from recovery.scope where scope_id = %s", scope["scope_id"])["status"] == "revoked"
    expect(page.get_by_role("link", name="Revoke …")).to_have_count(0)


def test_a_task_is_done_or_cancelled(opened: Open, stage: Stage) -> None:
    owner = f"team-{uuid.uuid4().hex[:6]}"
    first, second = task_of(stage, owner), task_of(stage, owner)
    page = opened(f"/recovery/tasks?owner={owner}")
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page.locator("tbody")).to_contain_text("in ")
    page.locator("tbody tr", has=page.locator(f"a[href='/recovery/tasks/{first}']")).get_by_role(
        "link", name="Done …"
    ).click()
    press(page, None, "Report", Note="replaced the token")
    done(page)
    expect(page.locator("tbody tr")).to_have_count(1)
    page.goto(f"{page.url.partition('/recovery')[0]}/recovery/tasks/{second}")
    check(page)
    press(page, "Cancel …", "Cancel", Note="nobody needs it")
    done(page)
    rows = stage.rows("select status, note from recovery.task where owner = %s order by task_id", owner)
    assert {(row["status"], row["note"]) for row in rows} == {
        ("done", "replaced the token"), ("cancelled", "nobody needs it"),
    }  # fmt: skip


def test_a_breaker_is_opened_and_closed(opened: Open, stage: Stage) -> None:
    name = f"crm-{uuid.uuid4().hex[:6]}"
    page = opened("/recovery/breakers")
    press(page, "Open a breaker …", "Open", Reason="the CRM is down", Name=name)
    done(page)
    row = page.locator("tbody tr", has_text=name)
    expect(row).to_contain_text("the CRM is down")
    row.get_by_role("link", name="Close …").click()
    press(page, None, "Close", Reason="it is back")
    done(page)
    with stage.db.transaction(Authority.READER) as tx:
        (found,) = [one for one in breakers.breakers(tx, closed=True) if one.name == name]
    assert found.status == "closed"


def test_an_action_is_paused(opened: Open, stage: Stage) -> None:
    page = opened("/recovery/actions")
    row = page.locator("tbody tr", has=page.locator(f"a[href='/recovery?action={NOTIFY}']"))
    row.get_by_role("link", name="Pause …").click()
    press(page, None, "Pause", Reason="too many notices")
    done(page)
    expect(row).to_contain_text("too many notices")
    paused = stage.rows("select scope_id from recoup.pause where status = 'PAUSED' and scope = 'action'")
    assert [one["scope_id"] for one in paused] == [NOTIFY]


# Who may, what is shown, and how it lives -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "seen"),
    [
        (Role.VIEWER, set()),
        (Role.PRODUCER, set()),
        (Role.REVIEWER, {"Approve …", "Reject …"}),
        (Role.OPERATOR, {"Evaluate now …", "It is recovered …", "Open a scope …", "Revoke …"}),
    ],
)
def test_each_role_sees_what_it_may(opened: Open, stage: Stage, role: Role, seen: set[str]) -> None:
    match = waiting(stage)
    page = opened(f"/recovery/matches/{match}", role=role)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert set(page.locator("[data-act]").all_inner_texts()) == seen
    assert page.locator("form[action^='/act/']").count() == (role is Role.OPERATOR)
    page.goto(f"{page.url.partition('/recovery')[0]}/recovery?source={stage.match(match)['source']}")
    expect(page.locator("li.candidate")).to_have_count(1)
    assert page.locator("input[name='body.units']").count() == (role is Role.REVIEWER)


def test_who_may_not_is_refused(opened: Open, stage: Stage) -> None:
    row = stage.candidate(waiting(stage))
    approve = "/act/post_recovery_candidates_candidate_id_approve"
    page = opened(f"{approve}?path.candidate_id={row['candidate_id']}", role=Role.OPERATOR)
    expect(page.get_by_role("alert")).to_contain_text("role_may_not")


def test_hostile_texts_are_texts(opened: Open, stage: Stage) -> None:
    source = f"<b>job</b>-{uuid.uuid4().hex[:6]}"
    failure = NewFailure(
        source=source, key=f"{HOSTILE}{uuid.uuid4()}", message=f"{HOSTILE} {LONG}", code="<i>code</i>",
        context={"</pre><script>": HOSTILE},
    )  # fmt: skip
    (made,) = stage.ingest([failure])
    assert made.failure_match_id is not None
    stage.settle(executing=False)
    stage.scope(made.failure_match_id)
    stage.settle(executing=False)
    incident = stage.match(made.failure_match_id)["incident_id"]
    page = opened("/recovery")
    raised: list[str] = []
    page.on("pageerror", lambda error: raised.append(str(error)))
    page.on("dialog", lambda dialog: raised.append(dialog.message))
    root = page.url.partition("/recovery")[0]
    for path in ("", "/matches", f"/matches/{made.failure_match_id}", "/incidents", f"/incidents/{incident}"):
        page.goto(f"{root}/recovery{path}")
        main = page.locator("main")
        expect(main).to_contain_text("<script>alert(1)</script>")
        expect(main).to_contain_text("‹U+202E›gnp.exe")
        assert "\x1b" not in page.content()
        assert page.locator("main script, main img, main b, main i").count() == 0
        assert len(page.content()) < 400_000
        check(page)
    page.set_viewport_size({"width": 360, "height": 800})
    for path in ("", f"/matches/{made.failure_match_id}"):
        page.goto(f"{root}/recovery{path}")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    assert raised == []


def test_pages_of_single_rows_are_readable(opened: Open, stage: Stage) -> None:
    failure = stage.park()
    match = stage.awaiting(failure)
    page = opened(f"/recovery/matches/{match}")
    expect(page.locator("main")).to_contain_text("Awaits")
    assert page.locator(f"a[href='/errors/{failure}']").count() >= 1
    check(page)
    page.emulate_media(color_scheme="dark")
    check(page)
    page.get_by_role("link", name=re.compile("open failure")).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Incident of")
    check(page)


def test_the_queue_follows_what_happens(opened: Open, stage: Stage) -> None:
    source = f"job-{uuid.uuid4().hex[:8]}"
    page = opened(f"/recovery?source={source}")
    expect(page.locator("li.candidate")).to_have_count(0)
    expect(page.locator("#live")).to_be_visible()
    waiting(stage, source=source)
    expect(page.locator("li.candidate")).to_have_count(1, timeout=2_000)


def test_filters_survive_reload_and_back(opened: Open, stage: Stage) -> None:
    source = stage.match(waiting(stage))["source"]
    page = opened("/recovery/matches")
    page.get_by_label("Source").fill(source)
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page).to_have_url(re.compile(f"source={source}"))
    page.get_by_role("navigation", name="Status").get_by_role("link", name="evaluated").click()
    expect(page).to_have_url(re.compile(rf"source={source}.*status=evaluated"))
    page.reload()
    assert page.get_by_label("Source").input_value() == source
    expect(page.locator("tbody tr")).to_have_count(1)
    page.locator("tbody a").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(source)
    page.go_back()
    assert page.get_by_label("Source").input_value() == source
    expect(page.locator("tbody tr")).to_have_count(1)


def test_what_an_address_may_hold(opened: Open) -> None:
    page = opened("/recovery?status=nonsense")
    expect(page.get_by_role("alert")).to_contain_text("Status")
    root = page.url.partition("/recovery")[0]
    for path in ("/recovery/matches/17", f"/recovery/matches/{uuid.uuid4()}", f"/recovery/scopes/{uuid.uuid4()}",
                 f"/recovery/tasks/{uuid.uuid4()}", f"/recovery/incidents/{uuid.uuid4()}",
                 "/recovery/matches?after=nonsense"):  # fmt: skip
        answer = page.goto(f"{root}{path}")
        assert answer is not None
        assert 400 <= answer.status < 500, path
        expect(page.get_by_role("alert")).to_contain_text("Next:")
    page.goto(f"{root}/recovery/calibration?action=nobody")
    expect(page.get_by_role("alert")).to_contain_text("nobody")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Calibration")
    page.goto(f"{root}/recovery/matches?stuck=true")
    expect(page.get_by_role("navigation", name="Status").locator("[aria-current]")).to_have_text("stuck")


def test_calibration_reads_the_newest_candidates_only(opened: Open, stage: Stage) -> None:
    source = f"job-{uuid.uuid4().hex[:8]}"
    stage.teach(RETRY, {True: 3, False: 1}, source=source)
    with stage.db.transaction(Authority.READER) as tx:
        whole, newest = calibration(tx, source=source), calibration(tx, source=source, newest=2)
        none = calibration(tx, source=source, newest=0)
    read = stage.rows("select finished_at from recovery.candidate order by candidate_id desc limit 2")
    ended = sum(one["finished_at"] is not None for one in read)  # what failed has a next candidate, which waits
    assert (whole.total.count, newest.total.count, none.total.count) == (4, ended, 0)
    assert 0 < ended < 4
    page = opened(f"/recovery/calibration?source={source}")
    expect(page.locator("svg.reliability circle")).to_have_count(len(whole.total.bins))
    expect(page.locator(".cards")).to_contain_text(f"{whole.total.brier:.3f}")
    check(page)
