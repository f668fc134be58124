"""The companies: the same for ever, of every kind, and each with one truth."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter

import pytest

from recoup.reasons import ReasonCode
from recoup.refusals import InputRefused
from recoup_demo.world import MIX, Kind, companies
from recoup_demo.world.kinds import APPEARS_AS, RECOVERIES
from recoup_demo.world.names import LEGAL_FORMS, STATES, slug, spellings, state_code, without_legal_form
from world.odd import SERVICE_FAULTS, Odd


def test_one_seed_makes_the_same_companies_for_ever() -> None:
    """What was written about the companies of seed 7 stays true. Whoever changes them changes this on purpose."""
    listed = json.dumps(companies(2000))
    assert (
        hashlib.sha256(listed.encode()).hexdigest()
        == "50842ef7dccca6a946443b8cefcb65385d1205138dd6f94031b50e7ca1e3c89c"
    )


def test_a_larger_world_begins_with_the_smaller_one() -> None:
    assert companies(1000)[:300] == companies(300)
    assert companies(300, seed=8) != companies(300)


@pytest.mark.parametrize("seed", [1, 7, 99])
def test_every_reason_code_is_present_in_any_200(seed: int) -> None:
    """And so is a pass, wherever one begins to count."""
    truths = [company.truth_on(0) for company in companies(2000, seed=seed)]
    for start in range(len(truths) - 200):
        assert set(truths[start : start + 200]) == {None, *ReasonCode}, start


def test_the_mix_is_as_the_table_says() -> None:
    assert sum(MIX.values()) == 200
    assert Counter(company.kind for company in companies(1000)) == {kind: 5 * number for kind, number in MIX.items()}


def test_a_hostile_world_has_every_kind_from_the_start() -> None:
    """A small one too; and every 200 have each."""
    assert {company.kind for company in companies(len(Kind) + len(Odd), rare=Odd)} == {*Kind, *Odd}
    numbers = Counter(company.kind for company in companies(400, rare=Odd))
    assert all(numbers[kind] == 2 for kind in Odd)
    assert numbers[Kind.GOOD] == 2 * (MIX[Kind.GOOD] - len(Odd))
    assert {company.kind for company in companies(400)} == set(Kind)


def test_each_kind_has_one_truth() -> None:
    """Its own, on every day but for those that keep changing; the recovering have theirs in their stories."""
    lengths = {kind: len(kind.truth) for kind in (*Kind, *Odd) if len(kind.truth) != 1}
    assert lengths == {Kind.RECOVERING: 0, Kind.NOW_AND_THEN: 2, Odd.REBINDING: 2}
    assert len({*Kind, *Odd}) == len(Kind) + len(Odd)
    assert all(truth[-1] is None and truth[0] is not None for truth in RECOVERIES)
    assert all(kind.truth == (code,) for code, kind in APPEARS_AS.items())
    assert set(APPEARS_AS) == {None, *ReasonCode}
    assert all(kind.truth[0] in (ReasonCode.API_UNAVAILABLE, ReasonCode.TIMEOUT) for kind in SERVICE_FAULTS)


def test_the_last_truth_holds_for_all_later_days() -> None:
    story = (ReasonCode.DOMAIN_NOT_FOUND, ReasonCode.DOMAIN_NO_IMPRINT, None)
    company = next(company for company in companies(400) if company.truth == story)
    assert [company.truth_on(day) for day in (0, 1, 2, 30)] == [*story, None]
    assert [company.kind_on(day) for day in (0, 1, 2)] == [Kind.DEAD_DOMAIN, Kind.PARKED, Kind.GOOD]


def test_every_story_of_recovery_is_reported() -> None:
    assert {company.truth for company in companies(200) if company.kind is Kind.RECOVERING} == set(RECOVERIES)


def test_domains_are_well_formed_reserved_and_unique() -> None:
    domains = [company.domain for company in companies(5000)]
    assert len(set(domains)) == 5000
    assert all(re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.(example|test)", domain) for domain in domains)


def test_names_are_as_people_give_them() -> None:
    """About half with a legal form, some with an ampersand, an apostrophe, an accent."""
    names = [company.name for company in companies(2000)]
    assert 0.4 < sum(name.endswith(LEGAL_FORMS) for name in names) / 2000 < 0.6
    for some in ("&", "'", "é", "ñ", "ü"):
        assert any(some in name for name in names), some


@pytest.mark.parametrize(
    ("name", "short", "letters"),
    [
        ("Peña & Sons Dental, LLC", "Peña & Sons Dental", "penaandsonsdental"),
        ("O'Brien's Law L.L.C.", "O'Brien's Law", "obrienslaw"),
        ("Sørensen Motors Co.", "Sørensen Motors", "sorensenmotors"),
        ("Zieliński Tile", "Zieliński Tile", "zielinskitile"),
    ],
)
def test_names_become_domains(name: str, short: str, letters: str) -> None:
    assert without_legal_form(name) == short
    assert slug(short) == letters


def test_states_are_spelled_in_many_ways_and_mean_one() -> None:
    assert len(STATES) == 51
    assert {state_code(spelling) for spelling in spellings("DC")} == {"DC"}
    for code in STATES:
        assert {state_code(spelling) for spelling in spellings(code)} == {code}
    found = {company.state for company in companies(5000)}
    assert {"TX", "tx", "Texas", "TEXAS", "texas", "D.C."} <= found


@pytest.mark.parametrize("count", [-1, 1_000_001])
def test_a_world_has_bounds(count: int) -> None:
    with pytest.raises(InputRefused) as refused:
        companies(count)
    assert refused.value.code == "world_size"
