"""``recoup why``"""

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter, validators

from recoup import why as explaining
from recoup.cli.context import acting
from recoup.cli.layout import folded, shown, width
from recoup.cli.output import PIPED_WIDTH, Demo, Json, hint, print_fields, print_wrapped
from recoup.domain import explained
from recoup.domains import DOMAINS
from recoup.formatting import timestamp
from recoup.lifecycles.declaration import Authority
from recoup.timeline import Event, Status
from recoup.why import EVENTS, MAX_EVENTS, Answer

Events = Annotated[int, Parameter(help="Maximum number of events.", validator=validators.Number(gte=1, lte=MAX_EVENTS))]
Optional = Annotated[str | None, Parameter(show_default=False)]


def why(
    *subject: str,
    at: Annotated[Optional, Parameter(help="A time (2026-11-15T22:57Z), or a length of time ago: 3d.")] = None,
    limit: Events = EVENTS,
    after: Annotated[Optional, Parameter(help="Show earlier events: what the page before printed.")] = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Show why something has its status, what belongs to it, and all that happened on one time line.

    An entity, an error, a company, a run, a partition, or a match or candidate of recovery. With --at: the statuses,
    the policy and the rule of that time.

    For example: recoup why outreach.dol_errors/3729 --at 3d

    Parameters
    ----------
    subject
        An id or a name, as recoup find finds it; KIND:ID if it could mean several things.
    """
    with acting(Authority.READER, demo=demo) as tx:
        answer = explaining.why(tx, " ".join(subject), explained(DOMAINS), at=at, limit=limit, after=after)
    if json:
        print_fields(answer, as_json=True)
    else:
        _print(answer, demo=demo)


def _print(answer: Answer, *, demo: bool) -> None:
    own = answer.subject
    status = "not there yet" if own is None else own.status
    when = "now" if answer.is_present else f"at {timestamp(answer.at)}"
    print(shown(f"{answer.kind.capitalize()} {answer.name} · {status} · {when}"))
    if own is not None and own.title is not None:
        for part in folded(shown(own.title), (width() or PIPED_WIDTH) - 2):
            print(f"  {part}")
    print()
    print_wrapped(_summary(answer), indent=2)
    if answer.rows:
        print("\n  Belongs to it")
        print_wrapped([_row(one) for one in answer.rows], indent=2)
        if answer.rows_left_out:
            print("  … and more rows, which are left out")
    print("\n  Time line")
    if answer.next is not None:
        print(f"  … earlier events: add --after {answer.next}")
    print_wrapped(_lines(answer.events), indent=2)
    if not answer.events:
        print("  nothing had happened")
    if answer.next_step is not None:
        print(f"\n  Next: {shown(hint(answer.next_step, demo=demo))}")


def _summary(answer: Answer) -> list[tuple[str, object]]:
    lines: list[tuple[str, object]] = []
    own = answer.subject
    if own is not None:
        since = "" if own.since is None else f" since {timestamp(own.since)}"
        lines.append(("Status", f"{own.status}{since}"))
        lines.append(("Why", own.rule))
    if answer.may_move_on is None:
        lines.append(("Then", answer.because))
    else:
        lines.append(("May move on", f"{'yes' if answer.may_move_on else 'no'}. {answer.because}"))
    if own is not None and own.next_at is not None:
        lines.append(("Due", own.next_at))
    if own is not None and own.policy_version is not None:
        lines.append(("Decided", f"by policy {own.policy_version}"))
    lines.append(("Policy", _policy(answer)))
    return lines


def _policy(answer: Answer) -> str:
    active = answer.policy
    if active is None:
        return "none yet"
    return f"{active.version} was active, applied {timestamp(active.applied_at)} by {active.actor_id}: {active.reason}"


def _row(one: Status) -> tuple[str, str]:
    title = "" if one.title is None else f" ({one.title})"
    return f"{one.kind} {one.name}", f"{one.status}: {one.rule}{title}"


def _lines(events: Sequence[Event]) -> list[tuple[str, str]]:
    kind = max((len(event.kind) for event in events), default=0)
    return [(f"{timestamp(event.at)}  {event.kind:<{kind}}", f"{event.text}{_by(event)}") for event in events]


def _by(event: Event) -> str:
    version = "" if event.policy_version is None else f", policy {event.policy_version}"
    authority = (event.authority or "").removeprefix("recoup_")
    return "" if event.actor_id is None else f"  {event.actor_id} ({authority}{version})"
