"""``recoup deliveries``"""

import json as json_
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated
from uuid import UUID

from cyclopts import App, Parameter

from recoup import deliveries
from recoup.cli.context import acting, opened
from recoup.cli.errors_filter import word
from recoup.cli.output import Column, Demo, Json, Limit, command, print_fields, print_rows, shown
from recoup.deliveries import secrets
from recoup.deliveries.lifecycle import DeliveryStatus
from recoup.deliveries.policy import DeliveryPolicy
from recoup.deliveries.routes import resolved
from recoup.lifecycles.declaration import Authority
from recoup.policy import versions
from recoup.refusals import InputRefused

app = App(
    name="deliveries",
    help_epilogue="Notices are delivered by a worker (recoup worker), at least once, by the routes of the policy.",
    help_format="plaintext",
)
COLUMNS = (
    Column("delivery_id", "delivery", least=36),
    Column("route", rank=1),
    Column("subject", cut="end", least=12, rank=2),
    Column("status", rank=3),
    Column("attempts", "tries", rank=4),
    Column("next_try_at", "next try", least=12, rank=5),
    Column("claimed_by", "claimed by", cut="middle", least=10, rank=8),
    Column("last_failure", "failure", cut="end", least=12, rank=6),
    Column("about", cut="middle", least=10, rank=9),
    Column("created_at", "queued", least=12, rank=7),
    Column("ended_at", "ended", least=12, rank=10),
)
EVENT_COLUMNS = (
    Column("logged_at", "at", rank=0),
    Column("to_status", "status", rank=1),
    Column("attempts", "tries", rank=4),
    Column("outcome", rank=2),
    Column("reason", cut="end", least=12, rank=3),
    Column("actor_id", "by", cut="middle", least=10, rank=5),
)


@app.command(name="list")
def list_(
    *,
    status: Annotated[
        tuple[DeliveryStatus, ...], Parameter(negative="", show_default=False, help="In this status."), word("status")
    ] = (),
    route: str | None = None,
    about: str | None = None,
    limit: Limit = 50,
    after: UUID | None = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List deliveries, newest first.

    For example: recoup deliveries list --status dead --route ops

    Parameters
    ----------
    route
        By this route.
    about
        About this, such as the id of an incident.
    after
        Older than this delivery: the last id of the page before.
    """
    with acting(Authority.READER, demo=demo) as tx:
        found = deliveries.deliveries(tx, statuses=status, route=route, about=about, limit=limit, after=after)
    print_rows(found, as_json=json, columns=COLUMNS, empty="No deliveries match.")


@app.command
def show(delivery: UUID, *, demo: Demo = False, json: Json = False) -> None:
    """Show one delivery: its body, and every try.

    Parameters
    ----------
    delivery
        Its id.
    """
    with acting(Authority.READER, demo=demo) as tx:
        found = deliveries.show(tx, delivery)
    if json:
        events = [asdict(event) for event in found.events]
        print_fields({**asdict(found.delivery), "body": found.body, "events": events}, as_json=True)
        return
    print_fields(found.delivery, as_json=False)
    print(f"\nBody\n{shown(json_.dumps(found.body, ensure_ascii=False))}\n\nHistory")
    print_rows(found.events, as_json=False, columns=EVENT_COLUMNS, empty="")


@app.command
def send(
    route: str,
    subject: str,
    *,
    body: str | None = None,
    about: str | None = None,
    dedup_key: str | None = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Queue a notice by hand, for example to test a route.

    For example: recoup deliveries send ops "a test" --body '{"from": "ada"}'

    Parameters
    ----------
    route
        A route of the policy: recoup deliveries routes
    subject
        What it is about, in one line.
    body
        A JSON object. Secrets in it are redacted.
    about
        Id of what it is about.
    dedup_key
        Refuse it while another one with this key is queued.
    """
    given = _object(body)
    with acting(Authority.OPERATOR, demo=demo) as tx:
        made = deliveries.send(tx, route, subject, given, about=about, dedup_key=dedup_key)
    _print_queued(made, demo=demo, json=json)


@app.command
def retry(delivery: UUID, *, reason: str | None = None, demo: Demo = False, json: Json = False) -> None:
    """Send a dead delivery again, as a new one.

    Parameters
    ----------
    delivery
        Its id.
    reason
        Why. It is recorded in the log, with your name.
    """
    with acting(Authority.OPERATOR, demo=demo, reason=reason) as tx:
        made = deliveries.retry(tx, delivery)
    _print_queued(made, demo=demo, json=json)


@app.command
def cancel(delivery: UUID, *, reason: str, demo: Demo = False, json: Json = False) -> None:
    """Cancel a queued delivery. A try in progress may still reach its receiver.

    Parameters
    ----------
    delivery
        Its id.
    reason
        Why. It is recorded in the log, with your name.
    """
    with acting(Authority.OPERATOR, demo=demo, reason=reason) as tx:
        deliveries.cancel(tx, delivery)
    if json:
        print_fields({"delivery_id": delivery, "status": "dead"}, as_json=True)
    else:
        print(f"delivery {delivery} is cancelled")


@app.command
def routes(*, demo: Demo = False, json: Json = False) -> None:
    """List the routes of the policy, and whether this process can use them. Prints no address."""
    with opened(demo=demo) as database:
        with database.transaction(Authority.READER) as tx:
            policy = versions.active(tx).policy[DeliveryPolicy]
        home, known = database.settings.home, secrets.of(database.settings)
    print_rows(_routes(policy, resolved(policy, home=home, environment=known).unusable), as_json=json, empty="")


def _routes(policy: DeliveryPolicy, unusable: dict[str, str]) -> Iterator[dict[str, object]]:
    for name, route in policy.routes.items():
        yield {
            "route": name, "kind": route.kind, "url_env": route.url_env, "secret_env": route.secret_env,
            "path": route.path, "timeout_s": route.timeout_s, "max_tries": route.max_tries,
            "usable": "yes" if name not in unusable else f"no: {unusable[name]}",
        }  # fmt: skip


def _object(body: str | None) -> dict[str, object]:
    try:
        given = {} if body is None else json_.loads(body)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise InputRefused(
            "body_not_object", "The body is not a JSON object.", 'Write it like this: \'{"key": "value"}\''
        )
    return given


def _print_queued(made: UUID, *, demo: bool, json: bool) -> None:
    if json:
        print_fields({"delivery_id": made}, as_json=True)
    else:
        print(f"delivery {made} is queued\nNext: {command(f'deliveries show {made}', demo=demo)}")
