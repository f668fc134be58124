"""What the search of every page finds."""

from recoup import find
from recoup.console.declare import Context, Section, Seen
from recoup.domain import finders
from recoup.domains import DOMAINS
from recoup.refusals import Refusal

FINDING = Section(name="find", title="Find")
# Where things are shown, by the kind that finders give them.
PLACES = {
    "error": "/errors/{}",
    "run": "/runs/{}",
    "match": "/recovery/matches/{}",
    "candidate": "/recovery/matches/{}",
    "company": "/gate/companies/{}",
    "entity": "/entity/{}",
    "operation": "/operations/{}",
    "alert": "/alerts/{}",
    "delivery": "/alerts/deliveries/{}",
}


@FINDING.page("/find", "find.html")
def found(seen: Seen) -> Context:
    """Everything that a text may mean."""
    text = seen.value("text")
    if text is None:
        return {"text": "", "result": None, "places": PLACES}
    try:
        result = find.find(seen.tx, text, finders(DOMAINS), limit=20)
    except Refusal as refusal:
        return {"text": text, "result": None, "problem": refusal, "places": PLACES}
    return {"text": text, "result": result, "places": PLACES}
