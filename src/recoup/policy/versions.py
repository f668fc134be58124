"""Versions of the policy: which one is in force, who applied it and why, and how a new one is applied."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.policy import document
from recoup.policy.document import Parts, Policy, flattened
from recoup.refusals import InputRefused, LawRefused

Q = load("recoup.policy", "versions.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A policy that was applied: its figures, and who applied it, when and why."""

    version: int
    applied_at: datetime
    actor: str
    actor_id: str
    reason: str
    figures: dict[str, Any]
    document: str

    @property
    def policy(self) -> Policy:
        """The values, typed."""
        return Policy(self.figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One figure that differs."""

    key: str
    before: Any
    after: Any


def in_force(tx: Transaction) -> Version:
    """The policy in force."""
    return find(tx, None)


def find(tx: Transaction, version: int | None) -> Version:
    """One version, or the one in force."""
    with tx.cursor(row_factory=class_row(Version)) as cursor:
        found = cursor.execute(Q["find_version"], {"version": version}).fetchone()
    if found is None:
        raise InputRefused(
            "policy_unknown",
            f"There is no version {version} of the policy.",
            "recoup policy history lists them.",
            version=version,
        )
    return found


def history(tx: Transaction, *, limit: int = 100) -> list[Version]:
    """All versions, newest first."""
    with tx.cursor(row_factory=class_row(Version)) as cursor:
        return cursor.execute(Q["list_versions"], {"limit": limit}).fetchall()


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """The figures that differ, by key."""
    old, new = dict(flattened(before)), dict(flattened(after))
    return [
        Change(key=key, before=old.get(key), after=new.get(key))
        for key in dict.fromkeys([*new, *old])
        if old.get(key) != new.get(key)
    ]


def apply(
    tx: Transaction, text: str, parts: Parts, *, reason: str, over: int | None = None
) -> tuple[int, list[Change]]:
    """Put a document in force from now on, over version ``over`` (default: whichever is). Returns version and changes.

    No changes: the version in force stays, and nothing is written. Of two that are applied at once, one is refused.
    """
    if not reason.strip():
        raise InputRefused("reason_missing", "A change of policy needs a reason.", "Say why; an auditor will ask.")
    policy = document.read(text, parts)
    present = in_force(tx)
    if over is not None and over != present.version:
        raise LawRefused(
            "policy_not_in_force",
            f"Version {present.version} is in force, not {over}.",
            "Look at what changed meanwhile (recoup policy diff), then apply again.",
            in_force=present.version, given=over,
        )  # fmt: skip
    # An older program leaves alone what a newer one has stored beside it.
    figures = document.merged(policy.figures, document.carried_over(present.figures, parts))
    differing = changes(present.figures, figures)
    if not differing:
        return present.version, []
    for part in parts:
        policy[part].check_in(tx)
    if not write(tx, present.version + 1, figures, text, reason=reason):
        raise LawRefused(
            "policy_not_in_force",
            f"Somebody else applied version {present.version + 1} at the same moment.",
            "Look at what changed meanwhile (recoup policy diff), then apply again.",
            in_force=present.version + 1,
        )
    return present.version + 1, differing


def effects(tx: Transaction, wanted: Policy, parts: Parts) -> list[str]:
    """What a policy would change at once of what is there already, in sentences."""
    present = in_force(tx).policy
    return [said for part in parts for said in wanted[part].effects(tx, present[part])]


def write(tx: Transaction, version: int, figures: Mapping[str, Any], text: str, *, reason: str) -> bool:
    """Write one version. Its number must be the next one. False: somebody else has written it meanwhile."""
    given = {"version": version, "figures": Jsonb(figures), "document": text, "reason": reason}
    return tx.execute(Q["write_version"], given).rowcount == 1


def ensure(tx: Transaction, parts: Parts) -> int | None:
    """For migrations: write the first version, or one with the keys that ``parts`` bring. None: nothing to do.

    Stored values stay as they are: a new default is no reason to change what somebody decided. So do the sections of
    domains that are not among ``parts``: they are a newer program's, or nobody's any more.
    """
    row = tx.execute(Q["latest_figures"]).fetchone()
    if row is None:
        text = document.default_document(parts)
        write(tx, 1, document.default(parts), text, reason="the policy Recoup ships with")
        return 1
    version, figures, text = row
    ours = {part.section: document.known_only(figures.get(part.section, {}), part) for part in parts}
    filled = {**figures, **document.validated(document.merged(document.default(parts), ours), parts)}
    if filled == figures:
        return None
    write(tx, version + 1, filled, text, reason="values that a newer Recoup brings, or no longer has")
    return int(version) + 1
