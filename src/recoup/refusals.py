"""Refusals: how Recoup answers when it does not do something.

    Refusal                  anything below; carries code, happened, next_step, facts
    ├── SettingRefused       a setting is unknown, malformed or out of bounds
    ├── ServerRefused        no usable PostgreSQL: unreachable, too old, not startable, or a login without rights
    ├── MigrationRefused     the schema is not at this program's version, or cannot be migrated to it
    ├── InputRefused         the caller's input is invalid; nothing was sent to the database
    ├── LawRefused           the database refused: a move, a birth, an exit, a column, a log, a throttle
    └── TransactionLost      an error was caught inside a transaction that the server had already aborted

A refusal is an answer, not a crash: the command line and every other interface print the same four
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

# SQLSTATE -> code, and what it protects. The database has the sentence of a refusal; the domain that raises it
# declares its code here when it is imported.
LAWS: dict[str, tuple[str, str]] = {}
# Constraints whose violation is an ordinary answer: constraint -> code, happened, next step.
CONSTRAINTS: dict[str, tuple[str, str, str]] = {}


def declare(laws: Mapping[str, tuple[str, str]], constraints: Mapping[str, tuple[str, str, str]] | None = None) -> None:
    """Declare the codes of what the routines of a domain raise."""
    LAWS.update(laws)
    CONSTRAINTS.update(constraints or {})


PLATFORM = {
    "RC001": ("birth_not_listed", "a row is inserted in a listed status, by the authority that may insert it"),
    "RC002": ("move_not_listed", "a row changes along listed moves, by the authority that may make the move"),
    "RC003": ("exit_not_listed", "a row is deleted by a listed exit, or never"),
    "RC004": ("key_changed", "a key never changes"),
    "RC005": ("frozen_column", "the column never changes after the insert"),
    "RC006": ("set_once_column", "the column changes once, from null to a value"),
    "RC007": ("falling_column", "the column never decreases, and a counting move raises its counter by exactly one"),
    "RC008": ("truncate_refused", "a guarded table is never truncated"),
    "RC009": ("append_only", "log rows are never changed or deleted"),
    "RC010": ("event_written_by_hand", "only the recorder of a move writes its events"),
    "RC011": ("isolation_level", "the rules need READ COMMITTED, where each statement takes a new snapshot"),
    "RC012": ("made_by_hand", "a consequence is written by its cause, not by hand"),
    "RC013": ("declaration_changed", "declarations are changed only by a migration"),
    "RC026": ("attempt_time", "an attempt begins and ends now, and no row has a time in the future"),
    "RC031": ("clock_ahead", "a simulated clock that is ahead of real time cannot be released"),
    "RC032": ("paused", "nothing is claimed in a paused scope"),
    "RC033": ("policy_not_in_force", "decisions use the active policy, and policy versions have no gaps"),
    "RC034": ("pause_scope", "only something that exists can be paused"),
    "RC035": ("seal_refused", "seals cover known logs, in blocks of limited size"),
    "RC036": ("lease_too_long", "a claim is valid for a limited time, also when its worker dies"),
    "RC037": ("worker_times", "a heartbeat is written now, and a worker is lost only when its heartbeat has stopped"),
    "RC038": ("policy_figures", "every policy value that the database uses is present and within bounds"),
    "RC039": ("outcomes_malformed", "arrays of a call are of one length; each outcome is reported once"),
    "RC056": ("outcome_unknown", "an outcome belongs to an existing unit of work"),
    "RC070": ("replicated_write", "rows of logical replication would bypass guards and recorders"),
    "RC071": ("subscription_reserved", "a subscription named like an authority belongs to that authority"),
    "RC072": ("policy_unchecked", "a policy is validated as a whole before it becomes active"),
    "RC073": (
        "operation_steps",
        "an operation with a canary goes step by step; a worker continues one under the name of who began it",
    ),
    "RC074": ("hub_may_not", "a caller of a hub stops and starts the work of that hub alone"),
    "RC043": ("subscription_of_another", "only the authority and login that created a subscription move it"),
}
declare(
    PLATFORM,
    {
        "clock_at_check": (
            "clock_too_far",
            "The clock cannot be moved beyond the year 9998.",
            "Move it to an earlier time.",
        )
    },
)


class Refusal(Exception):  # noqa: N818 - refusal is the product's word for it
    """Something was deliberately not done. No partial change remains."""

    def __init__(self, code: str, happened: str, next_step: str, **facts: object) -> None:
        super().__init__(happened)
        self.code = code
        self.happened = happened
        self.next_step = next_step
        self.facts: dict[str, object] = facts

    def as_json(self) -> dict[str, object]:
        """The form in which every interface prints a refusal."""
        return {
            "refused": self.code,
            "happened": self.happened,
            "next_step": self.next_step,
            "facts": self.facts,
        }


class SettingRefused(Refusal):
    """A setting is unknown, malformed or out of bounds."""


class ServerRefused(Refusal):
    """The settings lead to no usable PostgreSQL server."""


class MigrationRefused(Refusal):
    """The schema is not at this program's version, or cannot be migrated to it."""


class InputRefused(Refusal):
    """The caller's input is invalid. Nothing was sent to the database."""


class LawRefused(Refusal):
    """The database refused, and reported what is allowed."""


class TransactionLost(Refusal):
    """A transaction could not commit, because an error had been caught inside it. Nothing of it was stored."""


def from_database(error: Error) -> LawRefused | None:
    """The refusal behind a database error, or None when the error is not one of ours."""
    constraint = CONSTRAINTS.get(error.diag.constraint_name or "")
    if constraint is not None:
        return LawRefused(*constraint, sqlstate=error.sqlstate, message=error.diag.message_detail)
    if not (error.sqlstate or "").startswith("RC"):
        return None
    # A newer release may raise a SQLSTATE that this program does not know: its message is used.
    code, _ = LAWS.get(error.sqlstate or "", ("refused", ""))
    diag = error.diag
    facts = json.loads(diag.message_detail) if diag.message_detail else {}
    return LawRefused(code, diag.message_primary or code, diag.message_hint or "", sqlstate=error.sqlstate, **facts)
