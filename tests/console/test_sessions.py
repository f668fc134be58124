"""Who may open the console, and what a page of another site can do with it: nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import httpx2
import pytest

from console.conftest import with_key
from hub import Hub
from recoup.console.sessions import COOKIE
from recoup.database import embedded
from recoup.database.connection import Database
from recoup.lifecycles.declaration import Authority
from recoup.service import Role, keys, local, sessions
from recoup.settings import Settings
from serving import served


@pytest.fixture(scope="module")
def db(server: embedded.Server, settings: Settings, new_database: Callable[..., str]) -> Iterator[Database]:
    """One without keys."""
    with Database(server.uri(new_database()), settings) as database:
        yield database


@pytest.fixture(scope="module")
def keys_db(server: embedded.Server, settings: Settings, new_database: Callable[..., str]) -> Iterator[Database]:
    """Another, with keys."""
    with Database(server.uri(new_database()), settings) as database:
        yield database


@pytest.fixture(scope="module")
def keyed(keys_db: Database) -> Iterator[str]:
    """The console of a service with keys."""
    with served(keys_db, keyed=True) as address:
        yield address


def client(at: str, token: str | None = None, **headers: str) -> httpx2.Client:
    cookies = {COOKIE: token} if token else {}
    return httpx2.Client(base_url=at, cookies=cookies, headers=headers, timeout=30)


def test_a_link_opens_the_console_once(db: Database, at: str) -> None:
    link = sessions.new_link(db, local("ada")).token
    with client(at) as browser:
        first = browser.get(f"/link/{link}")
        assert (first.status_code, first.headers["location"]) == (303, "/")
        said = first.headers["set-cookie"]
        assert "HttpOnly" in said
        assert "SameSite=strict" in said
        assert "ada" in browser.get("/").text
    with client(at) as another:
        assert another.get(f"/link/{link}").status_code == 403
        assert another.get("/").headers["location"] == "/sign-in"


def test_a_key_opens_it_and_ends_it(keys_db: Database, keyed: str) -> None:
    with keys_db.transaction(Authority.KEY_MANAGER) as tx:
        made = keys.add(tx, "grace", Role.OPERATOR)
    with client(keyed) as browser:
        assert browser.post("/sign-in", data={"key": "rcp_wrong"}).status_code == 401
        answer = browser.post("/sign-in?next=/errors%3Fstatus=PARKED", data={"key": made.secret})
        assert (answer.status_code, answer.headers["location"]) == (303, "/errors?status=PARKED")
        assert "Secure" not in answer.headers["set-cookie"]
        assert browser.get("/errors").status_code == 200
        with keys_db.transaction(Authority.KEY_MANAGER) as tx:
            keys.revoke(tx, "grace")
        assert browser.get("/errors").headers["location"] == "/sign-in?next=/errors"
    with client(keyed, origin="https://recoup.example") as browser:
        with keys_db.transaction(Authority.KEY_MANAGER) as tx:
            other = keys.add(tx, "joan", Role.VIEWER)
        assert "Secure" in browser.post("/sign-in", data={"key": other.secret}).headers["set-cookie"]


@pytest.mark.parametrize(
    "place", ["https://elsewhere.example/", "//elsewhere.example", "/\\elsewhere.example", "/a\r\nx: y"]
)
def test_nobody_is_sent_elsewhere(keys_db: Database, keyed: str, place: str) -> None:
    with keys_db.transaction(Authority.KEY_MANAGER) as tx:
        made = keys.add(tx, f"alan {place!r}", Role.VIEWER)
    with client(keyed) as browser:
        answer = browser.post("/sign-in", params={"next": place}, data={"key": made.secret})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_routes_take_no_cookie_and_pages_take_no_header(keys_db: Database, keyed: str) -> None:
    with keys_db.transaction(Authority.KEY_MANAGER) as tx:
        made = keys.add(tx, "edsger", Role.VIEWER)
    token = sessions.open_session(keys_db, with_key(keys_db, Role.OPERATOR)).token
    with client(keyed, token) as browser:
        assert browser.get("/v1/errors").json()["code"] == "key_missing"
    with client(keyed, authorization=f"Bearer {made.secret}") as program:
        assert program.get("/errors").headers["location"] == "/sign-in?next=/errors"


def test_a_write_needs_the_token_of_its_session(db: Database, at: str) -> None:
    error = Hub(db).record("the request timed out")
    act = f"/act/post_errors_error_id_park?path.error_id={error}"
    token, other = (sessions.open_session(db, local("tester")).token for _ in range(2))
    given = {"path.error_id": str(error), "body.reason": "because", "back": "/"}
    with client(at, token) as browser:
        for csrf in ("", "0" * 64, sessions.csrf_token(other)):
            answer = browser.post(act, data=given | {"_csrf": csrf})
            assert (answer.status_code, "page_outdated" in answer.text) == (403, True), answer.text
        good = given | {"_csrf": sessions.csrf_token(token)}
        elsewhere = browser.post(act, data=good, headers={"sec-fetch-site": "same-site"})
        assert elsewhere.status_code == 403
        assert Hub(db).row(error)["status"] == "RETRY_PENDING"
        assert browser.post(act, data=good, headers={"sec-fetch-site": "same-origin"}).status_code == 303
    assert Hub(db).row(error)["status"] == "PARKED"


def test_a_form_that_is_sent_twice_is_done_once(db: Database, at: str) -> None:
    error = Hub(db).record("the request timed out")
    token = sessions.open_session(db, local("tester")).token
    with client(at, token) as browser:
        form = browser.get(f"/act/post_errors_error_id_assign?path.error_id={error}&back=/errors/{error}").text
        once = re.search(r'name="_once" value="([^"]+)"', form)
        assert once is not None
        given = {"path.error_id": str(error), "body.to": "ada", "body.reason": "hers", "_once": once[1],
                 "_csrf": sessions.csrf_token(token), "back": f"/errors/{error}"}  # fmt: skip
        answers = [browser.post("/act/post_errors_error_id_assign", data=given).status_code for _ in range(2)]
    assert answers == [303, 303]
    assert Hub(db).events(error).count("ASSIGNED") == 1


def test_without_keys_only_this_machine_and_no_other_page(db: Database, at: str) -> None:
    token = sessions.open_session(db, local("tester")).token
    with client(at, token) as browser:
        assert browser.get("/", headers={"host": "rebound.example"}).status_code == 403
        assert browser.get("/", headers={"x-forwarded-for": "10.0.0.1"}).status_code == 403
        assert (
            browser.post("/theme", data={"theme": "dark"}, headers={"origin": "http://evil.example"}).status_code == 403
        )


def test_who_follows_a_link_on_another_site_stays_signed_in(keyed: str) -> None:
    """The browser keeps a strict cookie back from that request; a page of ours asks again, with it."""
    with client(keyed) as browser:
        answer = browser.get("/errors?status=PARKED", headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 200
    assert "url=/errors?status=PARKED&amp;again=1" in answer.text


def test_every_answer_says_what_browsers_may_do(db: Database, at: str) -> None:
    token = sessions.open_session(db, local("tester")).token
    with client(at, token) as browser:
        for path in ("/", "/errors", "/errors/0", "/sign-in", "/act/none", "/static/0/none.js"):
            answer = browser.get(path)
            if not path.startswith("/static"):
                assert "default-src 'none'" in answer.headers["content-security-policy"], path
                assert answer.headers["cache-control"] == "no-store"
        found = re.search(r'href="(/static/[^"]+console.css)"', browser.get("/").text)
        assert found is not None
        assert "immutable" in browser.get(found[1]).headers["cache-control"]
