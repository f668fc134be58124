"""Recovery: the approval queue, failures and their stories, incidents, scopes, tasks, breakers, the catalogue."""

from typing import Annotated
from urllib.parse import quote

from fastapi import Query

from recoup.api.declare import MAX_PAGE, Given, Name
from recoup.api.routes import recovery as routes
from recoup.console.addresses import address
from recoup.console.declare import Context, Section, Seen
from recoup.console.pages.operations import as_id
from recoup.policy import versions
from recoup.recovery import breakers, listing, rule_testing, scopes, story, undoing
from recoup.recovery.calibration import MAX_DAYS
from recoup.recovery.calibration import calibration as calibrated
from recoup.recovery.effects import lacks
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.recommending import applicable
from recoup.recovery.story import Tried
from recoup.recovery.vocabulary import ActionType, CandidateStatus, MatchStatus, SubjectKind
from recoup.refusals import InputRefused

RECOVERY = Section(
    name="recovery",
    title="Recovery",
    links=(("Approval queue", "/recovery"), ("Failures", "/recovery/matches"), ("Incidents", "/recovery/incidents"),
           ("Scopes", "/recovery/scopes"), ("Tasks", "/recovery/tasks"), ("Breakers", "/recovery/breakers"),
           ("Actions", "/recovery/actions"), ("Rules", "/recovery/rules"), ("Calibration", "/recovery/calibration")),
)  # fmt: skip
FEW = 20
NEWEST = 100_000  # candidates that calibration reads: what it reads does not grow with the table
MOST_UNDONE = 20  # candidates of one match, the latest, that are asked whether they can be undone


class BreakersAsked(Given):
    """Which breakers."""

    closed: bool = False
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 100


class CalibrationAsked(Given):
    """Which predictions."""

    action: Name | None = None
    source: Name | None = None
    days: Annotated[int, Query(ge=1, le=MAX_DAYS)] = 90


def subject_path(kind: str, ref: str, unit: str | None = None) -> str:
    """The page of what failed, or of its newest unit; what has none is searched for."""
    newest = unit or ref
    return address(kind, newest) or f"/find?text={quote(newest, safe='')}"


def _policy(seen: Seen) -> RecoveryPolicy:
    return versions.active(seen.tx).policy[RecoveryPolicy]


# Candidates -----------------------------------------------------------------------------------------------------------


@RECOVERY.page("/recovery", "recovery/queue.html")
def queue(seen: Seen) -> Context:
    """What waits for a decision, then what waits for its start; or candidates by status."""
    asked = seen.asked(routes.CandidatesAsked)
    found = routes.list_candidates(seen.tx, asked=asked)
    return {
        "page": found,
        "is_queue": set(asked.status) <= {CandidateStatus.PENDING, CandidateStatus.APPROVED},
        "because": listing.explanations(seen.tx, [one.candidate_id for one in found.items]),
        "statuses": [one.value for one in CandidateStatus],
        "actions": list(_policy(seen).actions),
        "subject_path": subject_path,
    }


# Failures -------------------------------------------------------------------------------------------------------------


@RECOVERY.page("/recovery/matches", "recovery/matches.html")
def matches(seen: Seen) -> Context:
    """Failures to recover from, newest first."""
    asked = seen.asked(routes.MatchesAsked)
    if seen.value("stuck") == "true":
        asked = asked.model_copy(update={"status": (MatchStatus.STUCK,)})
    return {
        "page": routes.list_matches(seen.tx, asked=asked),
        "statuses": [one.value for one in MatchStatus],
        "kinds": [one.value for one in SubjectKind],
        "subject_path": subject_path,
    }


@RECOVERY.page("/recovery/matches/{match_id}", "recovery/one.html")
def match(seen: Seen) -> Context:
    """One failure: what is known of it, what was tried and decided, and what happens next."""
    found = story.show(seen.tx, as_id(seen.params["match_id"], "match"))
    policy = _policy(seen)
    kind = SubjectKind(found.match["subject_kind"])
    return {
        "story": found,
        "because": listing.explanations(seen.tx, [one.candidate_id for one in found.candidates]),
        "undoable": [one.candidate_id for one in found.candidates[-MOST_UNDONE:] if _undoable(seen, one, policy)],
        "proposable": {
            name: lacks(one.type, kind, one.parameters)
            for name, one in policy.actions.items()
            if applicable(one, kind) and one.type is not ActionType.ROLLBACK
        },
        "subject_path": subject_path,
    }


