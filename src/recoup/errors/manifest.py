"""The manifest of errors."""

from datetime import timedelta

from recoup.domain import Command, Demo, Domain, routines
from recoup.errors import checks, refusals, tables
from recoup.errors.duties import DUTIES
from recoup.errors.escalation_signals import ESCALATION
from recoup.errors.finding import FINDER
from recoup.errors.invariants import INVARIANTS
from recoup.errors.lifecycle import ARCHIVE, ARCHIVE_MONTH, ERROR, EVENTS, PROCESSED, REDACTION, TRACEBACK
from recoup.errors.metrics_signals import SIGNALS
from recoup.errors.policy import ErrorPolicy
from recoup.errors.subject import SUBJECT
from recoup.lifecycles.declaration import CONTENT_LOG

ERRORS = Domain(
    name="errors",
    package="recoup.errors",
    description="Records every failure of a hub once, and decides by policy what happens next.",
    epoch=4,  # parking sets the tier of an error, and every decision on a parked one is a review
    release=15,
    lifecycles=(ERROR, ARCHIVE_MONTH, REDACTION, TRACEBACK),
    logs=(EVENTS, ARCHIVE, PROCESSED),
    records=((CONTENT_LOG, "recoup.settle_error_redactions"),),
    routines=routines(
        "recoup.errors",
        "tiers",
        "policy",
        "holding",
        "promotion",
        "redaction",
        "facts",
        "escalation",
        "rules",
        "recorder",
        "queue",
        "hubs",
        "tables",
        "recording",
        "retrying",
        "clearing",
        "tracebacks",
        "archive",
        "metrics",
        "comments",
    ),
    policy=(ErrorPolicy,),
    duties=DUTIES,
    invariants=INVARIANTS,
    checks=(checks.error_tables, checks.handlers),
    signals=(ESCALATION, SIGNALS),
    refusals=refusals.LAWS,
    subjects=(SUBJECT,),
    finders=(FINDER,),
    api=("recoup.api.routes.errors:ERRORS",),
    commands=(
        Command(
            name="errors",
            path="recoup.cli.errors:app",
            help="Record, list, retry, park and resolve errors, and show what blocks an entity.",
        ),
        Command(
            name="exec",
            path="recoup.cli.exec:exec_",
            help="Run a command, and record its failure as an error.",
        ),
    ),
    demo=Demo(
        name="errors",
        help="Show ninety days of a busy outreach system over seven error tables: failures, retries, an outage, a park"
        " queue.\n\nErrors in every status and disposition, archives for every reason; then counts by table, and one"
        " error in full.",
        span=timedelta(days=90),
        exists="select exists (select from recoup.error_event)",
        play="recoup_demo.errors:play",
        show="recoup_demo.show_errors:show",
        hosts=True,
        handlers="recoup_demo.handlers:handlers",
    ),
    ensure=tables.ensure,
    later=tables.made_later,
    absent=tables.left_out,
    audited_whole=("recoup.error_archive",),
)
