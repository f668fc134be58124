"""The manifest of deliveries."""

from recoup.deliveries import checks, gauges, refusals
from recoup.deliveries.duties import DUTIES
from recoup.deliveries.invariants import INVARIANTS
from recoup.deliveries.lifecycle import DELIVERY, EVENTS
from recoup.deliveries.policy import DeliveryPolicy
from recoup.deliveries.timeline import TIMELINE
from recoup.domain import Command, Domain, routines

DELIVERIES = Domain(
    name="deliveries",
    package="recoup.deliveries",
    description="Delivers notices to people and other systems: at least once, with retries, by routes of the policy.",
    release=4,
    lifecycles=(DELIVERY,),
    logs=(EVENTS,),
    routines=routines("recoup.deliveries", "policy", "rules", "recorder", "fallback", "delivering"),
    policy=(DeliveryPolicy,),
    duties=DUTIES,
    invariants=INVARIANTS,
    checks=(checks.deliveries,),
    signals=(gauges.DELIVERED,),
    refusals=refusals.LAWS,
    timelines=(TIMELINE,),
    api=("recoup.api.routes.notices:DELIVERIES",),
    commands=(
        Command(
            name="deliveries",
            path="recoup.cli.deliveries:app",
            help="Send notices, list and cancel them, and show the routes they take.",
        ),
    ),
)
