"""``/metrics`` of a service with keys: who may read it, from where, and that Prometheus can."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx2
import pytest

import product
from recoup.database import embedded
from recoup.database.connection import Actor, Database
from recoup.lifecycles.declaration import Authority
from recoup.service import keys
from recoup.service.roles import Role
from recoup.settings import Settings
from serving import served

PROMTOOL = shutil.which("promtool")
HUBS = '[service.hubs.outreach]\ntables = ["outreach.dol_errors"]\n'
PROXIED = {"X-Forwarded-For": "192.0.2.1"}


@dataclass(frozen=True)
class Watched:
    """A service on every address of this machine, and keys of it."""

    port: int
    viewer: str
    of_hub: str

    def get(self, host: str, key: str | None = None, **headers: str) -> httpx2.Response:
        given = headers | ({"Authorization": f"Bearer {key}"} if key else {})
        return httpx2.get(f"http://{host}:{self.port}/metrics", headers=given, timeout=60)


@pytest.fixture(scope="module")
def watched(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Watched]:
    with Database(server.uri(new_database()), settings) as database:
        ada = Actor("human", "ada")
        with database.transaction(Authority.OPERATOR, actor=ada) as tx:
            product.apply_policy(tx, HUBS, reason="a hub")
        with database.transaction(Authority.KEY_MANAGER, actor=ada) as tx:
            viewer = keys.add(tx, "prometheus", Role.VIEWER).secret
            of_hub = keys.add(tx, "hub", Role.VIEWER, hub="outreach").secret
        with served(database, keyed=True, host="0.0.0.0", with_metrics=True) as at:
            yield Watched(httpx2.URL(at).port or 0, viewer, of_hub)


def elsewhere() -> str:
    """An address of this machine that is not loopback: calls to it come from it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            pytest.skip("this machine has no address but loopback")
        return str(asked.getsockname()[0])


def test_from_elsewhere_a_viewers_key_may_read_it_and_nobody_else(watched: Watched) -> None:
    host = elsewhere()
    assert watched.get(host, watched.viewer).status_code == 200
    for key, status, code in (
        (watched.of_hub, 403, "hub_lacks_authority"),
        (None, 401, "key_missing"),
        ("rcp_aaaaaaaa_" + "a" * 43, 401, "key_unknown"),
    ):
        answer = watched.get(host, key)
        assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_on_this_machine_it_needs_no_key_unless_a_proxy_is_in_front(watched: Watched) -> None:
    """Nor for a page that a browser loaded from elsewhere, under a name that it resolves to this machine."""
    assert watched.get("127.0.0.1").status_code == 200
    assert watched.get("127.0.0.1", Host="localhost").status_code == 200
    for headers in (PROXIED, {"Forwarded": "for=192.0.2.1"}, {"Host": "evil.test"}, {"Origin": "https://evil.test"}):
        assert watched.get("127.0.0.1", **headers).status_code == 401, headers
        assert watched.get("127.0.0.1", watched.of_hub, **headers).status_code == 403, headers
        assert watched.get("127.0.0.1", watched.viewer, **headers).status_code == 200, headers


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed: apt-get install prometheus")
def test_promtool_accepts_it_with_keys(watched: Watched) -> None:
    """After calls of every kind, none of which makes series of its own."""
    assert PROMTOOL is not None
    for path in ("/v1/errors", "/v1/errors/1", f"/{watched.viewer}", "/v1/%22%7D%201%0A%23", "/metrics"):
        for key in (watched.viewer, watched.of_hub):
            headers = {"Authorization": f"Bearer {key}"}
            httpx2.get(f"http://127.0.0.1:{watched.port}{path}", headers=headers, timeout=60)
    text = watched.get("127.0.0.1", watched.viewer).text
    assert 'recoup_http_requests_total{method="GET",route="/v1/errors",status="200"}' in text
    for key in (watched.viewer, watched.of_hub):
        assert key.split("_", 2)[2] not in text
    done = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
