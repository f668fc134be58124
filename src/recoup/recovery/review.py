"""Decisions of people: approve and reject candidates, one or many, and propose an action of one's own.

A decision is bound to what was shown: action, parameters, scope, cost and confidence. A candidate that has changed
since is refused, and so is a set that is larger than what is left of its scope. Another person than the one who
proposed a candidate approves it.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import dict_row
from psycopg.sql import SQL, Composable

from recoup.database.acting import acting_as
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.operations.verbs import Act, Answer, Group, Outcomes, Step, Subject, Verb, Why, act, reason
from recoup.recovery.condition import Scope
from recoup.recovery.confidence import rate
from recoup.recovery.effects import USABLE, lacks
from recoup.recovery.following import wake
from recoup.recovery.matches import NewFailure, ingest
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.recommending import applicable
from recoup.recovery.selection import Selection, create, select_actions
from recoup.recovery.texts import require_usable
from recoup.recovery.vocabulary import SubjectKind
from recoup.refusals import InputRefused, LawRefused, from_database

Q = load("recoup.recovery", "review.sql")
APPROVE, REJECT = "approve", "reject"
VERBS = (
    Verb(
        name=APPROVE,
        help="Approve candidates: a worker executes them within their scope.\n\n"
        "For example: recoup recovery approve ID --reason 'the vendor is back'",
        arguments=(reason(required=False),),
    ),
    Verb(
        name=REJECT,
        help="Reject candidates: they are not executed, and this action is not proposed again for their failure.\n\n"
        "For example: recoup recovery reject ID --reason 'the data is wrong'",
    ),
)
UNKNOWN = Why("candidate_unknown", "There is no such candidate.", "List them: recoup recovery list")
STOP = "To stop it before it starts, revoke its scope, or pause its action: recoup pause action NAME --reason …"
CHANGED = Why("candidate_changed", "It has changed since it was shown.", "List it again: recoup recovery list")
NO_SCOPE = Why(
    "scope_missing",
    "It has no active scope.",
    "Open one for its incident: recoup recovery scope open INCIDENT",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which pending candidates."""

    action: str | None = None
    source: str | None = None
    incident: str | None = None
    signature: str | None = None
    approving: bool = False  # set by the verb: the set has to fit its scopes

    @property
    def is_empty(self) -> bool:
        return all(value is None for value in self.conditions.values())

    @property
    def conditions(self) -> Mapping[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "approving"}


MATCHING = SQL(
    "(%(action)s::text is null or c.action_name = %(action)s)"
    " and (%(signature)s::text is null or c.error_signature = %(signature)s)"
    " and (%(incident)s::text is null or c.incident_id::text = %(incident)s)"
    " and (%(source)s::text is null or exists (select from recovery.failure_match m"
    " where m.failure_match_id = c.failure_match_id and m.source = %(source)s))"
)


def approve(tx: Transaction, candidates: Sequence[str], *, note: str | None = None) -> list[Answer]:
    """Approve candidates, by id or by id:digest as a list shows it. Each has its own answer, in the order given."""
    return carry_out(tx, act(VERBS, APPROVE, reason=note), candidates)


def reject(tx: Transaction, candidates: Sequence[str], *, note: str) -> list[Answer]:
    """Reject candidates, with a reason."""
    return carry_out(tx, act(VERBS, REJECT, reason=note), candidates)


def carry_out(tx: Transaction, decision: Act, units: Sequence[str]) -> list[Answer]:
    """Decide on candidates. A refused one does not affect the others."""
    asked = {unit: _id(unit) for unit in units}
    with tx.cursor(row_factory=dict_row) as cursor:
        ids = [one for one in asked.values() if one is not None]
        rows = {row["candidate_id"]: row for row in cursor.execute(Q["lock"], {"ids": ids}).fetchall()}
    (who,) = tx.execute("select recoup.acting_id()").fetchone() or ("",)
    refused: dict[str, Why] = {}
    for unit, id_ in asked.items():
        why = _why_not(decision, unit, rows.get(id_) if id_ is not None else None, str(who))
        if why is not None:
            refused[unit] = why
    if decision.verb == APPROVE:
        allowed = {unit: rows[asked[unit]] for unit in asked if unit not in refused}
        tx.execute(Q["hold_scopes"], {"scopes": list({row["scope_id"] for row in allowed.values()})})
        refused |= _too_many(tx, allowed)
    refused |= _decided(tx, decision, {unit: id_ for unit, id_ in asked.items() if unit not in refused})
    return [Answer.of(unit, refused.get(unit)) for unit in units]


