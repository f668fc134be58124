"""Changes of the policy over HTTP: checked, compared, and made over the version that they were written for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Body, Query
from pydantic import Field

from recoup import policy
from recoup.api.answers import Listing
from recoup.api.declare import Area, Because, Given
from recoup.database.connection import Transaction
from recoup.domain import parts
from recoup.domains import DOMAINS
from recoup.lifecycles.declaration import Authority
from recoup.policy import Change, Proposal
from recoup.policy.document import MAX_DOCUMENT
from recoup.refusals import InputRefused

OPERATOR = Authority.OPERATOR
POLICY = Area(
    name="policy", about="Change the policy: checked first, and refused if somebody else changed it meanwhile."
)
CHECK = "post_policy_check"
MAX_NAMED = 10  # keys that a refusal names
REFUSALS = ("policy_not_in_force", "policy_invalid", "policy_effects")
Number = Annotated[int, Field(ge=1, le=2**31 - 1)]
Document = Annotated[
    str,
    Field(
        max_length=MAX_DOCUMENT,
        examples=["[gate]\nwait_hours = [24, 72]\n"],
        description="A TOML document. What it does not name stays as it is.",
    ),
]
Key = Annotated[
    str,
    Field(
        min_length=1,
        max_length=500,
        examples=["errors.retry.TRANSIENT.max_retries"],
        description="A key as the policy shows it. A name with a dot in it is written in quotes.",
    ),
]
Value = Annotated[
    str,
    Field(
        min_length=1,
        max_length=100_000,
        examples=["8"],
        description='As in TOML: 5, true, [12, 48], "text".',
    ),
]
Over = Annotated[
    Number | None, Field(description="Only if this version is still active: the one that the change was made for.")
]
Replace = Annotated[
    bool, Field(description="The document is the whole policy: what it does not name returns to the shipped value.")
]
Confirm = Annotated[
    bool,
    Field(
        description="Also if it blocks or unblocks entities at once, or returns values that the document does not name."
    ),
]


class PolicyCheck(Given):
    """A change that is not made: a document; a key with its value; or a key alone, to return it to what is shipped."""

    document: Document | None = None
    replace: Replace = False
    key: Key | None = None
    value: Value | None = None
    over: Over = None


class PolicyDocument(Because):
    """A document that is applied."""

    document: Document
    replace: Replace = False
    over: Over = None
    confirm: Confirm = False


class PolicyValue(Because):
    """One value that is set."""

    key: Key
    value: Value
    over: Over = None
    confirm: Confirm = False


class PolicyKey(Because):
    """A value, or a section, that returns to what is shipped."""

    key: Key
    over: Over = None
    confirm: Confirm = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDifference:
    """One value that differs."""

    key: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyProposal:
    """What a change would do."""

    over: int  # the version that it was compared with
    changes: Sequence[PolicyDifference]
    taken_back: Sequence[str]  # keys that return to the shipped values though the document does not name them
    effects: Sequence[str]  # what it changes at once in the data, in sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyApplied:
    """What a change did."""

    version: int  # that is active now; the same as before if nothing differs
    changes: Sequence[PolicyDifference]
    next_steps: Sequence[str]  # what has to be run for it to take effect, in sentences


@POLICY.post("/v1/policy/check", Authority.READER, reads=True, whole=True, refusals=REFUSALS)
def check(tx: Transaction, *, body: Annotated[PolicyCheck, Body()]) -> PolicyProposal:
    """Check what a document, or a value, would change in the active policy."""
    proposal = _proposed(tx, body)
    return PolicyProposal(
        over=proposal.over, changes=_differences(proposal.changes),
        taken_back=[one.key for one in proposal.taken_back], effects=proposal.effects,
    )  # fmt: skip


@POLICY.post("/v1/policy", OPERATOR, whole=True, check=CHECK, refusals=REFUSALS)
def apply(tx: Transaction, *, body: Annotated[PolicyDocument, Body()]) -> PolicyApplied:
    """Apply a document to the active policy.

    What it does not name stays as it is; with replace it returns to the shipped value.
    """
    proposal = policy.merge(tx, body.document, parts(DOMAINS), replace=body.replace, over=body.over)
    return _made(tx, proposal, body)


@POLICY.post("/v1/policy/set", OPERATOR, whole=True, check=CHECK, refusals=REFUSALS)
def set_value(tx: Transaction, *, body: Annotated[PolicyValue, Body()]) -> PolicyApplied:
    """Set one value of the policy."""
    return _made(tx, policy.set_value(tx, body.key, body.value, parts(DOMAINS), over=body.over), body)


@POLICY.post("/v1/policy/unset", OPERATOR, whole=True, check=CHECK, refusals=REFUSALS)
def unset(tx: Transaction, *, body: Annotated[PolicyKey, Body()]) -> PolicyApplied:
    """Return one value, or a section, to the shipped values."""
    return _made(tx, policy.unset(tx, body.key, parts(DOMAINS), over=body.over), body)


@POLICY.get("/v1/policy/diff")
def diff(
    tx: Transaction,
    *,
    from_: Annotated[int, Query(alias="from", ge=1, le=2**31 - 1)],
    to: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="Default: the active version.")] = None,
) -> Listing[PolicyDifference]:
    """List the values that differ between two versions of the policy."""
    before, after = policy.find(tx, from_), policy.find(tx, to)
    return Listing(items=_differences(policy.changes(before.figures, after.figures)))


def _proposed(tx: Transaction, body: PolicyCheck) -> Proposal:
    """The change that is meant: a document, a value, or a key alone."""
    if (body.document is None) == (body.key is None) or (body.key is None and body.value is not None):
        raise InputRefused(
            "policy_change_unclear", "It is a document or a key that is checked.",
            "Give a document; or a key, with its value or alone.",
        )  # fmt: skip
    every = parts(DOMAINS)
    if body.document is not None:
        return policy.merge(tx, body.document, every, replace=body.replace, over=body.over)
    if body.value is None:
        return policy.unset(tx, str(body.key), every, over=body.over)
    return policy.set_value(tx, str(body.key), body.value, every, over=body.over)


def _made(tx: Transaction, proposal: Proposal, body: PolicyDocument | PolicyValue | PolicyKey) -> PolicyApplied:
    if not body.confirm:
        _refuse_unconfirmed(proposal)
    version = policy.put(tx, proposal, parts(DOMAINS), reason=body.reason)
    steps = policy.next_steps(tx, parts(DOMAINS))
    return PolicyApplied(version=version, changes=_differences(proposal.changes), next_steps=steps)


def _refuse_unconfirmed(proposal: Proposal) -> None:
    """Refuse what nobody may want who has not read it: effects at once, and values that nobody named."""
    if proposal.effects:
        raise InputRefused("policy_effects", " ".join(proposal.effects), "If you want this: the same with confirm.")
    if proposal.taken_back:
        keys = [change.key for change in proposal.taken_back]
        named = ", ".join(keys[:MAX_NAMED]) + (" …" if len(keys) > MAX_NAMED else ".")
        raise InputRefused(
            "policy_takes_back",
            f"Values that the document does not name would return to the shipped ones ({len(keys):,}): {named}",
            "Leave out replace to keep them; or confirm.",
            keys=keys,
        )


def _differences(changes: Sequence[Change]) -> list[PolicyDifference]:
    return [PolicyDifference(key=one.key, before=one.before, after=one.after) for one in changes]
