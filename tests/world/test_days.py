"""The world moves from day to day, and what it shows is the truth of the day."""

from __future__ import annotations

import httpx2
import pytest
from dns import rcode

from recoup.reasons import ReasonCode
from recoup_demo.world import Company, Kind
from recoup_demo.world.kinds import RECOVERIES
from recoup_demo.world.names import STATES, state_code
from world.asking import Asking
from world.watched import WatchedWorld


def looks(asking: Asking, company: Company) -> ReasonCode | None:
    """A short verification of a recovering company, apart from the verifier."""
    if asking.dns(company.domain).rcode() == rcode.NXDOMAIN:
        return ReasonCode.DOMAIN_NOT_FOUND
    try:
        page = asking.client.get(
            f"http://127.77.1.1:{asking.world.ports.sites}/", headers={"Host": company.domain}, timeout=0.5
        ).text
    except httpx2.ReadTimeout:
        return ReasonCode.TIMEOUT
    if "<address>" not in page:  # every company's own page has one
        return ReasonCode.DOMAIN_NO_IMPRINT
    answer = asking.entry(company)
    if answer.status_code == 503:
        return ReasonCode.API_UNAVAILABLE
    entry = answer.json()
    if not entry["found"]:
        return ReasonCode.NO_LINKEDIN_COMPANY
    if len(entry["states"]) != 1:
        return ReasonCode.STATE_AMBIGUOUS if entry["states"] else ReasonCode.STATE_MISSING
    code = state_code(company.state)
    return None if entry["states"][0] in (code, STATES[code]) else ReasonCode.STATE_MISMATCH


def test_the_recovering_recover_on_their_day(asking: Asking, world: WatchedWorld) -> None:
    """Every story, day by day, there and back again."""
    stories = {company.truth: company for company in asking.all(Kind.RECOVERING)}
    assert set(stories) == set(RECOVERIES)
    for day in (0, 1, 2, 4, 0):
        world.day = day
        assert world.day == day
        for truth, company in stories.items():
            assert looks(asking, company) == truth[min(day, len(truth) - 1)] == company.truth_on(day), (day, company)


def test_others_stay_as_they_are(asking: Asking, world: WatchedWorld) -> None:
    kinds = (Kind.DEAD_DOMAIN, Kind.PARKED, Kind.NO_ENTRY, Kind.NO_STATE, Kind.DIRECTORY_OUT, Kind.GOOD)
    for day in (0, 3):
        world.day = day
        for kind in kinds:
            company = asking.some(kind)
            assert looks(asking, company) == company.truth_on(0) == company.truth_on(day)


@pytest.mark.parametrize("day", [-1, 10_001])
def test_a_day_that_is_none_changes_nothing(world: WatchedWorld, day: int) -> None:
    before = world.day
    with pytest.raises(ValueError, match="400"):
        world.day = day
    assert world.day == before
