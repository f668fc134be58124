"""Company names, their domains, and states as people write them."""

import re
import tomllib
import unicodedata
from importlib.resources import files
from random import Random

_WORDS = tomllib.loads(files("recoup_demo.world").joinpath("words.toml").read_text(encoding="utf-8"))
FIRST: list[str] = _WORDS["first"]
SECOND: list[str] = _WORDS["second"]
TRADE: list[str] = _WORDS["trade"]
SURNAME: list[str] = _WORDS["surname"]
STATES: dict[str, str] = _WORDS["states"]  # by code
LEGAL_FORMS = (", Inc.", " Inc.", " Inc", ", LLC", " LLC", " Co.", " Corp.", " Corporation", " Ltd.", " L.L.C.")
TOP_LEVELS = ("example", "test")  # reserved: nobody can own a name under them


def company_name(chance: Random) -> str:
    """A name as people give it, about half of them with a legal form."""
    trade = chance.choice(TRADE)
    match chance.randrange(10):
        case 0:
            name = f"{chance.choice(SURNAME)} & {chance.choice(('Sons', 'Daughters', 'Partners'))} {trade}"
        case 1:
            name = f"{chance.choice(SURNAME)}'s {trade}"
        case 2:
            name = f"{chance.choice(SURNAME)} {trade}"
        case 3:
            name = f"{chance.choice(FIRST)} & {chance.choice(SURNAME)} {trade}"
        case 4 | 5:
            name = f"{chance.choice(FIRST)} {chance.choice(SECOND)} {trade}"
        case _:
            name = f"{chance.choice(FIRST)} {trade}"
    return name + (chance.choice(LEGAL_FORMS) if chance.random() < 0.5 else "")


def without_legal_form(name: str) -> str:
    """The name as a site's heading gives it."""
    for form in sorted(LEGAL_FORMS, key=len, reverse=True):
        if name.endswith(form):
            return name[: -len(form)]
    return name


def slug(name: str, *, between: str = "") -> str:
    """The name in the letters that a domain or a URL may have."""
    plain = unicodedata.normalize("NFKD", name.casefold().replace("&", " and ").replace("ø", "o").replace("ł", "l"))
    return between.join(re.findall(r"[a-z0-9]+", re.sub(r"[^\w\s]|[^\x00-\x7f]", "", plain)))


def domain_name(name: str, taken: set[str], chance: Random) -> str:
    """A domain for the company that nobody else in the world has."""
    short = slug(without_legal_form(name), between=chance.choice(("", "", "-")))
    top = chance.choice(TOP_LEVELS)
    domain, times = f"{short}.{top}", 1
    while domain in taken:
        times += 1
        domain = f"{short}{times}.{top}"
    taken.add(domain)
    return domain


def spellings(code: str) -> list[str]:
    """A state in the ways in which intakes write it."""
    name = STATES[code]
    return [code, code.lower(), name, name.upper(), name.lower(), *(["D.C."] if code == "DC" else [])]


_CODES = {spelling.casefold(): code for code in STATES for spelling in spellings(code)}


def state_code(spelling: str) -> str:
    """The code of a state that is spelled in one of our ways."""
    return _CODES[spelling.casefold()]
