"""Sites, names and directories that mean harm: the right verdict, in bounded time and memory, and nobody led astray."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recoup.world import HOSTILE, Company, Kind, World
from verification.looking import candidate, rules_for, verdicts

# What waits for ever is waited for this long.
SHORT = {"dns_timeout_ms": 1500, "site_timeout_ms": 1500, "directory_timeout_ms": 1500}
ALL_OF_IT_S = 60.0  # generous: it takes a second or two where nothing else runs
GROWTH_MOST_KB = 200_000
GREEDY = (Kind.FLOOD, Kind.FLOOD_UNSIZED, Kind.GZIP_BOMB, Kind.HEADER_FLOOD, Kind.DEEP_HTML, Kind.ENDLESS)


def of_kind(world: World, kind: Kind) -> Company:
    return next(company for company in world.companies if company.kind is kind)


@pytest.mark.parametrize("kind", HOSTILE)
def test_each_trick_gets_the_verdict_it_deserves(hostile_world: World, kind: Kind) -> None:
    company = of_kind(hostile_world, kind)
    began = time.monotonic()
    (verdict,) = verdicts(rules_for(hostile_world.policy, **SHORT), [candidate(company)])
    assert verdict.reason_code is company.truth_on(0), verdict.said
    assert time.monotonic() - began < ALL_OF_IT_S
    assert hostile_world.seen()["canary_connections"] == 0


def test_a_name_that_changes_its_mind_leads_nowhere_else(hostile_world: World) -> None:
    """The site is asked at the address that DNS gave first; a new verification resolves anew, and is refused."""
    hostile_world.day = 1
    company = of_kind(hostile_world, Kind.REBINDING)
    (verdict,) = verdicts(rules_for(hostile_world.policy), [candidate(company)])
    assert verdict.reason_code is company.truth_on(1)
    assert hostile_world.seen()["canary_connections"] == 0


def test_no_cookie_is_ever_sent(hostile_world: World) -> None:
    company = candidate(of_kind(hostile_world, Kind.MANY_COOKIES))
    verdicts(rules_for(hostile_world.policy), [company] * 5)
    assert hostile_world.seen()["cookies"] == 0


def test_memory_stays_bounded_whatever_two_hundred_sites_send(hostile_world: World) -> None:
    """Each of them would send a gigabyte. Measured in a process of its own, against its size after an honest visit."""
    greedy = [candidate(of_kind(hostile_world, kind)) for kind in GREEDY for _ in range(200 // len(GREEDY))]
    honest = [candidate(of_kind(hostile_world, Kind.GOOD))] * 20
    rules = rules_for(hostile_world.policy, per_host=100, site_timeout_ms=6_000)
    asked = {"rules": rules.model_dump(mode="json"), "honest": honest, "greedy": greedy}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("peak_memory.py"))],
        input=json.dumps(asked), capture_output=True, text=True, check=True, timeout=200,
    )  # fmt: skip
    peak = json.loads(done.stdout)
    assert peak["greedy_kb"] - peak["honest_kb"] < GROWTH_MOST_KB
