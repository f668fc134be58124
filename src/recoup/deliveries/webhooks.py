"""One HTTP POST to a webhook: signed, bounded in time, and silent about the address.

The standard library's client is enough, and part of every installation. Certificates are verified. Redirects are not
followed: a receiver that moved is given a new URL by a person. Of the answer to a notice nothing is read but its
status; of an answer that is wanted, a bounded part. A failure never holds the URL, which may itself be a secret.
"""

import hashlib
import hmac
import http.client
import socket
import ssl
import threading
import time
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from recoup import __version__
from recoup.verification.addresses import Reach

SIGNATURE = "Recoup-Signature"  # t=<seconds since 1970>,v1=<HMAC-SHA256 of "<t>.<body>" in hexadecimal digits>
IDEMPOTENCY_KEY = "Idempotency-Key"
TOLERANCE_S = 300  # how far a signature's time may be from the receiver's
_OK = range(200, 300)
_REDIRECTS = range(300, 400)


class Undelivered(Exception):  # noqa: N818 - an outcome, in words that may be stored
    """A try failed. The message holds no secret of the route."""


class Unusable(Exception):  # noqa: N818 - an outcome, in words that may be printed
    """A route cannot be used by this process. The message holds no secret of it."""


@dataclass(frozen=True)
class Target:
    """Where a webhook is, and how what is sent is signed. Never printed."""

    url: SplitResult = field(repr=False)
    secret: bytes | None = field(repr=False)
    tls: ssl.SSLContext | None = field(repr=False)
    timeout_s: float
    reach: Reach | None = None  # where connections may go; None: anywhere, as the policy names the route


@dataclass(frozen=True, slots=True)
class Answer:
    """What a receiver answered: its status, and what it wrote, cut off after a maximum."""

    status: int
    body: bytes = field(repr=False)
    retry_after: str | None = None


def target(url: str, *, secret: str | None, allow_http: bool, timeout_s: float, reach: Reach | None = None) -> Target:
    """A webhook's address, checked. Unusable, in words without the address, if it cannot be used."""
    try:
        parts = urlsplit(url.strip())
        host, _ = parts.hostname, parts.port
        (host or "").encode("idna")
    except ValueError:
        raise Unusable("is not a URL") from None
    if parts.scheme not in ("https", "http") or not host:
        raise Unusable("is not a URL that begins with https://")
    if any(ord(character) <= 32 or ord(character) >= 127 for character in url.strip()):
        raise Unusable("has characters that no URL has")
    if parts.username is not None or parts.password is not None:
        raise Unusable("has a user or a password before the host")
    if parts.scheme == "http" and not (allow_http or _is_loopback(host)):
        raise Unusable("begins with http://, and the policy does not set allow_http for this route")
    tls = ssl.create_default_context() if parts.scheme == "https" else None
    return Target(parts, None if secret is None else secret.encode(), tls, timeout_s, reach)


def post(to: Target, body: bytes, *, key: str) -> None:
    """Send it, once. Undelivered unless the answer is a 2xx status within the timeout."""
    refuse_status(send(to, body, key=key, max_answer=0).status)


def refuse_status(status: int) -> None:
    """Undelivered unless it is a 2xx status."""
    if status in _REDIRECTS:
        raise Undelivered(f"HTTP {status}: redirects are not followed")
    if status not in _OK:
        raise Undelivered(f"HTTP {status}")


def send(to: Target, body: bytes, *, key: str, max_answer: int) -> Answer:
    """Send it, once, and read the answer up to a maximum. Undelivered without an answer within the timeout."""
    deadline = time.monotonic() + to.timeout_s
    sock = _connected(to, deadline)
    # A receiver that sends a byte a second would never time out: at the deadline the connection ends.
    late = threading.Event()
    timer = threading.Timer(max(deadline - time.monotonic(), 0.0), _end, (sock, late))
    timer.daemon = True
    timer.start()
    try:
        answer = _answer(to, sock, body, key, max_answer)
    except (OSError, http.client.HTTPException) as error:
        if late.is_set() or isinstance(error, TimeoutError):
            raise Undelivered(f"no answer within {to.timeout_s:g} s") from None
        raise Undelivered(_words(error)) from None
    finally:
        timer.cancel()
        sock.close()
    if late.is_set():  # an answer that was cut off looks like a whole one
        raise Undelivered(f"no answer within {to.timeout_s:g} s")
    return answer


