-- Comments of the tables of recovery.

comment on table recovery.incident is
'Failures of one source with one signature, while they come. Scopes are opened for incidents.';
comment on column recovery.incident.incident_id is 'Id of the incident.';
comment on column recovery.incident.source is 'Where the failures occur: an error table, a kind of run, a system.';
comment on column recovery.incident.error_signature is 'What the failures have in common.';
comment on column recovery.incident.status is
'open: matches join it; closed: it was quiet, and none of its matches is open.';
comment on column recovery.incident.follows is 'The incident of the same source and signature before it, if any.';
comment on column recovery.incident.opened_at is 'When its first match came.';
comment on column recovery.incident.closed_at is 'When it was closed.';

comment on table recovery.failure_match is
'One failure, to be recovered from. It is evaluated again whenever something happens, until it ends.';
comment on column recovery.failure_match.failure_match_id is 'Id of the match.';
comment on column recovery.failure_match.incident_id is 'The incident that it belongs to.';
comment on column recovery.failure_match.source is 'Where it failed: an error table, a kind of run, a system.';
comment on column recovery.failure_match.idempotency_key is
'Given by its reporter, unique within the source: a failure that is reported again is the same match.';
comment on column recovery.failure_match.subject_kind is 'error, intake, run, partition or outside.';
comment on column recovery.failure_match.subject_ref is
'What failed: table and first error of a lineage, id of an intake or run, or a name from outside.';
comment on column recovery.failure_match.error_code is 'Code of the failure, if it has one.';
comment on column recovery.failure_match.error_message is 'Message of the failure; known secrets are redacted.';
comment on column recovery.failure_match.error_signature is 'What failures of the same kind have in common.';
comment on column recovery.failure_match.category is 'TRANSIENT, OPERATIONAL or STRUCTURAL.';
comment on column recovery.failure_match.context is 'Details from its reporter; known secrets are redacted.';
comment on column recovery.failure_match.digest is
'Digest of what was reported: the same key with other content is refused.';
comment on column recovery.failure_match.status is 'new, evaluated, stuck, recovered, accepted or unrecovered.';
comment on column recovery.failure_match.follows is 'The match of the same subject before it, which has ended.';
comment on column recovery.failure_match.evaluate_at is 'When it is evaluated next, at the latest.';
comment on column recovery.failure_match.match_until is
'Without an open candidate and without a started unit it ends as unrecovered at this time.';
comment on column recovery.failure_match.evaluation_no is 'Number of evaluations that have ended.';
comment on column recovery.failure_match.evaluation_failures is 'Number of evaluations in a row that failed.';
comment on column recovery.failure_match.wakes is
'Number of times that something happened to it; an evaluation that saw fewer is repeated.';
comment on column recovery.failure_match.token is 'Token of the last evaluation that ended.';
comment on column recovery.failure_match.last_failure is 'Why its last evaluation failed; null: it did not.';
comment on column recovery.failure_match.reported_end is 'recovered: an operator reported that the failure is gone.';
comment on column recovery.failure_match.reported_by is 'Who reported that.';
comment on column recovery.failure_match.end_reason is 'Why it ended.';
comment on column recovery.failure_match.policy_version is 'Version of the policy when it was created.';
comment on column recovery.failure_match.created_at is 'When it was ingested.';
comment on column recovery.failure_match.updated_at is 'When it last changed.';
comment on column recovery.failure_match.ended_at is 'When it ended.';
comment on column recovery.failure_match.recovered_at is 'When the failure was gone.';

comment on table recovery.match_queue is 'Matches that wait for their next evaluation. Managed by the database.';
comment on column recovery.match_queue.unit is 'The match''s id; round is the number of evaluations that have ended.';

