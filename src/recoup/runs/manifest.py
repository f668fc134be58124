"""The manifest of runs."""

from recoup.domain import Command, Domain, routines
from recoup.runs import checks, gauges, refusals
from recoup.runs.duties import DUTIES
from recoup.runs.finding import FINDER
from recoup.runs.invariants import INVARIANTS
from recoup.runs.lifecycle import RUN, TRACE
from recoup.runs.policy import RunPolicy
from recoup.runs.timeline import TIMELINE

RUNS = Domain(
    name="runs",
    package="recoup.runs",
    description="Executions of work with a heartbeat: one that falls silent is marked crashed, never lost.",
    release=3,
    lifecycles=(RUN,),
    logs=(TRACE,),
    routines=routines("recoup.runs", "rules", "recorder", "running", "orphans", "hubs"),
    policy=(RunPolicy,),
    duties=DUTIES,
    invariants=INVARIANTS,
    checks=(checks.runs,),
    signals=(gauges.ORPHANED,),
    refusals=refusals.LAWS,
    finders=(FINDER,),
    timelines=(TIMELINE,),
    api=("recoup.api.routes.runs:RUNS",),
    commands=(
        Command(
            name="runs",
            path="recoup.cli.runs:app",
            help="Start, claim, finish and list runs, and show which ones are orphaned.",
        ),
    ),
)
