"""The rules of the recovery document, line by line, and our own. Those for runs are in ``recoup.runs``."""

from recoup.audit.invariant import InFile, Invariant

_of = InFile("recoup.recovery")
_candidate = InFile("recoup.recovery", "candidate_invariants.sql")
_effect = InFile("recoup.recovery", "effect_invariants.sql")

CONSISTENCY: tuple[Invariant, ...] = (
    _of("recovery/EC-1", "matches",
        "Every open match, and with it its open candidate, has a time of its next evaluation; a match that ended has"
        " no open candidate. None is a week late where the duty has run since, unless it was paused."),
    _candidate("recovery/EC-3", "candidates",
        "Every step of a candidate has its event: creation, rules, action, decision, start, effect, crash, end, and"
        " what a person overrode.", "recovery/guarantee/provenance"),
    _of("recovery/EC-4", "scopes",
        "Every scope expires, and an active one has attempts and cost left. One that ended has its event. None is"
        " active a week after its time where the duty has run since, unless it was paused."),
)  # fmt: skip

PROHIBITIONS: tuple[Invariant, ...] = (
    _candidate("recovery/P1", "executions",
        "Every start of a candidate was within the life, the incident and the allowed actions of its scope.",
        "recovery/M6", "recovery/guarantee/scope"),
    _candidate("recovery/P2/candidate", "candidates",
        "Action, scope, worker, effect, result and reason of a candidate are those of its events."),
    _candidate("recovery/P4", "candidates",
        "A candidate was started once at most, and executed_at says when. Its idempotency key is its own, or that of"
        " what it repeats.",
        "recovery/guarantee/exactly-once"),
    _candidate("recovery/P5", "candidates",
        "What was started without an approval was automated, needed none, was proposed by no person, and had the"
        " confidence and the evidence that the policy asked for, 0.8 and 5 at least."),
    _candidate("recovery/R6a", "candidates",
        "What is never automatic was approved: to retry or skip what is parked or exhausted, to skip, to roll back."),
    _candidate("recovery/another-person", "candidates",
        "People decide on candidates, and on a person's proposal another person."),
)  # fmt: skip

FINALITY: tuple[Invariant, ...] = (
    _candidate("recovery/RI-2", "candidates", "Nothing follows the end of a candidate."),
    _candidate("recovery/RI-3", "confidences", "Every confidence, in rows and in the provenance, is between 0 and 1."),
    _of("recovery/RI-4", "scopes",
        "What a scope has used is what was started within it, and no less than in the event of its end."),
    _candidate("recovery/RI-5", "open_candidates", "A match has one open candidate for its signature at most."),
    _candidate("recovery/confidence", "candidates",
        "The confidence of a candidate, and what it rests on, is the last one in its events, of its own action."),
    _candidate("recovery/reasons", "candidates",
        "A candidate was skipped for a known reason, and each reason is true."),
)  # fmt: skip

MATCHES: tuple[Invariant, ...] = (
    _of("recovery/match/ends", "matches",
        "A match that ended has one event of it, with its reason, and no candidate was made afterwards."),
    _of("recovery/match/as-told", "matches",
        "The last evaluation of a match, its failure, and who reported its end are those of its events."),
    _of("recovery/guarantee/evaluation", "matches",
        "Every evaluation that ended has its event, numbered from 1 without a gap."),
    _of("recovery/match/incident", "matches",
        "A match is of an incident, an open one of an open one; its candidates are of the same incident and failure."),
    _of("recovery/match/one-open", "subjects",
        "An error, an intake, a run, a partition has one open match; a key of a source one match; a failure one open"
        " incident."),
    _of("recovery/match/subject", "subjects",
        "The intake, run or partition that a match is of exists, unless its evaluation failed."),
    _of("recovery/times", "times", "Incidents were opened and closed, and tasks ended, when their logs say."),
    _of("recovery/lineage", "lineage",
        "A match, candidate or incident that follows another one is of the same failure, and came after its end."),
)  # fmt: skip

WORK: tuple[Invariant, ...] = (
    _candidate("recovery/awaits", "awaited", "What a candidate awaits exists, and is its own or its incident's."),
    _effect("recovery/breakers", "breakers",
        "A breaker is opened by a person, or by a candidate that says so, is tried when its wait has ended, once at a"
        " time, and is what its last event says."),
    _effect("recovery/config", "config",
        "The versions of a key follow each other without a gap, and what a candidate set is what it tells."),
    _effect("recovery/undo", "undone",
        "What was undone had been done, by an action that can be undone, and once; exactly what was there before"
        " it was restored."),
    _candidate("recovery/leases", "leases", "Leases agree with claims, and what has no effect yet is under one."),
    _effect("recovery/experience", "experience",
        "What is known of actions, sources and categories is what the outcomes in the provenance say, each counted"
        " once."),
    _candidate("laws/L5/late-candidates", "late_results",
        "A late result belongs to a candidate that had ended or lost its lease, or carries another token than it."),
    _of("laws/L8/recovery-stamped", "stamped",
        "Matches, evaluations, candidates and scopes have the version of the policy that was active then."),
)  # fmt: skip

INVARIANTS: tuple[Invariant, ...] = (*CONSISTENCY, *PROHIBITIONS, *FINALITY, *MATCHES, *WORK)

# Lines that are covered by an invariant of all domains, not by a query of this one.
HELD = {"laws/L3/append-only": ("recovery/RI-1", "recovery/P2/provenance")}
