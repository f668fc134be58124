"""``recoup recovery``"""

import json as json_
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from uuid import UUID

from cyclopts import App, Parameter

from recoup.cli import recovery_breakers, recovery_config, recovery_rules, recovery_scopes
from recoup.cli import recovery_lists as lists
from recoup.cli.context import acting
from recoup.cli.output import Demo, Json, command, ends_with, print_fields
from recoup.cli.recovery_calibration import calibration
from recoup.cli.recovery_filter import ANY
from recoup.cli.recovery_ingest import ingest
from recoup.cli.recovery_show import print_shown
from recoup.cli.verbs import Verbs
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.policy import versions
from recoup.recovery import listing, people, review, story, undoing
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.review import SUBJECT
from recoup.refusals import InputRefused

app = App(
    name="recovery",
    help_epilogue="A failure becomes a match. An evaluation proposes an action for it, as a candidate. A candidate is"
    " executed within a scope, once a person approved it, or by itself where all gates allow it.\n\nSee what waits for"
    " you: recoup recovery list. See why: recoup recovery show ID.\n\nTo stop an action: recoup pause action NAME"
    " --reason …",
    help_format="plaintext",
)
MatchId = Annotated[UUID, Parameter(help="The id of the match.")]
LATE = "Its lease had expired, or the token is another one. The result is stored, and does not count."
app.command(ingest)
app.command(lists.matches)
app.command(lists.list_, name="list")
app.command(lists.incidents)
app.command(lists.tasks_app)
app.command(lists.actions_app)
app.command(recovery_rules.app)
app.command(calibration)
app.command(recovery_scopes.scopes)
app.command(recovery_scopes.app)
app.command(recovery_config.app)
app.command(recovery_breakers.breakers)
app.command(recovery_breakers.app)