comment on table recovery.evaluation is 'What the rules recommended for a match, and on which facts. It never changes.';
comment on column recovery.evaluation.failure_match_id is 'The match.';
comment on column recovery.evaluation.evaluation_no is 'Number of the evaluation, from 1.';
comment on column recovery.evaluation.status is 'done.';
comment on column recovery.evaluation.rules is
'What was evaluated: rules, or plan, where the policy has no rules.';
comment on column recovery.evaluation.fired is
'The rules that were true, first the one that decided; plan.KIND comes first where the plan decided.';
comment on column recovery.evaluation.recommended_action is 'The action that they recommend; null: none.';
comment on column recovery.evaluation.weight is 'How strongly they recommend it, from 0 to 1.';
comment on column recovery.evaluation.facts is
'What they were evaluated on, as far as it is not in the row of the match.';
comment on column recovery.evaluation.errors is
'The rules whose evaluation failed, each with its error: they decided nothing. null: none.';
comment on column recovery.evaluation.policy_version is 'Version of the policy that they are from.';
comment on column recovery.evaluation.evaluated_at is 'When they were evaluated.';

comment on table recovery.scope is
'A boundary: which actions may be executed for an incident, how often, at what cost, until when.';
comment on column recovery.scope.scope_id is 'Id of the scope.';
comment on column recovery.scope.incident_id is 'The incident that it is for.';
comment on column recovery.scope.allowed_actions is 'The actions that may be executed within it.';
comment on column recovery.scope.max_attempts is 'How many candidates may be started within it.';
comment on column recovery.scope.attempts_used is 'How many were started. Never decreases.';
comment on column recovery.scope.cost_limit is 'How many units of cost may be spent within it.';
comment on column recovery.scope.cost_used is 'How many were spent. Never decreases.';
comment on column recovery.scope.least_cost is
'Cost of the cheapest of its actions: when that does not fit, it is exhausted.';
comment on column recovery.scope.ttl_seconds is 'How long it is valid.';
comment on column recovery.scope.expires_at is 'Until when it is valid.';
comment on column recovery.scope.status is 'active, exhausted, expired or revoked.';
comment on column recovery.scope.opened_by is 'Who opened it.';
comment on column recovery.scope.reason is 'Why it was opened.';
comment on column recovery.scope.policy_version is 'Version of the policy when it was opened.';
comment on column recovery.scope.opened_at is 'When it was opened.';
comment on column recovery.scope.ended_at is 'When it was exhausted, expired or revoked.';

