"""The service behind PgBouncer in transaction mode: API, idempotency keys, a worker, metrics and readiness."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from command_line import run_in
from hub import DOL
from pooler import NO_PGBOUNCER, PGBOUNCER, bouncing
from recoup import readiness
from recoup.database import embedded
from recoup.database.connection import Actor, Database
from recoup.domains import DOMAINS
from recoup.lifecycles.declaration import Authority
from recoup.metrics.reading import Reader
from recoup.service import Principal, acting, keys
from recoup.service.keys import KEYED
from recoup.service.roles import authorities
from recoup.settings import Settings
from serving import calling, through

pytestmark = pytest.mark.skipif(PGBOUNCER is None, reason=NO_PGBOUNCER)


@pytest.fixture(scope="module")
def pooled(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Database]:
    with bouncing(server, "transaction", "") as folder:
        conninfo = make_conninfo(server.uri(new_database(simulated_from=None)), host=folder, port="6432")
        with Database(conninfo, replace(settings, pool_max=4)) as database:
            yield database


def test_what_is_recorded_over_http_is_recorded_once(pooled: Database) -> None:
    entity = uuid.uuid4()
    error = {"table": DOL, "message": "the request timed out", "outreach_id": str(entity)}
    with calling(pooled) as client:
        answers = [
            client.post("/v1/errors", json=error, headers={"Idempotency-Key": f"key-{entity}"}) for _ in range(3)
        ]
        assert {answer.status_code // 100 for answer in answers} == {2}
        assert len({answer.text for answer in answers}) == 1, "the same answer"
        found = client.get("/v1/errors", params={"entity": str(entity)}).json()["items"]
        assert len(found) == 1


def test_each_role_acts_through_its_own_login(pooled: Database) -> None:
    """Sessions are shared by the pooler, and only between transactions of one login."""
    logins = through(pooled)
    with ThreadPoolExecutor(4) as threads:

        def acted(number: int) -> None:
            role = KEYED[number % len(KEYED)]
            who = Principal(key_id=uuid.uuid4(), name="a caller", role=role)
            with acting(logins.of(role), who, sorted(authorities(role))[number % 2]) as tx:
                assert tx.execute("select session_user::text").fetchone() == (f"recoup_api_{role}",)
                for other in (Authority.CLAIM_WORKER, Authority.SERVICE):
                    with pytest.raises(psycopg.errors.InsufficientPrivilege), tx.transaction():
                        tx.execute("select set_config('role', %s, true)", (other.role,))

        assert len(list(threads.map(acted, range(60)))) == 60
    with pooled.transaction(Authority.KEY_MANAGER, actor=Actor("human", "ada")) as tx:
        key = keys.add(tx, "pooled", "viewer").secret
    with calling(pooled, keyed=True, key=key) as client:
        assert client.get("/v1/errors").status_code == 200
        assert client.post("/v1/errors", json={}).status_code == 403


def test_a_worker_works_and_everything_can_be_read(pooled: Database) -> None:
    run_in({"RECOUP_DSN": pooled.conninfo, "RECOUP_PROJECT": "none"})("worker", "--once", "--duty", "seal")
    found = {(one.metric.name, one.labels): one.value for one in Reader(DOMAINS).read(pooled)}
    assert not pooled.direct
    assert {value for (name, _), value in found.items() if name == "recoup_scrape_failed"} == {0}
    assert found["recoup_up", ()] == 1
    assert [one.check for one in readiness.readiness(pooled, DOMAINS)] == ["database", "schema", "workers"]
