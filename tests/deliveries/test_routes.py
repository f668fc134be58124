"""Routes: what a policy may say of them, what each kind does, and that no secret of one is stored or printed."""

from __future__ import annotations

import json
import os
import ssl
import stat
import subprocess
from pathlib import Path

import psycopg
import pytest

from deliveries.post import SECRET, SECRET_PATH, Office, Receiver, webhook
from recoup.database import embedded
from recoup.database.client import program
from recoup.deliveries import webhooks
from recoup.deliveries.policy import DeliveryPolicy, Route
from recoup.deliveries.routes import append, resolved
from recoup.deliveries.webhooks import Undelivered, Unusable
from recoup.refusals import InputRefused

FILE = '[deliveries.routes.ops]\nkind = "file"\npath = "ops.jsonl"\nmax_tries = 3\n'


def test_a_file_gets_a_line_that_only_its_owner_reads(office: Office) -> None:
    office.routes(FILE)
    first, second = office.send(body={"n": 1}), office.send(body={"n": 2})
    assert office.deliver() == 2
    file = office.settings.home / "deliveries" / "ops.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert {(line["delivery_id"], line["body"]["n"]) for line in lines} == {(str(first), 1), (str(second), 2)}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_line_that_a_dead_process_left_without_its_end_spoils_no_other(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b'{"torn": ')
    append(tmp_path, "f", b"{}", timeout_s=1)
    assert (tmp_path / "f").read_bytes() == b'{"torn": \n{}\n'


def test_no_link_is_followed_and_nothing_else_than_a_file_is_written(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with pytest.raises(Undelivered, match="is a link"):
        append(tmp_path, "link", b"{}", timeout_s=1)
    with pytest.raises(Undelivered, match="not a regular file"):
        append(tmp_path, "pipe", b"{}", timeout_s=1)
    with pytest.raises(Undelivered, match="cannot be written"):
        append(tmp_path, "folder", b"{}", timeout_s=1)
    assert (tmp_path / "target").read_text() == ""


def test_the_shipped_route_writes_a_line_of_the_workers_log(office: Office, caplog: pytest.LogCaptureFixture) -> None:
    made = office.send("log", "disk is full", {"host": "db-1"})
    assert office.deliver() == 1
    assert office.status(made) == ("delivered", 1)
    assert any("disk is full" in line and str(made) in line for line in caplog.messages)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('kind = "webhook"', "url_env"),
        ('kind = "webhook"\nurl_env = "https://hooks.example/T0PS3CRET"', "url_env"),
        ('kind = "webhook"\nurl = "https://hooks.example/x"', "url"),
        ('kind = "webhook"\nurl_env = "A"\npath = "x"', "path"),
        ('kind = "file"', "path"),
        ('kind = "file"\npath = "../passwd"', "path"),
        ('kind = "file"\npath = "/etc/passwd"', "path"),
        ('kind = "file"\npath = "x"\nsecret_env = "A"', "secret_env"),
        ('kind = "pigeon"', "kind"),
        ('kind = "log"\nmax_tries = 0', "max_tries"),
    ],
)
def test_a_route_that_makes_no_sense_or_holds_a_secret_is_refused(office: Office, text: str, key: str) -> None:
    with pytest.raises(InputRefused) as refused:
        office.routes(f"[deliveries.routes.ops]\n{text}")
    assert key in str(refused.value.as_json())


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "is not set"),
        ("hooks.example/T0PS3CRET", "does not begin"),
        ("ftp://hooks.example/T0PS3CRET", "begins with https://"),
        ("http://hooks.example/T0PS3CRET", "allow_http"),
        ("https://u:T0PS3CRET@hooks.example/", "user or a password"),
        ("https://hooks.example/T0PS3CRET\r\nX: y", "characters"),
        ("https://hooks.example:T0PS3CRET/", "not a URL"),
        ("https://[T0PS3CRET/", "not a URL"),
    ],
)
def test_a_url_that_cannot_be_used_is_named_by_its_variable_only(url: str, words: str, tmp_path: Path) -> None:
    policy = DeliveryPolicy.shipped().model_copy(update={"routes": {"ops": Route(kind="webhook", url_env="OPS_URL")}})
    found = resolved(policy, home=tmp_path, environment={"OPS_URL": url})
    assert "OPS_URL" in found.unusable["ops"]
    assert "T0PS3CRET" not in found.unusable["ops"]
    assert words in found.unusable["ops"] or words == "does not begin"
    assert found.ready == {}


def test_a_target_does_not_print_its_address() -> None:
    to = webhooks.target("https://hooks.example/T0PS3CRET", secret=SECRET, allow_http=False, timeout_s=1)
    assert "T0PS3CRET" not in repr(to)
    assert SECRET not in repr(to)
    assert to.tls is not None
    assert to.tls.verify_mode is ssl.CERT_REQUIRED
    assert to.tls.check_hostname
    with pytest.raises(Unusable):
        webhooks.target("http://10.0.0.1/", secret=None, allow_http=False, timeout_s=1)
    webhooks.target("http://10.0.0.1/", secret=None, allow_http=True, timeout_s=1)
    webhooks.target("http://[::1]:80/", secret=None, allow_http=False, timeout_s=1)


def test_no_secret_of_a_route_is_in_any_table_dump_or_log_line(
    office: Office,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    server: embedded.Server,
) -> None:
    """Whatever goes wrong: an answer with the address in it, a redirect to it, a host that is not there."""
    monkeypatch.setenv("TEST_OPS_SECRET", SECRET)
    office.routes(webhook(secret_env="TEST_OPS_SECRET", max_tries=20))
    made = office.send(body={"api_key": SECRET, "note": "fine"})
    receiver.status, receiver.location, receiver.body = 302, receiver.url, receiver.url.encode()
    office.deliver()
    for url in (f"http://127.0.0.1:1{SECRET_PATH}", f"https://127.0.0.1:{receiver.port}{SECRET_PATH}",
                f"https://no-such-host.invalid{SECRET_PATH}"):  # fmt: skip
        monkeypatch.setenv("TEST_OPS_URL", url)
        office.advance(hours=1)
        assert office.deliver() == 1
    assert office.row(made)["body"] == {"api_key": "[redacted]", "note": "fine"}
    failures = [row[0] for row in office.rows("select reason from recoup.delivery_event where outcome = 'FAILED'")]
    assert failures == [
        "HTTP 302: redirects are not followed", "connection refused", "TLS failed", "its host name has no address",
    ]  # fmt: skip
    name = psycopg.conninfo.conninfo_to_dict(office.db.conninfo)["dbname"]
    dump = subprocess.run(
        [program(office.db.settings, "pg_dump"), "--dbname", server.uri(str(name), admin=True)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert str(made) in dump
    for secret in (SECRET, SECRET_PATH, "no-such-host", f"127.0.0.1:{receiver.port}"):
        assert secret not in dump
        assert not any(secret in line for line in caplog.messages)
