"""What can be true of a company in the local world, and the verdict that each truth deserves."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from recoup.reasons import ReasonCode


class Kind(StrEnum):
    """What is true of a company. Name, site and directory entry are good where nothing is said of them."""

    # In order.
    GOOD = "good"  # a small company site, an entry, the same state
    REDIRECT_GOOD = "redirect-good"  # the site moves the visitor to another path or to www first
    NAME_ONLY_IN_TITLE = "name-only-in-title"  # the page names the company in its title and nowhere else

    # The name.
    DEAD_DOMAIN = "dead-domain"  # NXDOMAIN
    NO_ADDRESS = "no-address"  # the name exists, and has mail but no address
    DNS_FAILING = "dns-failing"  # SERVFAIL
    DNS_SILENT = "dns-silent"  # the resolver never answers

    # The site.
    REFUSES = "refuses"  # nobody listens there
    PARKED = "parked"  # a registrar's parking page, which names the domain
    PLACEHOLDER = "placeholder"  # a default page, a page that is to come, a suspended account
    EMPTY_PAGE = "empty-page"  # nothing to read
    ERROR_PAGE = "error-page"  # a status of 400 and more, with a page that names the company
    OTHER_PAGE = "other-page"  # names neither the company nor its domain
    SLOW_SITE = "slow-site"  # the head and half a page, and never the rest

    # The directory.
    NO_ENTRY = "no-entry"
    WRONG_STATE = "wrong-state"  # another state, or a place that is none
    SEVERAL_STATES = "several-states"
    GLOBAL = "global"
    NO_STATE = "no-state"
    SLOW_DIRECTORY = "slow-directory"  # never answers for this company
    DIRECTORY_OUT = "directory-out"  # 503
    NOW_AND_THEN = "now-and-then"  # 503 when first asked on day 0, an entry from then on

    RECOVERING = "recovering"  # fails on its first days, and is good from then on; see RECOVERIES

    # Hostile and odd: names.
    DNS_REFUSED = "dns-refused"  # REFUSED
    DNS_TRUNCATED = "dns-truncated"  # good, but the answer comes over TCP only
    ALIAS = "alias"  # good, by way of a CNAME
    ALIAS_INSIDE = "alias-inside"  # a CNAME to a name at 127.0.0.1
    PRIVATE_ADDRESS = "private-address"  # 10.1.2.3
    LOOPBACK_ADDRESS = "loopback-address"  # 127.0.0.1
    LINK_LOCAL = "link-local"  # 169.254.169.254, where clouds keep their secrets
    SHARED_ADDRESS = "shared-address"  # 100.64.0.1
    UNSPECIFIED_ADDRESS = "unspecified-address"  # 0.0.0.0, which Linux takes for this machine
    IPV4_MAPPED = "ipv4-mapped"  # ::ffff:127.0.0.1
    MIXED_ADDRESS = "mixed-address"  # good, with a private address beside the right one
    REBINDING = "rebinding"  # good when first resolved on day 0, 127.0.0.1 ever after, with a TTL of 0

    # Hostile and odd: ways to another place.
    REDIRECT_LOOP = "redirect-loop"
    REDIRECT_ENDLESS = "redirect-endless"  # always on to one more path
    REDIRECT_TO_LOOPBACK = "redirect-to-loopback"  # http://127.0.0.1
    REDIRECT_TO_PRIVATE = "redirect-to-private"  # http://10.…
    REDIRECT_TO_NUMBER = "redirect-to-number"  # http://2130706433, which is 127.0.0.1
    REDIRECT_TO_MAPPED = "redirect-to-mapped"  # http://[::ffff:127.0.0.1]
    REDIRECT_INSIDE = "redirect-inside"  # to a name that is at 127.0.0.1
    REDIRECT_TO_FILE = "redirect-to-file"  # file:///

    # Hostile and odd: pages.
    ENDLESS = "endless"  # drips bytes for ever
    FLOOD = "flood"  # good, and followed by 1 GB
    FLOOD_UNSIZED = "flood-unsized"  # the same, with no Content-Length
    GZIP_BOMB = "gzip-bomb"  # compressed unasked, expands to 1 GB that names nobody
    GZIP_PAGE = "gzip-page"  # good, and compressed unasked
    CHUNKED_PAGE = "chunked-page"  # good, in many small chunks
    INVALID_UTF8 = "invalid-utf8"  # good, in broken bytes
    LATIN_1 = "latin-1"  # good, in ISO 8859-1 that nobody announces
    DEEP_HTML = "deep-html"  # good, above 50,000 nested elements
    MANY_COOKIES = "many-cookies"  # good, with forty cookies
    NOT_TEXT = "not-text"  # a picture
    HEADER_FLOOD = "header-flood"  # headers for ever
    NO_ANSWER = "no-answer"  # accepts and never answers
    HANG_UP = "hang-up"  # accepts and closes
    NOT_HTTP = "not-http"  # speaks something else

    # Hostile and odd: directory entries.
    SAME_STATE_TWICE = "same-state-twice"  # good: one state, in two spellings
    DIRECTORY_NONSENSE = "directory-nonsense"  # 200 with HTML
    DIRECTORY_BROKEN_JSON = "directory-broken-json"
    DIRECTORY_DEEP_JSON = "directory-deep-json"  # 100,000 nested lists
    DIRECTORY_WRONG_SHAPE = "directory-wrong-shape"  # JSON, and not an entry
    DIRECTORY_HUGE = "directory-huge"  # 8 MB
    DIRECTORY_ENDLESS = "directory-endless"  # drips blanks for ever
    DIRECTORY_BUSY = "directory-busy"  # 429
    DIRECTORY_MOVED = "directory-moved"  # 302 to 127.0.0.1
    DIRECTORY_HANGS_UP = "directory-hangs-up"


# How many of each kind there are in every 200 companies.
MIX: Mapping[Kind, int] = {
    Kind.GOOD: 108,
    Kind.REDIRECT_GOOD: 6,
    Kind.NAME_ONLY_IN_TITLE: 4,
    Kind.RECOVERING: 12,
    Kind.DEAD_DOMAIN: 8,
    Kind.NO_ADDRESS: 3,
    Kind.DNS_FAILING: 2,
    Kind.DNS_SILENT: 1,
    Kind.REFUSES: 2,
    Kind.PARKED: 7,
    Kind.PLACEHOLDER: 2,
    Kind.EMPTY_PAGE: 3,
    Kind.ERROR_PAGE: 5,
    Kind.OTHER_PAGE: 4,
    Kind.SLOW_SITE: 1,
    Kind.NO_ENTRY: 8,
    Kind.WRONG_STATE: 7,
    Kind.SEVERAL_STATES: 5,
    Kind.GLOBAL: 3,
    Kind.NO_STATE: 4,
    Kind.SLOW_DIRECTORY: 1,
    Kind.DIRECTORY_OUT: 2,
    Kind.NOW_AND_THEN: 2,
}

# In a hostile world one of each of these takes the place of a good company in every 200.
HOSTILE: tuple[Kind, ...] = tuple(kind for kind in Kind if kind not in MIX)

NOT_FOUND = ReasonCode.DOMAIN_NOT_FOUND
NO_IMPRINT = ReasonCode.DOMAIN_NO_IMPRINT
NO_COMPANY = ReasonCode.NO_LINKEDIN_COMPANY
MISMATCH = ReasonCode.STATE_MISMATCH
AMBIGUOUS = ReasonCode.STATE_AMBIGUOUS
MISSING = ReasonCode.STATE_MISSING
UNAVAILABLE = ReasonCode.API_UNAVAILABLE
TIMEOUT = ReasonCode.TIMEOUT

Truth = tuple[ReasonCode | None, ...]  # the verdict on day 0, 1, 2 …; the last holds from then on; None is a pass

# What kinds that keep changing deserve. They count on one verification a day; a new day begins anew.
CHANGING: Mapping[Kind, Truth] = {
    Kind.NOW_AND_THEN: (UNAVAILABLE, None),
    Kind.REBINDING: (None, NO_IMPRINT),
}

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

# What every other kind deserves, on every day.
DESERVES: Mapping[ReasonCode | None, tuple[Kind, ...]] = {
    None: (
        Kind.GOOD, Kind.REDIRECT_GOOD, Kind.NAME_ONLY_IN_TITLE, Kind.DNS_TRUNCATED, Kind.ALIAS, Kind.MIXED_ADDRESS,
        # Judged by as much of the page as is read.
        Kind.FLOOD, Kind.FLOOD_UNSIZED, Kind.DEEP_HTML,
        Kind.GZIP_PAGE, Kind.CHUNKED_PAGE, Kind.INVALID_UTF8, Kind.LATIN_1, Kind.MANY_COOKIES, Kind.SAME_STATE_TWICE,
    ),
    NOT_FOUND: (Kind.DEAD_DOMAIN, Kind.NO_ADDRESS),
    NO_IMPRINT: (
        Kind.REFUSES, Kind.PARKED, Kind.PLACEHOLDER, Kind.EMPTY_PAGE, Kind.ERROR_PAGE, Kind.OTHER_PAGE,
        Kind.ALIAS_INSIDE, Kind.PRIVATE_ADDRESS, Kind.LOOPBACK_ADDRESS, Kind.LINK_LOCAL, Kind.SHARED_ADDRESS,
        Kind.UNSPECIFIED_ADDRESS, Kind.IPV4_MAPPED, Kind.REDIRECT_LOOP, Kind.REDIRECT_ENDLESS,
        Kind.REDIRECT_TO_LOOPBACK, Kind.REDIRECT_TO_PRIVATE, Kind.REDIRECT_TO_NUMBER, Kind.REDIRECT_TO_MAPPED,
        Kind.REDIRECT_INSIDE, Kind.REDIRECT_TO_FILE, Kind.GZIP_BOMB, Kind.NOT_TEXT, Kind.HEADER_FLOOD, Kind.HANG_UP,
        Kind.NOT_HTTP,
    ),
    NO_COMPANY: (Kind.NO_ENTRY,),
    MISMATCH: (Kind.WRONG_STATE,),
    AMBIGUOUS: (Kind.SEVERAL_STATES, Kind.GLOBAL),
    MISSING: (Kind.NO_STATE,),
    UNAVAILABLE: (
        Kind.DNS_FAILING, Kind.DNS_REFUSED, Kind.DIRECTORY_OUT, Kind.DIRECTORY_NONSENSE, Kind.DIRECTORY_BROKEN_JSON,
        Kind.DIRECTORY_DEEP_JSON, Kind.DIRECTORY_WRONG_SHAPE, Kind.DIRECTORY_HUGE, Kind.DIRECTORY_BUSY,
        Kind.DIRECTORY_MOVED, Kind.DIRECTORY_HANGS_UP,
    ),
    TIMEOUT: (
        Kind.DNS_SILENT, Kind.SLOW_SITE, Kind.SLOW_DIRECTORY, Kind.ENDLESS, Kind.NO_ANSWER, Kind.DIRECTORY_ENDLESS,
    ),
}  # fmt: skip

TRUTH: Mapping[Kind, Truth] = {kind: (code,) for code, kinds in DESERVES.items() for kind in kinds} | dict(CHANGING)

# Failures of the directory as a service. In a file these companies have an ordinary entry, and pass.
SERVICE_FAULTS: frozenset[Kind] = frozenset(
    {Kind.SLOW_DIRECTORY, Kind.DIRECTORY_OUT, Kind.NOW_AND_THEN}
    | {kind for kind in HOSTILE if kind.startswith("directory-")}
)
