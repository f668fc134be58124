"""Which addresses may be asked."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from recoup.verification.addresses import Reach, literal

PUBLIC = [
    "8.8.8.8", "93.184.216.34", "172.32.0.1", "100.128.0.1", "192.169.0.1", "2606:4700::1", "2a00:1450::1",
    "::ffff:8.8.8.8", "64:ff9b::808:808",
]  # fmt: skip
FORBIDDEN = [
    "0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.77.1.1", "127.255.255.254",
    "168.63.129.16", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1",
    "192.168.0.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1",
    "255.255.255.255", "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:0:7f00:1::", "2001:10::1",
    "2001:db8::1", "2002:7f00:1::", "2002:808:808::1", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1",
    "fe80::1%eth0", "2606:4700::1%eth0", "fec0::1", "ff02::1", "4000::1", "1::1",
]  # fmt: skip


@pytest.mark.parametrize("written", PUBLIC)
def test_public_ones_may(written: str) -> None:
    assert Reach().allows(ip_address(written))


@pytest.mark.parametrize("written", FORBIDDEN)
def test_all_others_may_not(written: str) -> None:
    assert not Reach().allows(ip_address(written))


def test_the_policy_may_allow_a_network_and_allows_no_other_by_it() -> None:
    reach = Reach(["127.77.0.0/16", "fd12::/32"])
    assert reach.allows(ip_address("127.77.1.1"))
    assert reach.allows(ip_address("fd12::1"))
    assert reach.allows(ip_address("::ffff:127.77.1.1"))
    assert not reach.allows(ip_address("127.0.0.1"))
    assert not reach.allows(ip_address("127.78.0.1"))
    assert not reach.allows(ip_address("fd13::1"))
    assert not reach.allows(ip_address("::ffff:127.0.0.1"))


def test_an_address_inside_another_is_connected_to_as_what_it_is() -> None:
    found = map(ip_address, ("10.0.0.1", "::ffff:8.8.8.8", "64:ff9b::101:101"))
    assert Reach().allowed(found) == (ip_address("8.8.8.8"), ip_address("1.1.1.1"))


def test_what_only_looks_like_an_address_is_none() -> None:
    assert literal("[::1]") == ip_address("::1")
    assert [literal(host) for host in ("2130706433", "0x7f.1", "127.1", "0177.0.0.1", "localhost", "")] == [None] * 6
