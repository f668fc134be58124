"""Routes through apprise: a real service on loopback that is there, down, slow, or answers 500."""

from __future__ import annotations

import json
import sys

import pytest

from deliveries.post import SECRET_PATH, Office, Receiver, webhook
from recoup.deliveries import services
from recoup.deliveries.webhooks import Unusable

pytest.importorskip("apprise", reason="the extra notify is not installed")
# The library imports modules that Python is going to drop.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def service(office: Office, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> Receiver:
    """A service that gets its notices as JSON."""
    monkeypatch.setenv("TEST_OPS_URL", f"json://127.0.0.1:{receiver.port}{SECRET_PATH}")
    office.routes(webhook().replace('kind = "webhook"', 'kind = "apprise"'))
    return receiver


def test_a_notice_has_its_subject_as_title_and_its_id_in_the_text(office: Office, service: Receiver) -> None:
    made = office.send(body={"host": "db-1", "free": None}, about="INC-1")
    assert office.deliver() == 1
    assert office.status(made) == ("delivered", 1)
    ((path, _, body),) = service.got
    document = json.loads(body)
    assert (path, document["title"]) == (SECRET_PATH, "it failed")
    assert document["message"].splitlines() == ["host: db-1", "about: INC-1", f"delivery: {made}"]
    assert office.deliver() == 0
    assert len(service.got) == 1
    assert office.broken() == []


def test_a_service_that_answers_500_is_tried_again_until_the_last_try_and_its_id_stays(
    office: Office, service: Receiver
) -> None:
    service.status = 500
    made = office.send()
    for tries in (1, 2, 3):
        assert office.deliver() == 1
        assert office.status(made) == ("dead" if tries == 3 else "queued", tries)
        office.advance(seconds=60)
    assert {json.loads(body)["message"] for _, _, body in service.got} == {f"delivery: {made}"}
    assert "did not accept it" in office.row(made)["last_failure"]
    assert office.broken() == []


def test_a_service_that_never_answers_ends_at_the_timeout(office: Office, service: Receiver) -> None:
    service.hold.clear()
    made = office.send()
    assert office.deliver() == 1
    assert office.status(made) == ("queued", 1)
    service.hold.set()
    office.advance(seconds=60)
    assert office.deliver() == 1
    assert office.status(made) == ("delivered", 2)


def test_no_url_is_stored_logged_or_printed(
    office: Office, service: Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "apprise")
    for url in (f"json://127.0.0.1:1{SECRET_PATH}", f"slack://T0PS3CRET{SECRET_PATH}", f"nothing:/{SECRET_PATH}"):
        monkeypatch.setenv("TEST_OPS_URL", url)
        made = office.send()
        office.deliver()
        assert "T0PS3CRET" not in str(office.row(made))
    assert "T0PS3CRET" not in caplog.text
    with pytest.raises(Unusable, match="apprise can use") as unusable:
        services.service("slack://T0PS3CRET", timeout_s=1)
    assert "T0PS3CRET" not in str(unusable.value)


def test_without_the_library_the_route_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(Unusable, match=r"pip install 'recoup\[notify\]'"):
        services.service("json://127.0.0.1/without", timeout_s=1)
