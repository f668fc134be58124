"""``recoup alerts``"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any
from uuid import UUID

from cyclopts import App, Parameter

from recoup import alerts
from recoup.alerts.people import covers, known_rule
from recoup.alerts.policy import AlertPolicy
from recoup.cli.context import acting, opened
from recoup.cli.output import Column, Demo, Json, Limit, command, print_fields, print_rows
from recoup.deliveries import secrets
from recoup.deliveries.policy import DeliveryPolicy
from recoup.deliveries.routes import resolved
from recoup.durations import duration
from recoup.formatting import plural
from recoup.lifecycles.declaration import Authority
from recoup.policy import versions
from recoup.signals import OVERALL

app = App(
    name="alerts",
    help_epilogue="Alerts are judged by a worker (recoup worker), by the rules of the policy.",
    help_format="plaintext",
)
All = Annotated[bool, Parameter(name="--all", negative="", show_default=False, help="Also those that ended.")]
COLUMNS = (
    Column("alert_id", "alert", least=36),
    Column("rule", cut="end", least=12, rank=1),
    Column("key", cut="middle", least=19, rank=2),
    Column("severity", rank=3),
    Column("status", rank=4),
    Column("is", rank=5),
    Column("above", rank=6),
    Column("worst", rank=9),
    Column("fired_at", "fired", least=12, rank=7),
    Column("ended_at", "ended", least=12, rank=8),
    Column("notices", rank=10),
    Column("silenced", rank=11),
)
EVENT_COLUMNS = (
    Column("logged_at", "at", rank=0),
    Column("to_status", "status", rank=1),
    Column("is", rank=2),
    Column("notices", rank=3),
    Column("routes", cut="end", least=8, rank=4),
    Column("actor_id", "by", cut="middle", least=10, rank=5),
)
SENT_COLUMNS = (
    Column("delivery_id", "delivery", least=36),
    Column("route", rank=1),
    Column("status", rank=2),
    Column("attempts", "tries", rank=3),
    Column("created_at", "queued", least=12, rank=5),
    Column("last_failure", "failure", cut="end", least=12, rank=4),
)
RULE_COLUMNS = (
    Column("rule", rank=0),
    Column("key", cut="middle", least=20, rank=1),
    Column("condition", rank=2),
    Column("is", rank=3),
    Column("above", rank=4),
    Column("severity", rank=5),
    Column("action", rank=6),
    Column("since", least=12, rank=7),
    Column("silenced", rank=8),
    Column("seen_at", "measured", least=12, rank=9),
)
SILENCE_COLUMNS = (
    Column("silence_id", "silence", least=36),
    Column("rule", rank=1),
    Column("key", cut="middle", least=8, rank=2),
    Column("until", least=12, rank=3),
    Column("status", rank=4),
    Column("created_by", "by", cut="middle", least=8, rank=5),
    Column("reason", cut="end", least=12, rank=6),
)


@app.command(name="list")
def list_(
    *,
    all_: All = False,
    rule: str | None = None,
    limit: Limit = 50,
    after: UUID | None = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List alerts that fire, newest first.

    For example: recoup alerts list --all --rule parked-errors

    Parameters
    ----------
    rule
        Of this rule.
    after
        Older than this alert: the last id of the page before.
    """
    with acting(Authority.READER, demo=demo) as tx:
        found = alerts.alerts(tx, ended=all_, rule=rule, limit=limit, after=after)
        if not found and rule is not None:
            known_rule(tx, rule)
    rows = found if json else [_read(asdict(one)) for one in found]
    empty = "No alert has fired yet." if all_ else "No alert fires."
    print_rows(rows, as_json=json, columns=None if json else COLUMNS, empty=empty)


@app.command
def show(alert: UUID, *, demo: Demo = False, json: Json = False) -> None:
    """Show one alert: every step, and every notice with its status.

    Parameters
    ----------
    alert
        Its id.
    """
    with acting(Authority.READER, demo=demo) as tx:
        found = alerts.show(tx, alert)
    if json:
        print_fields({**asdict(found.alert), **asdict(found)}, as_json=True)
        return
    facts = {name.replace("_", " "): value for name, value in found.facts.items()}
    print_fields({**_read(asdict(found.alert)), "sample": found.sample, **facts}, as_json=False)
    print("\nHistory")
    events = [_read({**asdict(one), "unit": found.alert.unit, "last_value": one.value}) for one in found.events]
    print_rows(events, as_json=False, columns=EVENT_COLUMNS, empty="")
    print("\nNotices")
    print_rows(found.deliveries, as_json=False, columns=SENT_COLUMNS, empty="Nobody was notified.")


@app.command
def rules(*, demo: Demo = False, json: Json = False) -> None:
    """List the rules of the policy, with the present value of each."""
    with acting(Authority.READER, demo=demo) as tx:
        found = alerts.rules(tx)
    rows = found if json else [_read({**asdict(one), "last_value": one.value}) for one in found]
    print_rows(rows, as_json=json, columns=None if json else RULE_COLUMNS, empty="The policy has no rules.")


