"""Secrets of routes in files: used if only their owner can read them, and told nowhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from deliveries.post import Office, Receiver, webhook
from recoup.deliveries.policy import DeliveryPolicy, Route
from recoup.deliveries.routes import resolved
from recoup.deliveries.secrets import Secrets

POLICY = DeliveryPolicy.shipped().model_copy(update={"routes": {"ops": Route(kind="webhook", url_env="TEST_OPS_URL")}})
URL = "https://example.com/hooks/T0PS3CRET"


def unusable(files: dict[str, str], environment: dict[str, str] | None = None) -> str | None:
    found = resolved(POLICY, home=Path("nowhere"), environment=Secrets(environment or {}, files))
    return found.unusable.get("ops")


def test_a_file_of_ones_own_is_used(tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text(f"{URL}\n")
    for mode in (0o600, 0o400):
        file.chmod(mode)
        assert unusable({"TEST_OPS_URL": str(file)}) is None
    assert unusable({"TEST_OPS_URL": "nowhere"}, {"TEST_OPS_URL": URL}) is None, "the environment comes first"
    assert unusable({}) == "the environment variable TEST_OPS_URL is not set"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o666])
def test_a_file_that_others_can_read_is_not(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "url"
    file.write_text(URL)
    file.chmod(mode)
    assert "other users" in (unusable({"TEST_OPS_URL": str(file)}) or "")


def test_what_is_no_file_is_not(tmp_path: Path) -> None:
    link, bytes_, empty = tmp_path / "link", tmp_path / "bytes", tmp_path / "empty"
    link.symlink_to(tmp_path / "url")
    bytes_.write_bytes(b"\xff\xfe")
    empty.write_text(" ")
    for path in (bytes_, empty):
        path.chmod(0o600)
    for path in (link, tmp_path, tmp_path / "missing", bytes_, empty):
        why = unusable({"TEST_OPS_URL": str(path)})
        assert why is not None
        assert "TEST_OPS_URL" in why


def test_it_is_read_when_a_notice_is_sent(
    office: Office, receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "url"
    file.write_text(receiver.url)
    file.chmod(0o600)
    monkeypatch.delenv("TEST_OPS_URL")
    office.routes(webhook())
    made = office.send()
    office.deliver()
    assert office.status(made) == ("queued", 0)
    office.settings = replace(office.settings, secrets={"TEST_OPS_URL": str(file)})
    assert office.deliver() == 1
    assert office.status(made) == ("delivered", 1)
