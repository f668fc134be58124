"""What the routines of Gate Zero refuse."""

from recoup.refusals import declare

LAWS = {
    "RC020": ("attempt_too_early", "no attempt before next_eligible_at"),
    "RC021": ("attempts_spent", "exhausted is final"),
    "RC022": ("attempt_open", "one attempt at a time; nothing is exhausted under a running one"),
    "RC023": ("batch_window_closed", "no retry after a batch's window closed, no freeze before"),
    "RC024": ("batch_paused", "no retry while its batch is paused"),
    "RC025": ("intake_not_waiting", "an attempt needs an intake that waits for it"),
    "RC027": ("attempt_number", "attempts come in order"),
    "RC028": ("recovery_not_ended", "EXHAUSTED is true: three attempts, or a closed window"),
    "RC029": ("attempt_of_other_batch", "an attempt has the batch of its intake"),
    "RC030": ("attempt_not_lapsed", "an attempt crashes when its lease has expired"),
    "RC055": ("attempt_token", "an attempt is ended with its token"),
    "RC057": ("intake_unknown", "an attempt is opened on an intake that exists"),
    "RC058": ("attempt_unknown", "an outcome is reported for an attempt that exists"),
    "RC066": ("evidence_of_ended_attempt", "evidence is recorded while its attempt is open"),
    "RC067": ("evidence_missing", "payload_ref evidence:… points at evidence that is there"),
    "RC042": (
        "restart_not_exhausted",
        "a restart follows an exhausted intake, by an operator or for a recovery candidate",
    ),
    "RC120": ("restart_repeated", "recovery restarts an intake once: what was restarted is not restarted by it again"),
}
CONSTRAINTS = {
    "gate_zero_attempt_one_open": (
        "attempt_open",
        "The intake is being verified already.",
        "Wait for the outcome, or until the lease expires.",
    ),
    "gate_zero_attempt_attempt_number_check": (
        "attempts_spent",
        "The intake has had its three attempts.",
        "Exhausted is final. Restart it: recoup gate restart INTAKE",
    ),
    "gate_zero_attempt_intake_id_attempt_number_key": (
        "attempt_open",
        "The intake is being verified already.",
        "Wait for the outcome, or until the lease expires.",
    ),
    "gate_zero_intake_retry_of": (
        "restarted_already",
        "The intake was restarted before.",
        "Restart the intake that follows it, when that is exhausted.",
    ),
}
declare(LAWS, CONSTRAINTS)
