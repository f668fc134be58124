"""Sites, names and directories that mean harm: the right verdict, in bounded time and memory, and nobody led astray."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recoup_demo.world import Company, Kind
from recoup_demo.world.kinds import AnyKind
from verification.looking import candidate, rules_for, verdicts
from world.odd import Odd
from world.watched import WatchedWorld

# What waits for ever is waited for this long.
SHORT = {"dns_timeout_ms": 1500, "site_timeout_ms": 1500, "directory_timeout_ms": 1500}
ALL_OF_IT_S = 60.0  # generous: it takes a second or two where nothing else runs
GROWTH_MOST_KB = 200_000
GREEDY = (Odd.FLOOD, Odd.FLOOD_UNSIZED, Odd.GZIP_BOMB, Odd.HEADER_FLOOD, Odd.DEEP_HTML, Odd.ENDLESS)


def of_kind(world: WatchedWorld, kind: AnyKind) -> Company:
    return next(company for company in world.companies if company.kind is kind)


@pytest.mark.parametrize("kind", Odd)
def test_each_trick_gets_the_verdict_it_deserves(hostile_world: WatchedWorld, kind: AnyKind) -> None:
    company = of_kind(hostile_world, kind)
    began = time.monotonic()
    (verdict,) = verdicts(rules_for(hostile_world.policy, **SHORT), [candidate(company)])
    assert verdict.reason_code is company.truth_on(0), verdict.message
    assert time.monotonic() - began < ALL_OF_IT_S
    assert hostile_world.seen()["canary_connections"] == 0


def test_a_name_that_changes_its_mind_leads_nowhere_else(hostile_world: WatchedWorld) -> None:
    """The site is asked at the address that DNS gave first; a new verification resolves anew, and is refused."""
    hostile_world.day = 1
    company = of_kind(hostile_world, Odd.REBINDING)
    (verdict,) = verdicts(rules_for(hostile_world.policy), [candidate(company)])
    assert verdict.reason_code is company.truth_on(1)
    assert hostile_world.seen()["canary_connections"] == 0


def test_no_cookie_is_ever_sent(hostile_world: WatchedWorld) -> None:
    company = candidate(of_kind(hostile_world, Odd.MANY_COOKIES))
    verdicts(rules_for(hostile_world.policy), [company] * 5)
    assert hostile_world.seen()["cookies"] == 0


def test_memory_stays_bounded_whatever_two_hundred_sites_send(hostile_world: WatchedWorld) -> None:
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
