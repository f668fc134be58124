"""The manifest of partitions."""

from datetime import timedelta

from recoup.domain import Command, Demo, Domain, routines
from recoup.partitions import checks, refusals
from recoup.partitions.backfill_lifecycle import BACKFILL, BACKFILL_ITEM
from recoup.partitions.backfilling import DUTY as BACKFILLS
from recoup.partitions.duties import DUTIES
from recoup.partitions.finding import FINDER
from recoup.partitions.gauges import SINKS
from recoup.partitions.invariants import INVARIANTS
from recoup.partitions.lifecycle import ATTEMPTS, EVENTS, OVERRIDES, PARTITION, RUN, SCHEDULE, SINK
from recoup.partitions.policy import PartitionPolicy
from recoup.partitions.registry import EXPECTED
from recoup.partitions.requesting import SUBJECT
from recoup.partitions.requeueing import REQUEST
from recoup.partitions.timeline import TIMELINE
from recoup.pauses.scopes import Pausable

PARTITIONS = Domain(
    name="partitions",
    package="recoup.partitions",
    description="Partitions of data: extracted into a raw sink that is never overwritten, validated, retried whole.",
    release=6,
    lifecycles=(PARTITION, RUN, SCHEDULE, SINK, REQUEST, BACKFILL, BACKFILL_ITEM),
    logs=(EVENTS, ATTEMPTS, OVERRIDES),
    routines=routines(
        "recoup.partitions",
        "policy",
        "rules",
        "recorder",
        "settle",
        "dispatch",
        "running",
        "follow",
        "asking",
        "sinks",
        "requeue",
        "backfill",
        "hubs",
        "comments",
    ),
    policy=(PartitionPolicy,),
    duties=(*DUTIES, BACKFILLS, EXPECTED),
    invariants=INVARIANTS,
    checks=(checks.partitions,),
    subjects=(SUBJECT,),
    finders=(FINDER,),
    timelines=(TIMELINE,),
    signals=(SINKS,),
    pausable=(
        Pausable(
            scope="partition-source",
            description="dispatches of a source",
            names="select distinct s.source from partitions.schedule s",
        ),
    ),
    refusals=refusals.LAWS,
    api=("recoup.api.routes.partitions:PARTITIONS", "recoup.api.routes.partitions:BACKFILLS"),
    commands=(
        Command(
            name="state",
            path="recoup.cli.state:app",
            help="List and inspect partitions, retry and reprocess them, and show gaps and files.",
        ),
        Command(
            name="backfill",
            path="recoup.cli.backfill:app",
            help="Enqueue the partitions of a range, follow them, pause and cancel.",
        ),
    ),
    demo=Demo(
        name="partitions",
        help="Show sixty days of three sources and forty customers: data that comes late, a week without a column, a"
        " source that is down, totals that stay wrong; backfills, requests, overrides; every partition compared with"
        " what its source is known to have.\n\nRows in every status; then counts by status, and a grid of days."
        " With fewer customers it is built sooner: RECOUP_DEMO_CUSTOMERS=4.",
        span=timedelta(days=5, hours=12),
        exists="select exists (select from partitions.partition_state)",
        play="recoup_demo.partitions:play",
        show="recoup_demo.show_partitions:show",
    ),
)
