"""What the routines of recovery refuse."""

from recoup.refusals import declare

LAWS = {
    "RC080": ("candidate_start", "a candidate is started in time, now, by an action of the active policy"),
    "RC081": ("approval_missing", "without a person only what all gates allow is started"),
    "RC082": ("candidate_outcome", "an effect is made once, under its lease, and its outcome is what it says"),
    "RC083": ("decision", "a person decides in time, under their name, within an active scope, on another's proposal"),
    "RC084": ("action_selection", "an action is selected as the policy has it, and its confidence is its own"),
    "RC085": ("match_rules", "matches, evaluations, candidates and incidents belong together and are made now"),
    "RC086": ("subject_changed", "nothing is executed for a subject that has changed since"),
    "RC087": ("scope_rules", "a scope is opened for an open incident, and ends in time"),
    "RC088": ("task_end", "a task is ended by the acting person"),
    "RC090": ("breaker_rules", "a breaker is opened as the policy has it, and follows the unit that tries it"),
    "RC091": ("breaker_open", "nothing begins behind a breaker that is not closed, but for what tries it"),
    "RC089": ("scope_spent", "nothing is executed without a scope that allows it and has attempts and cost left"),
    "RC097": ("config_version", "a version of a key is its next one, set now by the actor"),
    "RC098": ("undo_refused", "what is undone was executed by an action that can be undone, and is undone once"),
}
declare(LAWS)
