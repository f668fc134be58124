"""``recoup recovery scopes`` and ``recoup recovery scope open|revoke``"""

from typing import Annotated
from uuid import UUID

from cyclopts import App, Parameter, validators

from recoup.cli.context import acting
from recoup.cli.output import Column, Demo, Json, Limit, command, print_fields, print_rows
from recoup.durations import duration
from recoup.formatting import plural
from recoup.lifecycles.declaration import Authority
from recoup.policy import versions
from recoup.recovery import scopes as of
from recoup.recovery.policy import RecoveryPolicy
from recoup.refusals import InputRefused

app = App(name="scope", help="Open a scope for an incident, or revoke one.", help_format="plaintext")
COLUMNS = (
    Column("scope_id", "scope", least=36, rank=0),
    Column("status", rank=1),
    Column("attempts", rank=2),
    Column("cost", rank=4),
    Column("allowed_actions", "actions", cut="end", least=14, rank=3),
    Column("expires_at", "expires", least=12, rank=5),
    Column("source", cut="middle", least=14, rank=6),
    Column("incident_id", "incident", cut="middle", least=13, rank=7),
    Column("opened_by", "opened by", cut="middle", least=10, rank=8),
    Column("reason", cut="end", least=14, rank=9),
)
Positive = Annotated[int | None, Parameter(show_default=False, validator=validators.Number(gte=1, lte=1_000_000))]


def scopes(
    *,
    incident: Annotated[UUID | None, Parameter(show_default=False, help="Of this incident.")] = None,
    active: Annotated[bool, Parameter(negative="", show_default=False, help="Only active ones.")] = False,
    limit: Limit = 50,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List scopes, newest first: which actions may be executed for an incident, and what is left of each."""
    with acting(Authority.READER, demo=demo) as tx:
        found = of.scopes(tx, incident=incident, active=active, limit=limit)
    rows = [
        {
            **{column.field: getattr(one, column.field, None) for column in COLUMNS},
            "attempts": f"{one.attempts_used:,}/{one.max_attempts:,}",
            "cost": f"{one.cost_used:,}/{one.cost_limit:,}",
        }
        for one in found
    ]
    print_rows(found if json else rows, as_json=json, columns=COLUMNS, empty="No scopes are like that.")


@app.command(name="open")
def open_(
    incident: Annotated[UUID, Parameter(help="The incident.")],
    *,
    action: Annotated[tuple[str, ...], Parameter(negative="", help="An action it allows; may be repeated.")],
    reason: Annotated[str, Parameter(help="Why. It is logged with your name.")],
    attempts: Annotated[
        Positive, Parameter(help="How many candidates may be started. Default: from the policy.")
    ] = None,
    cost: Annotated[Positive, Parameter(help="How many units they may cost. Default: from the policy.")] = None,
    ttl: Annotated[str | None, Parameter(show_default=False, help="How long it lasts, such as 4h.")] = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Open a scope for an incident, and attach its pending candidates.

    For example: recoup recovery scope open INCIDENT --action retry_exponential --attempts 20 --reason "vendor is back"
    """
    seconds = None if ttl is None else round(duration(ttl).total_seconds())
    with acting(Authority.SCOPED_EXECUTION, demo=demo, reason=reason) as tx:
        policy = versions.active(tx).policy[RecoveryPolicy]
        made = of.open_scope(
            tx, incident, policy, actions=action, reason=reason, max_attempts=attempts, cost_limit=cost,
            ttl_seconds=seconds,
        )  # fmt: skip
        found = of.show(tx, made)
    if json:
        print_fields(found, as_json=True)
        return
    print(f"scope {made} allows {plural(found.max_attempts, 'attempt')} at a cost of {found.cost_limit:,}")
    print(f"Next: {command(f'recovery list --incident {incident}', demo=demo)}")


@app.command
def revoke(
    scope: Annotated[UUID, Parameter(help="Its id.")],
    *,
    reason: Annotated[str, Parameter(help="Why. It is logged with your name.")],
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Revoke a scope: nothing more is started within it. Lists what was started before and continues."""
    with acting(Authority.SCOPED_EXECUTION, demo=demo, reason=_checked(reason)) as tx:
        started = of.revoke(tx, scope)
    if not json:
        print(f"scope {scope} is revoked")
        if started:
            print(f"\n{plural(len(started), 'candidate')} was started before and continues:\n" if len(started) == 1
                  else f"\n{plural(len(started), 'candidate')} were started before and continue:\n")  # fmt: skip
        else:
            return
    print_rows(started, as_json=json, empty="")


def _checked(reason: str) -> str:
    if not reason.strip() or "\0" in reason or len(reason.encode("utf-8", "replace")) > 2000:
        raise InputRefused("reason_unusable", "The reason is empty, too long, or holds a NUL.", "Give a short text.")
    return reason
