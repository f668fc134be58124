"""What can be true of a company in the local world, and the verdict that each truth deserves."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Self

from recoup.reasons import ReasonCode

NOT_FOUND = ReasonCode.DOMAIN_NOT_FOUND
NO_IMPRINT = ReasonCode.DOMAIN_NO_IMPRINT
NO_COMPANY = ReasonCode.NO_LINKEDIN_COMPANY
MISMATCH = ReasonCode.STATE_MISMATCH
AMBIGUOUS = ReasonCode.STATE_AMBIGUOUS
MISSING = ReasonCode.STATE_MISSING
UNAVAILABLE = ReasonCode.API_UNAVAILABLE
TIMEOUT = ReasonCode.TIMEOUT

Truth = tuple[ReasonCode | None, ...]  # the verdict on day 0, 1, 2 …; the last holds from then on; None is a pass


class AnyKind(StrEnum):
    """What is true of a company. Name, site and directory entry are good unless the kind says that they are not."""

    number: int  # in every 200 companies
    truth: Truth

    def __new__(cls, name: str, number: int, *truth: ReasonCode | None) -> Self:
        kind = str.__new__(cls, name)
        kind._value_ = name
        kind.number, kind.truth = number, truth
        return kind


class Kind(AnyKind):
    # In order.
    GOOD = "good", 108, None  # a small company site, an entry, the same state
    REDIRECT_GOOD = "redirect-good", 6, None  # the site moves the visitor to another path or to www first
    NAME_ONLY_IN_TITLE = "name-only-in-title", 4, None  # the page names the company in its title and nowhere else

    RECOVERING = "recovering", 12  # fails on its first days, and is good from then on; see RECOVERIES

    # The name.
    DEAD_DOMAIN = "dead-domain", 8, NOT_FOUND  # NXDOMAIN
    NO_ADDRESS = "no-address", 3, NOT_FOUND  # the name exists, and has mail but no address
    DNS_FAILING = "dns-failing", 2, UNAVAILABLE  # SERVFAIL
    DNS_SILENT = "dns-silent", 1, TIMEOUT  # the resolver never answers

    # The site.
    REFUSES = "refuses", 2, NO_IMPRINT  # nobody listens there
    PARKED = "parked", 7, NO_IMPRINT  # a registrar's parking page, which names the domain
    PLACEHOLDER = "placeholder", 2, NO_IMPRINT  # a default page, a page that is to come, a suspended account
    EMPTY_PAGE = "empty-page", 3, NO_IMPRINT  # nothing to read
    ERROR_PAGE = "error-page", 5, NO_IMPRINT  # a status of 400 and more, with a page that names the company
    OTHER_PAGE = "other-page", 4, NO_IMPRINT  # names neither the company nor its domain
    SLOW_SITE = "slow-site", 1, TIMEOUT  # the head and half a page, and never the rest

    # The directory.
    NO_ENTRY = "no-entry", 8, NO_COMPANY
    WRONG_STATE = "wrong-state", 7, MISMATCH  # another state, or a place that is none
    SEVERAL_STATES = "several-states", 5, AMBIGUOUS
    GLOBAL = "global", 3, AMBIGUOUS
    NO_STATE = "no-state", 4, MISSING
    SLOW_DIRECTORY = "slow-directory", 1, TIMEOUT  # never answers for this company
    DIRECTORY_OUT = "directory-out", 2, UNAVAILABLE  # 503
    NOW_AND_THEN = "now-and-then", 2, UNAVAILABLE, None  # 503 when first asked on day 0, an entry from then on


MIX: Mapping[AnyKind, int] = {kind: kind.number for kind in Kind}

# The stories of the recovering, in turn.
RECOVERIES: tuple[Truth, ...] = (
    (NOT_FOUND, None),  # registered late
    (NO_COMPANY, NO_COMPANY, None),  # enters itself late
    (MISMATCH, None),  # moved, and the directory follows
    (NO_IMPRINT, None),  # parked at first
    (UNAVAILABLE, None),
    (NOT_FOUND, NO_IMPRINT, None),  # registered, then parked, then built
    (MISSING, MISMATCH, None),
    (TIMEOUT, None),
    (AMBIGUOUS, None),
)

# As what a recovering company appears on a day with this verdict.
APPEARS_AS: Mapping[ReasonCode | None, Kind] = {
    None: Kind.GOOD,
    NOT_FOUND: Kind.DEAD_DOMAIN,
    NO_IMPRINT: Kind.PARKED,
    NO_COMPANY: Kind.NO_ENTRY,
    MISMATCH: Kind.WRONG_STATE,
    AMBIGUOUS: Kind.SEVERAL_STATES,
    MISSING: Kind.NO_STATE,
    UNAVAILABLE: Kind.DIRECTORY_OUT,
    TIMEOUT: Kind.SLOW_SITE,
}
