"""What the sites show: small company sites as they are, registrars' parking pages, and pages that say nothing."""

from collections.abc import Callable
from html import escape
from html.entities import codepoint2name

from recoup_demo.world.companies import Company
from recoup_demo.world.names import slug, state_code, without_legal_form

STYLE = """<style>
:root { --ink: #223; --paper: #fcfbf8 } body { font: 17px/1.5 serif; color: var(--ink); background: var(--paper) }
.hero { padding: 4rem 1rem } .sale-banner { display: none } nav a + a { margin-left: 1em }
</style>"""
SCRIPT = """<script>
window.settings = {"offers": ["spring", "autumn"], "theme": {"dark": false}, "parking": {"lat": 0, "lon": 0}};
document.addEventListener("scroll", function () { if (window.scrollY < 40 && "a" > "</b") { return; } });
</script>"""
ABOUT = (
    "We are a family business. Most of our customers come because a neighbor recommended us.",
    "Our crew has worked together for more than fifteen years. We name a price before we begin.",
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

# Title, heading and other text; {0} is the domain.
Texts = tuple[tuple[str, ...], ...]
# A registrar's page. It names the domain, and is not the company's.
PARKING: Texts = (
    ("{0} is for sale", "{0}", "This domain may be for sale by its owner.", '<a href="/offer">Buy this domain</a>',
     "Related searches: insurance quotes, car rental, online degrees"),
    ("{0} - parked domain", "Welcome to {0}", "This domain is parked free of charge with Harbor Names.",
     "Is it yours? Sign in to your account and build your website in minutes."),
    ("Make an offer on {0}", "The domain name {0} is for sale!",
     "Make an offer, or take it at once for $2,495. Safe payment, transfer within a day.", "Inquire about this domain"),
    ("{0}", "{0} is parked",
     "This web page is parked by its registrar. The owner of the domain has not yet uploaded a website.",
     "Sponsored listings: loans | hotels | lawyers"),
    ("{0}: premium domain available", "This premium domain is available for purchase",
     "{0} could be yours. Would you like to buy this domain? Get a price from our brokers."),
)  # fmt: skip
# Where a site will be or was.
PLACEHOLDERS: Texts = (
    ("Coming soon", "{0}", "Our new website is coming soon. Please check back later."),
    ("Under construction", "{0} is under construction", "This site is under construction."),
    ("Account suspended", "This account has been suspended", "{0}: contact your hosting provider."),
    ("Default page", "Default web server page",
     "The web server at {0} is installed and works. This is the default page: no content was uploaded yet."),
)  # fmt: skip
# About something else.
OTHERS: Texts = (
    ("Tide tables", "High and low water", "Today: high at 04:12 and 16:40, low at 10:25 and 22:51."),
    ("A diary", "What I cooked this week", "Lentils, twice. The second time with more pepper."),
    ("Chess club", "Pairings of round three", "Board one: Ada against Boris. Board two: Chidi, a bye."),
)
# Nothing that a visitor could read; {0} is the company's name.
EMPTY = (
    "",
    " \r\n\r\n ",
    "<!doctype html><html><head><title></title></head><body></body></html>",
    '<!doctype html><html><head></head><body><div id="root"></div><script>var app = "{0}";</script></body></html>',
)


def company_page(company: Company) -> str:
    """A small company site. It names the company, its domain, or both."""
    named = company.pick(("both", "both", "both", "name", "domain"), of="named")
    shown = _html(_written(company), entities=company.pick((True, False, False), of="entities"))
    contact = f"info@{company.domain}" if named != "name" else "through the form below"
    if named == "domain":
        return _document(company, "Welcome", "Good work, close to home", contact, f"&copy; {company.domain}")
    return _document(company, shown, shown, contact, f"&copy; {shown}")


def page_with_title_only(company: Company) -> str:
    """Names the company in its title and nowhere else."""
    title = f"{_html(company.name)} | Home"
    return _document(company, title, "Good work, close to home", "through the form below", "All rights reserved")


def one_of(texts: Texts) -> Callable[[Company], str]:
    """A page that is not the company's."""
    return lambda company: _plain_document(*(text.format(company.domain) for text in company.pick(texts, of="text")))


def empty_page(company: Company) -> str:
    return company.pick(EMPTY, of="empty").format(slug(company.name))


def error_page(company: Company, status: int) -> str:
    """An error, on a page that names the company all the same."""
    return _plain_document(f"Error {status}", _html(company.name), f"Something went wrong at {company.domain}.")


def _written(company: Company) -> str:
    """The name as the company writes it on its own site."""
    short = without_legal_form(company.name)
    return company.pick((company.name, short, short.upper(), short.replace("&", "and")), of="written")


def _html(text: str, *, entities: bool = False) -> str:
    if not entities:
        return escape(text, quote=False)
    return "".join(f"&{codepoint2name[ord(letter)]};" if ord(letter) in codepoint2name else letter for letter in text)


def _document(company: Company, title: str, heading: str, contact: str, footer: str) -> str:
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
<section id="about"><h2>About us</h2><p>{company.pick(ABOUT, of="about")}</p></section>
<section id="news"><h2>News</h2><p>{company.pick(NEWS, of="news")}</p></section>
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
