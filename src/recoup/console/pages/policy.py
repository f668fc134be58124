"""The policy: the active one to read, its versions, what differs between two, and a form to edit a section."""

from typing import Annotated

from fastapi import Query

from recoup import policy
from recoup.api.declare import Given, Name
from recoup.console.declare import Context, Seen
from recoup.console.pages.control import CONTROL
from recoup.domain import parts
from recoup.domains import DOMAINS
from recoup.lifecycles.declaration import Authority
from recoup.policy import Version
from recoup.policy.section import one_of
from recoup.refusals import InputRefused

VERSIONS = 20
ALL = "all"
Number = Annotated[int | None, Query(ge=1, le=2**31 - 1)]


class VersionAsked(Given):
    """Which version."""

    version: Number = None


class EditAsked(Given):
    """What is edited."""

    section: Name = ALL


@CONTROL.page("/control/policy", "control/policy.html", whole=True)
def shown(seen: Seen) -> Context:
    """A version of the policy as TOML, section by section, and the versions before."""
    active = policy.active(seen.tx)
    wanted = seen.asked(VersionAsked).version
    found = active if wanted in (None, active.version) else policy.find(seen.tx, wanted)
    return {
        "found": found,
        "active": active.version,
        "texts": [(part.section, _text(found, part.section)) for part in parts(DOMAINS)],
        "versions": policy.history(seen.tx, limit=VERSIONS),
    }


@CONTROL.page("/control/policy/diff", "control/diff.html", whole=True)
def differing(seen: Seen) -> Context:
    """What differs between two versions."""
    after = policy.find(seen.tx, _number(seen, "to"))
    before = policy.find(seen.tx, _number(seen, "from") or max(1, after.version - 1))
    return {
        "before": before,
        "after": after,
        "changes": policy.changes(before.figures, after.figures),
        "versions": [one.version for one in policy.history(seen.tx, limit=VERSIONS)],
    }


@CONTROL.page("/control/policy/edit", "control/edit.html", authority=Authority.OPERATOR, whole=True)
def edited(seen: Seen) -> Context:
    """A section, or all of the policy, in a form: previewed before it is applied, over the version that is shown."""
    names = [part.section for part in parts(DOMAINS)]
    section = seen.asked(EditAsked).section
    if section not in (ALL, *names):
        raise InputRefused("section_unknown", f"The policy has no section {section}.", one_of(section, names))
    found = policy.active(seen.tx)
    return {"found": found, "chosen": section, "text": _text(found, section), "names": [ALL, *names]}


def _number(seen: Seen, name: str) -> int | None:
    """The number of a version in the address; None: there is none."""
    text = seen.value(name) or ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _text(found: Version, section: str) -> str:
    """A version, or one section of it, as TOML with its comments."""
    wanted = tuple(part for part in parts(DOMAINS) if section in (ALL, part.section))
    figures = {part.section: found.figures.get(part.section, {}) for part in wanted}
    return policy.rendered(figures, wanted).strip("\n") + "\n"
