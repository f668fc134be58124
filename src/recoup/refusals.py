"""What Recoup says when it will not do something.

    Refusal                  anything below; carries code, happened, next_step, facts
    ├── SettingRefused       a setting is unknown, malformed or out of bounds
    ├── ServerRefused        no usable PostgreSQL: unreachable, too old, not startable, a login that may not
    ├── MigrationRefused     the schema cannot be brought to, or is not at, the version this program knows
    ├── InputRefused         what the caller gave makes no sense; nothing was sent to the database
    ├── LawRefused           the database refused: a move, a birth, an exit, a column, a log, a throttle
    └── TransactionLost      an error was caught within a transaction, which the server had given up by then

A refusal is an answer, not a crash: the command line, and whatever else speaks to people, prints the same four
parts. ``code`` is stable and documented, ``happened`` and ``next_step`` are sentences, ``facts`` is typed data.

Our SQLSTATEs (class ``RC``) map to codes in one table here, which each domain fills. In the database every refusal is
raised with MESSAGE = happened, HINT = next step, DETAIL = the facts as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from psycopg import Error

# SQLSTATE -> code, and what it protects. The database owns the sentence of a refusal; the domain that raises it owns
# its name, and declares it here when it is imported.
LAWS: dict[str, tuple[str, str]] = {}
# Constraints whose breach is an everyday answer: constraint -> code, happened, next step.
CONSTRAINTS: dict[str, tuple[str, str, str]] = {}


def declare(laws: Mapping[str, tuple[str, str]], constraints: Mapping[str, tuple[str, str, str]] | None = None) -> None:
    """Name what the routines of a domain raise."""
    LAWS.update(laws)
    CONSTRAINTS.update(constraints or {})


PLATFORM = {
    "RC001": ("birth_not_listed", "a row is born in a listed status, by the authority that owns the birth"),
    "RC002": ("move_not_listed", "a row moves along listed moves, by the authority that owns the move"),
    "RC003": ("exit_not_listed", "a row leaves by a listed exit, or never"),
    "RC004": ("key_changed", "a key identifies its row for good"),
    "RC005": ("frozen_column", "the column never changes after birth"),
    "RC006": ("set_once_column", "the column changes once, from null to a value"),
    "RC007": ("falling_column", "the column never falls, and a counting move raises its counter by exactly one"),
    "RC008": ("truncate_refused", "rows leave one by one, or never"),
    "RC009": ("append_only", "what a log holds stays as it is"),
    "RC010": ("event_written_by_hand", "events are written by the recorder of their move, and by nothing else"),
    "RC011": ("isolation_level", "the rules need the fresh snapshots of READ COMMITTED"),
    "RC012": ("made_by_hand", "a consequence follows from its cause, and is not written by hand"),
    "RC013": ("declaration_changed", "lifecycles are declared in the program and written by a migration"),
    "RC026": ("attempt_time", "an attempt begins and ends now, and nothing is born in the future"),
    "RC031": ("clock_ahead", "a simulated clock ahead of real time cannot be released yet"),
    "RC032": ("paused", "no claim within a paused scope"),
    "RC033": ("policy_not_in_force", "decisions go by the policy in force, and versions follow each other"),
    "RC034": ("pause_scope", "what is paused is something that works"),
    "RC035": ("seal_refused", "seals are made of known logs, in blocks of bounded size"),
    "RC036": ("lease_too_long", "a lost worker holds its intake for a bounded time"),
    "RC037": ("worker_times", "a worker is heard of when it beats, and lost when it has been silent"),
    "RC038": ("policy_figures", "every figure that the database decides by is there and within bounds"),
    "RC039": ("outcomes_malformed", "arrays of one call make rows, and each outcome is reported once, with its token"),
    "RC056": ("outcome_unknown", "an outcome is reported of work that there is"),
    "RC070": ("replicated_write", "rows that come by logical replication pass no guard and no recorder"),
    "RC071": ("subscription_reserved", "what is named like an authority is that authority's own subscription"),
    "RC072": ("policy_unchecked", "a policy is checked as a whole before it is in force"),
    "RC043": ("subscription_of_another", "a subscription is moved by the authority and the login that made it"),
}
declare(
    PLATFORM,
    {
        "clock_at_check": (
            "clock_too_far",
            "The clock cannot be moved beyond the year 9998.",
            "Move it less far.",
        )
    },
)


class Refusal(Exception):  # noqa: N818 - a refusal is the domain's word for it
    """Something was not done, on purpose. Nothing half done is left behind."""

    def __init__(self, code: str, happened: str, next_step: str, **facts: object) -> None:
        super().__init__(happened)
        self.code = code
        self.happened = happened
        self.next_step = next_step
        self.facts: dict[str, object] = facts

    def as_json(self) -> dict[str, object]:
        """The one shape in which every surface prints a refusal."""
        return {
            "refused": self.code,
            "happened": self.happened,
            "next_step": self.next_step,
            "facts": self.facts,
        }


class SettingRefused(Refusal):
    """A setting is unknown, malformed or out of bounds."""


class ServerRefused(Refusal):
    """There is no usable PostgreSQL server behind the settings."""


class MigrationRefused(Refusal):
    """The schema is not, or cannot be brought to, the version this program knows."""


class InputRefused(Refusal):
    """What the caller gave makes no sense. Nothing was sent to the database."""


class LawRefused(Refusal):
    """The database refused, and said what is allowed."""


class TransactionLost(Refusal):
    """A transaction was to commit in which an error had been caught. Nothing of its block was kept."""


def from_database(error: Error) -> LawRefused | None:
    """The refusal behind a database error, or None when the error is not one of ours."""
    constraint = CONSTRAINTS.get(error.diag.constraint_name or "")
    if constraint is not None:
        return LawRefused(*constraint, sqlstate=error.sqlstate, said=error.diag.message_detail)
    if not (error.sqlstate or "").startswith("RC"):
        return None
    # A newer release may refuse what this program has no name for: it still says why.
    code, _ = LAWS.get(error.sqlstate or "", ("refused", ""))
    diag = error.diag
    facts = json.loads(diag.message_detail) if diag.message_detail else {}
    return LawRefused(code, diag.message_primary or code, diag.message_hint or "", sqlstate=error.sqlstate, **facts)
