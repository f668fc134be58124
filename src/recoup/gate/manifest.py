"""The manifest of Gate Zero."""

from datetime import timedelta

from recoup.domain import Command, Demo, Domain, routines
from recoup.gate import batches, checks, gauges, refusals
from recoup.gate.duties import DUTIES
from recoup.gate.invariants import HELD, INVARIANTS
from recoup.gate.lifecycle import AIR, ATTEMPT, BATCH, EVIDENCE, INTAKE, RECOVERY
from recoup.gate.listing import FINDER
from recoup.gate.policy import GatePolicy
from recoup.gate.timeline import TIMELINE
from recoup.pauses.scopes import Pausable

GATE = Domain(
    name="gate",
    package="recoup.gate",
    description="Verifies that companies exist: at most three attempts, with waits, every step in the AIR log.",
    release=7,
    lifecycles=(BATCH, INTAKE, ATTEMPT, RECOVERY, EVIDENCE),
    logs=(AIR,),
    records=(("recoup.pause_log", "cl.record_batch_moves"), ("recoup.control_log", "cl.record_restarts")),
    routines=routines("recoup.gate", "evidence", "rules", "recorder", "consequences", "attempts", "comments"),
    policy=(GatePolicy,),
    duties=DUTIES,
    invariants=INVARIANTS,
    held=HELD,
    checks=(checks.batches,),
    pausable=(
        Pausable(
            scope="batch",
            description="all retries of one batch: the kill switch",
            rows="select b.batch_id, b.paused_at, b.paused_by, b.pause_reason from cl.gate_zero_batch b"
            " where b.paused_at is not null",
            pause=batches.pause_by_register,
            resume=batches.resume_by_register,
        ),
    ),
    signals=(gauges.OVERDUE,),
    refusals=refusals.LAWS,
    finders=(FINDER,),
    timelines=(TIMELINE,),
    api=("recoup.api.routes.gate:GATE",),
    commands=(
        Command(
            name="gate", path="recoup.cli.gate:app", help="Import and verify companies; list them and their history."
        ),
    ),
    demo=Demo(
        name="gate",
        help="Show twenty days of Gate Zero against a local world of 2,000 companies: real DNS, real sites, a real"
        " directory.\n\nFour batches with their waits, a kill switch, a freeze and the mint; then the funnel, and the"
        " history of one company.",
        span=timedelta(days=20),
        exists="select exists (select from cl.gate_zero_batch)",
        play="recoup_demo.gate:play",
        show="recoup_demo.show_gate:show",
        background="recoup_demo.show_gate:local_world",
    ),
)
