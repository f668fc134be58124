"""Everything about one thing: its rows in all domains, one time line, and why each had its status at any instant."""

from recoup import why
from recoup.api.routes.platform import SOURCES, WhyAsked
from recoup.console.addresses import address
from recoup.console.declare import Context, Section, Seen
from recoup.refusals import Refusal

WHY = Section(name="why", title="Why", links=(("Why", "/why"),))


@WHY.page("/why", "why.html")
def explained(seen: Seen) -> Context:
    """Why something has its status, now or at a past time."""
    shown = {"answer": None, "address": address, "subject": seen.value("subject") or "", "at": seen.value("at") or ""}
    if not shown["subject"]:
        return shown
    asked = seen.asked(WhyAsked)
    try:
        answer = why.why(seen.tx, asked.subject, SOURCES, at=asked.at, limit=asked.limit, after=asked.after)
    except Refusal as refusal:
        return {**shown, "problem": refusal}
    return {**shown, "answer": answer}
