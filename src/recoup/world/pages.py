"""What the sites show: small company sites as they are, registrars' parking pages, and pages that say nothing."""

from __future__ import annotations

from html import escape
from html.entities import codepoint2name

from recoup.world.companies import Company
from recoup.world.names import slug, state_code, without_legal_form

STYLE = """<style>
:root { --ink: #223; --paper: #fcfbf8 } body { font: 17px/1.5 serif; color: var(--ink); background: var(--paper) }
.hero { padding: 4rem 1rem } .sale-banner { display: none } nav a + a { margin-left: 1em }
</style>"""
SCRIPT = """<script>
window.settings = {"offers": ["spring", "autumn"], "theme": {"dark": false}, "parking": {"lat": 0, "lon": 0}};
document.addEventListener("scroll", function () { if (window.scrollY < 40 && "a" > "</b") { return; } });
</script>"""
ABOUT = (
    "We are a family business, and the second generation now runs the shop. Most of our customers come because a "
    "neighbor told them about us.",
    "Our crew has worked together for more than fifteen years. We answer the phone ourselves, and name a price before "
    "we begin.",
    "What started in a garage is now a team of twenty-two. We still sign every job with our own names.",
    "Licensed, bonded and insured. Ask for our references; we are glad to name people you can call.",
)
NEWS = (
    "Free parking behind the building, entrance from the side street.",
    "Coming soon: our second location, just across the river.",
    "Our summer sale ends on Saturday. Make an appointment and we will keep something aside for you.",
    "We are hiring. Write to us, or ask at the counter.",
    "New hours: Monday to Friday, eight to six.",
    "We have moved the whole workshop under one roof.",
)
STREETS = ("Main Street", "Second Avenue", "Depot Road", "Old Mill Lane", "Court Square", "Industrial Parkway")


def company_page(company: Company) -> str:
    """A small company site. It names the company, its domain, or both."""
    named = company.pick(("both", "both", "both", "name", "domain"), of="named")
    name = _written(company)
    shown = _html(name, entities=company.pick((True, False, False), of="entities"))
    title = shown if named != "domain" else "Welcome"
    heading = {"both": shown, "name": shown, "domain": "Good work, close to home"}[named]
    contact = f"info@{company.domain}" if named != "name" else "through the form below"
    footer = f"&copy; {shown}" if named != "domain" else f"&copy; {company.domain}"
    return _document(company, title=title, heading=heading, contact=contact, footer=footer)


def page_with_title_only(company: Company) -> str:
    """Names the company in its title and nowhere else."""
    return _document(
        company,
        title=f"{_html(company.name)} | Home",
        heading="Good work, close to home",
        contact="through the form below",
        footer="All rights reserved",
    )


def parking_page(company: Company) -> str:
    """A registrar's page. It names the domain, and is not the company's."""
    domain = company.domain
    title, heading, *lines = company.pick(
        (
            (
                f"{domain} is for sale",
                domain,
                "This domain may be for sale by its owner.",
                '<a href="/offer">Buy this domain</a>',
                "Related searches: insurance quotes, car rental, online degrees",
            ),
            (
                f"{domain} - parked domain",
                f"Welcome to {domain}",
                "This domain is parked free of charge with Harbor Names.",
                "Is it yours? Sign in to your account and build your website in minutes.",
            ),
            (
                f"Make an offer on {domain}",
                f"The domain name {domain} is for sale!",
                "Make an offer, or take it at once for $2,495. Safe payment, transfer within a day.",
                "Inquire about this domain",
            ),
            (
                domain,
                f"{domain} is parked",
                "This web page is parked by its registrar. The owner of the domain has not yet uploaded a website.",
                "Sponsored listings: loans | hotels | lawyers",
            ),
            (
                f"{domain}: premium domain available",
                "This premium domain is available for purchase",
                f"{domain} could be yours. Would you like to buy this domain? Get a price from our brokers.",
            ),
        ),
        of="parking",
    )
    return _plain_document(title, heading, *lines)


def placeholder_page(company: Company) -> str:
    """A page that stands where a site will be or was."""
    domain = company.domain
    return _plain_document(
        *company.pick(
            (
                ("Coming soon", domain, "Our new website is coming soon. Please check back later."),
                ("Under construction", f"{domain} is under construction", "This site is under construction."),
                ("Account suspended", "This account has been suspended", f"{domain}: contact your hosting provider."),
                (
                    "Default page",
                    "Default web server page",
                    f"The web server at {domain} is installed and works. This is the default page: no content was "
                    "uploaded yet.",
                ),
            ),
            of="placeholder",
        )
    )


def empty_page(company: Company) -> str:
    """Nothing that a visitor could read."""
    return company.pick(
        (
            "",
            " \r\n\r\n ",
            "<!doctype html><html><head><title></title></head><body></body></html>",
            f'<!doctype html><html><head></head><body><div id="root"></div><script>var app = "{slug(company.name)}";'
            "</script></body></html>",
        ),
        of="empty",
    )


def error_page(company: Company, status: int) -> str:
    """An error, on a page that names the company all the same."""
    return _plain_document(f"Error {status}", _html(company.name), f"Something went wrong at {company.domain}.")


def other_page(company: Company) -> str:
    """A page about something else."""
    return _plain_document(
        *company.pick(
            (
                ("Tide tables", "High and low water", "Today: high at 04:12 and 16:40, low at 10:25 and 22:51."),
                ("A diary", "What I cooked this week", "Lentils, twice. The second time with more pepper."),
                ("Chess club", "Pairings of round three", "Board one: Ada against Boris. Board two: Chidi, a bye."),
            ),
            of="other",
        )
    )


def _written(company: Company) -> str:
    """The name as the company writes it on its own site."""
    short = without_legal_form(company.name)
    return company.pick((company.name, short, short.upper(), short.replace("&", "and")), of="written")


def _html(text: str, *, entities: bool = False) -> str:
    if not entities:
        return escape(text, quote=False)
    return "".join(f"&{codepoint2name[ord(letter)]};" if ord(letter) in codepoint2name else letter for letter in text)


def _document(company: Company, *, title: str, heading: str, contact: str, footer: str) -> str:
    about = company.pick(ABOUT, of="about")
    news = company.pick(NEWS, of="news")
    number = company.pick(range(100, 4000), of="number")
    street = company.pick(STREETS, of="street")
    state = state_code(company.state)
    zip_code = company.pick(range(10_000, 99_999), of="zip")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<meta name="viewport" content="width=device-width">
{STYLE}
{SCRIPT}
</head>
<body>
<nav><a href="/">Home</a><a href="/services">Services</a><a href="/about">About</a><a href="/contact">Contact</a></nav>
<header class="hero"><h1>{heading}</h1><p class="sale-banner">Season's greetings</p></header>
<main>
<section id="about"><h2>About us</h2><p>{about}</p></section>
<section id="news"><h2>News</h2><p>{news}</p></section>
<section id="contact"><h2>Contact</h2><p>Call 555-01{number % 100:02}, or write to us: {contact}.</p></section>
</main>
<footer><p>{footer}</p><address>{number} {street}, Springfield, {state} {zip_code}</address></footer>
</body>
</html>
"""


def _plain_document(title: str, heading: str, *lines: str) -> str:
    paragraphs = "\n".join(f"<p>{line}</p>" for line in lines)
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title></head>\n'
        f"<body>\n<h1>{heading}</h1>\n{paragraphs}\n</body>\n</html>\n"
    )
