"""States, as people write them."""

from __future__ import annotations

import pytest
import us
from hypothesis import given
from hypothesis import strategies as st

from recoup.verification.states import normal_state

PLACES = sorted({*us.STATES, us.states.DC, *us.TERRITORIES}, key=lambda state: state.abbr)


def test_they_are_the_fifty_with_the_capital_and_the_territories() -> None:
    assert len(PLACES) == 50 + 1 + 5


@pytest.mark.parametrize("state", PLACES, ids=lambda state: state.abbr)
def test_every_state_in_every_spelling(state: us.states.State) -> None:
    around = ("{}", " {} ", "{}.", "({})", "{}, USA", "{}, U.S.A.", "{}, United States", "US-{}", "State of {}")
    for spelling in filter(None, (state.abbr, state.name, state.ap_abbr)):
        for cased in (spelling, spelling.lower(), spelling.upper(), spelling.title()):
            assert {normal_state(written.format(cased)) for written in around} == {state.abbr}
    dotted = ".".join(state.abbr) + "."
    assert normal_state(dotted) == state.abbr
    assert normal_state(dotted.replace(".", ". ")) == state.abbr


@pytest.mark.parametrize(
    ("written", "state"),
    [
        ("Calif.", "CA"), ("Tex.", "TX"), ("Mass.", "MA"), ("Penna.", "PA"), ("N. Mex.", "NM"), ("W. Va.", "WV"),
        ("D.C.", "DC"), ("Washington DC", "DC"), ("Washington, D.C.", "DC"), ("Washington D. C., USA", "DC"),
        ("District of Columbia", "DC"), ("Washington", "WA"), ("Washington State", "WA"), ("New York State", "NY"),
        ("Commonwealth of Virginia", "VA"), ("Texas, USA", "TX"), ("US-TX", "TX"), ("U.S. Virgin Islands", "VI"),
        ("Hawai\u02bbi", "HI"), ("  north   carolina ", "NC"), ("N.H.", "NH"), ("Puerto Rico", "PR"),
    ],
)  # fmt: skip
def test_as_papers_and_people_write_it(written: str, state: str) -> None:
    assert normal_state(written) == state


@pytest.mark.parametrize(
    "written",
    [
        None, "", " ", "Kalifornia", "Texs", "Texass", "Teksas", "Te xas", "T X A S", "XX", "0", "48", "TX" * 200,
        "Ontario", "USA", "US", "United States", "Global", "TX CA", "Texas, Ohio", "TX;CA", "New", "Carolina",
        "Dakota", "state", "State of", "Confederacy", "Dakota Territory",
    ],
)  # fmt: skip
def test_junk_and_what_only_sounds_like_a_state_is_none(written: str | None) -> None:
    assert normal_state(written) is None


@given(st.text(max_size=200))
def test_anything_gives_two_letters_or_none(written: str) -> None:
    assert normal_state(written) in {None, *(state.abbr for state in PLACES)}
