"""US states, as people write them. Never by sound: what is not a spelling of a state is none."""

import re
from functools import cache

import us

from recoup.verification.names import folded

MAX_STATE = 100  # characters; nothing longer is the name of a state
# How papers and envelopes shortened them, in addition to the Associated Press's way, which the `us` package has.
TRADITIONAL = {
    "cal": "CA", "col": "CO", "conn": "CT", "dist of columbia": "DC", "washington dc": "DC",
    "ida": "ID", "kans": "KS", "n car": "NC", "n carolina": "NC", "n dak": "ND", "n dakota": "ND", "nebr": "NE",
    "n hampshire": "NH", "n jersey": "NJ", "n mex": "NM", "n mexico": "NM", "new mex": "NM", "n york": "NY",
    "oreg": "OR", "penn": "PA", "penna": "PA", "s car": "SC", "s carolina": "SC", "s dak": "SD", "s dakota": "SD",
    "tex": "TX", "w va": "WV", "w virginia": "WV", "wisc": "WI", "cnmi": "MP", "usvi": "VI",
}  # fmt: skip
_AROUND = re.compile(
    r"^(?:(?:us|usa|united states)(?: of america)? )?(?:(?:the )?(?:state|commonwealth) of )?(?:the )?"
    r"(.+?)(?: state)?(?: (?:us|usa|united states(?: of america)?))?$"
)
_SINGLE_LETTERS = re.compile(r"\b(\w) (?=\w\b)")


def normal_state(text: str | None) -> str | None:
    """The two letters of a US state, of DC or of an inhabited territory; None when the text is not one of them."""
    if text is None or len(text) > MAX_STATE:
        return None
    match = _AROUND.fullmatch(_SINGLE_LETTERS.sub(r"\1", folded(text)))
    return None if match is None else _spellings().get(match[1])


@cache
def _spellings() -> dict[str, str]:
    spellings = dict(TRADITIONAL)
    for state in {*us.STATES, us.states.DC, *us.TERRITORIES}:
        for spelling in (state.abbr, state.name, state.ap_abbr):
            if spelling:
                spellings[_SINGLE_LETTERS.sub(r"\1", folded(spelling))] = state.abbr
    return spellings
