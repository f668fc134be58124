"""The manifest of alerts: a function of the domains whose signals they are raised on."""

from collections.abc import Sequence

from recoup.alerts import checks, judging, refusals
from recoup.alerts.invariants import INVARIANTS
from recoup.alerts.lifecycle import ALERT, EVENTS, SILENCE
from recoup.alerts.policy import AlertPolicy
from recoup.domain import Command, Domain, routines, sources
from recoup.lifecycles.declaration import Authority
from recoup.signals import Source
from recoup.worker.duty import Duty


def alerts(domains: Sequence[Domain]) -> Domain:
    """Alerts on the signals of these domains."""
    measured = sources(domains)
    return Domain(
        name="alerts",
        package="recoup.alerts",
        description="Judges what every domain measures by the rules of the policy, and notifies people once.",
        release=3,
        lifecycles=(ALERT, SILENCE),
        logs=(EVENTS,),
        routines=routines("recoup.alerts", "policy", "rules", "recorder", "notices", "judging"),
        policy=(policy_for(measured),),
        duties=(
            Duty(
                name="alerts",
                authority=Authority.ERROR_WORKER,
                cadence_s=15,
                description="measures the signals of all domains, and fires and ends alerts",
                batch=lambda tx, policy: judging.judge(tx, policy, measured),
                lag=judging.lag,
                note=judging.note,
            ),
        ),
        invariants=INVARIANTS,
        checks=(checks.alerts,),
        refusals=refusals.LAWS,
        api=("recoup.api.routes.notices:ALERTS",),
        commands=(
            Command(
                name="alerts",
                path="recoup.cli.alerts:app",
                help="List and silence alerts, show their rules, and test their routes.",
            ),
        ),
    )


def policy_for(measured: Sequence[Source]) -> type[AlertPolicy]:
    """The section of the policy, which refuses rules on signals that nothing measures."""
    names = (*(signal.name for source in measured for signal in source.signals), judging.FAILING.name)

    class Bound(AlertPolicy):
        """Alerts."""

        signals = names

    return Bound
