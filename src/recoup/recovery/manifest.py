"""The manifest of recovery."""

from recoup.domain import Command, Domain, routines
from recoup.pauses.scopes import Pausable
from recoup.recovery import checks, refusals
from recoup.recovery.duties import DUTIES
from recoup.recovery.finding import FINDER
from recoup.recovery.lifecycle import CANDIDATE, EVALUATION, INCIDENT, MATCH, PROVENANCE, SCOPE, TASK
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.review import SUBJECT

RECOVERY = Domain(
    name="recovery",
    package="recoup.recovery",
    description="Turns failures into matches and candidates; executes what is approved or automatic, within scopes.",
    release=1,
    lifecycles=(INCIDENT, MATCH, EVALUATION, CANDIDATE, SCOPE, TASK),
    logs=(PROVENANCE,),
    routines=routines(
        "recoup.recovery",
        "policy",
        "standing",
        "rules",
        "recorder",
        "effects",
        "settle",
        "claims",
        "outcomes",
        "ingest",
        "evaluation",
        "review",
    ),
    policy=(RecoveryPolicy,),
    duties=DUTIES,
    pausable=(
        Pausable(
            scope="action",
            description="every start of one action",
            names="select a.key from jsonb_each((select p.figures -> 'recovery' -> 'actions' from recoup.policy p"
            " order by p.version desc limit 1)) a",
        ),
    ),
    checks=(checks.matches, checks.candidates, checks.separation),
    refusals=refusals.LAWS,
    subjects=(SUBJECT,),
    finders=(FINDER,),
    commands=(
        Command(
            name="recovery",
            path="recoup.cli.recovery:app",
            help="Report failures, decide what recovers them, and see what was tried.",
        ),
    ),
)
