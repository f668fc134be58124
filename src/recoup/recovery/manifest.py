"""The manifest of recovery."""

from datetime import timedelta

from recoup.domain import Command, Demo, Domain, routines
from recoup.pauses.scopes import Pausable
from recoup.recovery import checks, gauges, refusals
from recoup.recovery.duties import DUTIES
from recoup.recovery.finding import FINDER
from recoup.recovery.invariants import HELD, INVARIANTS
from recoup.recovery.lifecycle import (
    BREAKER,
    CANDIDATE,
    CONFIG,
    EVALUATION,
    INCIDENT,
    MATCH,
    PROVENANCE,
    SCOPE,
    TASK,
)
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.review import SUBJECT
from recoup.recovery.timeline import TIMELINE

RECOVERY = Domain(
    name="recovery",
    package="recoup.recovery",
    description="Turns failures into matches and candidates; executes what is approved or automatic, within scopes.",
    release=8,
    lifecycles=(INCIDENT, MATCH, EVALUATION, CANDIDATE, SCOPE, TASK, BREAKER, CONFIG),
    logs=(PROVENANCE,),
    routines=routines(
        "recoup.recovery",
        "policy",
        "rule",
        "standing",
        "breakers",
        "shut_tables",
        "undo",
        "candidate_rules",
        "rules",
        "recorder",
        "effects",
        "settle",
        "claims",
        "outcomes",
        "ingest",
        "evaluation",
        "selection",
        "experience",
        "review",
        "hubs",
        "comments",
    ),
    policy=(RecoveryPolicy,),
    invariants=INVARIANTS,
    held=HELD,
    duties=DUTIES,
    pausable=(
        Pausable(
            scope="action",
            description="every start of one action",
            names="select a.key from jsonb_each((select p.figures -> 'recovery' -> 'actions' from recoup.policy p"
            " order by p.version desc limit 1)) a",
        ),
    ),
    checks=(checks.matches, checks.candidates, checks.open_breakers, checks.separation),
    signals=(gauges.STUCK_MATCHES,),
    refusals=refusals.LAWS,
    subjects=(SUBJECT,),
    finders=(FINDER,),
    timelines=(TIMELINE,),
    api=("recoup.api.routes.recovery:RECOVERY",),
    commands=(
        Command(
            name="recovery",
            path="recoup.cli.recovery:app",
            help="Report failures, decide what recovers them, and see what was tried.",
        ),
    ),
    demo=Demo(
        name="recovery",
        help="Show five days of recovery: a failure storm to its end, with approved and automatic actions, scopes that"
        " are exhausted and revoked, a crashed worker, orphaned runs, a rule, breakers, a key that was changed and"
        " restored.\n\nRows in every status; then counts by status.",
        span=timedelta(days=5),
        exists="select exists (select from recovery.candidate)",
        play="recoup_demo.recovery:play",
        ending="recoup_demo.recovery:ending",
        show="recoup_demo.show_recovery:show",
    ),
)