def _id(unit: str) -> UUID | None:
    try:
        return UUID(str(unit).partition(":")[0])
    except ValueError:
        return None


def _why_not(decision: Act, unit: str, row: Mapping[str, Any] | None, who: str) -> Why | None:
    if row is None:
        return UNKNOWN
    digest = unit.partition(":")[2]
    if row["status"] != "pending":
        stop = decision.verb == REJECT and row["status"] == "approved"
        return Why("candidate_decided", f"It is {row['status']}, not pending.", STOP if stop else "Nothing to do.")
    if digest and digest != row["digest"]:
        return CHANGED
    if row["overdue"]:
        return Why(
            "decision_overdue", "It had to be decided earlier.", "Propose it again: recoup recovery propose MATCH"
        )
    if row["action_name"] is None:
        return Why("action_missing", "No action is selected yet.", "Wait for its evaluation.")
    if row["proposed_by"] is not None and row["proposed_by"] == who:
        return Why("same_person", "You proposed it.", "Ask somebody else to decide.")
    if decision.verb == APPROVE and (
        row["scope_id"] is None or row["scope_status"] != "active" or row["scope_expired"]
    ):
        return NO_SCOPE
    return None


def _too_many(tx: Transaction, rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Why]:
    """Candidates of scopes that have less left than is asked for: none of these is approved."""
    asked = Counter(row["scope_id"] for row in rows.values())
    if not asked:
        return {}
    ids = [row["candidate_id"] for row in rows.values()]
    costs: dict[UUID, int] = dict(tx.execute(Q["costs"], {"ids": ids}).fetchall())
    units: defaultdict[UUID, int] = defaultdict(int)
    for row in rows.values():
        units[row["scope_id"]] += costs[row["candidate_id"]]
    small: dict[UUID, Why] = {}
    for scope, attempts, left in tx.execute(Q["rest"], {"scopes": list(asked)}):
        if asked[scope] > attempts or units[scope] > left:
            small[scope] = _too_small(scope, attempts, left, asked[scope], units[scope])
    return {unit: small[row["scope_id"]] for unit, row in rows.items() if row["scope_id"] in small}


def _too_small(scope: UUID, attempts: int, left: int, candidates: int, units: int) -> Why:
    return Why(
        "scope_too_small",
        f"Scope {scope} has {attempts:,} attempts and {left:,} units left, and {candidates:,} candidates for"
        f" {units:,} units are to be approved.",
        f"Approve at most {max(attempts, 0):,}, or open a larger scope: recoup recovery scope open INCIDENT",
    )


def _decided(tx: Transaction, decision: Act, chosen: Mapping[str, UUID | None]) -> dict[str, Why]:
    """In one statement. If the database refuses, one by one, with the refusal of each."""
    if not chosen:
        return {}
    try:
        with tx.transaction():
            tx.execute(Q[decision.verb], {"ids": list(chosen.values()), "note": decision.reason})
    except psycopg.Error as error:
        refusal = from_database(error)
        if refusal is None:
            raise
        if len(chosen) == 1:
            return {unit: Why(refusal.code, refusal.happened, refusal.next_step) for unit in chosen}
    else:
        return {}
    refused: dict[str, Why] = {}
    for unit, id_ in chosen.items():
        refused |= _decided(tx, decision, {unit: id_})
    return refused


# Many, by filter ------------------------------------------------------------------------------------------------------


def _groups(tx: Transaction, decision: Act, asked: Filter) -> list[Group]:
    (who,) = tx.execute("select recoup.acting_id()").fetchone() or ("",)
    with tx.cursor(row_factory=dict_row) as cursor:
        query = Q["standings"].format(matching=MATCHING)
        rows = cursor.execute(query, {**asked.conditions, "who": who}, prepare=False).fetchall()
    small = _small_scopes(tx, asked) if decision.verb == APPROVE else {}
    return [
        Group(
            {"action": row["action_name"]}, row["candidates"],
            _group_refusal(decision, row) or small.get(row["scope_id"]),
        )
        for row in rows
    ]  # fmt: skip