@app.command
def silence(
    rule: str,
    *,
    key: str = "*",
    for_: Annotated[str, Parameter(name="--for")],
    reason: str,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Notify nobody of a rule for a time. Its alerts fire and end as always.

    For example: recoup alerts silence "error-rate*" --key outreach.dol_errors --for 2h --reason "vendor outage"

    Parameters
    ----------
    rule
        Its name, or how names begin and then *.
    key
        For this error table, duty or route only, or for those that begin so and then *.
    for_
        How long, such as 30m, 2h or 3d; at most 90d.
    reason
        Why. It is recorded in the log, with your name.
    """
    with acting(Authority.OPERATOR, demo=demo, reason=reason) as tx:
        made = alerts.silence(tx, rule, key=key, lasts=duration(for_), reason=reason)
        covered = [one for one in alerts.rules(tx) if covers(rule, key, one)]
    firing = sum(one.condition == "firing" for one in covered)
    if json:
        print_fields({"silence_id": made, "covers": len(covered), "firing": firing}, as_json=True)
        return
    print(f"silence {made} is active")
    if covered:
        print(f"It covers {plural(len(covered), 'rule and key', 'rules and keys')}; {firing:,} of them fire now.")
    else:
        print(f"It covers nothing that is measured now. See the keys: {command('alerts rules', demo=demo)}")
    print(f"To end it: {command(f'alerts unsilence {made} --reason WHY', demo=demo)}")


@app.command
def silences(
    *, all_: All = False, limit: Limit = 50, after: UUID | None = None, demo: Demo = False, json: Json = False
) -> None:
    """List silences, newest first.

    Parameters
    ----------
    after
        Older than this silence: the last id of the page before.
    """
    with acting(Authority.READER, demo=demo) as tx:
        found = alerts.silences(tx, ended=all_, limit=limit, after=after)
    print_rows(found, as_json=json, columns=None if json else SILENCE_COLUMNS, empty="No silence is active.")


@app.command
def unsilence(silence_id: UUID, *, reason: str, demo: Demo = False) -> None:
    """End a silence. Alerts that fire notify.

    Parameters
    ----------
    silence_id
        Its id.
    reason
        Why. It is recorded in the log, with your name.
    """
    with acting(Authority.OPERATOR, demo=demo, reason=reason) as tx:
        alerts.unsilence(tx, silence_id)
    print(f"silence {silence_id} is ended")


@app.command(name="test")
def send_test(
    rule: str | None = None,
    *,
    key: str = OVERALL,
    route: str | None = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Send a notice that says it is a test, by the routes of a rule or by one route.

    For example: recoup alerts test parked-errors

    Parameters
    ----------
    rule
        Its name: recoup alerts rules
    key
        As for this error table, duty or route.
    route
        By this route, without a rule.
    """
    with acting(Authority.OPERATOR, demo=demo) as tx:
        made = alerts.send_test(tx, rule, key=key, route=route)
    if json:
        print_fields({"deliveries": made}, as_json=True)
        return
    for one in made:
        print(f"delivery {one} is queued\nNext: {command(f'deliveries show {one}', demo=demo)}")


@app.command
def routes(*, demo: Demo = False, json: Json = False) -> None:
    """List the actions of rules with their routes, and whether this process can use them."""
    with opened(demo=demo) as database:
        with database.transaction(Authority.READER) as tx:
            policy = versions.active(tx).policy
        home, known = database.settings.home, secrets.of(database.settings)
    unusable = resolved(policy[DeliveryPolicy], home=home, environment=known).unusable
    print_rows(_routes(policy[AlertPolicy], unusable), as_json=json, empty="The policy has no actions.")


def _routes(policy: AlertPolicy, unusable: dict[str, str]) -> Iterator[dict[str, object]]:
    used: dict[str, list[str]] = {}
    for name, rule in policy.rules.items():
        used.setdefault(rule.action, []).append(name)
    for name, action in policy.actions.items():
        for of, listed in (("all", action.routes), *action.by_key.items(), *action.by_owner.items()):
            for route in listed:
                yield {
                    "action": name, "for": of, "route": route,
                    "usable": "yes" if route not in unusable else f"no: {unusable[route]}",
                    "rules": ", ".join(used.get(name, ())),
                }  # fmt: skip


def _read(row: dict[str, Any]) -> dict[str, Any]:
    """Values with their units, as people read them."""
    unit = row.pop("unit", None)
    named = {"is": "last_value", "above": "above" if "above" in row else "threshold", "worst": "worst_value"}
    shown = {name: _number(row.pop(column), unit) for name, column in named.items() if column in row}
    row.pop("value", None)
    return {**row, **shown, "silenced": "yes" if row.get("silenced") else None}


def _number(value: float | None, unit: str | None) -> str | None:
    if value is None:
        return None
    if unit == "share":
        return f"{round(value * 100, 1):g} %"
    return f"{round(value, 2):,.12g}" + (" s" if unit == "seconds" else "")
