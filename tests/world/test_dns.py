"""The world's DNS tells of each kind what its truth says, over UDP and over TCP."""

from __future__ import annotations

import socket

import dns.exception
import dns.flags
import dns.message
import dns.rcode
import pytest

from recoup_demo.world import Kind
from recoup_demo.world.kinds import AnyKind
from world.asking import DNS, SHORT_S, SITES, Asking
from world.odd import Odd
from world.watched import WatchedWorld

A, AAAA = "A", "AAAA"
RECORDS = [
    (Kind.GOOD, A, [SITES]),
    (Kind.GOOD, AAAA, []),
    (Kind.PARKED, A, [SITES]),
    (Kind.NO_ADDRESS, A, []),
    (Kind.NO_ADDRESS, AAAA, []),
    (Kind.REFUSES, A, ["127.77.1.9"]),
    (Odd.ALIAS, A, [SITES]),
    (Odd.ALIAS_INSIDE, A, ["127.0.0.1"]),
    (Odd.PRIVATE_ADDRESS, A, ["10.1.2.3"]),
    (Odd.LOOPBACK_ADDRESS, A, ["127.0.0.1"]),
    (Odd.LINK_LOCAL, A, ["169.254.169.254"]),
    (Odd.SHARED_ADDRESS, A, ["100.64.0.1"]),
    (Odd.UNSPECIFIED_ADDRESS, A, ["0.0.0.0"]),
    (Odd.IPV4_MAPPED, A, []),
    (Odd.IPV4_MAPPED, AAAA, ["::ffff:127.0.0.1"]),
    (Odd.MIXED_ADDRESS, A, ["10.1.2.3", SITES]),
]


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
@pytest.mark.parametrize(("kind", "wanted", "addresses"), RECORDS)
def test_a_name_has_the_addresses_of_its_kind(
    asking: Asking, kind: AnyKind, wanted: str, addresses: list[str], tcp: bool
) -> None:
    company = asking.some(kind)
    assert asking.dns(company.domain, wanted, tcp=tcp).rcode() == dns.rcode.NOERROR
    assert sorted(asking.addresses(company.domain, wanted, tcp=tcp)) == addresses


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (Kind.DEAD_DOMAIN, dns.rcode.NXDOMAIN),
        (Kind.DNS_FAILING, dns.rcode.SERVFAIL),
        (Odd.DNS_REFUSED, dns.rcode.REFUSED),
    ],
)
def test_a_name_fails_as_its_kind_does(asking: Asking, kind: AnyKind, code: dns.rcode.Rcode, tcp: bool) -> None:
    for company in asking.all(kind):
        reply = asking.dns(company.domain, tcp=tcp)
        assert (reply.rcode(), reply.answer) == (code, [])


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_the_silent_one_never_answers(asking: Asking, tcp: bool) -> None:
    with pytest.raises(dns.exception.Timeout):
        asking.dns(asking.some(Kind.DNS_SILENT).domain, tcp=tcp, timeout_s=SHORT_S)


def test_a_truncated_answer_is_whole_over_tcp(asking: Asking) -> None:
    domain = asking.some(Odd.DNS_TRUNCATED).domain
    assert asking.dns(domain).flags & dns.flags.TC
    assert asking.addresses(domain) == []
    assert not asking.dns(domain, tcp=True).flags & dns.flags.TC
    assert asking.addresses(domain, tcp=True) == [SITES]


def test_an_alias_names_the_way(asking: Asking) -> None:
    company = asking.some(Odd.ALIAS)
    alias, address = asking.dns(company.domain).answer
    assert alias.to_text() == f"{company.domain}. 60 IN CNAME www.{company.domain}."
    assert address.to_text() == f"www.{company.domain}. 60 IN A {SITES}"


def test_a_rebinding_name_changes_its_mind(asking: Asking, world: WatchedWorld) -> None:
    """The sites at the first asking of day 0, 127.0.0.1 from then on; asking for AAAA is no such asking."""
    domain = asking.some(Odd.REBINDING).domain
    world.day = 0
    assert asking.addresses(domain, AAAA) == []
    assert asking.dns(domain).answer[0].to_text() == f"{domain}. 0 IN A {SITES}"
    assert [asking.addresses(domain) for _ in range(2)] == [["127.0.0.1"]] * 2
    world.day = 1
    assert asking.addresses(domain) == ["127.0.0.1"]
    world.day = 0
    assert asking.addresses(domain) == [SITES]


def test_case_does_not_matter_and_names_below_a_company_exist(asking: Asking) -> None:
    domain = asking.some(Kind.GOOD).domain
    assert asking.addresses(domain.upper()) == [SITES]
    assert asking.addresses(f"www.{domain}") == [SITES]
    for kind in (Odd.ALIAS_INSIDE, Odd.REDIRECT_INSIDE):
        assert asking.addresses(f"inside.{asking.some(kind).domain}") == ["127.0.0.1"]


@pytest.mark.parametrize("name", ["nobody.example", "nobody.test", "recoup.invalid", "example"])
def test_nothing_else_exists(asking: Asking, name: str) -> None:
    assert asking.dns(name).rcode() == dns.rcode.NXDOMAIN


def test_a_name_without_address_has_mail(asking: Asking) -> None:
    """It exists; it has no site."""
    (found,) = asking.dns(asking.some(Kind.NO_ADDRESS).domain, "MX").answer
    assert "mail." in found.to_text()


def test_what_is_not_dns_is_passed_over(asking: Asking, world: WatchedWorld) -> None:
    """And the next one is answered."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for junk in (b"", b"\0", b"hello", b"\xff" * 600):
            stranger.sendto(junk, (DNS, world.ports.dns))
    assert asking.addresses(asking.some(Kind.GOOD).domain) == [SITES]