@app.command
def show(
    match: Annotated[UUID, Parameter(help="The id of a match, or of one of its candidates.")],
    *,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Show one match in full: its subject, candidates, decisions, scopes, what it awaits, and all that happened."""
    with acting(Authority.READER, demo=demo) as tx:
        found = story.show(tx, match)
    if json:
        print_fields(found, as_json=True)
    else:
        print_shown(found, demo=demo)


@app.command
def propose(
    match: MatchId,
    *,
    action: Annotated[str, Parameter(help="The action: see recoup recovery actions.")],
    parameters: Annotated[
        str | None, Parameter(show_default=False, help="What it is given, a JSON object. Default: as in the policy.")
    ] = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Propose an action for a match, under your name. Another person has to approve it.

    A pending candidate is overtaken. On a match that has ended, a new match follows it.
    """
    given = None if parameters is None else _object(parameters)
    with acting(Authority.OPERATOR, demo=demo) as tx:
        made = review.propose(tx, match, action, versions.active(tx).policy[RecoveryPolicy], parameters=given)
        found = story.show(tx, made)
    _print_proposed(made, found, demo=demo, json=json)


@app.command
def rollback(
    candidate: Annotated[UUID, Parameter(help="The id of the candidate whose action is to be undone.")],
    *,
    reason: Annotated[str, Parameter(help="Why. The person who decides sees it.")],
    action: Annotated[
        str | None, Parameter(show_default=False, help="The action of the type rollback, if there are several.")
    ] = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Propose to undo what a candidate did, under your name. Another person has to approve it.

    Only what its action declares can be undone: a reconfigured key, or an action of yours that has an undo. The value
    before is restored exactly; if it is not what the action left any more, the rollback fails.
    """
    with acting(Authority.OPERATOR, demo=demo, reason=reason) as tx:
        made = undoing.rollback(
            tx, candidate, versions.active(tx).policy[RecoveryPolicy], reason=reason, action=action
        )  # fmt: skip
        found = story.show(tx, made)
    _print_proposed(made, found, demo=demo, json=json)


@app.command
def evaluate(
    match: MatchId,
    *,
    reason: Annotated[str | None, Parameter(show_default=False, help="Why. It is logged with your name.")] = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Have a match evaluated now. A stuck one is new again."""
    with acting(Authority.OPERATOR, demo=demo, reason=reason) as tx:
        status = people.evaluate(tx, match)
    _print_match(match, status, "is evaluated next", json=json)


@app.command
def recovered(
    match: MatchId,
    *,
    reason: Annotated[str, Parameter(help="How it was recovered. It is logged with your name.")],
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Report that the failure of a match is gone, by other means. Its next evaluation ends it."""
    if not reason.strip():
        raise InputRefused("reason_missing", "The reason is empty.", "Give it: --reason …")
    with acting(Authority.OPERATOR, demo=demo, reason=reason) as tx:
        status = people.recovered(tx, match)
    _print_match(match, status, "is reported as recovered", json=json)


@app.command
def report(
    candidate: Annotated[UUID, Parameter(help="The id of a claimed candidate.")],
    *,
    status: Annotated[Literal["succeeded", "failed", "rolled_back"], Parameter(help="How its action ended.")],
    token: Annotated[UUID | None, Parameter(show_default=False, help="Of its claim. Default: the present one.")] = None,
    message: Annotated[str | None, Parameter(show_default=False, help="Why it failed.")] = None,
    result: Annotated[str | None, Parameter(show_default=False, help="Its result, as JSON.")] = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Report the outcome of a candidate that a program of yours executes. Exits with status 1 if it comes late."""
    value = None if result is None else _value(result)
    with acting(Authority.EVALUATOR, demo=demo) as tx:
        became = people.report(
            tx, candidate, succeeded=status == "succeeded", token=token, error=message, result=value,
            rolled_back=status == "rolled_back",
        )  # fmt: skip
    late = became == "late"
    with ends_with(1 if late else 0):
        if json:
            print_fields({"candidate_id": candidate, "status": became}, as_json=True)
        else:
            print(LATE if late else f"candidate {candidate} is {status if became == 'made' else became}")


def _print_proposed(made: UUID, found: story.Shown, *, demo: bool, json: bool) -> None:
    row = {"candidate_id": made, "failure_match_id": found.match["failure_match_id"], "next_step": found.next_step}
    if json:
        print_fields(row, as_json=True)
    else:
        print(f"candidate {made} of match {found.match['failure_match_id']} waits for another person")
        print(f"Next: {command(f'recovery show {made}', demo=demo)}")


def _print_match(match: UUID, status: str, what: str, *, json: bool) -> None:
    if json:
        print_fields({"failure_match_id": match, "status": status}, as_json=True)
    else:
        print(f"match {match} ({status}) {what}")


def _value(text: str) -> Any:
    try:
        return json_.loads(text)
    except (ValueError, RecursionError):
        raise InputRefused("result_unreadable", f"{text[:50]!r} is not JSON.", "Write it as JSON.") from None


def _object(text: str) -> Mapping[str, Any]:
    try:
        given = json_.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise InputRefused(
            "parameters_unreadable", f"{text[:50]!r} is not a JSON object.", """Write it as '{"route": "ops"}'."""
        )
    return given


def _units(_: Transaction, names: Sequence[str]) -> list[str]:
    """Ids, or id:digest; each once."""
    for name in names:
        listing.read_id(name.partition(":")[0], "candidate", "recoup recovery list")
    return list(dict.fromkeys(names))


def _statuses(tx: Transaction, units: Sequence[str]) -> list[str | None]:
    return listing.statuses(tx, [UUID(unit.partition(":")[0]) for unit in units])


Verbs(
    subject=SUBJECT,
    command="recovery",
    which=ANY,
    ids="Ids of candidates, or id:digest as recoup recovery list --json has it in unit.",
    units=_units,
    statuses=_statuses,
    first=lambda tx, asked, limit: listing.candidates(tx, asked, limit=limit),
    print_first=lambda found: lists.print_candidates(found, as_json=False),
).into(app)
