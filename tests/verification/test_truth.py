"""The verdict on every company of the world is the truth, on every day."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from recoup.reasons import ReasonCode
from recoup.verification.checks import Candidate
from recoup.verification.findings import VERDICTS, Finding
from recoup.verification.verifier import Verifier
from recoup_demo.world import Kind, World
from verification.looking import candidate, rules_for, verdicts, wrong
from world.watched import WatchedWorld


@pytest.fixture(scope="module")
def large_world() -> Iterator[World]:
    with World(2000) as world:
        yield world


def test_every_verdict_is_the_truth(large_world: World) -> None:
    """Two thousand companies, all eight reason codes and a pass among them."""
    assert {company.truth_on(0) for company in large_world.companies} == {*ReasonCode, None}
    assert wrong(large_world, large_world.companies) == []


def test_whoever_recovers_is_found_recovered_on_its_day(large_world: World) -> None:
    changing = [c for c in large_world.companies if c.kind in (Kind.RECOVERING, Kind.NOW_AND_THEN)]
    assert {len(company.truth) for company in changing} == {2, 3}
    for day in (1, 2, 3):
        large_world.day = day
        assert wrong(large_world, changing) == []
    assert all(company.truth_on(3) is None for company in changing)


def test_the_evidence_says_what_was_seen(world: WatchedWorld) -> None:
    """One row per check that ran, short and printable. All but the last passed, and the last decided."""
    found = verdicts(rules_for(world.policy, site_timeout_ms=500), map(candidate, world.companies))
    order = ["dns", "imprint", "directory", "state"]
    for verdict in found:
        checks = [one.check for one in verdict.evidence]
        assert checks == order[: len(checks)]
        assert all(one.finding == Finding.PASSED for one in verdict.evidence[:-1])
        assert (verdict.reason_code is None) == (verdict.finding is Finding.PASSED)
        assert all(len(one.message) <= 300 and one.message.isprintable() for one in verdict.evidence)
    passed = next(verdict for verdict in found if verdict.reason_code is None)
    assert [one.check for one in passed.evidence] == order
    assert re.match("200 http.*", passed.evidence[1].message)
    assert re.match("in ..$", passed.message)
    slow = next(verdict for verdict in found if verdict.finding is Finding.SITE_SLOW)
    assert 400 < slow.evidence[-1].duration_ms < 60_000
    parked = next(verdict for verdict in found if verdict.finding is Finding.PAGE_PARKED)
    assert parked.check == "imprint"
    assert parked.message.startswith("200 http://")
    assert "parking page" in parked.message


@pytest.mark.parametrize("domain", [None, "", "nonsense", "127.0.0.1", "co.uk", "a b.example"])
def test_without_a_domain_nothing_is_asked(world: WatchedWorld, domain: str | None) -> None:
    before = world.seen()["dns_queries"]
    (verdict,) = verdicts(rules_for(world.policy), [Candidate("Acme", domain, None, "TX")])
    assert (verdict.reason_code, verdict.finding) == (ReasonCode.DOMAIN_NOT_FOUND, Finding.NO_DOMAIN)
    assert world.seen()["dns_queries"] == before


def test_an_address_with_scheme_and_path_is_understood(world: WatchedWorld) -> None:
    good = next(company for company in world.companies if company.kind is Kind.GOOD)
    typed = candidate(good)._replace(company_domain=f" HTTPS://someone@{good.domain.upper()}:443/about?x#y ")
    (verdict,) = verdicts(rules_for(world.policy), [typed])
    assert verdict.reason_code is None


@pytest.mark.parametrize("state", [None, "", "Kalifornia", "Ontario"])
def test_an_intake_whose_state_says_nothing_does_not_match(world: WatchedWorld, state: str | None) -> None:
    good = next(company for company in world.companies if company.kind is Kind.GOOD)
    (verdict,) = verdicts(rules_for(world.policy), [candidate(good)._replace(state=state)])
    assert (verdict.reason_code, verdict.finding) == (ReasonCode.STATE_MISMATCH, Finding.STATE_UNREADABLE)


def test_nobody_at_the_directory_or_at_the_resolver_is_an_outage(world: WatchedWorld) -> None:
    good = candidate(next(company for company in world.companies if company.kind is Kind.GOOD))
    nobody = "127.77.3.3:9"
    (deaf,) = verdicts(rules_for(world.policy, nameservers=[nobody]), [good])
    assert (deaf.reason_code, deaf.finding) == (ReasonCode.API_UNAVAILABLE, Finding.DNS_OUT)
    (absent,) = verdicts(rules_for(world.policy, directory=f"http://{nobody}/?d={{domain}}"), [good])
    assert (absent.reason_code, absent.finding) == (ReasonCode.API_UNAVAILABLE, Finding.DIRECTORY_OUT)


def test_the_next_nameserver_is_asked_when_one_is_out(world: WatchedWorld) -> None:
    good = candidate(next(company for company in world.companies if company.kind is Kind.GOOD))
    (verdict,) = verdicts(rules_for(world.policy, nameservers=["127.77.3.3:9", *world.policy["nameservers"]]), [good])
    assert verdict.reason_code is None


def test_every_finding_has_its_verdict() -> None:
    assert set(VERDICTS) == set(Finding)
    assert {*VERDICTS.values()} == {*ReasonCode, None}
    assert [finding for finding, reason in VERDICTS.items() if reason is None] == [Finding.PASSED]


def test_a_verifier_can_be_made_outside_of_a_loop_and_closed_unused(world: WatchedWorld) -> None:
    assert Verifier(rules_for(world.policy)) is not None
    assert verdicts(rules_for(world.policy), []) == []
