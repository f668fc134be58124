"""Which addresses a site may have: public ones, and those that the policy allows in addition.

A company says where its site is, so it could send us to our own network. Asked before every connection, of the very
address that is then connected to.
"""

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# What `is_global` lets through, or let through in some versions of Python.
_NEVER_V4 = tuple(
    map(
        IPv4Network,
        (
            "100.64.0.0/10",  # shared between carriers and their customers; a cloud's metadata is here too
            "168.63.129.16/32",  # a cloud's host, seen from its guests
            "192.0.0.0/24",  # protocol assignments
            "192.88.99.0/24",  # relays of 6to4
            "198.18.0.0/15",  # benchmarks
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
        ),
    )
)
_PUBLIC_V6 = IPv6Network("2000::/3")  # all that has been given out
_NEVER_V6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments; Teredo, which carries an IPv4 address
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4, which carries an IPv4 address
            "3fff::/20",  # documentation
        ),
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")


class Reach:
    """Where connections to sites may go."""

    def __init__(self, allowed_networks: Iterable[str] = (), *, public: bool = True) -> None:
        self._allowed: Sequence[Network] = tuple(map(ip_network, allowed_networks))
        self._public = public  # also every public address

    def allows(self, address: Address) -> bool:
        """Whether a site at this address may be asked."""
        plain = unwrapped(address)
        return any(plain in network for network in self._allowed) or (self._public and is_public(plain))

    def allowed(self, addresses: Iterable[Address]) -> tuple[Address, ...]:
        """Those that may be asked, as they are connected to: an IPv4 address inside an IPv6 one is taken out."""
        return tuple(unwrapped(address) for address in addresses if self.allows(address))


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet, by all that is known of it."""
    plain = unwrapped(address)
    if isinstance(plain, IPv4Address):
        return plain.is_global and not any(plain in network for network in _NEVER_V4)
    return (
        plain in _PUBLIC_V6
        and plain.is_global
        and plain.scope_id is None
        and not any(plain in network for network in _NEVER_V6)
    )


def unwrapped(address: Address) -> Address:
    """The IPv4 address inside a mapped or translated IPv6 one; otherwise itself."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def literal(host: str) -> Address | None:
    """The address that a host is written as, with or without brackets; None: it is a name."""
    try:
        return ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None