def _undoable(seen: Seen, one: Tried, policy: RecoveryPolicy) -> bool:
    return one.effect_made_at is not None and undoing.is_undoable(seen.tx, one.candidate_id, policy)


# Incidents and scopes -------------------------------------------------------------------------------------------------


@RECOVERY.page("/recovery/incidents", "recovery/incidents.html")
def incidents(seen: Seen) -> Context:
    """Failures of one source with one signature, together."""
    asked = seen.asked(routes.IncidentsAsked)
    return {"page": routes.list_incidents(seen.tx, asked=asked), "closed": asked.closed, "most": listing.MAX_COUNTED}


@RECOVERY.page("/recovery/incidents/{incident_id}", "recovery/incident.html")
def incident(seen: Seen) -> Context:
    """One incident: its scopes and its failures."""
    id_ = as_id(seen.params["incident_id"], "incident")
    asked = seen.asked(routes.MatchesAsked).model_copy(update={"incident": id_})
    return {
        "incident": listing.incident(seen.tx, id_),
        "most": listing.MAX_COUNTED,
        "scopes": scopes.scopes(seen.tx, incident=id_, limit=FEW),
        "page": routes.list_matches(seen.tx, asked=asked),
        "subject_path": subject_path,
    }


@RECOVERY.page("/recovery/scopes", "recovery/scopes.html")
def all_scopes(seen: Seen) -> Context:
    """What may be executed, how often, at what cost, until when; and what is left of it."""
    asked = seen.asked(routes.ScopesAsked)
    return {"page": routes.list_scopes(seen.tx, asked=asked), "active": asked.active, "incident": asked.incident}


@RECOVERY.page("/recovery/scopes/{scope_id}", "recovery/scope.html")
def scope(seen: Seen) -> Context:
    """One scope, and what was started within it and has not ended."""
    found = scopes.show(seen.tx, as_id(seen.params["scope_id"], "scope"))
    return {"scope": found, "started": scopes.started(seen.tx, found, limit=FEW), "few": FEW}


# People ---------------------------------------------------------------------------------------------------------------


@RECOVERY.page("/recovery/tasks", "recovery/tasks.html")
def tasks(seen: Seen) -> Context:
    """What a person has to do, those that are due first."""
    asked = seen.asked(routes.TasksAsked)
    found = routes.list_tasks(seen.tx, asked=asked)
    return {"page": found, "ended": asked.ended, "most": listing.MAX_COUNTED}


@RECOVERY.page("/recovery/tasks/{task_id}", "recovery/task.html")
def task(seen: Seen) -> Context:
    """One task."""
    return {"task": listing.task(seen.tx, as_id(seen.params["task_id"], "task")), "most": listing.MAX_COUNTED}


@RECOVERY.page("/recovery/breakers", "recovery/breakers.html")
def all_breakers(seen: Seen) -> Context:
    """Dependencies that are down, and what waits behind them."""
    asked = seen.asked(BreakersAsked)
    found = breakers.breakers(seen.tx, closed=asked.closed, limit=asked.limit)
    return {"breakers": found, "closed": asked.closed, "most": breakers.MAX_COUNTED}


# The catalogue, and how good its predictions are ----------------------------------------------------------------------


@RECOVERY.page("/recovery/actions", "recovery/actions.html")
def actions(seen: Seen) -> Context:
    """The actions of the active policy."""
    return {"actions": listing.actions(seen.tx, _policy(seen))}


@RECOVERY.page("/recovery/rules", "recovery/rules.html")
def rules(seen: Seen) -> Context:
    """The rules of the active policy, those that recommend most strongly first."""
    return {"rules": rule_testing.rules(seen.tx), "newest": rule_testing.MAX_COUNTED}


@RECOVERY.page("/recovery/calibration", "recovery/calibration.html")
def calibration(seen: Seen) -> Context:
    """Whether candidates that were given a confidence of 0.8 succeeded in eight of ten cases."""
    asked = seen.asked(CalibrationAsked)
    try:
        found = calibrated(seen.tx, action=asked.action, source=asked.source, days=asked.days, newest=NEWEST)
    except InputRefused as refusal:  # an action that nobody knows
        seen.problem, asked = refusal, asked.model_copy(update={"action": None})
        found = calibrated(seen.tx, source=asked.source, days=asked.days, newest=NEWEST)
    points = [(one.predicted, one.observed, one.count) for one in found.total.bins]
    return {
        "found": found, "asked": asked, "actions": list(_policy(seen).actions), "newest": NEWEST, "points": points,
    }  # fmt: skip