comment on table recovery.candidate is
'One action that may recover a match. Started at most once, within a scope, if approved or if all gates allow it.';
comment on column recovery.candidate.candidate_id is 'Id of the candidate.';
comment on column recovery.candidate.failure_match_id is 'The match that it may recover.';
comment on column recovery.candidate.incident_id is 'The incident of its match.';
comment on column recovery.candidate.error_signature is 'The signature of its match.';
comment on column recovery.candidate.subject_kind is 'The kind of its match''s subject.';
comment on column recovery.candidate.follows is 'The candidate of the same match before it.';
comment on column recovery.candidate.proposed_by is 'The person who proposed it; null: the evaluation did.';
comment on column recovery.candidate.recommended_action is 'The action that was recommended when it was created.';
comment on column recovery.candidate.action_name is 'The selected action.';
comment on column recovery.candidate.action_type is
'retry, fallback, circuit_breaker, reconfigure, rollback, escalate, notify, manual or skip.';
comment on column recovery.candidate.parameters is 'What the action is given.';
comment on column recovery.candidate.cost is 'Units that it takes from its scope.';
comment on column recovery.candidate.timeout_s is 'Seconds that the action may take.';
comment on column recovery.candidate.is_automated is 'Whether its action may start without a person.';
comment on column recovery.candidate.requires_approval is 'Whether its action needs an approval all the same.';
comment on column recovery.candidate.held_for_review is 'Whether this one was held back for a person.';
comment on column recovery.candidate.scope_id is 'The scope within which it may start; null: none allows it yet.';
comment on column recovery.candidate.confidence is 'How likely its action makes the failure go away, from 0 to 1.';
comment on column recovery.candidate.confidence_of is
'The action that the confidence is of; null: it was not estimated for the selected one.';
comment on column recovery.candidate.evidence is 'Number of outcomes that the confidence rests on.';
comment on column recovery.candidate.status is
'pending, approved, rejected, executing, succeeded, failed, rolled_back or skipped.';
comment on column recovery.candidate.decide_by is 'Pending until then, it is skipped.';
comment on column recovery.candidate.decided_by is 'Who approved or rejected it.';
comment on column recovery.candidate.decided_at is 'When it was approved or rejected.';
comment on column recovery.candidate.decision_note is 'The person''s note; a rejection has a reason.';
comment on column recovery.candidate.execute_by is 'Not started before this time, it is skipped.';
comment on column recovery.candidate.executed_at is 'When it was started, once.';
comment on column recovery.candidate.worker is 'Who started it.';
comment on column recovery.candidate.token is
'Token of the claim that started it: its outcome is accepted with it only.';
comment on column recovery.candidate.lease_until is
'Until when its effect has to be made; otherwise it has failed (CRASHED).';
comment on column recovery.candidate.idempotency_key is
'Given to the action, the same for a repetition: one that honours it makes its effect once.';
comment on column recovery.candidate.effect_made_at is 'When its effect was made, once.';
comment on column recovery.candidate.reported is 'The outcome that its action reported; null: none, or one is awaited.';
comment on column recovery.candidate.awaits is
'What its effect started and whose end is its outcome: kind, key, since_seq.';
comment on column recovery.candidate.outcome_by is 'Until when that outcome is awaited.';
comment on column recovery.candidate.overridden_by is 'The person who acted on its subject meanwhile, or overtook it.';
comment on column recovery.candidate.finished_at is 'When it ended.';
comment on column recovery.candidate.skip_reason is 'Why it was not executed.';
comment on column recovery.candidate.result is 'What its action returned.';
comment on column recovery.candidate.error is 'Why it failed.';
comment on column recovery.candidate.teaches is 'Whether its outcome counts as evidence for its action.';
comment on column recovery.candidate.policy_version is 'Version of the policy when it was created.';
comment on column recovery.candidate.created_at is 'When it was created.';
comment on column recovery.candidate.updated_at is 'When it last changed.';
comment on column recovery.candidate.automatic is
'Whether its action may ever start without a person for a subject of this kind. Generated.';
comment on column recovery.candidate.is_ready is
'Whether it may start as far as the row itself says; scope, policy and pauses are asked by the claim. Generated.';
comment on column recovery.candidate.cell is
'What its outcome teaches about, with its action: its signature, or nothing narrower than the action. Generated.';
comment on column recovery.candidate.confidence_basis is
'What its confidence rests on: numbers of outcomes, its own and those of wider levels.';

comment on table recovery.experience is
'How often actions made failures go away, counted by day: of all failures, of a source, of a category of a source.';
comment on column recovery.experience.action_name is 'The action.';
comment on column recovery.experience.source is 'The source; empty: of all failures.';
comment on column recovery.experience.category is 'The category; empty: of all of the source.';
comment on column recovery.experience.day is 'The day on which the candidates ended, UTC.';
comment on column recovery.experience.succeeded is 'How many succeeded.';
comment on column recovery.experience.ended is 'How many ended, in whatever way, and taught something.';

comment on table recovery.lease is
'Claims of candidates, and until when their effects have to be made. Managed by the database.';
comment on column recovery.lease.token is 'Token of the claim.';
comment on column recovery.lease.worker is 'Who claimed.';
comment on column recovery.lease.lease_until is 'Until when.';
comment on column recovery.lease.candidates is 'The candidates that were started with it.';

