"""Domain names: which one is in what people type, and which part of it somebody registered."""

import re
from functools import cache

import idna
from publicsuffixlist import PublicSuffixList  # type: ignore[import-untyped,unused-ignore]

MAX_TYPED = 2_100  # longer than any address a browser keeps
MAX_NAME = 253
# Only at the beginning: an address may carry another one behind its question mark.
_SCHEME = re.compile(r"^(?:[^/?#\\]*:)?//")
_END_OF_HOST = re.compile(r"[/?#\\]")
_QUERY = re.compile(r"[?#]")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
# Some programs read 1, 017 or 0x7f at the end as part of an IPv4 address.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


def domain_of(text: str | None) -> str | None:
    """The host name in what people type, in lower case and ASCII; None when there is none.

    An address, a single word, and a name under which others register (co.uk) are not the domain of a company.
    """
    if text is None or len(text) > MAX_TYPED:
        return None
    typed = text.strip()
    host = _END_OF_HOST.split(_SCHEME.sub("", typed), maxsplit=1)[0].rpartition("@")[2]
    host, colon, port = host.partition(":")
    if colon and port and not (port.isascii() and port.isdigit()):
        return None
    name = host_name(host)
    return name if name is not None and not _only_suffix(name) else None


def host_name(host: str) -> str | None:
    """A host name as DNS takes it, with two labels at least, or None."""
    name = host.removesuffix(".")
    if not 0 < len(name) <= MAX_NAME:
        return None
    if not name.isascii() or "xn--" in name.lower():
        try:
            name = idna.encode(name, uts46=True).decode("ascii")
        except UnicodeError:  # of which idna's are
            return None
    labels = name.lower().split(".")
    if len(labels) < 2 or len(name) > MAX_NAME or _NUMBER.fullmatch(labels[-1]):
        return None
    return ".".join(labels) if all(map(_LABEL.fullmatch, labels)) else None


def registrable(domain: str) -> str:
    """The part of a host name that somebody registered: www.foo.co.uk -> foo.co.uk. Itself when that is not known."""
    return _suffixes(private=True).privatesuffix(domain) or domain.removeprefix("www.")


def page_of(url: str) -> str:
    """A LinkedIn page as one text however it is written: https://www.LinkedIn.com/company/Acme/?x=1 and
    linkedin.com/company/acme are one page."""
    path = _QUERY.split(_SCHEME.sub("", url.strip()), maxsplit=1)[0]
    return path.casefold().removeprefix("www.").rstrip("/")


def spoken(domain: str) -> str:
    """A domain as people read it: xn--mller-kva.example -> müller.example."""
    try:
        return idna.decode(domain) if "xn--" in domain else domain
    except UnicodeError:
        return domain


def _only_suffix(name: str) -> bool:
    # Only registries' own suffixes: wordpress.com and others of the private list are also the sites of companies.
    return _suffixes(private=False).privatesuffix(name) is None


@cache
def _suffixes(*, private: bool) -> PublicSuffixList:
    return PublicSuffixList(accept_unknown=True, only_icann=not private)
