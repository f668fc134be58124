"""What a person may do with an error, and when not. Pure: nothing here reads a database or a clock.

The text of a refusal does not name the error, so that the refusals of many can be counted.
"""

from enum import StrEnum
from typing import NamedTuple

from recoup.errors.policy import MAX_TIER, ErrorTable
from recoup.errors.vocabulary import ErrorStatus, Tier, Want
from recoup.operations.verbs import Act, Argument, Why, reason
from recoup.operations.verbs import Verb as Declared

MAX_LEVEL = MAX_TIER
MAX_TO_BYTES = 500


class Verb(StrEnum):
    """What a person does with an error."""

    PARK = "park"  # until a person acts
    UNPARK = "unpark"  # retry it, at least once more
    RESOLVE = "resolve"  # it is fixed
    ESCALATE = "escalate"  # to another owner
    ASSIGN = "assign"  # an owner
    REVIEW = "review"  # mark it as reviewed
    ARCHIVE = "archive"  # without resolving it


def _to(help_: str, *, required: bool = False) -> Argument:
    refused = ("owner_missing", "name_unusable")
    return Argument(name="to", help=help_, required=required, bytes_most=MAX_TO_BYTES, refused=refused)


VERBS: tuple[Declared, ...] = (
    Declared(
        name=Verb.PARK,
        help="Park errors until a person acts. A retry in progress is stopped, and counted.\n\n"
        "For example: recoup errors park 123 --reason EXTERNAL_DEPENDENCY\n"
        'Or many: recoup errors park --table outreach.dol_errors --code DOL_DOWN --reason "the registry is down" --yes',
    ),
    Declared(
        name=Verb.UNPARK,
        help="Unpark errors: retry them now, with the retries that are left, or one more.\n\n"
        'For example: recoup errors unpark 123 124 --reason "the vendor fixed it"\n'
        "Or many, first without --yes: recoup errors unpark --status PARKED --code RATE_LIMIT",
    ),
    Declared(
        name=Verb.RESOLVE,
        help="Resolve errors that are fixed: they no longer block, and are archived.\n\n"
        'For example: recoup errors resolve 123 --reason "the EIN was corrected by hand"',
    ),
    Declared(
        name=Verb.ESCALATE,
        help="Escalate parked errors to another owner. They keep blocking.\n\n"
        'For example: recoup errors escalate 123 --to platform --reason "no answer from the hub for two days"',
        arguments=(
            reason(),
            _to("The new owner. Default: the owner of the tier, from the policy."),
            Argument(
                name="level",
                help="The tier, 1 to 3. Default: the next one.",
                least=1,
                most=MAX_LEVEL,
                refused=("escalation_level", "escalation_level"),
            ),
        ),
    ),
    Declared(
        name=Verb.ASSIGN,
        help="Assign an owner to errors.\n\n"
        "For example: recoup errors assign --status PARKED --table people.people_errors --to ada --yes",
        arguments=(_to("The new owner.", required=True), reason(required=False)),
    ),
    Declared(
        name=Verb.REVIEW,
        help="Mark errors as reviewed. Their status does not change.\n\n"
        'For example: recoup errors review 123 --reason "waiting for the vendor"',
        arguments=(reason(required=False),),
    ),
    Declared(
        name=Verb.ARCHIVE,
        help="Archive errors without resolving them: they no longer block.\n\n"
        'For example: recoup errors archive 123 --reason "the company no longer exists"',
    ),
)


class Snapshot(NamedTuple):
    """The fields of an error that decide which verbs it allows."""

    status: ErrorStatus
    ttl_tier: Tier
    escalation_level: int
    assigned_to: str | None
    archive_reason: str | None  # it is closed


UNKNOWN = Why("error_unknown", "There is no such error.", "Check table and id: recoup errors list.")
ARCHIVED = Why(
    "error_archived",
    "It is archived.",
    "Closed errors are not reopened: if it still fails, record it again.",
)


def why_not(act: Act, error_table: str, table: ErrorTable | None, error: Snapshot) -> Why | None:
    """Why a verb is refused for an error; None: it is allowed. No table: the policy no longer lists it."""
    if error.ttl_tier is Tier.INFINITE or (table is not None and table.insert_only):
        return Why(
            "table_insert_only",
            f"{error_table} is append-only: its errors stay as they were recorded.",
            "Nothing to do. Read it: recoup errors show ID",
        )
    if error.archive_reason is not None:
        return Why("error_over", f"It is closed ({error.archive_reason}), and will be archived.", ARCHIVED.next_step)
    match Verb(act.verb):
        case Verb.PARK:
            return _why_not_parked(error_table, table, error)
        case Verb.UNPARK:
            return _why_not_retried(error_table, table, error)
        case Verb.ESCALATE:
            return _why_not_escalated(act, error)
        case Verb.ASSIGN if error.assigned_to == act.given.get("to"):
            return Why("assigned_already", f"It is already assigned to {error.assigned_to}.", "Nothing to do.")
        case _:
            return None


def level_after(act: Act, level: int) -> int:
    """The tier after an escalation. Parking is the first."""
    return int(act.given.get("level") or min(max(level, 1) + 1, MAX_LEVEL))


def _why_not_parked(error_table: str, table: ErrorTable | None, error: Snapshot) -> Why | None:
    if error.status in (ErrorStatus.PARKED, ErrorStatus.ESCALATED):
        return Why("parked_already", f"It is already {error.status}.", "Assign it, review it or escalate it.")
    return _not_allowed(error_table, table, Want.PARK, "Resolve it, or archive it.")


def _why_not_retried(error_table: str, table: ErrorTable | None, error: Snapshot) -> Why | None:
    if error.status is ErrorStatus.RETRY_PENDING:
        return Why("retry_pending_already", "It is not parked: its retry is pending or running.", "Wait for the retry.")
    return _not_allowed(
        error_table, table, Want.RETRY, "Fix the cause and resolve it; if it still fails, it is recorded again."
    )


def _why_not_escalated(act: Act, error: Snapshot) -> Why | None:
    if error.status not in (ErrorStatus.PARKED, ErrorStatus.ESCALATED):
        return Why(
            "not_parked", f"It is {error.status}, not parked.", "Park it first: recoup errors park ID --reason …"
        )
    after = level_after(act, error.escalation_level)
    if after < error.escalation_level or (error.status is ErrorStatus.ESCALATED and after == error.escalation_level):
        return Why(
            "escalated_already",
            f"It is already escalated to tier {error.escalation_level}.",
            f"Tiers only rise, to {MAX_LEVEL}. To change the owner: recoup errors assign ID --to …",
        )
    return None


def _not_allowed(error_table: str, table: ErrorTable | None, want: Want, advice: str) -> Why | None:
    if table is None:
        return Why("table_unlisted", f"{error_table} is not in the active policy.", "Resolve it, or archive it.")
    if want in table.allowed:
        return None
    allowed = ", ".join(table.allowed)
    return Why(f"{want.lower()}_not_allowed", f"{error_table} does not allow {want}; it allows {allowed}.", advice)
