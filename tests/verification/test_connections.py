"""Where connections go, with sites of the test's own on the world's network."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from recoup.refusals import InputRefused
from recoup.verification.checks import Candidate
from recoup.verification.findings import Finding
from recoup.verification.resolver import nameserver
from recoup.verification.verifier import Verdict, Verifier
from recoup_demo.world import Kind, World
from verification.looking import rules_for, verdicts

SITES = "127.77.1.1"


class Site:
    """A site of one answer. It counts who came, and keeps what was asked."""

    def __init__(self, address: str, port: int, answer: bytes, tls: ssl.SSLContext | None) -> None:
        self.asked: list[bytes] = []
        self._answer, self._tls = answer, tls
        self._listening = socket.create_server((address, port), backlog=50)
        self.port = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            connected, _ = self._listening.accept()
            with connected:
                connected.settimeout(5)
                if not self._answered(connected):
                    return

    def _answered(self, connected: socket.socket) -> bool:
        try:
            stream = self._tls.wrap_socket(connected, server_side=True) if self._tls else connected
            with stream:
                asked = stream.recv(65_536)
                if asked == b"close":
                    return False
                self.asked.append(asked)
                stream.sendall(self._answer)
        except OSError:  # a visitor who does not trust the certificate, and our own farewell over plain TCP
            return self._tls is None or not self._closing
        return True

    _closing = False

    def close(self) -> None:
        self._closing = True
        with socket.create_connection(self._listening.getsockname(), timeout=5) as farewell:
            farewell.sendall(b"close")
        self._thread.join(10)
        self._listening.close()


@pytest.fixture
def site() -> Iterator[Callable[..., Site]]:
    with ExitStack() as stack:

        def make(answer: bytes, *, address: str = SITES, port: int = 0, tls: ssl.SSLContext | None = None) -> Site:
            made = Site(address, port, answer, tls)
            stack.callback(made.close)
            return made

        yield make


def page(text: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()


def redirect(location: str) -> bytes:
    return f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()


@pytest.fixture(scope="module")
def domain(world: World) -> str:
    return next(company.domain for company in world.companies if company.kind is Kind.GOOD)


def looked(world: World, domain: str, *site_urls: str, **over: Any) -> Verdict:
    rules = rules_for(world.policy, checks=["dns", "imprint"], site_urls=list(site_urls), **over)
    (verdict,) = verdicts(rules, [Candidate("Quite Unnamed", domain, None, None)])
    return verdict


def test_a_page_that_names_the_domain_passes(world: World, domain: str, site: Callable[..., Site]) -> None:
    here = site(page(f"<p>{domain}</p>"))
    assert looked(world, domain, f"http://{{domain}}:{here.port}/").finding is Finding.PASSED
    (asked,) = here.asked
    head = asked.decode().lower()
    assert head.startswith("get / http/1.1\r\n")
    assert f"host: {domain}:{here.port}\r\n" in head
    assert "accept-encoding: identity\r\n" in head
    assert "cookie" not in head
    assert "authorization" not in head


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://2130706433:{port}/",
        "http://0x7f.1:{port}/", "http://0x7f000001:{port}/", "http://127.1:{port}/",
        "http://0177.0.0.1:{port}/", "http://0:{port}/", "http://0.0.0.0:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/", "http://[::ffff:7f00:1]:{port}/", "http://[::]:{port}/",
        "http://[::1]:{port}/", "http://[::127.0.0.1]:{port}/", "http://[64:ff9b::7f00:1]:{port}/",
        "//127.0.0.1:{port}/", "http://someone:secret@127.0.0.1:{port}/", "http://127.0.0.1.:{port}/",
        "http://127。0。0。1:{port}/", "http:\\\\127.0.0.1:{port}/", "http://127.0.0.1:{port}\\@{domain}/",
        "https://127.0.0.1:{port}/", "ftp://127.0.0.1:{port}/", "file:///etc/passwd",
        "gopher://127.0.0.1:{port}/x", "javascript:alert(1)", "http://{domain}:22/", "http://{domain}:99999/",
        "http://{domain}:x/", "http://[::1", "http://a_b.example:{port}/",
        "http://someone:secret@localhost:{port}/",
    ],
)  # fmt: skip
def test_no_redirect_leads_to_this_machine(world: World, domain: str, site: Callable[..., Site], location: str) -> None:
    """A canary listens on 127.0.0.1 at the very port that is allowed; nobody may come there."""
    canary = site(page(domain), address="127.0.0.1")
    here = site(redirect(location.format(port=canary.port, domain=domain)), port=canary.port)
    verdict = looked(world, domain, f"http://{{domain}}:{here.port}/")
    assert verdict.finding is Finding.REDIRECT_FORBIDDEN, verdict.message
    assert "secret" not in verdict.message
    assert canary.asked == []


def test_environment_proxies_are_not_used(
    world: World, domain: str, site: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = site(page("a proxy"), address="127.0.0.1")
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
    here = site(page(domain))
    assert looked(world, domain, f"http://{{domain}}:{here.port}/").finding is Finding.PASSED
    assert proxy.asked == []


def test_credentials_in_a_redirect_are_not_sent(world: World, domain: str, site: Callable[..., Site]) -> None:
    target = site(page(domain))
    first = site(redirect(f"http://someone:secret@{domain}:{target.port}/x?y=1#z"))
    urls = [f"http://{{domain}}:{first.port}/", f"http://{{domain}}:{target.port}/"]
    assert looked(world, domain, *urls).finding is Finding.PASSED
    assert target.asked[0].startswith(b"GET /x?y=1 HTTP/1.1\r\n")
    assert b"uthorization" not in target.asked[0]


def test_the_next_url_is_tried_until_one_gives_a_page(world: World, domain: str, site: Callable[..., Site]) -> None:
    broken = site(b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n")
    mute = site(b"")
    here = site(page(domain))
    urls = [f"http://{{domain}}:{s.port}/" for s in (broken, mute, here)]
    assert looked(world, domain, *urls).finding is Finding.PASSED
    assert looked(world, domain, *urls[:2]).finding is Finding.SITE_ERROR
    assert looked(world, domain, urls[1]).finding is Finding.SITE_HUNG_UP


@pytest.mark.parametrize(
    ("answer", "finding"),
    [
        (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", Finding.SITE_NOT_HTTP),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 3, Finding.SITE_NOT_HTTP),
        (b"HTTP/1.1 204 No\r\n\r\n", Finding.PAGE_EMPTY),
        (b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", Finding.PAGE_EMPTY),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\nx", Finding.PAGE_NOT_TEXT),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\nContent-Length: 1\r\n\r\nx", Finding.PAGE_NOT_TEXT),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\nnot gzip!", Finding.SITE_HUNG_UP),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", Finding.SITE_NOT_HTTP),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", Finding.SITE_HUNG_UP),
        (b"\x16\x03\x01", Finding.SITE_NOT_HTTP),
    ],
)
def test_odd_answers(world: World, domain: str, site: Callable[..., Site], answer: bytes, finding: Finding) -> None:
    assert looked(world, domain, f"http://{{domain}}:{site(answer).port}/").finding is finding


BLANKS = b" " * 40_000 + b"\t" * 40_000


@pytest.mark.parametrize(
    ("answer", "finding"),
    [
        (b"HTTP/1.1 200 OK\r\nX:" + BLANKS + b"\0\r\n\r\n", Finding.SITE_NOT_HTTP),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + BLANKS + b"\nx\r\n", Finding.SITE_HUNG_UP),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n \r\n0\r\nX:" + BLANKS + b"\0\r\n\r\n",
         Finding.PAGE_EMPTY),
    ],
)  # fmt: skip
def test_no_head_takes_long_to_read(
    world: World, domain: str, site: Callable[..., Site], answer: bytes, finding: Finding
) -> None:
    """Blanks before something that may not stand there: the parser would try for half a minute how to cut them."""
    began = time.process_time()
    assert looked(world, domain, f"http://{{domain}}:{site(answer).port}/").finding is finding
    assert time.process_time() - began < 2


@pytest.mark.parametrize("text", ["{few}\n{few}{domain}", "{domain}{many}"])
def test_a_page_may_have_blanks(world: World, domain: str, site: Callable[..., Site], text: str) -> None:
    here = site(page(text.format(few=" " * 4_000, many=" " * 40_000, domain=domain)))
    assert looked(world, domain, f"http://{{domain}}:{here.port}/").finding is Finding.PASSED


def test_a_page_that_breaks_off_is_judged_by_what_came(world: World, domain: str, site: Callable[..., Site]) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n\r\n"
    here = site(head + f"<p>{domain} ".encode())
    assert looked(world, domain, f"http://{{domain}}:{here.port}/").finding is Finding.PASSED


@contextmanager
def certified(folder: Path, name: str) -> Iterator[ssl.SSLContext]:
    """A certificate for a name, and what a server needs to show it."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("certificates are made with openssl, which is not here")
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(
        [
            openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "2", "-subj", "/CN=a site of a test", "-addext", f"subjectAltName=DNS:{name}",
            "-keyout", str(key), "-out", str(certificate),
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    yield context


def test_tls_is_verified_for_the_name_though_the_address_is_connected_to(
    world: World, domain: str, site: Callable[..., Site], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with certified(tmp_path, domain) as own, certified(tmp_path, "another.example") as others:
        trusted = tmp_path / "trusted.pem"
        trusted.write_text((tmp_path / f"{domain}.pem").read_text() + (tmp_path / "another.example.pem").read_text())
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        right, wrong = site(page(domain), tls=own), site(page(domain), tls=others)
        plain = site(page(domain))
        assert looked(world, domain, f"https://{{domain}}:{right.port}/").finding is Finding.PASSED
        assert looked(world, domain, f"https://{{domain}}:{wrong.port}/").finding is Finding.SITE_TLS_BROKEN
        assert looked(world, domain, f"https://{{domain}}:{plain.port}/").finding is Finding.SITE_TLS_BROKEN
        both = f"https://{{domain}}:{wrong.port}/", f"http://{{domain}}:{plain.port}/"
        assert looked(world, domain, *both).finding is Finding.PASSED
        monkeypatch.delenv("SSL_CERT_FILE")
        assert looked(world, domain, f"https://{{domain}}:{right.port}/").finding is Finding.SITE_TLS_BROKEN
        assert wrong.asked == []


def test_a_policy_that_cannot_be_followed_is_refused() -> None:
    for rules, code in (
        ({"nameservers": ["1.2.3"]}, "nameserver_unreadable"),
        ({"nameservers": ["1.2.3.4:0"]}, "nameserver_unreadable"),
    ):
        with pytest.raises(InputRefused) as refused:
            Verifier(rules_for({"directory": "http://127.0.0.1:9/{domain}", **rules}))
        assert refused.value.code == code
    with pytest.raises(ValidationError, match="a URL that companies can be looked up with"):  # when it is read
        rules_for({"directory": "http://127.0.0.1:9/{domain}", "site_urls": ["http://{domain}:99999/"]})


def test_nameservers_as_they_are_written() -> None:
    written = ["192.0.2.1", "192.0.2.1:5353", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:5353"]
    assert [str(nameserver(server)) for server in written] == [
        "192.0.2.1:53", "192.0.2.1:5353", "[2001:db8::1]:53", "[2001:db8::1]:53", "[2001:db8::1]:5353",
    ]  # fmt: skip
