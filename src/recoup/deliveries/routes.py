"""Routes: how a notice leaves, by the kind of its route in the policy and by what this process knows in secret."""

import contextlib
import errno
import fcntl
import json
import os
import stat
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from recoup import observe
from recoup.deliveries import services, webhooks
from recoup.deliveries.policy import DeliveryPolicy, Route
from recoup.deliveries.webhooks import Undelivered, Unusable

FOLDER = "deliveries"  # of the home folder: the files of routes
LOCK_PAUSE_S = 0.05


class Notice(NamedTuple):
    """What is delivered: the same for every try."""

    delivery_id: UUID
    route: str
    subject: str
    body: Any
    about: str | None
    origin: str
    created_at: datetime

    @property
    def document(self) -> bytes:
        """As JSON, in one line; the same bytes for every try."""
        fields = self._asdict() | {"delivery_id": str(self.delivery_id), "created_at": self.created_at.isoformat()}
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()

    @property
    def text(self) -> str:
        """For people to read: a line for each field of the body, and the id, the same for every try."""
        fields = self.body if isinstance(self.body, dict) else {"body": self.body}
        lines = [f"{name}: {value}" for name, value in fields.items() if value is not None]
        return "\n".join([*lines, *([f"about: {self.about}"] if self.about else []), f"delivery: {self.delivery_id}"])


Send = Callable[[Notice], None]  # raises Undelivered


class Routes(NamedTuple):
    """The routes of a policy: how each sends, or why this process cannot use it."""

    ready: dict[str, Send]
    unusable: dict[str, str]


def resolved(policy: DeliveryPolicy, *, home: Path, environment: Mapping[str, str], worker: str = "") -> Routes:
    """Which routes this process can use. Read again before each use, so that a variable that is set later counts."""
    found = Routes({}, {})
    for name, route in policy.routes.items():
        try:
            found.ready[name] = _sender(route, home=home, environment=environment, worker=worker)
        except Unusable as why:
            found.unusable[name] = str(why)
    return found


def _sender(route: Route, *, home: Path, environment: Mapping[str, str], worker: str) -> Send:
    match route.kind:
        case "webhook":
            to = _target(route, environment)
            return lambda notice: webhooks.post(to, notice.document, key=str(notice.delivery_id))
        case "apprise":
            send = _service(route, environment)
            return lambda notice: send(notice.subject, notice.text)
        case "file":
            folder, name = home / FOLDER, route.path or ""
            return lambda notice: append(folder, name, notice.document, timeout_s=route.timeout_s)
    return lambda notice: _log(worker, notice)


def _secrets(route: Route, environment: Mapping[str, str]) -> dict[str, str]:
    secrets = {}
    for name in filter(None, (route.url_env, route.secret_env)):
        secrets[name] = environment.get(name, "").strip()
        if not secrets[name]:
            raise Unusable(f"the environment variable {name} is not set")
    return secrets


def _service(route: Route, environment: Mapping[str, str]) -> Callable[[str, str], None]:
    assert route.url_env is not None
    url = _secrets(route, environment)[route.url_env]
    try:
        return services.service(url, timeout_s=route.timeout_s)
    except Unusable as why:
        raise Unusable(f"the value of {route.url_env} {why}") from None


def _target(route: Route, environment: Mapping[str, str]) -> webhooks.Target:
    secrets = _secrets(route, environment)
    assert route.url_env is not None
    secret = None if route.secret_env is None else secrets[route.secret_env]
    try:
        return webhooks.target(
            secrets[route.url_env], secret=secret, allow_http=route.allow_http, timeout_s=route.timeout_s
        )
    except Unusable as why:
        raise Unusable(f"the value of {route.url_env} {why}") from None


def append(folder: Path, name: str, line: bytes, *, timeout_s: float) -> None:
    """Append a line to a file that only its owner reads, and see it on the disk. No link is followed."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        file = os.open(folder / name, flags, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise Undelivered("its file is not a regular file")
            _locked(file, time.monotonic() + timeout_s)
            size = os.fstat(file).st_size
            # A process that died in the middle of a line left it without its end.
            torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
            whole = (b"\n" if torn else b"") + line + b"\n"
            if os.write(file, whole) < len(whole):
                os.ftruncate(file, size)
                raise Undelivered("its file could not be written to the end: no space left")
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        words = "is a link" if error.errno == errno.ELOOP else f"cannot be written: {os.strerror(error.errno or 0)}"
        raise Undelivered(f"its file {words}") from None


def _locked(file: int, deadline: float) -> None:
    """Wait for other processes that write to it, but not for ever."""
    while time.monotonic() < deadline:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(LOCK_PAUSE_S)
    raise Undelivered("its file is locked by another process")


def _log(worker: str, notice: Notice) -> None:
    # As a warning: a notice is for people, whatever level their workers log.
    observe.logger(worker=worker).warning(
        "notice", delivery_id=str(notice.delivery_id), route=notice.route, subject=notice.subject, about=notice.about,
        body=notice.body,
    )  # fmt: skip
