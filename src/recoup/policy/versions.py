"""Versions of the policy: which one is active, who applied it, when and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.policy import document
from recoup.policy.document import Policy, flattened
from recoup.policy.section import Parts
from recoup.refusals import InputRefused

Q = load("recoup.policy", "versions.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A policy that was applied: its values, what was given for it, and who applied it, when and why."""

    version: int
    applied_at: datetime
    actor: str
    actor_id: str
    reason: str
    figures: dict[str, Any]  # every value
    document: str  # what was given: a whole document, or the part that was changed

    @property
    def policy(self) -> Policy:
        """The values, typed."""
        return Policy(self.figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One value that differs."""

    key: str
    before: Any
    after: Any


def active(tx: Transaction) -> Version:
    """The active policy."""
    return find(tx, None)


in_force = active  # its name before


def find(tx: Transaction, version: int | None) -> Version:
    """One version, or the active one."""
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


def at(tx: Transaction, time: datetime) -> Version | None:
    """The version that was active at a time. None: there was none yet."""
    with tx.cursor(row_factory=class_row(Version)) as cursor:
        return cursor.execute(Q["version_at"], {"at": time}).fetchone()


def active_at(tx: Transaction, times: Sequence[datetime]) -> dict[datetime, int]:
    """The number of the version that was active at each of these times."""
    return dict(tx.execute(Q["versions_at"], {"times": list(times)}).fetchall())


def history(tx: Transaction, *, limit: int = 100) -> list[Version]:
    """All versions, newest first."""
    with tx.cursor(row_factory=class_row(Version)) as cursor:
        return cursor.execute(Q["list_versions"], {"limit": limit}).fetchall()


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """The values that differ, by key."""
    old, new = dict(flattened(before)), dict(flattened(after))
    return [
        Change(key=key, before=old.get(key), after=new.get(key))
        for key in dict.fromkeys([*new, *old])
        if old.get(key) != new.get(key)
    ]


def write(tx: Transaction, version: int, figures: Mapping[str, Any], text: str, *, reason: str) -> bool:
    """Write one version. Its number must be the next one. False: it exists already."""
    given = {"version": version, "figures": Jsonb(figures), "document": text, "reason": reason}
    return tx.execute(Q["write_version"], given).rowcount == 1


def ensure(tx: Transaction, parts: Parts, *, text: str | None = None) -> int | None:
    """For migrations: write the first version, or one with the keys that ``parts`` add. None: nothing to do.

    ``text``: the document for the first version; default: the shipped one. Stored values are kept: a new default is no
    reason to change what somebody decided. So are the sections of domains that are not among ``parts``: they belong to
    a newer program, or to none.
    """
    row = tx.execute(Q["latest_figures"]).fetchone()
    if row is None:
        reason = "the policy Recoup ships with" if text is None else "the policy given when the database was created"
        text = document.default_document(parts) if text is None else text
        write(tx, 1, document.read(text, parts).figures, text, reason=reason)
        return 1
    version, figures, last = row
    ours = {part.section: document.known_only(figures.get(part.section, {}), part) for part in parts}
    filled = {**figures, **document.completed(ours, parts, is_new=False)}
    if filled == figures:
        return None
    write(tx, version + 1, filled, last, reason="values that a newer Recoup adds or removes")
    return int(version) + 1
