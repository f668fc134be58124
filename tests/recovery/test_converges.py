"""Nothing waits for ever, by search: whatever happens to a match, once its deadlines have passed it ends.

The rows are a model here; the decision is the real one. Anything may happen in any order: evaluations, people, scopes,
starts, crashes, effects, ends of units, other policies, a clock that jumps, pauses.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from recoup.recovery.condition import Candidate, Facts, Scope
from recoup.recovery.decision import Ask, Attach, Decision, EndMatch, Propose, Wait, decide
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.recommending import applicable
from recoup.recovery.vocabulary import ActionType, CandidateStatus, Failure, MatchStatus, Skip, SubjectKind
from recovery.table import DAY, HOUR, MANUAL, NOTIFY, NOW, RETRY, SKIP, listing, policy

LEASE = timedelta(minutes=5)
OPEN_SCOPES = policy().scope.model_dump() | {"opens_by_itself": True}
WITHOUT_RETRY = {name: action for name, action in policy().actions.items() if name != RETRY}
PLANS = {kind: [MANUAL, NOTIFY] for kind in SubjectKind}
POLICIES: tuple[RecoveryPolicy, ...] = (
    policy(),
    listing(RETRY, RETRY, NOTIFY, RETRY, MANUAL, candidates_max=5),
    listing(RETRY, RETRY, NOTIFY, scope=OPEN_SCOPES),
    policy(actions={name: action.model_dump() for name, action in WITHOUT_RETRY.items()}, plan=PLANS),
    policy(rules={"one": {"when": "true", "action": NOTIFY, "times": 3}}, candidates_max=4),
)
MOST_AT_ONCE = 30  # evaluations without a wait
MOST_JUMPS = 60
STANDINGS = st.sampled_from(["failed", "busy", "good", "gone"])
ENDS = st.sampled_from(["failed", "good", "gone"])
CORRECTED = (SubjectKind.ERROR, SubjectKind.RUN, SubjectKind.PARTITION)  # kinds whose retry is a unit of this database


class Life(RuleBasedStateMachine):
    """One match, with all that may happen to it."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.policy = POLICIES[0]
        self.kind = SubjectKind.OUTSIDE
        self.standing = "failed"
        self.person: str | None = None
        self.reported: str | None = None
        self.ended: EndMatch | None = None
        self.match_until = NOW + 30 * DAY
        self.candidates: list[Candidate] = []
        self.scopes: list[Scope] = []
        self.units: dict[uuid.UUID, str] = {}  # deliveries and tasks, by the candidate that awaits them
        self.paused = False
        self.settled = True
        self.stuck = False

    @initialize(kind=st.sampled_from(list(SubjectKind)))
    def begin(self, kind: SubjectKind) -> None:
        self.kind = kind

    # What the rows say

    def facts(self) -> Facts:
        return Facts(
            status=MatchStatus.STUCK if self.stuck else MatchStatus.EVALUATED,
            kind=self.kind,
            standing=self.standing,  # type: ignore[arg-type]
            person=self.person,
            reported_recovered_by=self.reported,
            match_until=self.match_until,
            candidates=[self._seen(one) for one in self.candidates],
            scopes=[one for one in map(self._now, self.scopes) if one.is_active],
            leases_expire=self.settled,
        )

    def _now(self, scope: Scope) -> Scope:
        known = next((one for one in self.scopes if one.scope_id == scope.scope_id), scope)
        return replace(known, is_active=known.is_active and known.expires_at > self.now)

    def _seen(self, one: Candidate) -> Candidate:
        unit = None
        if one.awaits and (one.status is CandidateStatus.EXECUTING or one.is_overdue):
            unit = self.units.get(one.candidate_id, self.standing)
        scope = self._now(one.scope) if one.scope is not None else None
        return replace(one, unit=unit, scope=scope, is_paused=self.paused and one.awaits)  # type: ignore[arg-type]

    @property
    def latest(self) -> Candidate | None:
        return self.candidates[-1] if self.candidates else None

    def _is(self, *statuses: str) -> bool:
        return self.ended is None and self.latest is not None and self.latest.status in statuses

    def _put(self, **changed: object) -> None:
        self.candidates[-1] = replace(self.candidates[-1], **changed)  # type: ignore[arg-type]

    # What evaluations do

    @precondition(lambda self: self.ended is None)
    @rule(low=st.booleans(), opened=st.booleans(), fired=st.booleans())
    def evaluate(self, low: bool, opened: bool, fired: bool) -> None:
        self._evaluate(low=low, opened=opened, fired=fired)

    def _evaluate(self, *, low: bool = False, opened: bool = False, fired: bool = True) -> Decision:
        decision = decide(self.facts(), self.policy, self.now)
        if isinstance(decision.step, Ask):  # the rules are evaluated, and it decides again
            decision = decide(
                replace(self.facts(), fired=tuple(self.policy.rules) if fired else ()), self.policy, self.now
            )
            assert not isinstance(decision.step, Ask)
        if decision.ends is not None:
            assert self._is("pending", "approved", "executing")
            skipped = decision.ends.status is CandidateStatus.SKIPPED
            assert skipped == (self.candidates[-1].status is not CandidateStatus.EXECUTING)
            self._put(
                status=decision.ends.status,
                skip_reason=decision.ends.reason if skipped else None,
                error=None if skipped else decision.ends.reason,
            )
            self.person = None
        match decision.step:
            case EndMatch():
                assert not self._is("pending", "approved", "executing")
                self.ended = decision.step
            case Propose() | Attach() if self.stuck:
                raise AssertionError("to begin something new, an operator resumes it")
            case Propose():
                scope = decision.step.scope
                if scope is None and opened and self.policy.scope.opens_by_itself:
                    scope = self._open(tuple(self.policy.actions), DAY)
                self._born(decision.step.action_name, scope, low=low, key=decision.step.idempotency_key)
            case Attach():
                assert self.candidates[-1].candidate_id == decision.step.candidate_id
                self._put(scope=decision.step.scope, execute_by=decision.step.scope.expires_at)
            case Wait():
                assert decision.step.until > self.now, "it would be evaluated again and again"
                one = self.latest
                if one is not None and one.status is CandidateStatus.PENDING:
                    assert decision.step.until <= one.decide_by, "nobody would skip it in time"
        return decision

    def _born(
        self, name: str, scope: Scope | None, *, low: bool, key: str | None = None, proposer: str | None = None
    ) -> None:
        assert not self._is("pending", "approved", "executing"), "two open candidates"
        action = self.policy.actions[name]
        assert applicable(action, self.kind)
        self.candidates.append(
            Candidate(
                candidate_id=uuid.uuid4(), status=CandidateStatus.PENDING, action_name=name, action_type=action.type,
                proposed_by=proposer, confidence=0.0 if low else 0.5, evidence=10, confidence_of=name,
                decide_by=self.now + timedelta(hours=self.policy.decide_within_hours), parameters=action.parameters,
                scope=scope, execute_by=scope.expires_at if scope else None, idempotency_key=key,
            )
        )  # fmt: skip

    def _open(self, actions: tuple[str, ...], ttl: timedelta) -> Scope:
        made = Scope(scope_id=uuid.uuid4(), is_active=True, allowed_actions=actions, expires_at=self.now + ttl)
        self.scopes.append(made)
        return made

    # People, scopes, policies, time

    @precondition(lambda self: self.ended is None)
    @rule(actions=st.sets(st.sampled_from([RETRY, NOTIFY, MANUAL, SKIP]), min_size=1), hours=st.integers(1, 200))
    def open_scope(self, actions: set[str], hours: int) -> None:
        self._open(tuple(actions), hours * HOUR)

    @precondition(lambda self: bool(self.scopes))
    @rule(which=st.integers(0, 100))
    def end_scope(self, which: int) -> None:
        place = which % len(self.scopes)
        self.scopes[place] = replace(self.scopes[place], is_active=False)

    @precondition(lambda self: self._is("pending"))
    @rule(approved=st.booleans())
    def decide_on_it(self, approved: bool) -> None:
        one = self.candidates[-1]
        if one.decide_by <= self.now:
            return
        if not approved:
            self._put(status=CandidateStatus.REJECTED)
        elif one.scope is not None and self._now(one.scope).is_active:
            self._put(status=CandidateStatus.APPROVED)

    @precondition(lambda self: self.ended is None and not self._is("approved", "executing"))
    @rule(name=st.sampled_from([RETRY, NOTIFY, MANUAL, SKIP]))
    def propose(self, name: str) -> None:
        action = self.policy.actions.get(name)
        if action is None or not applicable(action, self.kind):
            return
        if self._is("pending"):
            self._put(status=CandidateStatus.SKIPPED, skip_reason=Skip.OVERTAKEN)
        scope = next(
            (one for one in map(self._now, self.scopes) if one.is_active and name in one.allowed_actions), None
        )
        self._born(name, scope, low=False, proposer="ada")

    @precondition(lambda self: self.ended is None and self.kind in (*CORRECTED, SubjectKind.INTAKE))
    @rule(standing=STANDINGS)
    def act_on_the_subject(self, standing: str) -> None:
        self.standing, self.person = standing, "grace"

    @precondition(lambda self: self.ended is None)
    @rule()
    def report_recovered(self) -> None:
        self.reported = "ada"

    @rule(to=st.sampled_from(POLICIES))
    def change_policy(self, to: RecoveryPolicy) -> None:
        self.policy = to

    @rule(by=st.sampled_from([timedelta(seconds=1), LEASE, HOUR, DAY, 3 * DAY, 31 * DAY]))
    def move_the_clock(self, by: timedelta) -> None:
        self.now += by

    @rule(paused=st.booleans(), settled=st.booleans())
    def pause(self, paused: bool, settled: bool) -> None:
        self.paused, self.settled = paused, settled

    @rule(stuck=st.booleans())
    def fail_evaluations_or_resume(self, stuck: bool) -> None:
        self.stuck = stuck

    # Workers and units

    @precondition(lambda self: self._is("pending", "approved"))
    @rule()
    def start(self) -> None:
        one = self.candidates[-1]
        if one.scope is None or not self._now(one.scope).is_active or one.execute_by is None:
            return
        if one.execute_by <= self.now or one.action_name not in self.policy.actions:
            return
        key = one.idempotency_key or str(one.candidate_id)
        self._put(status=CandidateStatus.EXECUTING, lease_until=self.now + LEASE, idempotency_key=key)

    @precondition(lambda self: self._is("executing") and not self.candidates[-1].effect_made)
    @rule(works=st.booleans())
    def make_effect(self, works: bool) -> None:
        one = self.candidates[-1]
        if one.lease_until is None or one.lease_until < self.now:
            return  # it comes late
        if one.scope is not None and not self._now(one.scope).is_active and not works:
            self._put(status=CandidateStatus.FAILED, error=Failure.SCOPE_REVOKED)
        elif one.action_type in (ActionType.NOTIFY, ActionType.MANUAL):
            self.units[one.candidate_id] = "busy"
            self._put(effect_made=True, awaits=True, outcome_by=self.now + DAY)
        elif one.action_type is ActionType.RETRY and self.kind in (*CORRECTED, SubjectKind.INTAKE):
            if self.standing != "failed":
                self._put(status=CandidateStatus.FAILED, error=Failure.SUBJECT_CHANGED)
            else:
                self.standing = "busy"
                self._put(effect_made=True, awaits=True, outcome_by=self.now + DAY)
        else:
            self._put(effect_made=True, reported="succeeded" if works else "failed", error=None if works else "no")

    @precondition(lambda self: self.standing == "busy" or "busy" in self.units.values())
    @rule(end=ENDS)
    def end_units(self, end: str) -> None:
        self._end_units(end)

    def _end_units(self, end: str) -> None:
        """Whatever is under way ends."""
        if self.standing == "busy":
            self.standing = end
        ends = "failed" if end == "gone" else end
        self.units = {one: ends if unit == "busy" else unit for one, unit in self.units.items()}

    # What must hold

    @invariant()
    def one_is_open_at_most(self) -> None:
        open_ = [one for one in self.candidates if one.is_open]
        assert len(open_) <= 1
        assert not open_ or (self.ended is None and open_[0] is self.latest)

    def teardown(self) -> None:
        """All deadlines pass, and evaluations run: nothing is open for ever."""
        self.paused, self.settled = False, True
        jumps = 0
        while self.ended is None:
            for _ in range(MOST_AT_ONCE):
                step = self._evaluate().step
                if isinstance(step, Wait | EndMatch):
                    break
            else:
                raise AssertionError(f"evaluated {MOST_AT_ONCE} times at once: {self.candidates}")
            if not isinstance(step, Wait):
                break
            jumps += 1
            assert jumps < MOST_JUMPS, f"still open: {self.facts()}"
            self.now = step.until
            alive = self.standing == "busy" or "busy" in self.units.values()
            if alive and self.now > self.match_until and not self._is("pending", "approved", "executing"):
                # Past its time and without a candidate it waits for one thing alone: what is under way.
                self._end_units("failed")


Life.TestCase.settings = settings(
    max_examples=300, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestLife = Life.TestCase
