"""Does a page show a company? Parking pages name the domain too, so the kind of page is checked before the name."""

from recoup.verification import pages, phrases
from recoup.verification.domains import registrable, spoken
from recoup.verification.findings import Finding
from recoup.verification.names import company_words
from recoup.verification.sites import WebPage


def judged(page: WebPage, company_name: str, host: str) -> tuple[Finding, str]:
    """What a page says about a company, and the words that say so."""
    answered = f"{page.status} {page.url}"
    if not pages.is_text(page):
        return Finding.PAGE_NOT_TEXT, f"{answered} is {page.content_type or 'binary'}"
    reading = pages.read(page)
    if not reading.words:
        return Finding.PAGE_EMPTY, f"{answered} has no word on it"
    for finding, kind, always, if_little in (
        (Finding.PAGE_PARKED, "parking page", phrases.PARKED, phrases.PARKED_IF_LITTLE),
        (Finding.PAGE_PLACEHOLDER, "placeholder", phrases.PLACEHOLDER, phrases.PLACEHOLDER_IF_LITTLE),
    ):
        saying = _saying(reading, always, if_little)
        if saying is not None:
            return finding, f'{answered} is a {kind} ("{saying}")'
    named = _named(reading, company_name, host)
    if named is None:
        return Finding.PAGE_OF_OTHERS, f"{answered} names neither the company nor its domain"
    return Finding.PASSED, f"{answered} names {named}"


def names_company(words: str, company_name: str) -> bool:
    """Whether folded words have a company's name among them, as whole words in a row."""
    name = company_words(company_name)
    return bool(name) and f" {name} " in f" {words} "


def names_domain(plain: str, domain: str) -> bool:
    """Whether a text in lower case has a domain in it: not as a part of a longer one."""
    return any(_is_whole(plain, written) for written in {domain, spoken(domain)})


def _is_whole(plain: str, domain: str) -> bool:
    at = plain.find(domain)
    while at >= 0:
        before, behind = plain[at - 1 : at], plain[at + len(domain) : at + len(domain) + 2]
        longer = behind[:1] == "." and behind[1:].isalnum()
        if not (_of_a_label(before) or _of_a_label(behind[:1]) or longer):
            return True
        at = plain.find(domain, at + 1)
    return False


def _of_a_label(character: str) -> bool:
    return character.isalnum() or (character != "" and character in "-_")


def _named(reading: pages.Reading, company_name: str, host: str) -> str | None:
    if names_company(reading.words, company_name):
        return "the company"
    domain = registrable(host)
    return domain if names_domain(reading.plain, domain) else None


def _saying(reading: pages.Reading, always: tuple[str, ...], if_little: tuple[str, ...]) -> str | None:
    """The first saying of a list that is on a page."""
    words = f" {reading.words} "
    little = words.count(" ") <= phrases.MAX_LITTLE_WORDS
    return _first_in(words, always) or _first_in(words if little else f" {reading.title} ", if_little)


def _first_in(words: str, sayings: tuple[str, ...]) -> str | None:
    return next((saying for saying in sayings if saying in words and f" {saying} " in words), None)
