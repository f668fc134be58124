"""What registrars and servers write on pages that are nobody's. Compared as folded words.

Some sayings give a page away wherever they stand. Others stand on honest pages too ("coming soon"), and tell only in a
title, or where there is little else to read. A page that does not name the company or its domain needs no saying here:
it is no imprint anyway.
"""

from __future__ import annotations

LITTLE_WORDS_MOST = 40  # a page of so few words has little else to say

PARKED = (
    "acquire this domain",
    "backorder this domain",
    "buy this domain",
    "domain has been parked",
    "domain is available for purchase",
    "domain is for sale",
    "domain is parked",
    "domain may be for sale",
    "domain name has expired",
    "domain name is for sale",
    "domain name is parked",
    "domain name may be for sale",
    "enquire about this domain",
    "inquire about this domain",
    "interested in buying this domain",
    "interested in this domain",
    "lease this domain",
    "make an offer for this domain",
    "make an offer on this domain",
    "offer for this domain",
    "own this domain",
    "parked free courtesy of",
    "purchase this domain",
    "registered on behalf of a client",
    "seller of this domain",
    "this domain can be yours",
    "this domain could be yours",
    "this domain has expired",
    "this domain has just been registered",
    "this domain has recently been registered",
    "this domain is available",
    "this domain was recently registered",
    "this page is parked",
    "this premium domain",
    "this web address is for sale",
    "this web page is parked",
)
PARKED_IF_LITTLE = (
    "domain broker",
    "domain expired",
    "domain for sale",
    "domain is registered",
    "domain name for sale",
    "domain parking",
    "future home of",
    "parked domain",
    "related searches",
    "renew this domain",
    "renew your domain",
    "sponsored links",
    "sponsored listings",
)
PLACEHOLDER = (
    "apache http server test page",
    "apache2 debian default page",
    "apache2 default page",
    "apache2 ubuntu default page",
    "default web site page",
    "just another wordpress site",
    "no content has been uploaded",
    "test page for the apache http server",
    "there has been no content published",
    "welcome to caddy",
    "welcome to nginx",
)
PLACEHOLDER_IF_LITTLE = (
    "account has been suspended",
    "account suspended",
    "being built",
    "check back soon",
    "coming soon",
    "default page",
    "launching soon",
    "maintenance mode",
    "new site is on its way",
    "new website is on its way",
    "not configured",
    "opening soon",
    "site has been suspended",
    "site suspended",
    "under construction",
    "under maintenance",
    "website has been suspended",
    "website is suspended",
    "website suspended",
)
