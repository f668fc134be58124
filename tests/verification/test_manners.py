"""How the verifier behaves towards others: limits, its name, its key, and nothing kept."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from recoup import __version__
from recoup.reasons import ReasonCode
from recoup.refusals import InputRefused
from recoup.verification.findings import Finding
from recoup.verification.slots import Slots
from recoup.verification.verifier import Verifier
from recoup_demo.world import Company, Kind, World
from verification.looking import candidate, rules_for, verdicts
from world.watched import WatchedWorld

KEY = "s3cret-key"


@pytest.fixture
def slow_world() -> Iterator[WatchedWorld]:
    """Answers after a tenth of a second, so that requests overlap."""
    with WatchedWorld(200, answer_ms=100, key=KEY) as world:
        yield world


def good(world: World) -> Company:
    return next(company for company in world.companies if company.kind is Kind.GOOD)


def test_one_host_gets_no_more_requests_at_a_time_than_it_may(slow_world: WatchedWorld) -> None:
    company = good(slow_world)
    rules = rules_for(slow_world.policy, per_host=3, directory_at_once=2)
    found = verdicts(rules, [candidate(company)] * 40, directory_key=KEY)
    assert {verdict.reason_code for verdict in found} == {None}
    seen = slow_world.seen()
    assert max(seen["site_requests_most_by_host"].values()) == 3
    assert seen["directory_requests_most"] == 2


def test_waiting_for_a_turn_is_not_the_slowness_of_others(slow_world: WatchedWorld) -> None:
    """Thirty requests one after the other take three seconds; each of them has one, and none is late."""
    rules = rules_for(
        slow_world.policy, per_host=1, directory_at_once=1, site_timeout_ms=1000, directory_timeout_ms=1000
    )
    found = verdicts(rules, [candidate(good(slow_world))] * 30, directory_key=KEY)
    assert {verdict.reason_code for verdict in found} == {None}


def test_different_hosts_do_not_wait_for_each_other(slow_world: WatchedWorld) -> None:
    companies = [company for company in slow_world.companies if company.kind is Kind.GOOD][:40]
    verdicts(rules_for(slow_world.policy, per_host=1), map(candidate, companies), directory_key=KEY)
    assert slow_world.seen()["site_connections_most"] > 5


@pytest.mark.parametrize(("contact", "said"), [("", ""), ("ops@example.org", "; ops@example.org")])
def test_it_says_who_it_is(contact: str, said: str) -> None:
    with WatchedWorld(200) as world:
        verdicts(rules_for(world.policy, contact=contact), [candidate(good(world))])
        assert set(world.seen()["user_agents"]) == {f"Recoup/{__version__} (company verification{said})"}


def test_the_directory_gets_its_key_and_without_it_refuses(slow_world: WatchedWorld) -> None:
    company = candidate(good(slow_world))
    (with_key,) = verdicts(rules_for(slow_world.policy), [company], directory_key=KEY)
    assert with_key.reason_code is None
    for key in (None, "another"):
        (without,) = verdicts(rules_for(slow_world.policy), [company], directory_key=key)
        assert (without.reason_code, without.finding) == (ReasonCode.API_UNAVAILABLE, Finding.DIRECTORY_REFUSES)
        assert "another" not in without.message


@pytest.mark.parametrize("key", ["", " ", "a\nb", "schlüssel"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(InputRefused) as refused:
        Verifier(rules_for({"directory": "http://127.0.0.1:9/?d={domain}"}), directory_key=key)
    assert refused.value.code == "directory_key"
    assert "schlüssel" not in str(refused.value.as_json())


def test_connections_to_the_directory_are_kept(slow_world: WatchedWorld) -> None:
    companies = [candidate(company) for company in slow_world.companies if company.kind is Kind.GOOD][:30]
    verdicts(rules_for(slow_world.policy, directory_at_once=2), companies, directory_key=KEY)
    seen = slow_world.seen()
    assert seen["directory_requests"] == 30
    assert seen["directory_connections_most"] <= 2


LIMITED = """
import json, resource, sys
from recoup.verification.rules import Verification
from recoup.refusals import InputRefused
from recoup.verification.verifier import Verifier

given = json.load(sys.stdin)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, given["most"]))
try:
    Verifier(Verification.model_validate(given["rules"]))
except InputRefused as refusal:
    print(refusal.code)
else:
    print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


@pytest.mark.parametrize(("most", "said"), [(1024, "700"), (512, "files_too_few")])
def test_it_has_the_files_it_needs_or_looks_at_nobody(most: int, said: str) -> None:
    """A machine that ran out of them would fail every company it looks at."""
    rules = rules_for({"directory": "http://127.0.0.1:9/{domain}", "at_once": 250, "directory_at_once": 50})
    given = json.dumps({"rules": rules.model_dump(mode="json"), "most": most})
    done = subprocess.run(
        [sys.executable, "-c", LIMITED], input=given, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == said


def test_names_that_nobody_uses_are_forgotten() -> None:
    async def used() -> int:
        slots = Slots(1)

        async def hold(name: str) -> None:
            async with slots.one(name):
                await asyncio.sleep(0)

        broken = asyncio.create_task(hold("again"))
        await asyncio.gather(*(hold(f"host{n % 50}") for n in range(1000)))
        broken.cancel()
        await asyncio.gather(broken, return_exceptions=True)
        return len(slots)

    assert asyncio.run(used()) == 0
