"""What the routines of partitions refuse."""

from recoup.refusals import declare

LAWS = {
    "RC140": ("partition_birth", "a partition is enqueued now, together with its schedule"),
    "RC141": ("partition_dispatch", "a run is opened for a partition that is due, as its schedule says"),
    "RC142": ("run_step", "a run is started, published and judged in this order, once, now"),
    "RC143": ("run_late", "a step of a run presents the token of its dispatch, within its lease"),
    "RC144": ("schedule_step", "a schedule changes now, when somebody asks or a run has ended"),
    "RC145": ("schedule_untrue", "a partition is given up, or left alone, only for a reason that holds"),
    "RC147": ("backfill_rules", "a backfill is planned in order, and is done when every member has ended"),
    "RC146": ("run_unknown", "a report is of a run"),
    "RC148": ("requeue_by_itself", "recovery requeues a terminal partition by itself once, until a person acts"),
    "RC149": ("sink_step", "a raw sink is registered, and its outage reported and ended, as it happens"),
}
declare(LAWS)
