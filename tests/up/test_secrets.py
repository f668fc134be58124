"""No secret is anywhere but where it is used: keys, tokens of sessions and links, and the secrets of a route.

A real ``recoup up`` at the log level debug, whose server logs every statement, gets keys in the right place and in
wrong ones. Then everything that it left is searched: processes, log lines, tables, the server's log and files, answers.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

import psycopg
import pytest

from command_line import Run, run_in
from deliveries.post import SECRET, SECRET_PATH, receiving
from hub import DOL
from recoup.database import embedded
from recoup.database.client import program
from recoup.database.connection import Database
from recoup.service import keys
from recoup.service.sessions import csrf_token, new_link, open_session, use_link
from recoup.settings import Settings
from services import Up, a_home, of, until, up

ROUTE = '[deliveries.routes.ops]\nkind = "webhook"\nurl_env = "TEST_OPS_URL"\nsecret_env = "TEST_OPS_SECRET"\n'
UNKNOWN = "rcp_aaaaaaaa_" + "Zq7" * 14 + "Z"


@dataclass
class Scene:
    """A service, the secrets that it knows, and what it answered."""

    settings: Settings
    service: Up
    run: Run
    secrets: dict[str, str]
    answers: list[str] = field(default_factory=list)
    statuses: set[int] = field(default_factory=set)

    def call(self, method: str, path: str, body: object = None, **headers: str) -> int:
        """A call, whose answer is kept with its headers."""
        place = urlsplit(self.service.address)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = body if isinstance(body, str) or body is None else json.dumps(body)
        with contextlib.closing(connection):
            connection.request(method, path, sent, {"Content-Type": "application/json", **given})
            answer = connection.getresponse()
            self.answers.append(f"{method} {answer.status} {answer.getheaders()} {answer.read().decode()}")
        self.statuses.add(answer.status)
        return answer.status


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with contextlib.ExitStack() as stack:
        settings = stack.enter_context(a_home())
        receiver = stack.enter_context(receiving())
        around = {"TEST_OPS_URL": receiver.url, "TEST_OPS_SECRET": SECRET}
        run = run_in({**of(settings), "RECOUP_PROJECT": "none", "RECOUP_ACTOR": "ada"})
        run("db", "start")
        _logged(settings, log_parameter_max_length_on_error="-1", log_min_messages="debug1", log_statement="all")
        run("migrate")
        policy = settings.home / "policy.toml"
        policy.write_text(ROUTE)
        run("policy", "apply", policy, "--reason", "a route")
        policy.unlink()
        made = {
            role: json.loads(run("keys", "add", f"a-{role}", "--role", role, "--json").stdout)["key"]
            for role in ("viewer", "producer", "operator")
        }
        made["revoked"] = json.loads(run("keys", "add", "gone", "--role", "viewer", "--json").stdout)["key"]
        run("keys", "revoke", "gone", "--reason", "it leaked")
        service = stack.enter_context(up("--port", "0", **of(settings), **around, RECOUP_LOG_LEVEL="debug"))
        known = {**made, "unknown": UNKNOWN, "route key": SECRET, "route path": SECRET_PATH}
        found = Scene(settings, service, run, known)
        _sessions(found)
        _right(found)
        # What is sent as a name is looked up by it, and would be in a statement that is logged with its values.
        _logged(settings, log_parameter_max_length_on_error="0", log_min_messages="warning", log_statement="none")
        _wrong(found)
        until(lambda: receiver.got, "the notice was not sent")
        yield found


def _logged(settings: Settings, **values: str) -> None:
    """What the server logs: at first every statement with its values."""
    with psycopg.connect(embedded.start(settings).uri("postgres", admin=True), autocommit=True) as admin:
        for name, value in values.items():
            admin.execute(f"alter system set {name} = '{value}'".encode())
        admin.execute("select pg_reload_conf()")
    with psycopg.connect(embedded.start(settings).uri("postgres", admin=True), autocommit=True) as admin:
        for name, value in values.items():
            until(lambda: admin.execute(f"show {name}".encode()).fetchone() == (value,))  # noqa: B023


def _sessions(scene: Scene) -> None:
    with Database(embedded.start(scene.settings).uri("recoup"), scene.settings) as database:
        caller = keys.authenticate(database, scene.secrets["operator"])
        link = new_link(database, caller)
        session = use_link(database, new_link(database, caller).token)
        other = open_session(database, caller)
    tokens = {"link": link.token, "session": session.token, "another session": other.token}
    scene.secrets |= tokens | {"csrf": csrf_token(session.token)}


def _right(scene: Scene) -> None:
    """Where a key belongs, and requests that are refused with it."""
    producer, operator, viewer = (f"Bearer {scene.secrets[one]}" for one in ("producer", "operator", "viewer"))
    error = {"table": DOL, "message": "the request timed out", "outreach_id": str(uuid.uuid4())}
    for _ in range(2):
        assert scene.call("POST", "/v1/errors", error, Authorization=producer, Idempotency_Key="first") == 201
    assert scene.call("POST", "/v1/errors", error, Authorization=viewer) == 403
    assert scene.call("POST", "/v1/errors", "{", Authorization=producer) == 400
    notice = {"route": "ops", "subject": "hello", "body": {"note": "x"}}
    assert scene.call("POST", "/v1/deliveries", notice, Authorization=operator) == 201
    for path in ("/v1/errors", "/v1/logs/recoup.service_event/events", "/v1/policy", "/metrics", "/readyz", "/nowhere"):
        scene.call("GET", path, Authorization=viewer)


def _wrong(scene: Scene) -> None:
    """Each key in the query, the path, a cookie, the body, other headers; and keys that are not valid."""
    producer, operator = (f"Bearer {scene.secrets[one]}" for one in ("producer", "operator"))
    for name in ("viewer", "producer", "operator", "revoked", "unknown"):
        key = scene.secrets[name]
        scene.call("GET", f"/v1/errors?key={key}")
        scene.call("GET", f"/v1/errors?key={key}&code={key}", Authorization=producer)
        scene.call("GET", f"/v1/{key}", Authorization=producer)
        scene.call("GET", "/v1/errors", Cookie=f"session={scene.secrets['session']}; key={key}")
        scene.call("GET", "/v1/errors", Authorization=key, X_Api_Key=key, User_Agent=key, Referer=f"http://x/?k={key}")
        scene.call("GET", "/v1/errors", Authorization=f"Bearer {key}x")
        scene.call("GET", "/v1/errors", Authorization=f"Bearer {UNKNOWN}", traceparent=key)
        for after in (key, quote(f"{key}\0")):
            scene.call("GET", f"/v1/logs/recoup.error_event/events?after={after}", Authorization=operator)
        scene.call("GET", f"/v1/logs/{key}/stream", Authorization=operator, Last_Event_ID=key)
        for path in (f"/v1/errors/{key}/park", f"/v1/operations/{key}/pause", f"/{key}", f"/v1/errors/park?key={key}"):
            scene.call("POST", path, {"reason": "x"}, Authorization=operator, Idempotency_Key=f"in-path-{path[:9]}")
        entity = str(uuid.uuid4())
        error = {"table": DOL, "outreach_id": entity, "message": f"Authorization: Bearer {key} was refused"}
        for number, body in enumerate(
            (error, error | {"payload": {"headers": {"Authorization": f"Bearer {key}"}, "text": f"with {key}"}},
             error | {"code": key}, error | {key: 1}, error | {"table": key}, error | {"outreach_id": key}, [key], key)
        ):  # fmt: skip
            path = f"/v1/errors?access_token={key}&note={quote('a b')}"
            scene.call("POST", path, body, Authorization=producer, Idempotency_Key=f"{name}-{number}")
        scene.call("POST", "/v1/errors", error, Authorization=producer, Idempotency_Key=key)
        table, reason = {"scope": "table", "name": DOL}, f"the key {key} leaked"
        scene.call("POST", "/v1/pauses", {**table, "reason": reason}, Authorization=operator)
        scene.call("POST", "/v1/pauses/resume", {**table, "reason": reason}, Authorization=operator)
        scene.call("POST", f"/cl/gate-zero/kill-switch?batch_id={key}", {"reason": reason}, Authorization=operator)
        _in_reasons(scene, name, reason, producer, operator)


def _in_reasons(scene: Scene, name: str, reason: str, producer: str, operator: str) -> None:
    """In what people write about what they do, and in what a program reports."""
    code, why = f"CODE_{name.upper()}", {"reason": reason}
    error = {"table": DOL, "message": "x", "code": code, "outreach_id": str(uuid.uuid4())}
    calls: list[tuple[str, object]] = [
        ("/v1/errors", error),
        ("/v1/errors/park", {"filter": {"code": [code]}, **why}),
        ("/v1/gate/batches", {"batch_id": name}),
        (f"/cl/gate-zero/kill-switch?batch_id={name}", why),
        ("/v1/alerts/silences", {"rule": "error_rate", "lasts": "1h", **why}),
        ("/v1/recovery/breakers/open", why),
    ]
    for path, body in calls:
        scene.call("POST", path, body, Authorization=operator)
        scene.call("POST", path, body, Authorization=producer)
    scene.call("POST", "/v1/runs", {"kind": "nightly", "input": {"said": reason}}, Authorization=producer)
    failure = {"source": "crm", "key": name, "message": reason, "payload": {"said": reason}}
    scene.call("POST", "/v1/recovery/failures", failure, Authorization=producer)
    for path in ("/v1/operations", "/v1/errors", "/v1/gate/batches", "/v1/runs", "/v1/pauses"):
        scene.call("GET", path, Authorization=operator)


def _without(scene: Scene, what: str, text: str | bytes) -> None:
    """No secret of the scene is in a text. The words that surround a key in it say where."""
    found = _found(scene, text)
    assert not found, f"{what}: {found}"


def _found(scene: Scene, text: str | bytes) -> list[str]:
    data, found = text if isinstance(text, bytes) else text.encode(), []
    for name, secret in scene.secrets.items():
        # Of a key the part that is secret; its beginning may be shown.
        part = secret.split("_", 2)[2] if secret.startswith("rcp_") else secret
        at = data.find(part.encode())
        found += [f"{name}: {data[max(0, at - 300) : at + 12]!r}"] if at >= 0 else []
    return found


def test_calls_were_answered_as_meant(scene: Scene) -> None:
    assert {200, 201, 400, 401, 403, 404, 422} <= scene.statuses
    assert not {one for one in scene.statuses if one >= 500}


def test_no_answer_repeats_a_secret(scene: Scene) -> None:
    for answer in scene.answers:
        _without(scene, "an answer", answer)


def test_no_log_line_has_one(scene: Scene) -> None:
    assert scene.service.text
    _without(scene, "the log of recoup up", scene.service.text)


def test_no_process_shows_one(scene: Scene) -> None:
    """In no command line; in the environment of the server not even those that the worker needs."""
    server = embedded.status(scene.settings)
    assert server is not None
    seen = 0
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit():
                _without(scene, f"the command line of {folder.name}", (folder / "cmdline").read_bytes())
                seen += 1
    assert seen > 3
    _without(scene, "the environment of the server", Path(f"/proc/{server.pid}/environ").read_bytes())
    mine = {"route key": scene.secrets.pop("route key"), "route path": scene.secrets.pop("route path")}
    for pid in scene.service.children():
        _without(scene, "the environment of a part", Path(f"/proc/{pid}/environ").read_bytes())
    scene.secrets |= mine


def test_no_table_has_one(scene: Scene) -> None:
    server = embedded.start(scene.settings)
    dump = subprocess.run(
        [program(scene.settings, "pg_dump"), "--dbname", server.uri("recoup", admin=True)],
        capture_output=True, check=True,
    ).stdout  # fmt: skip
    assert b"a-operator" in dump
    _without(scene, "a table", dump)


def test_no_file_of_the_home_has_one(scene: Scene) -> None:
    """Data files, the write-ahead log and the server's own log among them."""
    files = [one for one in scene.settings.home.resolve().rglob("*") if one.is_file()]
    files += [one for one in embedded.start(scene.settings).data.resolve().rglob("*") if one.is_file()]
    log = embedded.start(scene.settings).log
    assert b"statement: " in log.read_bytes() or b"execute " in log.read_bytes(), "every statement was to be logged"
    for file in {*files, log}:
        with contextlib.suppress(FileNotFoundError):
            _without(scene, str(file), file.read_bytes())


def test_no_command_prints_one(scene: Scene) -> None:
    for command in ("keys list --all", "keys denied", "errors list", "policy show", "deliveries list", "operations"):
        for form in ("", " --json"):
            done = scene.run(*f"{command}{form}".split())
            _without(scene, command, done.stdout + done.stderr)
