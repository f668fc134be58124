"""The manifest of the service."""

from recoup.domain import Command, Domain, routines
from recoup.service import checks, refusals
from recoup.service.duties import DUTIES
from recoup.service.invariants import INVARIANTS
from recoup.service.lifecycle import API_KEY
from recoup.service.policy import ServicePolicy

SERVICE = Domain(
    name="service",
    package="recoup.service",
    description="Keys, sessions, repeated requests and rates of the API and the console.",
    release=3,
    lifecycles=(API_KEY,),
    routines=routines("recoup.service", "keys", "requests", "hubs"),
    policy=(ServicePolicy,),
    duties=DUTIES,
    invariants=INVARIANTS,
    checks=(checks.keys, checks.logins, checks.api_logins),
    refusals=refusals.LAWS,
    api=("recoup.api.routes.keys:KEYS",),
    commands=(
        Command(
            name="keys",
            path="recoup.cli.keys:app",
            help="Make, list, rotate and revoke keys of the API, and list calls that were denied.",
        ),
        Command(
            name="console",
            path="recoup.cli.console:app",
            help="Open the console in a browser.",
        ),
    ),
)
