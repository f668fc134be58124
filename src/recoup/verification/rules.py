"""How a company is verified: the part of the policy that verification goes by."""

import re
from ipaddress import ip_address, ip_network
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from recoup.policy.section import Section, wrong_value

Milliseconds = Annotated[int, Field(ge=10, le=120_000)]


def _text(pattern: str, description: str, *, most: int = 500) -> Any:
    return Field(pattern=pattern, max_length=most, description=description)


CheckName = Annotated[
    str, _text(r"^[a-z][a-z0-9_-]*$", "the name of a check: dns, imprint, directory, state, or an own one", most=50)
]
Nameserver = Annotated[str, _text(r"^[0-9a-fA-F.:\[\]]+$", "an address, or address:port, of a DNS server", most=60)]
SiteUrl = Annotated[str, _text(r"^https?://[^\s/{}@]*\{domain\}[^\s{}@]*$", "an http or https URL with {domain} in it")]
Network = Annotated[str, _text(r"^[0-9a-fA-F.:]+(/[0-9]{1,3})?$", "a network such as 10.20.0.0/16", most=60)]


# What a URL of the directory is filled in with.
PLACE = re.compile(r"\{(?:domain|name|linkedin_url)\}")


def unusable(url: str) -> str | None:
    """Why a company cannot be looked up with a URL that has {domain}, {name} or {linkedin_url} in it; None: it can."""
    if not PLACE.search(url):
        return "it has none of {domain}, {name}, {linkedin_url} in it"
    if re.fullmatch(r"[!-~]+", url) is None:
        return "it has blanks or letters beyond ASCII; write a host as xn--…, and the rest with %"
    try:
        parts = urlsplit(PLACE.sub("company", url))
        host, port = parts.hostname or "", parts.port
        if ":" in host:
            ip_address(host)
    except ValueError as error:
        return str(error)
    if parts.scheme not in ("http", "https"):
        return "it begins with http:// or https://"
    if port == 0:
        return "a port is a number from 1 to 65535"
    # An empty label, or one over 63 characters, is no name to a resolver: it raises, for each company again.
    return None if re.fullmatch(r"([0-9A-Za-z_:-]{1,63}\.)*[0-9A-Za-z_:-]{1,63}\.?", host) else "its host is none"


class Verification(Section):
    """How Gate Zero verifies a company."""

    checks: Annotated[list[CheckName], Field(min_length=1, max_length=20)]
    at_once: Annotated[int, Field(ge=1, le=2000)]
    per_host: Annotated[int, Field(ge=1, le=1000)]
    nameservers: Annotated[list[Nameserver], Field(min_length=0, max_length=10)]
    dns_timeout_ms: Milliseconds
    site_urls: Annotated[list[SiteUrl], Field(min_length=1, max_length=5)]
    site_timeout_ms: Milliseconds
    redirects_most: Annotated[int, Field(ge=0, le=20)]
    page_bytes_most: Annotated[int, Field(ge=1_000, le=10_000_000)]
    directory: Annotated[
        str,
        _text(
            r"^\S(.*\S)?$|^$",
            "a URL with {domain}, {name} or {linkedin_url} in it, or the path of a CSV, Parquet or JSONL file",
        ),
    ]
    directory_at_once: Annotated[int, Field(ge=1, le=2000)]
    directory_timeout_ms: Milliseconds
    allowed_networks: Annotated[list[Network], Field(min_length=0, max_length=50)]
    contact: Annotated[str, _text(r"^[ -~]*$", "printable ASCII: an address or a URL", most=200)]

    @field_validator("directory")
    @classmethod
    def _directory_can_be_asked(cls, directory: str) -> str:
        if "://" in directory and (wrong := unusable(directory)) is not None:
            raise wrong_value("", directory, f"a URL that companies can be looked up with; {wrong}")
        return directory

    @field_validator("site_urls")
    @classmethod
    def _sites_can_be_asked(cls, urls: list[str]) -> list[str]:
        for url in urls:
            if (wrong := unusable(url)) is not None:
                raise wrong_value("", url, f"a URL that companies can be looked up with; {wrong}")
        return urls

    @field_validator("allowed_networks")
    @classmethod
    def _networks_are_networks(cls, networks: list[str]) -> list[str]:
        for network in networks:
            try:
                ip_network(network)
            except ValueError as error:
                raise wrong_value("", network, f"a network such as 10.20.0.0/16; {error}") from error
        return networks

    @property
    def longest_s(self) -> float:
        """The longest that one verification may take: every check up to its timeout."""
        return (self.dns_timeout_ms + self.site_timeout_ms + self.directory_timeout_ms) / 1000