def _group_refusal(decision: Act, row: Mapping[str, Any]) -> Why | None:
    stood = {
        "status": "pending", "digest": "", "overdue": row["overdue"], "proposed_by": "you" if row["is_own"] else None,
        "action_name": None if row["unselected"] else row["action_name"], "scope_id": row["scope_id"],
        "scope_status": row["scope_status"], "scope_expired": False,
    }  # fmt: skip
    return _why_not(decision, "", stood, "you")


def _small_scopes(tx: Transaction, asked: Filter) -> dict[UUID, Why]:
    """Scopes that have less left than the candidates that match: the whole set, however it is divided later."""
    (who,) = tx.execute("select recoup.acting_id()").fetchone() or ("",)
    query = Q["fitting"].format(matching=MATCHING)
    wanted = {
        scope: (candidates, units)
        for scope, candidates, units in tx.execute(query, {**asked.conditions, "who": who}, prepare=False)
    }
    rest = tx.execute(Q["rest"], {"scopes": list(wanted)}).fetchall() if wanted else []
    return {
        scope: _too_small(scope, attempts, left, *wanted[scope])
        for scope, attempts, left in rest
        if wanted[scope][0] > attempts or wanted[scope][1] > left
    }


def _chosen(tx: Transaction, asked: Filter) -> tuple[Composable, Mapping[str, Any]]:
    for why in _small_scopes(tx, asked).values() if asked.approving else ():
        raise LawRefused("scope_too_small", why.happened, why.next_step)
    return Q["chosen"].format(matching=MATCHING), asked.conditions


def _kept(tx: Transaction, decision: Act, units: Sequence[str]) -> list[str]:
    """Named candidates, bound to what they are now unless they name a digest. Refused if they do not fit a scope."""
    ids = [one for one in map(_id, units) if one is not None]
    with tx.cursor(row_factory=dict_row) as cursor:
        rows = {row["candidate_id"]: row for row in cursor.execute(Q["kept"], {"ids": ids}).fetchall()}
    if decision.verb == APPROVE:
        pending = {str(id_): row for id_, row in rows.items() if row["scope_id"] is not None}
        for why in _too_many(tx, pending).values():
            raise LawRefused(*why)
    return [
        f"{unit}:{rows[id_]['digest']}" if ":" not in unit and (id_ := _id(unit)) in rows else unit for unit in units
    ]


def _outcomes(tx: Transaction, step: Step) -> Outcomes:
    """Of approved candidates. One that was skipped has no outcome."""
    return Outcomes(*tx.execute(Q["outcomes"], step._asdict()).fetchone() or (0, 0, 0))


SUBJECT = Subject(
    table="recovery.candidate",
    noun="candidate",
    verbs=VERBS,
    groups=_groups,
    chosen=_chosen,
    carry_out=carry_out,
    authority=Authority.REVIEWER,
    narrowed=lambda decision, asked: replace(asked, approving=decision.verb == APPROVE),
    named=lambda unit: {"candidate_id": unit.partition(":")[0]},
    kept=_kept,
    outcomes={APPROVE: _outcomes},
)


# Proposals ------------------------------------------------------------------------------------------------------------


