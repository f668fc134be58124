"""Which columns companies have, and what makes no sense in a row: each fault with its column, reason and a sentence."""

import unicodedata
from collections.abc import Callable, Mapping
from enum import StrEnum
from hashlib import blake2b
from typing import NamedTuple

from recoup.files import Row, Unread, Wanted
from recoup.gate.intake import MAX_TEXT
from recoup.gate.texts import unprintable
from recoup.refusals import InputRefused

# Our columns, and what else people call them.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "company_name": ("name", "company"),
    "company_domain": ("domain", "website"),
    "linkedin_url": ("linkedin",),
    "state": ("us_state",),
}
WANTED = Wanted(columns=COLUMNS, required=("company_name",), only_text=True, row_chars_most=131_072)


class Reason(StrEnum):
    """Why a row is refused that could be read."""

    NAME_MISSING = "name_missing"  # no company name, or a blank one
    WRONG_TYPE = "wrong_type"  # a number, a list or something else that is not text
    TEXT_UNPRINTABLE = "text_unprintable"  # a control character, or a mark that turns the direction of reading
    TEXT_TOO_LONG = "text_too_long"  # more than 500 characters
    DOMAIN_MALFORMED = "domain_malformed"  # the domain is not a domain name
    COMPANY_TWICE = "company_twice"  # the same name, domain and state are in an earlier row


class Company(NamedTuple):
    """A company candidate as it was given; what was left blank is empty."""

    company_name: str
    company_domain: str
    linkedin_url: str
    state: str


class Fault(NamedTuple):
    column: str | None
    reason: Reason | Unread
    message: str


class Checks:
    """Checks one row after the other, and remembers the companies it saw: 16 bytes of each, and its row."""

    def __init__(self, *, noun: str) -> None:
        self._noun = noun
        self._domain_of = domain_reader()
        self._seen: dict[bytes, int] = {}

    def company(self, row: Row) -> Company | Fault:
        """The company in a row, or what is wrong with it."""
        if row.broken is not None:
            return Fault(None, *row.broken)
        company = _company(row.values)
        if isinstance(company, Fault):
            return company
        domain = None
        if company.company_domain:
            domain = self._domain_of(company.company_domain)
            if domain is None:
                return Fault("company_domain", Reason.DOMAIN_MALFORMED, "This is not the domain of a company.")
        before = self._seen.setdefault(_digest(company, domain), row.number)
        if before != row.number:
            return Fault("company_name", Reason.COMPANY_TWICE, f"The same company is in {self._noun} {before} already.")
        return company


def _company(values: Mapping[str, object]) -> Company | Fault:
    texts: list[str] = []
    for column in COLUMNS:
        value = values.get(column)
        if value is None:
            texts.append("")
            continue
        if not isinstance(value, str):
            return Fault(column, Reason.WRONG_TYPE, f"This is {_KINDS.get(type(value), 'something')}, and not text.")
        if len(value) > MAX_TEXT:
            message = f"This has {len(value):,} characters; {MAX_TEXT} are allowed."
            return Fault(column, Reason.TEXT_TOO_LONG, message)
        if wrong := unprintable(value):
            return Fault(column, Reason.TEXT_UNPRINTABLE, wrong)
        texts.append("" if value.isspace() else value)
    company = Company._make(texts)
    if not company.company_name:
        return Fault("company_name", Reason.NAME_MISSING, "The company has no name.")
    return company


_KINDS = {int: "a number", float: "a number", bool: "true or false", list: "a list", dict: "an object"}


def _digest(company: Company, domain: str | None) -> bytes:
    """The same for two rows that mean one company: spaces, capitals and forms of one letter make no difference."""
    same = "\x1f".join((_folded(company.company_name), domain or "", _folded(company.state)))
    return blake2b(same.encode(), digest_size=16).digest()


def _folded(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return " ".join(text.split()).casefold()


def domain_reader() -> Callable[[str], str | None]:
    """What tells the domain in a text, or a refusal that names what has to be installed."""
    try:
        from recoup.verification.domains import domain_of
    except ImportError as error:
        raise InputRefused(
            "gate_extra_missing",
            f"Domains cannot be distinguished from other text: {error.name} is not installed.",
            "Install the extra: pip install 'recoup[gate]'.",
        ) from error
    return domain_of
