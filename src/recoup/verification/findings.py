"""What a check can find, and which of the eight reason codes each finding means.

A finding says what was found, a reason code what follows from it. Only the table below maps one to the other.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from recoup.reasons import ReasonCode


class Finding(StrEnum):
    """What one check can find about one company."""

    PASSED = "passed"

    NO_DOMAIN = "no-domain"
    DOMAIN_UNKNOWN = "domain-unknown"
    DOMAIN_WITHOUT_ADDRESS = "domain-without-address"
    DNS_SLOW = "dns-slow"
    DNS_OUT = "dns-out"
    ADDRESS_FORBIDDEN = "address-forbidden"

    SITE_UNREACHABLE = "site-unreachable"
    SITE_HUNG_UP = "site-hung-up"
    SITE_NOT_HTTP = "site-not-http"
    SITE_TLS_BROKEN = "site-tls-broken"
    SITE_ERROR = "site-error"
    SITE_REDIRECTS = "site-redirects"
    REDIRECT_FORBIDDEN = "redirect-forbidden"
    SITE_SLOW = "site-slow"

    PAGE_NOT_TEXT = "page-not-text"
    PAGE_EMPTY = "page-empty"
    PAGE_PARKED = "page-parked"
    PAGE_PLACEHOLDER = "page-placeholder"
    PAGE_OF_OTHERS = "page-of-others"

    NO_ENTRY = "no-entry"
    ENTRY_OF_OTHERS = "entry-of-others"
    DIRECTORY_SLOW = "directory-slow"
    DIRECTORY_REFUSES = "directory-refuses"
    DIRECTORY_OUT = "directory-out"
    DIRECTORY_NONSENSE = "directory-nonsense"

    STATES_SEVERAL = "states-several"
    STATE_GLOBAL = "state-global"
    STATE_NONE = "state-none"
    STATE_DIFFERS = "state-differs"
    STATE_UNREADABLE = "state-unreadable"

    CHECK_SLOW = "check-slow"
    CHECK_BROKE = "check-broke"


class Evidence(NamedTuple):
    """What one check found of one company."""

    check: str
    finding: str  # a Finding, or any word for checks made elsewhere; "passed" means passed
    message: str  # details, in one sentence
    duration_ms: int = 0


VERDICTS: Mapping[Finding, ReasonCode | None] = {
    Finding.PASSED: None,  # the check passed
    Finding.NO_DOMAIN: ReasonCode.DOMAIN_NOT_FOUND,  # none was given, or what was given is no domain name
    Finding.DOMAIN_UNKNOWN: ReasonCode.DOMAIN_NOT_FOUND,  # DNS says that there is no such name
    Finding.DOMAIN_WITHOUT_ADDRESS: ReasonCode.DOMAIN_NOT_FOUND,  # the name exists, and no address for it
    Finding.DNS_SLOW: ReasonCode.TIMEOUT,  # no DNS server answered in time
    Finding.DNS_OUT: ReasonCode.API_UNAVAILABLE,  # SERVFAIL, REFUSED, nonsense, or no server to be reached
    Finding.ADDRESS_FORBIDDEN: ReasonCode.DOMAIN_NO_IMPRINT,  # only private or loopback addresses: no public site
    Finding.SITE_UNREACHABLE: ReasonCode.DOMAIN_NO_IMPRINT,  # refuses connections, or is not reachable
    Finding.SITE_HUNG_UP: ReasonCode.DOMAIN_NO_IMPRINT,  # accepted the connection and closed it without an answer
    Finding.SITE_NOT_HTTP: ReasonCode.DOMAIN_NO_IMPRINT,  # answers, but not in HTTP, or with an endless head
    Finding.SITE_TLS_BROKEN: ReasonCode.DOMAIN_NO_IMPRINT,  # no TLS, or a certificate that is not this name's
    Finding.SITE_ERROR: ReasonCode.DOMAIN_NO_IMPRINT,  # status 400 or above
    Finding.SITE_REDIRECTS: ReasonCode.DOMAIN_NO_IMPRINT,  # in a circle, or too often
    Finding.REDIRECT_FORBIDDEN: ReasonCode.DOMAIN_NO_IMPRINT,  # to an address, port or scheme that is not allowed
    Finding.SITE_SLOW: ReasonCode.TIMEOUT,  # connection, head or page took too long
    Finding.PAGE_NOT_TEXT: ReasonCode.DOMAIN_NO_IMPRINT,  # an image, a download, or an unknown encoding
    Finding.PAGE_EMPTY: ReasonCode.DOMAIN_NO_IMPRINT,  # no text, and no title
    Finding.PAGE_PARKED: ReasonCode.DOMAIN_NO_IMPRINT,  # a registrar's page: the domain is for sale, expired, parked
    Finding.PAGE_PLACEHOLDER: ReasonCode.DOMAIN_NO_IMPRINT,  # a server's default page, coming soon, suspended
    Finding.PAGE_OF_OTHERS: ReasonCode.DOMAIN_NO_IMPRINT,  # names neither the company nor its domain
    Finding.NO_ENTRY: ReasonCode.NO_LINKEDIN_COMPANY,  # the directory does not know the company
    Finding.ENTRY_OF_OTHERS: ReasonCode.NO_LINKEDIN_COMPANY,  # the entry has another LinkedIn page than the intake
    Finding.DIRECTORY_SLOW: ReasonCode.TIMEOUT,  # the directory did not answer in time
    Finding.DIRECTORY_REFUSES: ReasonCode.API_UNAVAILABLE,  # 401, 403, 429: it refuses to answer now
    Finding.DIRECTORY_OUT: ReasonCode.API_UNAVAILABLE,  # 5xx, no connection, or its file cannot be read now
    Finding.DIRECTORY_NONSENSE: ReasonCode.API_UNAVAILABLE,  # not the expected JSON, too large, or a redirect
    Finding.STATES_SEVERAL: ReasonCode.STATE_AMBIGUOUS,  # the directory lists more than one place
    Finding.STATE_GLOBAL: ReasonCode.STATE_AMBIGUOUS,  # the directory says that the company is global
    Finding.STATE_NONE: ReasonCode.STATE_MISSING,  # the directory lists no place
    Finding.STATE_DIFFERS: ReasonCode.STATE_MISMATCH,  # another state, or not a US state
    Finding.STATE_UNREADABLE: ReasonCode.STATE_MISMATCH,  # the intake has no state, or an unknown one
    Finding.CHECK_SLOW: ReasonCode.TIMEOUT,  # a check of another package did not end in time
    Finding.CHECK_BROKE: ReasonCode.API_UNAVAILABLE,  # a bug in a check (logged), or no file handles left
}


class NotPassed(Exception):  # noqa: N818 - not an error: a result, raised from deep inside a check
    """A finding other than passed, with a message. Any check may raise it instead of returning it."""

    def __init__(self, finding: Finding, message: str) -> None:
        super().__init__(message)
        self.finding = finding
        self.message = message