def verified(secret: bytes, body: bytes, signature: str, *, now: float, tolerance_s: int = TOLERANCE_S) -> bool:
    """Whether a receiver may trust a body: signed with this secret, and not long ago, as a replay would be."""
    parts = dict(part.partition("=")[::2] for part in signature.split(","))
    if not parts.get("t", "").isdecimal():
        return False
    at = int(parts["t"][:12])
    is_ours = hmac.compare_digest(signed(secret, body, at).encode(), signature.encode())
    return is_ours and abs(now - at) <= tolerance_s


def signed(secret: bytes, body: bytes, at: int) -> str:
    """The signature of a body: a receiver computes the same, and refuses old times."""
    digest = hmac.new(secret, f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


def _connected(to: Target, deadline: float) -> socket.socket:
    """A connection to the first address that accepts one. Never to a proxy, whatever the environment says."""
    host = to.url.hostname or ""
    port = to.url.port or (443 if to.tls is not None else 80)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        raise Undelivered("its host name has no address") from None
    failure: OSError = TimeoutError()
    if to.reach is not None:
        # Judged as they are connected to: a name is not asked for again in between.
        found = [one for one in found if to.reach.allows(ip_address(one[4][0]))]
        if not found:
            raise Undelivered("its address is private, and not one of the allowed networks")
    for family, kind, protocol, _, address in found:
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(max(deadline - time.monotonic(), 0.01))
            sock.connect(address)
        except OSError as error:
            sock.close()
            failure = error
            continue
        # The handshake comes later, when the deadline is watched.
        return sock if to.tls is None else to.tls.wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)
    if isinstance(failure, TimeoutError):
        raise Undelivered(f"no connection within {to.timeout_s:g} s")
    raise Undelivered(_words(failure))


def _answer(to: Target, sock: socket.socket, body: bytes, key: str, max_answer: int) -> Answer:
    if isinstance(sock, ssl.SSLSocket):
        sock.do_handshake()
    # Its port is named in the header Host unless it is the usual one.
    connection = http.client.HTTPConnection(to.url.hostname or "", to.url.port)
    connection.default_port = 443 if to.tls is not None else 80
    connection.sock = sock
    try:
        path = (to.url.path or "/") + (f"?{to.url.query}" if to.url.query else "")
        connection.request("POST", path, body, _headers(to, body, key))
        found = connection.getresponse()
        return Answer(found.status, found.read(max_answer) if max_answer else b"", found.getheader("Retry-After"))
    finally:
        connection.close()


def _headers(to: Target, body: bytes, key: str) -> dict[str, str]:
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"recoup/{__version__}",
        IDEMPOTENCY_KEY: key,
        "Connection": "close",
    }
    # By the real clock, also where time is simulated: a receiver compares it with its own.
    return headers if to.secret is None else headers | {SIGNATURE: signed(to.secret, body, int(time.time()))}


def _end(sock: socket.socket, late: threading.Event) -> None:
    late.set()
    try:
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
    except OSError:
        return  # it has ended by itself


def _words(error: Exception) -> str:
    """What went wrong. Never the text of the exception, which may hold the address."""
    match error:
        case ssl.SSLCertVerificationError():
            return "its TLS certificate could not be verified"
        case ssl.SSLError():
            return "TLS failed"
        case ConnectionRefusedError():
            return "connection refused"
        case http.client.RemoteDisconnected() | ConnectionError():
            return "connection closed without an answer"
        case http.client.HTTPException():
            return "the answer is not HTTP"
    return f"no connection ({type(error).__name__})"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