comment on table recovery.task is 'Something that a person is asked to do, with a due time.';
comment on column recovery.task.task_id is 'Id of the task.';
comment on column recovery.task.incident_id is 'The incident that it is about.';
comment on column recovery.task.action_name is 'The action that made it.';
comment on column recovery.task.owner is 'Who is asked.';
comment on column recovery.task.subject is 'What failed.';
comment on column recovery.task.status is 'open, done or cancelled.';
comment on column recovery.task.due_at is 'Until when it is to be done.';
comment on column recovery.task.created_at is 'When it was made.';
comment on column recovery.task.ended_at is 'When it was done or cancelled.';
comment on column recovery.task.ended_by is 'Who did or cancelled it.';
comment on column recovery.task.note is 'That person''s note.';

comment on table recovery.provenance is
'Log of incidents, matches, evaluations, candidates and scopes: every step of each. Append-only.';
comment on column recovery.provenance.seq is 'Position in the order of all events.';
comment on column recovery.provenance.xid is 'The transaction that wrote it.';
comment on column recovery.provenance.incarnation is 'Number of the cluster that wrote it.';
comment on column recovery.provenance.logged_at is 'When it happened.';
comment on column recovery.provenance.event_type is 'What happened.';
comment on column recovery.provenance.candidate_id is 'The candidate, if it is about one.';
comment on column recovery.provenance.failure_match_id is 'The match, if it is about one.';
comment on column recovery.provenance.incident_id is 'The incident.';
comment on column recovery.provenance.scope_id is 'The scope, if one is involved.';
comment on column recovery.provenance.number is 'Number of the evaluation, if it is about one.';
comment on column recovery.provenance.from_status is 'Status before; null: it was created.';
comment on column recovery.provenance.to_status is 'Status after.';
comment on column recovery.provenance.action_name is 'The action.';
comment on column recovery.provenance.confidence is 'The confidence at that time; of an evaluation, its weight.';
comment on column recovery.provenance.evidence is 'Number of outcomes that it rested on.';
comment on column recovery.provenance.token is 'Token of the claim.';
comment on column recovery.provenance.outcome is 'How an evaluation ended: SUCCEEDED or FAILED.';
comment on column recovery.provenance.reason is 'Why: a note, a skip reason, an error, or who claimed.';
comment on column recovery.provenance.facts is 'Further facts; of parameters and results digests only.';
comment on column recovery.provenance.policy_version is 'Version of the policy that was decided by.';
comment on column recovery.provenance.actor is 'Kind of the actor: system, ai or human.';
comment on column recovery.provenance.actor_id is 'The actor.';
comment on column recovery.provenance.authority is 'Authority under which it was done.';
comment on column recovery.provenance.login is 'Login of the session.';

comment on table recovery.breaker is
'A dependency that may be down. While it is not closed, what depends on it is not claimed, but for one unit that tries '
'it.';
comment on column recovery.breaker.name is
'Its name; if the policy does not list it, a table, a kind of runs or a source.';
comment on column recovery.breaker.status is 'closed, open or half_open: one unit tries it.';
comment on column recovery.breaker.parts is 'What depends on it, as the policy had it when it was opened.';
comment on column recovery.breaker.wait_s is 'Seconds from its opening, or its last probe, to the next probe.';
comment on column recovery.breaker.max_wait_s is 'The longest such wait; each failed probe doubles it up to that.';
comment on column recovery.breaker.opened_at is 'When it was opened last.';
comment on column recovery.breaker.open_until is 'Nothing that depends on it is claimed before.';
comment on column recovery.breaker.opened_by is 'Who opened it.';
comment on column recovery.breaker.reason is 'Why it was opened.';
comment on column recovery.breaker.candidate_id is 'The candidate that opened it; null: a person.';
comment on column recovery.breaker.probes is 'How often it was tried since it was opened.';
comment on column recovery.breaker.probe_subject is 'The table of the unit that tries it now.';
comment on column recovery.breaker.probe_unit is 'The unit that tries it now.';
comment on column recovery.breaker.probe_token is 'The token of that unit''s claim.';
comment on column recovery.breaker.probe_until is 'When that claim''s lease ends; of a run, a day later.';
comment on column recovery.breaker.closed_at is 'When it was closed.';
comment on column recovery.breaker.closed_by is 'probe: the unit that tried it ended well; else who closed it.';
