"""Errors, as the product sees them."""

from datetime import timedelta

from recoup.domain import Command, Demo, Domain, routines
from recoup.errors import checks, refusals, tables
from recoup.errors.duties import DUTIES
from recoup.errors.invariants import INVARIANTS
from recoup.errors.lifecycle import ARCHIVE, ARCHIVE_MONTH, ERROR, EVENTS, REDACTION, TRACEBACK
from recoup.errors.policy import ErrorPolicy
from recoup.errors.subject import SUBJECT
from recoup.lifecycles.declaration import CONTENT_LOG

ERRORS = Domain(
    name="errors",
    package="recoup.errors",
    description="Every failure of a hub, recorded once, and what becomes of it by policy.",
    epoch=3,  # errors are recorded, and superseded, by their work key too
    release=5,
    lifecycles=(ERROR, ARCHIVE_MONTH, REDACTION, TRACEBACK),
    logs=(EVENTS, ARCHIVE),
    records=((CONTENT_LOG, "recoup.settle_error_redactions"),),
    routines=routines(
        "recoup.errors",
        "policy",
        "holding",
        "promotion",
        "redaction",
        "facts",
        "rules",
        "recorder",
        "queue",
        "tables",
        "recording",
        "retrying",
        "tracebacks",
        "archive",
    ),
    policy=(ErrorPolicy,),
    duties=DUTIES,
    invariants=INVARIANTS,
    checks=(checks.error_tables, checks.handlers),
    refusals=refusals.LAWS,
    subjects=(SUBJECT,),
    commands=(
        Command(
            name="errors",
            path="recoup.cli.errors:app",
            help="Errors: record, list, show, retry, park, unpark, resolve, check what blocks an entity.",
        ),
        Command(
            name="exec",
            path="recoup.cli.exec:exec_",
            help="Run any command; if it fails, record that as an error.",
        ),
    ),
    demo=Demo(
        name="errors",
        help="Ninety days of a busy outreach system over seven error tables: failures, retries, an outage, a park"
        " queue.\n\nErrors in every status and disposition, archives for every reason; then where they stand, and one"
        " error's story.",
        span=timedelta(days=90),
        exists="select exists (select from recoup.error_event)",
        play="recoup_demo.errors:play",
        show="recoup_demo.show_errors:show",
        handlers="recoup_demo.handlers:handlers",
    ),
    ensure=tables.ensure,
    later=tables.made_later,
    audited_whole=("recoup.error_archive",),
)