def propose(
    tx: Transaction,
    match: UUID,
    action: str,
    policy: RecoveryPolicy,
    *,
    parameters: Mapping[str, Any] | None = None,
) -> UUID:
    """Propose an action for a match, under the acting person's name. Another person approves it.

    A pending candidate of the machine is overtaken. On a match that has ended, a new match follows it. As an operator,
    with a login that has the matcher's and the evaluator's authority.
    """
    (who,) = tx.execute("select recoup.acting_id()").fetchone() or ("",)
    found = _match(tx, match)
    known = policy.action(action)
    if not applicable(known, SubjectKind(found["subject_kind"])):
        raise InputRefused(
            "action_not_applicable",
            f"{action} cannot be executed for a failure of the kind {found['subject_kind']}.",
            "List the actions and what they apply to: recoup recovery actions",
        )
    given = {**known.parameters, **(parameters or {})}
    require_usable(given)
    lacking = lacks(known.type, SubjectKind(found["subject_kind"]), given)
    if lacking is not None:
        raise InputRefused(
            "parameters_missing",
            f"{action} needs the parameter {lacking} ({USABLE[lacking]}) for the kind {found['subject_kind']}.",
            f"""Give it: --parameters '{{"{lacking}": …}}'""",
            parameter=lacking,
        )
    while found["ended_at"] is not None:
        found = _match(tx, _open_one(tx, found) or _followed(tx, found))
    follows = _overtaken(tx, found, str(who))
    made = _made(tx, found["failure_match_id"], action, follows, str(who), policy)
    row = tx.execute(Q["active_scope"], {"incident": found["incident_id"], "action": action}).fetchone()
    scope = None if row is None else Scope(
        scope_id=row[0], is_active=True, allowed_actions=tuple(row[1]), expires_at=row[2]
    )  # fmt: skip
    with acting_as(tx, Authority.EVALUATOR):
        chosen = Selection(action, scope, parameters, key=_repeated(tx, found["failure_match_id"], action, given))
        select_actions(tx, policy, {made: chosen})
    with acting_as(tx, Authority.MATCHER):
        rate(tx, [made], policy)
    with acting_as(tx, Authority.EVALUATOR):
        wake(tx, [found["failure_match_id"]])
    return made


def _made(tx: Transaction, match: UUID, action: str, follows: UUID | None, who: str, policy: RecoveryPolicy) -> UUID:
    try:
        with tx.transaction():
            return create(tx, policy, ids=[match], actions=[action], follows=[follows], proposers=[who])[match]
    except psycopg.errors.UniqueViolation:
        raise LawRefused(
            "candidate_open", "Somebody else, or an evaluation, proposed something for it at the same moment.",
            f"Read it, and propose again if needed: recoup recovery show {match}", match=str(match),
        ) from None  # fmt: skip


def _match(tx: Transaction, match: UUID) -> dict[str, Any]:
    with tx.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(Q["match"], {"match": match}).fetchone()
    if row is None:
        raise InputRefused(
            "match_unknown", f"There is no match {match}.", "List them: recoup recovery matches", match=str(match)
        )
    return row


def _open_one(tx: Transaction, ended: Mapping[str, Any]) -> UUID | None:
    """The open match of the same subject, if there is one: a failure is recovered from once at a time."""
    row = tx.execute(Q["open_match"], {"kind": ended["subject_kind"], "ref": ended["subject_ref"]}).fetchone()
    return None if row is None else row[0]


def _repeated(tx: Transaction, match: UUID, action: str, parameters: Mapping[str, Any]) -> str | None:
    """The idempotency key of what it repeats, if nobody knows whether the effect of that one was made."""
    given = {"match": match, "action": action, "parameters": json.dumps(parameters)}
    row = tx.execute(Q["repeated"], given).fetchone()
    return None if row is None else row[0]


def _followed(tx: Transaction, ended: Mapping[str, Any]) -> UUID:
    """A new match that follows one that has ended."""
    failure = NewFailure(
        source=ended["source"], message=ended["error_message"], key=f"follows/{ended['failure_match_id']}",
        code=ended["error_code"], category=ended["category"], signature=ended["error_signature"],
        kind=SubjectKind(ended["subject_kind"]), ref=ended["subject_ref"], follows=ended["failure_match_id"],
    )  # fmt: skip
    with acting_as(tx, Authority.MATCHER):
        (made,) = ingest(tx, [failure])
    assert made.failure_match_id is not None
    return made.failure_match_id


def _overtaken(tx: Transaction, match: Mapping[str, Any], who: str) -> UUID | None:
    """The candidate before: a pending one of the machine is skipped; what was approved or started stays."""
    with acting_as(tx, Authority.EVALUATOR):
        row = tx.execute(Q["open_candidate"], {"match": match["failure_match_id"]}).fetchone()
        if row is None:
            latest = tx.execute(Q["latest"], {"match": match["failure_match_id"]}).fetchone()
            return None if latest is None else latest[0]
        candidate, status, _, _ = row
        if status != "pending":
            raise LawRefused(
                "candidate_open",
                f"Candidate {candidate} of this match is {status}.",
                "Wait for its outcome: recoup recovery show " + str(match["failure_match_id"]),
                candidate=str(candidate),
            )
        tx.execute(Q["overtake"], {"candidate": candidate, "who": who})
    assert isinstance(candidate, UUID)
    return candidate
