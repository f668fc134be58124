"""Control in the console: pauses, the policy with its preview, keys; each from its button to the row."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from console.conftest import with_key
from console.test_pages import check
from product import PARTS, apply_policy
from recoup import pauses, policy
from recoup.database.connection import Database
from recoup.lifecycles.declaration import Authority
from recoup.service import Role, keys, sessions
from recoup.worker import register

Open = Callable[..., Page]
KEY = "errors.retry.TRANSIENT.max_retries"
PLACES = ("/control/workers", "/control/pauses", "/control/policy", "/control/seals", "/control/doctor")
SHOW_ONLY = ("/control/seals", "/control/doctor")


@pytest.fixture(autouse=True, scope="module")
def worker(db: Database) -> None:
    with db.transaction(Authority.RUNNER) as tx:
        made = register.register(tx, name="worker <b>1</b>", duties=("seal", "alerts"))
        register.tally_failure(tx, made, "seal", "<script>no disk</script>\x1b[31m")


@pytest.fixture
def resumed(db: Database) -> Iterator[None]:
    yield
    with db.transaction(Authority.OPERATOR) as tx:
        for one in pauses.pauses(tx):
            if one.scope in ("duty", "global"):
                pauses.resume(tx, one.scope, one.scope_id, reason="after a test")


def is_paused(db: Database, scope: str) -> pauses.Pause | None:
    with db.transaction(Authority.READER) as tx:
        return next((one for one in pauses.pauses(tx) if one.scope == scope), None)


def value(db: Database) -> object:
    with db.transaction(Authority.READER) as tx:
        return policy.active(tx).figures["errors"]["retry"]["TRANSIENT"]["max_retries"]


def version(db: Database) -> int:
    with db.transaction(Authority.READER) as tx:
        return policy.active(tx).version


def send(page: Page, name: str) -> None:
    page.locator("form.sheet").get_by_role("button", name=name, exact=True).click()


def to(page: Page, path: str) -> None:
    page.goto(re.sub(r"(?<=\d)/.*", "", page.url) + path)


@pytest.mark.usefixtures("resumed")
def test_a_background_task_is_paused_and_resumed_where_it_is_shown(opened: Open, db: Database) -> None:
    page = opened("/control/workers")
    expect(page.get_by_role("main")).to_contain_text("worker <b>1</b>")
    row = page.locator("tr", has=page.locator("a[href*='body.name=seal&']"))
    expect(row).to_contain_text("<script>no disk</script>‹U+001B›[31m")
    row.get_by_role("link", name="Pause …").click()
    page.get_by_label("Reason").fill("the disk is full")
    send(page, "Pause")
    expect(page.get_by_role("status").first).to_contain_text("Done")
    held = is_paused(db, "duty")
    assert held is not None
    assert (held.scope_id, held.reason) == ("seal", "the disk is full")
    page.locator("tr", has_text="the disk is full").get_by_role("link", name="Resume …").click()
    page.get_by_label("Reason").fill("there is room")
    send(page, "Resume")
    expect(page.get_by_role("status").first).to_contain_text("Done")
    assert is_paused(db, "duty") is None


@pytest.mark.usefixtures("resumed")
def test_anything_is_paused_from_the_list_and_the_page_follows(opened: Open, db: Database) -> None:
    page = opened("/control/pauses")
    page.get_by_label("Name").fill("seal")
    expect(page).to_have_url(re.compile("text=seal"))
    expect(page.locator("#names tbody tr")).to_have_count(1)
    page.reload()
    assert page.get_by_label("Name").input_value() == "seal"
    expect(page.locator("#live")).to_be_visible()
    with db.transaction(Authority.OPERATOR) as tx:
        pauses.pause(tx, "global", reason="by somebody else")
    expect(page.locator("#list")).to_contain_text("by somebody else", timeout=2_000)
    page.get_by_role("link", name="Resume everything …").click()
    page.get_by_label("Reason").fill("all is well")
    send(page, "Resume")
    expect(page.locator("#log")).to_contain_text("all is well")
    assert is_paused(db, "global") is None


def test_a_refusal_of_a_pause_is_shown_in_its_form(opened: Open) -> None:
    page = opened("/act/post_pauses?body.scope=duty&body.name=no-such-task&back=/control/pauses")
    page.get_by_label("Reason").fill("x")
    send(page, "Pause")
    expect(page.get_by_role("alert")).to_contain_text("Refused")
    assert page.get_by_label("Reason").input_value() == "x"


def test_one_value_is_previewed_set_and_compared(opened: Open, db: Database) -> None:
    before, wanted = version(db), 17
    page = opened("/control/policy")
    page.get_by_role("link", name="Set one value …").click()
    assert page.locator("form.sheet").get_by_role("button", name="Set", exact=True).count() == 0
    page.get_by_role("textbox", name="Key", exact=True).fill(KEY)
    page.get_by_label("Value").fill(str(wanted))
    page.get_by_label("Reason").fill("the vendor is slow")
    send(page, "Preview")
    expect(page.locator("#preview .difference")).to_contain_text(f"+ {KEY} = {wanted}")
    check(page)
    assert version(db) == before
    send(page, "Set")
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"version {before + 1}")
    assert value(db) == wanted
    to(page, f"/control/policy/diff?from={before}&to={before + 1}")
    expect(page.locator(".difference .bad")).to_contain_text(f"\N{MINUS SIGN} {KEY}")
    expect(page.locator(".difference .good")).to_contain_text(f"+ {KEY} = {wanted}")
    check(page)
    to(page, "/control/policy")
    page.get_by_role("link", name="Return to what is shipped …").click()
    page.get_by_role("textbox", name="Key", exact=True).fill(KEY)
    page.get_by_label("Reason").fill("over")
    send(page, "Preview")
    send(page, "Return")
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"version {before + 2}")
    assert value(db) != wanted


def test_a_section_is_edited_and_refused_if_somebody_was_faster(opened: Open, db: Database) -> None:
    page = opened("/control/policy/edit?section=errors", scripts=False)
    editor = page.get_by_label("Document")
    text = editor.input_value()
    assert "[errors.retry.TRANSIENT]" in text
    assert "# " in text, "its comments"
    changed = re.sub(r"(\[errors\.retry\.TRANSIENT\][^\[]*?max_retries = )\d+", r"\g<1>19", text)
    editor.fill(changed)
    page.get_by_label("Reason").fill("a longer patience")
    send(page, "Preview")
    expect(page.locator("#preview .difference li")).to_have_count(2)
    with db.transaction(Authority.OPERATOR) as tx:
        apply_policy(tx, "[errors.retry.TRANSIENT]\nmax_retries = 7", reason="somebody was faster")
    send(page, "Apply")
    expect(page.get_by_role("alert")).to_contain_text("policy_not_in_force")
    assert value(db) == 7
    to(page, "/control/policy/edit?section=errors")
    page.get_by_label("Document").fill(changed)
    page.get_by_label("Reason").fill("a longer patience")
    send(page, "Preview")
    send(page, "Apply")
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"version {version(db)}")
    assert value(db) == 19


def test_a_document_that_is_wrong_is_refused_in_the_preview_and_kept(opened: Open, db: Database) -> None:
    before = version(db)
    page = opened("/control/policy/edit?section=gate")
    page.get_by_label("Document").fill("[gate]\nwait_hourz = [1, 2]\n</textarea><script>alert(1)</script>")
    page.get_by_label("Reason").fill("x")
    send(page, "Preview")
    expect(page.get_by_role("alert")).to_contain_text("policy_not_toml")
    page.get_by_label("Document").fill("[gate]\nwait_hourz = [1, 2]")
    send(page, "Preview")
    expect(page.get_by_role("alert")).to_contain_text("wait_hourz")
    assert page.get_by_label("Document").input_value() == "[gate]\nwait_hourz = [1, 2]"
    assert version(db) == before


def test_a_preview_is_asked_for_by_our_own_pages_alone(opened: Open, db: Database, at: str) -> None:
    page = opened("/control/policy/edit?section=gate")
    form = {"body.document": "[gate]\nwait_hours = [1, 2]", "body.reason": "x", "_preview": "yes"}
    for token in ({}, {"_csrf": "a" * 64}):
        answer = page.request.post(f"{at}/act/post_policy", form={**form, **token})
        assert answer.status == 403
        assert "page_outdated" in answer.text()


def test_effects_and_values_that_nobody_named_need_a_confirmation(opened: Open, db: Database) -> None:
    with db.transaction(Authority.OPERATOR) as tx:
        apply_policy(tx, "[errors.retry.TRANSIENT]\nmax_retries = 8", reason="a test")
    page = opened("/control/policy/edit?section=all")
    page.get_by_label("Document").fill("[seals]\nblock_rows = 9999\n")
    page.get_by_label("Reason").fill("start again")
    send(page, "Preview")
    expect(page.locator("#preview")).to_contain_text("would return to what is shipped")
    send(page, "Apply")
    expect(page.get_by_role("alert")).to_contain_text("policy_takes_back")
    page.get_by_label("Confirm").check()
    send(page, "Preview")
    send(page, "Apply")
    expect(page.get_by_role("status").first).to_contain_text("Done")
    with db.transaction(Authority.READER) as tx:
        assert policy.active(tx).figures["seals"]["block_rows"] == 9999
        assert value(db) == policy.default(PARTS)["errors"]["retry"]["TRANSIENT"]["max_retries"]


def test_a_key_is_made_shown_once_rotated_and_revoked(opened: Open, db: Database) -> None:
    name = f"job-{uuid.uuid4().hex[:8]}"
    page = opened("/control/keys", role=Role.ADMIN)
    check(page)
    page.get_by_role("link", name="Make a key …").click()
    page.get_by_label("Name").fill(name)
    page.get_by_label("Role").select_option("viewer")
    page.get_by_label("Expires").fill("90d")
    send(page, "Make")
    expect(page.get_by_role("main")).to_contain_text("shown once")
    (secret,) = re.findall(r"rcp_[a-z2-7]{8}_[\w-]{43}", page.get_by_role("main").inner_text())
    assert keys.authenticate(db, secret).name == name
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("answer_not_kept")
    assert secret not in page.content()
    to(page, "/control/keys")
    assert secret not in page.content()
    row = page.locator("tr", has_text=name)
    row.get_by_role("link", name="Rotate …").click()
    page.get_by_label("Overlap").fill("1h")
    send(page, "Replace")
    (second,) = re.findall(r"rcp_[a-z2-7]{8}_[\w-]{43}", page.get_by_role("main").inner_text())
    to(page, "/control/keys")
    row = page.locator("tr", has_text=name)
    expect(row).to_have_count(2)
    row.filter(has_text=second.split("_")[1]).get_by_role("link", name="Revoke …").click()
    page.get_by_label("Reason").fill("a test")
    send(page, "Revoke")
    expect(page.get_by_role("status").first).to_contain_text("Done")
    with db.transaction(Authority.KEY_MANAGER) as tx:
        found = {one.prefix: one.status for one in keys.listed(tx, all=True) if one.name == name}
    assert found == {secret.split("_")[1]: "replaced", second.split("_")[1]: "revoked"}


def test_without_a_key_nobody_makes_one_in_the_console(opened: Open, db: Database) -> None:
    page = opened("/control/keys")
    expect(page.get_by_role("main")).to_contain_text("recoup keys add")
    assert page.locator("[data-act^='post_keys']").count() == 0
    to(page, "/act/post_keys?back=/control/keys")
    page.get_by_label("Name").fill("somebody")
    page.get_by_label("Role").select_option("admin")
    send(page, "Make")
    expect(page.get_by_role("alert")).to_contain_text("keys_need_a_key")
    with db.transaction(Authority.KEY_MANAGER) as tx:
        assert [one for one in keys.listed(tx, all=True) if one.name == "somebody"] == []


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER, Role.OPERATOR])
def test_each_role_sees_what_it_may(opened: Open, role: Role) -> None:
    page = opened("/control/workers", role=role)
    assert page.get_by_role("link", name="Keys", exact=True).count() == 0
    for path in PLACES:
        to(page, path)
        assert page.get_by_role("alert").count() == 0, path
        acts = page.locator("[data-act]").count()
        assert (acts > 0) == (role is Role.OPERATOR and path not in SHOW_ONLY), path
    to(page, "/control/keys")
    expect(page.get_by_role("alert")).to_contain_text("role_may_not")
    if role is not Role.OPERATOR:
        to(page, "/control/policy/edit")
        expect(page.get_by_role("alert")).to_contain_text("role_may_not")


def test_what_is_wrong_comes_first_in_the_checks(opened: Open, db: Database) -> None:
    ops = '[deliveries.routes.ops]\nkind = "webhook"\nurl_env = "CONSOLE_TEST_URL"\ntimeout_s = 2\nmax_tries = 3\n'
    with db.transaction(Authority.OPERATOR) as tx:
        apply_policy(tx, f"{ops}base_s = 1\ncap_s = 2", reason="a route without an address")
    page = opened("/control/doctor")
    rows = page.locator("#list tbody tr")
    expect(rows.first).to_contain_text("warning")
    expect(rows.last).to_contain_text("ok")
    expect(page.locator("tr", has_text="CONSOLE_TEST_URL is not set")).to_contain_text("Set the variable")
    expect(page.locator("tr", has_text="breakers")).to_contain_text("ok")


def test_a_key_of_a_hub_opens_nothing_that_is_about_every_hub(opened: Open, db: Database, at: str) -> None:
    with db.transaction(Authority.OPERATOR) as tx:
        apply_policy(tx, '[service.hubs.outreach]\ntables = ["outreach.dol_errors"]', reason="a hub")
    principal = with_key(db, Role.OPERATOR, hub="outreach")
    page = opened("/")
    token = sessions.open_session(db, principal).token
    page.context.add_cookies([{"name": "recoup_session", "value": token, "url": at}])
    for path in (*PLACES, "/control/policy/edit", "/control/policy/diff", "/alerts", "/alerts/rules"):
        to(page, path)
        expect(page.get_by_role("alert")).to_contain_text("hub_lacks_authority")
    assert page.get_by_role("link", name="Control", exact=True).count() == 0
