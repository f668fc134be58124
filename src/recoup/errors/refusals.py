"""What the routines of errors refuse."""

from recoup.refusals import declare

LAWS = {
    "RC044": ("disposition_not_allowed", "a table allows the dispositions that the policy lists for it"),
    "RC045": ("error_birth", "an error is born now, without a lease, under a policy that there is"),
    "RC046": ("error_over", "what is resolved, superseded or archived by hand does not move any more"),
    "RC047": ("retry_under_way", "one retry at a time, under one lease"),
    "RC048": ("retry_too_early", "no retry before next_retry_at, none by itself after its window"),
    "RC049": ("error_move", "counts, budgets, leases and reasons of a move are what the move makes them"),
    "RC050": ("error_not_leaving", "what leaves a live table is over or expired"),
    "RC051": ("archive_kept", "a month of an archive is kept as long as the policy says"),
    "RC052": ("table_taken", "error tables do not take the place of tables that somebody else made"),
    "RC063": ("redaction", "a text of an error may lose parts of it after it was recorded, and gains nothing"),
    "RC064": ("retry_traceback", "a traceback belongs to a retry that failed, and is kept as long as its error"),
    "RC053": ("table_not_made", "an error table of the policy is made by a migration"),
    "RC065": ("failed_at_ahead", "an error first failed in the past"),
    "RC059": ("processed_count", "what was processed was processed by then, for an error table of the policy"),
    "RC061": ("entity_null", "the gate answers for entities, and not for what is missing"),
    "RC062": (
        "entity_held",
        "an error and a promotion of one entity wait for each other, for a bounded time",
    ),
}
declare(LAWS)
