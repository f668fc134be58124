"""``recoup recovery matches|list|incidents|tasks|actions``: how recovery is listed."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

from cyclopts import App, Parameter

from recoup.cli.context import acting
from recoup.cli.output import Column, Demo, Json, Limit, print_fields, print_rows, shortened
from recoup.cli.recovery_filter import ANY, CandidateOptions, enum_word
from recoup.formatting import plural
from recoup.lifecycles.declaration import Authority
from recoup.policy import versions
from recoup.recovery import listing, new_action, people
from recoup.recovery.listing import MAX_COUNTED, Candidate, Cursor, Incident, Match
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.vocabulary import CandidateStatus, MatchStatus, SubjectKind

MAX_MESSAGE = 100
SOURCE = Parameter(show_default=False, help="Of this source, such as outreach.dol_errors.")
SIGNATURE = Parameter(show_default=False, help="Of this signature: the same failure, whatever the values in it.")
MATCH_COLUMNS = (
    Column("failure_match_id", "match", least=36, rank=0),
    Column("status", rank=1),
    Column("source", cut="middle", least=14, rank=3),
    Column("subject", cut="middle", least=14, rank=7),
    Column("action_name", "action", cut="middle", least=12, rank=4),
    Column("candidate_status", "candidate", rank=5),
    Column("created_at", "created", least=12, rank=6),
    Column("evaluate_at", "next evaluation", least=12, rank=9),
    Column("end_reason", "ended", cut="end", least=14, rank=8),
    Column("last_failure", cut="end", least=14, rank=10),
    Column("message", cut="end", least=16, rank=2),
)
CANDIDATE_COLUMNS = (
    Column("candidate_id", "candidate", least=36, rank=0),
    Column("status", rank=2),
    Column("waits_for", "waits for", rank=3),
    Column("action_name", "action", cut="middle", least=12, rank=1),
    Column("confidence", rank=6),
    Column("evidence", rank=9),
    Column("scope", cut="end", least=14, rank=7),
    Column("decide_by", "decide by", least=12, rank=5),
    Column("source", cut="middle", least=14, rank=8),
    Column("proposed_by", "proposed by", cut="middle", least=10, rank=10),
    Column("decided_by", "decided by", cut="middle", least=10, rank=11),
    Column("ended", cut="end", least=14, rank=12),
    Column("message", cut="end", least=16, rank=4),
)
INCIDENT_COLUMNS = (
    Column("incident_id", "incident", least=36, rank=0),
    Column("source", cut="middle", least=14, rank=2),
    Column("status", rank=8),
    Column("open", rank=1),
    Column("matches", rank=4),
    Column("stuck", rank=6),
    Column("active_scopes", "scopes", rank=5),
    Column("last_match_at", "last match", least=12, rank=7),
    Column("error_signature", "signature", cut="middle", rank=9),
    Column("message", cut="end", least=16, rank=3),
)
TASK_COLUMNS = (
    Column("task_id", "task", least=36, rank=0),
    Column("status", rank=4),
    Column("owner", cut="middle", least=10, rank=2),
    Column("due_at", "due", least=12, rank=1),
    Column("is_overdue", "overdue", rank=5),
    Column("candidates", rank=6),
    Column("ended_by", cut="middle", least=10, rank=7),
    Column("note", cut="end", least=14, rank=8),
    Column("subject", cut="end", least=16, rank=3),
)
ACTION_COLUMNS = (
    Column("action_name", "action", least=12, rank=0),
    Column("type", rank=1),
    Column("kind", rank=7),
    Column("is_automated", "automatic", rank=3),
    Column("requires_approval", "approval", rank=4),
    Column("cost", rank=6),
    Column("timeout_s", rank=11),
    Column("applies_to", "for", cut="end", least=14, rank=5),
    Column("paused", cut="end", least=10, rank=2),
    Column("succeeded", rank=8),
    Column("ended", rank=9),
    Column("awaiting", rank=10),
)
tasks_app = App(name="tasks", help_format="plaintext")
actions_app = App(name="actions", help_format="plaintext")


def matches(
    *,
    status: Annotated[tuple[MatchStatus, ...], Parameter(negative="", show_default=False), enum_word("status")] = (),
    source: Annotated[str | None, SOURCE] = None,
    kind: Annotated[SubjectKind | None, Parameter(show_default=False), enum_word("kind")] = None,
    signature: Annotated[str | None, SIGNATURE] = None,
    incident: Annotated[UUID | None, Parameter(show_default=False, help="Of this incident.")] = None,
    stuck: Annotated[bool, Parameter(negative="", show_default=False, help="Those whose evaluation fails.")] = False,
    unrecovered: Annotated[
        bool, Parameter(negative="", show_default=False, help="Those that nothing recovered.")
    ] = False,
    accepted: Annotated[bool, Parameter(negative="", show_default=False, help="Those that a person accepted.")] = False,
    limit: Limit = 50,
    after: Annotated[UUID | None, Parameter(show_default=False, help="Older than this match.")] = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List matches, newest first: each is one failure to recover from.

    For example: recoup recovery matches --stuck

    Parameters
    ----------
    status
        In this status; may be repeated.
    kind
        What failed.
    """
    chosen = {MatchStatus.STUCK: stuck, MatchStatus.UNRECOVERED: unrecovered, MatchStatus.ACCEPTED: accepted}
    statuses = [*status, *(one for one, wanted in chosen.items() if wanted)]
    with acting(Authority.READER, demo=demo) as tx:
        found = listing.matches(
            tx, statuses=statuses, source=source, kind=kind, signature=signature, incident=incident, limit=limit,
            after=after,
        )  # fmt: skip
    print_rows(
        found if json else map(_match, found), as_json=json, columns=MATCH_COLUMNS, empty="No matches are like that."
    )
    _more(found, limit, "match", json=json, last=lambda one: one.failure_match_id, several="matches")


