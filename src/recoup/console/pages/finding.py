"""What the search of every page finds."""

from recoup import find
from recoup.console.addresses import address
from recoup.console.declare import Context, Section, Seen
from recoup.domain import finders
from recoup.domains import DOMAINS
from recoup.refusals import Refusal

FINDING = Section(name="find", title="Find")


@FINDING.page("/find", "find.html")
def found(seen: Seen) -> Context:
    """Everything that a text may mean."""
    text = seen.value("text")
    if text is None:
        return {"text": "", "result": None, "address": address}
    try:
        result = find.find(seen.tx, text, finders(DOMAINS), limit=20)
    except Refusal as refusal:
        return {"text": text, "result": None, "problem": refusal, "address": address}
    return {"text": text, "result": result, "address": address}
