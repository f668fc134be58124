"""What the routines of alerts refuse."""

from recoup.refusals import declare

LAWS = {
    "RC130": ("alert_birth", "an alert fires by a rule of the policy, for a value above its threshold for long enough"),
    "RC131": ("alert_move", "notices, times and the end of an alert are what judging makes them"),
    "RC132": ("silence_time", "a silence begins now, lasts up to 90 days, and expires when its time has come"),
}
CONSTRAINTS = {
    "alert_firing": (
        "alert_firing",
        "An alert of this rule fires for this key already.",
        "See it: recoup alerts list",
    ),
}
declare(LAWS, CONSTRAINTS)
