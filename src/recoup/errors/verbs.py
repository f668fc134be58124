"""What a person may do with an error, and when not. Pure: nothing here asks a database or a clock.

Whoever is refused is told why in words that do not name the error, so that the reasons of many can be counted.
"""

from enum import StrEnum
from typing import NamedTuple

from recoup.errors.policy import ErrorTable
from recoup.errors.vocabulary import ErrorStatus, Tier, Want
from recoup.operations.verbs import Act, Argument, Why, reason
from recoup.operations.verbs import Verb as Declared

MAX_LEVEL = 3  # tiers of escalation
MAX_TO_BYTES = 500


class Verb(StrEnum):
    """What a person does with an error."""

    PARK = "park"  # it waits for a person
    UNPARK = "unpark"  # it is retried, at least once more than it has been
    RESOLVE = "resolve"  # it is fixed
    ESCALATE = "escalate"  # somebody else has to act
    ASSIGN = "assign"  # somebody owns it
    REVIEW = "review"  # somebody has seen it
    ARCHIVE = "archive"  # nothing more is done about it


def _to(help_: str, *, required: bool = False) -> Argument:
    refused = ("owner_missing", "name_unusable")
    return Argument(name="to", help=help_, required=required, bytes_most=MAX_TO_BYTES, refused=refused)


VERBS: tuple[Declared, ...] = (
    Declared(
        name=Verb.PARK,
        help="Park errors until a person acts. A retry that is under way is cut off, and counted.\n\n"
        "For example: recoup errors park 123 --reason EXTERNAL_DEPENDENCY\n"
        'Or many: recoup errors park --table outreach.dol_errors --code DOL_DOWN --reason "the registry is down" --yes',
    ),
    Declared(
        name=Verb.UNPARK,
        help="Retry errors now: with what is left of their retries, or one more.\n\n"
        'For example: recoup errors unpark 123 124 --reason "the vendor fixed it"\n'
        "Or many, first without --yes: recoup errors unpark --status PARKED --code RATE_LIMIT",
    ),
    Declared(
        name=Verb.RESOLVE,
        help="Resolve errors that are fixed: they block no longer, and go to the archive.\n\n"
        'For example: recoup errors resolve 123 --reason "the EIN was corrected by hand"',
    ),
    Declared(
        name=Verb.ESCALATE,
        help="Escalate parked errors to somebody else. They keep blocking.\n\n"
        'For example: recoup errors escalate 123 --to platform --reason "no answer from the hub for two days"',
        arguments=(
            reason(),
            _to("To whom. Default: the owner of the error's table, as the policy has it."),
            Argument(
                name="level",
                help="1 to 3. Default: the next one.",
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
        arguments=(_to("Who owns them from now on.", required=True), reason(required=False)),
    ),
    Declared(
        name=Verb.REVIEW,
        help="Mark errors as reviewed. They stay as they are.\n\n"
        'For example: recoup errors review 123 --reason "waiting for the vendor"',
        arguments=(reason(required=False),),
    ),
    Declared(
        name=Verb.ARCHIVE,
        help="Archive errors without resolving them: they block no longer.\n\n"
        'For example: recoup errors archive 123 --reason "the company does not exist any more"',
    ),
)


class Snapshot(NamedTuple):
    """Where an error stands, as far as it matters to what may be done with it."""

    status: ErrorStatus
    ttl_tier: Tier
    escalation_level: int
    assigned_to: str | None
    archive_reason: str | None  # it is over


UNKNOWN = Why("error_unknown", "There is no such error.", "Check table and id: recoup errors list.")
ARCHIVED = Why(
    "error_archived",
    "It is in the archive.",
    "What is over does not come back: if it still fails, record it anew.",
)


def why_not(act: Act, error_table: str, table: ErrorTable | None, error: Snapshot) -> Why | None:
    """Why this is not done with an error that stands so; None: it is. No table: the policy lists it no longer."""
    if error.ttl_tier is Tier.INFINITE or (table is not None and table.insert_only):
        return Why(
            "table_insert_only",
            f"{error_table} keeps its errors for ever, as they were recorded.",
            "Look at it: recoup errors show. Nothing is done with it.",
        )
    if error.archive_reason is not None:
        return Why(
            "error_over", f"It is over ({error.archive_reason}), and waits for the archiver.", ARCHIVED.next_step
        )
    match Verb(act.verb):
        case Verb.PARK:
            return _why_not_parked(error_table, table, error)
        case Verb.UNPARK:
            return _why_not_retried(error_table, table, error)
        case Verb.ESCALATE:
            return _why_not_escalated(act, error)
        case Verb.ASSIGN if error.assigned_to == act.given.get("to"):
            return Why("assigned_already", f"It is assigned to {error.assigned_to} already.", "Nothing is to be done.")
        case _:
            return None


def level_after(act: Act, level: int) -> int:
    """The tier that an escalation leads to. Parking was the first."""
    return int(act.given.get("level") or min(max(level, 1) + 1, MAX_LEVEL))


def _why_not_parked(error_table: str, table: ErrorTable | None, error: Snapshot) -> Why | None:
    if error.status in (ErrorStatus.PARKED, ErrorStatus.ESCALATED):
        return Why("parked_already", f"It is {error.status} already.", "Assign it, review it or escalate it.")
    return _not_allowed(error_table, table, Want.PARK, "Resolve it, or archive it.")


def _why_not_retried(error_table: str, table: ErrorTable | None, error: Snapshot) -> Why | None:
    if error.status is ErrorStatus.RETRY_PENDING:
        return Why("retry_pending_already", "It is being retried, or waits for its retry.", "Wait for the outcome.")
    return _not_allowed(
        error_table, table, Want.RETRY, "Fix the cause and resolve it; if it still fails, it is recorded anew."
    )


def _why_not_escalated(act: Act, error: Snapshot) -> Why | None:
    if error.status not in (ErrorStatus.PARKED, ErrorStatus.ESCALATED):
        return Why(
            "not_parked", f"It is {error.status}, and nobody waits for it.", "Park it first: recoup errors park."
        )
    after = level_after(act, error.escalation_level)
    if after < error.escalation_level or (error.status is ErrorStatus.ESCALATED and after == error.escalation_level):
        return Why(
            "escalated_already",
            f"It is escalated to level {error.escalation_level} already.",
            f"Levels rise, to {MAX_LEVEL}. To give it to somebody else: recoup errors assign.",
        )
    return None


def _not_allowed(error_table: str, table: ErrorTable | None, want: Want, advice: str) -> Why | None:
    if table is None:
        return Why("table_unlisted", f"{error_table} is not in the policy in force.", "Resolve it, or archive it.")
    if want in table.allowed:
        return None
    allowed = ", ".join(table.allowed)
    return Why(f"{want.lower()}_not_allowed", f"{error_table} does not allow {want}; it allows {allowed}.", advice)