def list_(
    *,
    which: CandidateOptions = ANY,
    status: Annotated[
        tuple[CandidateStatus, ...], Parameter(negative="", show_default=False), enum_word("status")
    ] = (),
    limit: Limit = 50,
    after: Annotated[
        str | None, Parameter(show_default=False, help="The next page, as the page before names it.")
    ] = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List candidates that are pending or approved: what waits for a decision comes first.

    unit, in --json, is what approve and reject take: a candidate that has changed since is refused.

    Parameters
    ----------
    status
        In this status, newest first; may be repeated.
    """
    begun: Cursor | UUID | None = None
    if after is not None:
        begun = listing.read_id(after, "candidate", "recoup recovery list") if status else Cursor.read(after)
    with acting(Authority.READER, demo=demo) as tx:
        found = listing.candidates(tx, which.filter(), statuses=status, limit=limit, after=begun)
    print_candidates(found, as_json=json)
    _more(
        found, limit, "candidate", json=json, last=lambda one: one.candidate_id if status else Cursor.of(one)
    )  # fmt: skip


def print_candidates(found: Iterable[Candidate], *, as_json: bool) -> None:
    """Candidates as a list shows them."""
    rows = found if as_json else map(_candidate, found)
    print_rows(rows, as_json=as_json, columns=CANDIDATE_COLUMNS, empty="No candidates are like that.")


def incidents(
    *,
    source: Annotated[str | None, SOURCE] = None,
    all_: Annotated[
        bool, Parameter(name="--all", negative="", show_default=False, help="Also closed ones, newest first.")
    ] = False,
    limit: Limit = 50,
    after: Annotated[UUID | None, Parameter(show_default=False, help="Behind this incident.")] = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List open incidents: failures of one source with one signature, with how many matches each has."""
    with acting(Authority.READER, demo=demo) as tx:
        found = listing.incidents(tx, source=source, closed=all_, limit=limit, after=after)
    rows = found if json else map(_incident, found)
    print_rows(rows, as_json=json, columns=INCIDENT_COLUMNS, empty="No incident is open.")
    _more(found, limit, "incident", json=json, last=lambda one: one.incident_id)


@tasks_app.default
def tasks(
    *,
    owner: Annotated[str | None, Parameter(show_default=False, help="Of this owner.")] = None,
    all_: Annotated[
        bool, Parameter(name="--all", negative="", show_default=False, help="Also ended ones, newest first.")
    ] = False,
    limit: Limit = 50,
    after: Annotated[UUID | None, Parameter(show_default=False, help="Behind this task.")] = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List open tasks, those that are due first; end them with tasks done and tasks cancel."""
    with acting(Authority.READER, demo=demo) as tx:
        found = listing.tasks(tx, owner=owner, ended=all_, limit=limit, after=after)
    print_rows(found, as_json=json, columns=TASK_COLUMNS, empty="No task is open.")
    _more(found, limit, "task", json=json, last=lambda one: one.task_id)


@tasks_app.command
def done(
    task: Annotated[UUID, Parameter(help="Its id.")],
    *,
    note: Annotated[str | None, Parameter(show_default=False, help="What was done.")] = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Report that a task is done: the candidates that await it succeed."""
    with acting(Authority.OPERATOR, demo=demo, reason=note) as tx:
        people.done(tx, task, note=note)
        ended = listing.task(tx, task)
    _print_task(ended.task_id, ended.status, json=json)


@tasks_app.command
def cancel(
    task: Annotated[UUID, Parameter(help="Its id.")],
    *,
    note: Annotated[str, Parameter(help="Why. It is logged with your name.")],
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Cancel a task: the candidates that await it fail."""
    with acting(Authority.OPERATOR, demo=demo, reason=note) as tx:
        people.cancel(tx, task, note=note)
        ended = listing.task(tx, task)
    _print_task(ended.task_id, ended.status, json=json)


@actions_app.default
def actions(*, demo: Demo = False, json: Json = False) -> None:
    """List the actions of the active policy, their gates, what they apply to, and their latest outcomes.

    To stop one: recoup pause action NAME --reason …. To begin one of your own: recoup recovery actions new NAME
    """
    with acting(Authority.READER, demo=demo) as tx:
        found = listing.actions(tx, versions.active(tx).policy[RecoveryPolicy])
    print_rows(found, as_json=json, columns=ACTION_COLUMNS, empty="The policy has no actions.")


@actions_app.command
def new(
    name: Annotated[str, Parameter(help="Its name, in lower case, such as restart_billing.")],
    *,
    folder: Annotated[Path, Parameter(help="Where to write the files: next to recoup.toml.")] = Path(),
    type_: Annotated[new_action.OwnType, Parameter(name="--type", help="What kind of action it is.")] = "retry",
) -> None:
    """Write an action of your own to begin with: a module with its function, and its section of the policy.

    For example: recoup recovery actions new restart_billing
    """
    module, policy = new_action.create(folder, name, type_)
    shown = policy.name if folder == Path() else policy
    print(f"written  {module}\nwritten  {policy}\n\nNext, in recoup.toml, which lies next to the module:")
    print(f'  [actions]\n  {name} = "{name}:{name}"\n\nThen:')
    print(f'  recoup policy apply {shown} --reason "…"')
    print("  recoup doctor            shows whether the function can be imported")


def _print_task(task: UUID, status: str, *, json: bool) -> None:
    if json:
        print_fields({"task_id": task, "status": status}, as_json=True)
    else:
        print(f"task {task} is {status}")


def _match(one: Match) -> dict[str, Any]:
    return {
        **{column.field: getattr(one, column.field, None) for column in MATCH_COLUMNS},
        "subject": f"{one.subject_kind} {one.subject_ref}",
        "evaluate_at": None if one.ended_at is not None else one.evaluate_at,
        "message": shortened(one.error_message, MAX_MESSAGE),
    }


def _candidate(one: Candidate) -> dict[str, Any]:
    scope = "none" if one.scope_id is None else f"{one.attempts_left} left, cost {one.cost_left}"
    return {
        **{column.field: getattr(one, column.field, None) for column in CANDIDATE_COLUMNS},
        "confidence": f"{one.confidence:.2f}",
        "scope": scope if one.scope_status in (None, "active") else one.scope_status,
        "ended": one.skip_reason or one.error,
        "message": shortened(one.error_message, MAX_MESSAGE),
    }


def _incident(one: Incident) -> dict[str, Any]:
    more = "+" if one.matches == MAX_COUNTED else ""
    return {
        **{column.field: getattr(one, column.field, None) for column in INCIDENT_COLUMNS},
        "matches": f"{one.matches:,}{more}",
        "message": one.error_message and shortened(one.error_message, MAX_MESSAGE),
    }


def _more(found: Any, limit: int, noun: str, *, json: bool, last: Any, several: str | None = None) -> None:
    if found and len(found) == limit and not json:
        print(f"\n{plural(len(found), noun, several)} shown. More: --after {last(found[-1])}")
