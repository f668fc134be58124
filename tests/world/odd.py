"""What else can be true of a company: the hostile and the odd. A hostile world has one of each in every 200."""

from __future__ import annotations

from recoup_demo.world import Kind
from recoup_demo.world.kinds import NO_IMPRINT, TIMEOUT, UNAVAILABLE, AnyKind


class Odd(AnyKind):
    # Names.
    DNS_REFUSED = "dns-refused", 1, UNAVAILABLE  # REFUSED
    DNS_TRUNCATED = "dns-truncated", 1, None  # good, but the answer comes over TCP only
    ALIAS = "alias", 1, None  # good, by way of a CNAME
    ALIAS_INSIDE = "alias-inside", 1, NO_IMPRINT  # a CNAME to a name at 127.0.0.1
    PRIVATE_ADDRESS = "private-address", 1, NO_IMPRINT  # 10.1.2.3
    LOOPBACK_ADDRESS = "loopback-address", 1, NO_IMPRINT  # 127.0.0.1
    LINK_LOCAL = "link-local", 1, NO_IMPRINT  # 169.254.169.254, where clouds keep their secrets
    SHARED_ADDRESS = "shared-address", 1, NO_IMPRINT  # 100.64.0.1
    UNSPECIFIED_ADDRESS = "unspecified-address", 1, NO_IMPRINT  # 0.0.0.0, which Linux takes for this machine
    IPV4_MAPPED = "ipv4-mapped", 1, NO_IMPRINT  # ::ffff:127.0.0.1
    MIXED_ADDRESS = "mixed-address", 1, None  # good, with a private address in addition to the right one
    # Good when first resolved on day 0, 127.0.0.1 ever after, with a TTL of 0.
    REBINDING = "rebinding", 1, None, NO_IMPRINT

    # Ways to another place.
    REDIRECT_LOOP = "redirect-loop", 1, NO_IMPRINT
    REDIRECT_ENDLESS = "redirect-endless", 1, NO_IMPRINT  # always on to one more path
    REDIRECT_TO_LOOPBACK = "redirect-to-loopback", 1, NO_IMPRINT  # http://127.0.0.1
    REDIRECT_TO_PRIVATE = "redirect-to-private", 1, NO_IMPRINT  # http://10.…
    REDIRECT_TO_NUMBER = "redirect-to-number", 1, NO_IMPRINT  # http://2130706433, which is 127.0.0.1
    REDIRECT_TO_MAPPED = "redirect-to-mapped", 1, NO_IMPRINT  # http://[::ffff:127.0.0.1]
    REDIRECT_INSIDE = "redirect-inside", 1, NO_IMPRINT  # to a name that is at 127.0.0.1
    REDIRECT_TO_FILE = "redirect-to-file", 1, NO_IMPRINT  # file:///

    # Pages. Those that are too long are judged by as much of the page as is read.
    ENDLESS = "endless", 1, TIMEOUT  # drips bytes for ever
    FLOOD = "flood", 1, None  # good, and followed by 1 GB
    FLOOD_UNSIZED = "flood-unsized", 1, None  # the same, with no Content-Length
    GZIP_BOMB = "gzip-bomb", 1, NO_IMPRINT  # compressed unasked, expands to 1 GB that names nobody
    GZIP_PAGE = "gzip-page", 1, None  # good, and compressed unasked
    CHUNKED_PAGE = "chunked-page", 1, None  # good, in many small chunks
    INVALID_UTF8 = "invalid-utf8", 1, None  # good, in broken bytes
    LATIN_1 = "latin-1", 1, None  # good, in ISO 8859-1 that nobody announces
    DEEP_HTML = "deep-html", 1, None  # good, above 50,000 nested elements
    MANY_COOKIES = "many-cookies", 1, None  # good, with forty cookies
    NOT_TEXT = "not-text", 1, NO_IMPRINT  # a picture
    HEADER_FLOOD = "header-flood", 1, NO_IMPRINT  # headers for ever
    NO_ANSWER = "no-answer", 1, TIMEOUT  # accepts and never answers
    HANG_UP = "hang-up", 1, NO_IMPRINT  # accepts and closes
    NOT_HTTP = "not-http", 1, NO_IMPRINT  # speaks something else

    # Directory entries.
    SAME_STATE_TWICE = "same-state-twice", 1, None  # good: one state, in two spellings
    DIRECTORY_NONSENSE = "directory-nonsense", 1, UNAVAILABLE  # 200 with HTML
    DIRECTORY_BROKEN_JSON = "directory-broken-json", 1, UNAVAILABLE
    DIRECTORY_DEEP_JSON = "directory-deep-json", 1, UNAVAILABLE  # 100,000 nested lists
    DIRECTORY_WRONG_SHAPE = "directory-wrong-shape", 1, UNAVAILABLE  # JSON, and not an entry
    DIRECTORY_HUGE = "directory-huge", 1, UNAVAILABLE  # 8 MB
    DIRECTORY_ENDLESS = "directory-endless", 1, TIMEOUT  # drips blanks for ever
    DIRECTORY_BUSY = "directory-busy", 1, UNAVAILABLE  # 429
    DIRECTORY_MOVED = "directory-moved", 1, UNAVAILABLE  # 302 to 127.0.0.1
    DIRECTORY_HANGS_UP = "directory-hangs-up", 1, UNAVAILABLE


# Failures of the directory as a service. In a file these companies have an ordinary entry, and pass.
SERVICE_FAULTS: frozenset[AnyKind] = frozenset(
    {Kind.SLOW_DIRECTORY, Kind.DIRECTORY_OUT, Kind.NOW_AND_THEN, *(odd for odd in Odd if odd.startswith("directory-"))}
)
