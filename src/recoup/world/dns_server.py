"""The world's DNS, over UDP and TCP: it knows the names of the companies, and nothing else exists."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import cast

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rrset

from recoup.world.companies import Company
from recoup.world.kinds import Kind
from recoup.world.present import CANARY_ADDRESS, INSIDE, NOBODYS_ADDRESS, SITE_ALIAS, SITES_ADDRESS, Present

TTL_S = 60
IDLE_S = 30.0

ADDRESSES: Mapping[Kind, tuple[str, ...]] = {
    Kind.NO_ADDRESS: (),
    Kind.REFUSES: (NOBODYS_ADDRESS,),
    Kind.PRIVATE_ADDRESS: ("10.1.2.3",),
    Kind.LOOPBACK_ADDRESS: (CANARY_ADDRESS,),
    Kind.LINK_LOCAL: ("169.254.169.254",),
    Kind.SHARED_ADDRESS: ("100.64.0.1",),
    Kind.UNSPECIFIED_ADDRESS: ("0.0.0.0",),
    Kind.IPV4_MAPPED: (f"::ffff:{CANARY_ADDRESS}",),
    Kind.MIXED_ADDRESS: ("10.1.2.3", SITES_ADDRESS),
}
# By way of another name of the company.
ALIASES: Mapping[Kind, str] = {Kind.ALIAS: SITE_ALIAS, Kind.ALIAS_INSIDE: INSIDE}
# No answer is made of records here.
FAILURES: Mapping[Kind, dns.rcode.Rcode] = {
    Kind.DEAD_DOMAIN: dns.rcode.NXDOMAIN,
    Kind.DNS_FAILING: dns.rcode.SERVFAIL,
    Kind.DNS_REFUSED: dns.rcode.REFUSED,
}
SOA = {
    top: dns.rrset.from_text(f"{top}.", TTL_S, "IN", "SOA", f"ns.{top}. admin.{top}. 1 7200 900 1209600 60")
    for top in ("example", "test")
}


def answer(present: Present, query: dns.message.Message, *, over_tcp: bool) -> dns.message.Message | None:
    """The reply to a query; None: there is none, ever."""
    reply = dns.message.make_response(query, recursion_available=True)
    if query.opcode() != dns.opcode.QUERY or len(query.question) != 1:
        reply.set_rcode(dns.rcode.NOTIMP)
        return reply
    question = query.question[0]
    host = question.name.to_text(omit_final_dot=True).lower()
    company = present.company_at(host)
    if company is None:
        return _absent(reply, host, dns.rcode.NXDOMAIN)
    kind = present.kind(company)
    if kind is Kind.DNS_SILENT:
        return None
    if kind in FAILURES:
        return _absent(reply, host, FAILURES[kind])
    if kind is Kind.DNS_TRUNCATED and not over_tcp:
        reply.flags |= dns.flags.TC
        return reply
    name = question.name
    if kind in ALIASES and host == company.domain:
        other = ALIASES[kind] + host
        reply.answer.append(dns.rrset.from_text(name, TTL_S, "IN", "CNAME", f"{other}."))
        name, host = dns.name.from_text(f"{other}."), other
    found = _records(present, company, kind, host, question.rdtype)
    if found:
        ttl = 0 if kind is Kind.REBINDING else TTL_S
        reply.answer.append(dns.rrset.from_rdata_list(name, ttl, [_record(question.rdtype, text) for text in found]))
    elif not reply.answer:
        return _absent(reply, host, dns.rcode.NOERROR)
    return reply


def _records(present: Present, company: Company, kind: Kind, host: str, wanted: dns.rdatatype.RdataType) -> list[str]:
    if wanted == dns.rdatatype.MX and host == company.domain:
        return [f"10 mail.{host}."]
    if wanted not in (dns.rdatatype.A, dns.rdatatype.AAAA):
        return []
    if host.startswith(INSIDE):
        addresses: tuple[str, ...] = (CANARY_ADDRESS,)
    elif kind is Kind.REBINDING and wanted == dns.rdatatype.A:
        first = present.day == 0 and present.meets(company)
        addresses = (SITES_ADDRESS,) if first else (CANARY_ADDRESS,)
    else:
        addresses = ADDRESSES.get(kind, (SITES_ADDRESS,))
    return [address for address in addresses if (":" in address) == (wanted == dns.rdatatype.AAAA)]


@lru_cache(maxsize=100)  # nearly all names have one and the same address
def _record(kind: dns.rdatatype.RdataType, text: str) -> dns.rdata.Rdata:
    return dns.rdata.from_text(dns.rdataclass.IN, kind, text)


def _absent(reply: dns.message.Message, host: str, code: dns.rcode.Rcode) -> dns.message.Message:
    reply.set_rcode(code)
    soa = SOA.get(host.rsplit(".", 1)[-1])
    if soa is not None and code in (dns.rcode.NXDOMAIN, dns.rcode.NOERROR):
        reply.authority.append(soa)
    return reply


def _reply_to(present: Present, wire: bytes, *, over_tcp: bool) -> bytes | None:
    """The bytes to send back; None: nothing, as to what is not DNS."""
    present.seen.dns_queries += 1
    present.seen.dns_queries_over_tcp += over_tcp
    try:
        query = dns.message.from_wire(wire)
    except dns.exception.DNSException:
        return None
    reply = answer(present, query, over_tcp=over_tcp)
    return None if reply is None else reply.to_wire()


class OverUdp(asyncio.DatagramProtocol):
    def __init__(self, present: Present) -> None:
        self._present = present

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)  # it is one in all but its bases

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        reply = _reply_to(self._present, data, over_tcp=False)
        if reply is None:
            return
        if self._present.answer_s:
            asyncio.get_running_loop().call_later(self._present.answer_s, self._transport.sendto, reply, addr)
        else:
            self._transport.sendto(reply, addr)


async def over_tcp(present: Present, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One client over TCP, query by query."""
    # It may leave at any moment, or say nothing for too long.
    with suppress(asyncio.IncompleteReadError, ConnectionError, TimeoutError):
        while True:
            async with asyncio.timeout(IDLE_S):
                length = int.from_bytes(await reader.readexactly(2), "big")
                wire = await reader.readexactly(length)
            reply = _reply_to(present, wire, over_tcp=True)
            if reply is None:
                continue
            await asyncio.sleep(present.answer_s)
            writer.write(len(reply).to_bytes(2, "big") + reply)
            await writer.drain()
    writer.close()
