"""Changes of the policy: proposed against the active version, shown, and then made, or refused if it changed meanwhile.

proposal = policy.merge(tx, text, parts)                     # a document over the active policy
proposal = policy.set_value(tx, "gate.wait_hours", "[12, 48]", parts)
version = policy.put(tx, proposal, parts, reason="…")        # only over the version that it was made from
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recoup.database.connection import Transaction
from recoup.policy import document, keys, rendering
from recoup.policy.document import Policy, flattened
from recoup.policy.section import Parts, model
from recoup.policy.versions import Change, Version, active, changes, write
from recoup.refusals import InputRefused, LawRefused


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A change of the policy that has not been made yet."""

    over: int  # the version that it was made from
    figures: dict[str, Any]
    document: str
    changes: list[Change]
    taken_back: list[Change]  # values that return to the shipped ones though the document does not name them
    effects: list[str]  # what it changes at once in the data, in sentences


def merge(tx: Transaction, text: str, parts: Parts, *, replace: bool = False, over: int | None = None) -> Proposal:
    """What a document would change. What it does not name stays; with ``replace`` it returns to the shipped value.

    ``over``: the version that the document was written for; refused if another one is active.
    """
    given = document.parsed(text)
    present = _present(tx, over)
    known = _known(present, parts)
    if replace:
        kept = {part.section: {key: known[part.section][key] for key in part.kept} for part in parts}
        values = document.completed(document.merged(kept, given), parts)
    else:
        values = document.completed(document.merged(known, given), parts)
    return _proposal(tx, present, values, parts, text=text, named=given)


def set_value(tx: Transaction, key: str, value: str, parts: Parts, *, over: int | None = None) -> Proposal:
    """What one value would change: a key such as ``gate.wait_hours``, and its value as TOML or plain text."""
    present = _present(tx, over)
    known = _known(present, parts)
    at = keys.path(key, known)
    values, read = keys.with_value(known, at, value, parts)
    return _proposal(tx, present, values, parts, text=rendering.assignment(at, read), named=keys.nested(at, read))


def unset(tx: Transaction, key: str, parts: Parts, *, over: int | None = None) -> Proposal:
    """What it would change to return one value, or one section, to the shipped values."""
    present = _present(tx, over)
    known = _known(present, parts)
    at = keys.path(key, known)
    try:
        values = document.completed(keys.without(known, at), parts)
    except KeyError as error:
        raise keys.unknown(key, known) from error
    return _proposal(tx, present, values, parts, text=f"# unset {'.'.join(at)}\n", named=None)


def put(tx: Transaction, proposal: Proposal, parts: Parts, *, reason: str) -> int:
    """Make a proposed change. Returns the version that is active then; without changes nothing is written.

    Refused if another version became active since it was proposed: of two people at once, one is refused.
    """
    if not reason.strip():
        raise InputRefused("reason_missing", "A change of policy needs a reason.", "Say why; an auditor will ask.")
    present = active(tx)
    if present.version != proposal.over:
        raise _changed_meanwhile(present.version, proposal.over)
    if not proposal.changes:
        return present.version
    wanted = Policy(proposal.figures)
    for part in parts:
        wanted[part].check_in(tx)
    if not write(tx, present.version + 1, proposal.figures, proposal.document, reason=reason):
        raise _changed_meanwhile(present.version + 1, present.version)
    return present.version + 1


def apply(
    tx: Transaction, text: str, parts: Parts, *, reason: str, over: int | None = None, replace: bool = False
) -> tuple[int, list[Change]]:
    """Merge a document into the active policy, or put it in its place. Returns the version and what changed."""
    proposal = merge(tx, text, parts, replace=replace, over=over)
    return put(tx, proposal, parts, reason=reason), proposal.changes


def next_steps(tx: Transaction, parts: Parts) -> list[str]:
    """What has to be run for the active policy to take effect, in sentences."""
    present = active(tx).policy
    return [step for part in parts for step in present[part].next_steps(tx)]


def _present(tx: Transaction, over: int | None) -> Version:
    """The active version; refused if it is not the one that a change was made for."""
    present = active(tx)
    if over is not None and over != present.version:
        raise _changed_meanwhile(present.version, over)
    return present


def _known(present: Version, parts: Parts) -> dict[str, Any]:
    return document.completed(document.known_only(present.figures, model(parts)), parts, is_new=False)


def _proposal(
    tx: Transaction,
    present: Version,
    values: dict[str, Any],
    parts: Parts,
    *,
    text: str,
    named: Mapping[str, Any] | None,
) -> Proposal:
    # An older program leaves alone what a newer one has stored.
    figures = document.merged(values, document.carried_over(present.figures, parts))
    differing = changes(present.figures, figures)
    mentioned = {key for key, _ in flattened(named)} if named is not None else {change.key for change in differing}
    wanted, now = Policy(figures), present.policy
    return Proposal(
        over=present.version,
        figures=figures,
        document=text,
        changes=differing,
        taken_back=[change for change in differing if change.before is not None and change.key not in mentioned],
        effects=[effect for part in parts for effect in wanted[part].effects(tx, now[part])],
    )


def _changed_meanwhile(active_version: int, over: int) -> LawRefused:
    return LawRefused(
        "policy_not_in_force",
        f"Version {active_version} of the policy is active; this change was made from version {over}.",
        "See what changed meanwhile (recoup policy history, recoup policy diff), then apply it again.",
        in_force=active_version, given=over,
    )  # fmt: skip
