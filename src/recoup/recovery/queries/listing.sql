-- Lists of recovery. Each follows an index from where the page before ended, and reads no more rows than it shows,
-- unless few match. Planned again each time, so that conditions that are not used cost nothing.

-- name: match_columns
m.failure_match_id, m.incident_id, m.source, m.idempotency_key, m.subject_kind, m.subject_ref, m.error_code,
       m.error_message, m.error_signature, m.category, m.status, m.follows, m.evaluate_at, m.match_until,
       m.evaluation_no, m.evaluation_failures, m.last_failure, m.reported_by, m.end_reason, m.created_at, m.ended_at,
       c.candidate_id, c.action_name, c.status as candidate_status
  from recovery.failure_match m
  left join lateral (select c.candidate_id, c.action_name, c.status from recovery.candidate c
                      where c.failure_match_id = m.failure_match_id order by c.candidate_id desc limit 1) c on true

-- name: matching
(%(statuses)s::text[] is null or m.status = any(%(statuses)s::text[]))
   and (%(source)s::text is null or m.source = %(source)s)
   and (%(kind)s::text is null or m.subject_kind = %(kind)s)
   and (%(signature)s::text is null or m.error_signature = %(signature)s)

-- name: matches
-- Newest first. What is stuck has failed evaluations, which have an index.
select {columns}
 where {matching} and (%(after)s::uuid is null or m.failure_match_id < %(after)s)
   and (not %(stuck)s or m.evaluation_failures > 0)
 order by m.failure_match_id desc limit %(limit)s;

-- name: matches_of_incident
-- Along the index of incidents.
select {columns}
 where m.incident_id = %(incident)s and {matching}
   and (%(after)s::uuid is null or (m.created_at, m.failure_match_id) < (
          select a.created_at, a.failure_match_id from recovery.failure_match a where a.failure_match_id = %(after)s))
 order by m.created_at desc, m.failure_match_id desc limit %(limit)s;

-- name: candidate_columns
c.candidate_id, c.failure_match_id, c.incident_id, m.source, c.subject_kind, m.subject_ref, m.error_message,
       c.error_signature, c.status, c.action_name, c.action_type, c.parameters, c.cost, c.confidence, c.evidence,
       c.proposed_by, c.scope_id, case when s.status = 'active' and s.expires_at <= (select recoup.now()) then 'expired'
                                       else s.status end as scope_status,
       s.max_attempts - s.attempts_used as attempts_left, s.cost_limit - s.cost_used as cost_left,
       s.expires_at as scope_expires_at, c.decide_by, c.execute_by, c.outcome_by, c.decided_by, c.decided_at,
       c.decision_note, c.worker, c.executed_at, c.awaits, c.finished_at, c.skip_reason, c.error, c.created_at,
       case when c.status = 'pending' and not c.is_ready then 'decision'
            when c.status in ('pending', 'approved') then 'start'
            when c.status = 'executing' then 'outcome' end as waits_for,
       c.candidate_id || ':' || recovery.decision_digest(c) as unit

-- name: candidate_details
cross join lateral (select m.source, m.subject_ref, m.error_message from recovery.failure_match m
                      where m.failure_match_id = c.failure_match_id limit 1) m
  left join lateral (select s.* from recovery.scope s where s.scope_id = c.scope_id limit 1) s on true

-- name: undecided
-- What waits for a decision, oldest failure first, along the index of open candidates.
select {columns}
  from (select c.* from recovery.candidate c
         where c.finished_at is null and c.status = 'pending' and not c.is_ready and {matching}
           and (%(after)s::uuid is null or c.failure_match_id > %(after)s)
         order by c.failure_match_id limit %(limit)s) c
 {details}
 order by c.failure_match_id;

-- name: startable
-- What is approved, then what starts by itself, in the order of the claim.
select {columns}
  from (select c.* from recovery.candidate c
         where c.is_ready and c.executed_at is null and {matching}
           and (%(after)s::uuid is null or (c.decided_at is null, c.candidate_id) > (%(by_itself)s, %(after)s))
         order by c.decided_at is null, c.candidate_id limit %(limit)s) c
 {details}
 order by c.decided_at is null, c.candidate_id;

-- name: in_status
-- In these statuses, newest first.
select {columns}
  from (select c.* from recovery.candidate c
         where c.status = any(%(statuses)s::text[]) and {matching}
           and (%(after)s::uuid is null or c.candidate_id < %(after)s)
         order by c.candidate_id desc limit %(limit)s) c
 {details}
 order by c.candidate_id desc;

-- name: candidates_of
-- All candidates of a match, oldest first.
select {columns}, c.follows, c.recommended_action, c.idempotency_key, c.lease_until, c.effect_made_at, c.reported,
       c.overridden_by, c.result, c.teaches, c.held_for_review, c.confidence_basis
  from (select c.* from recovery.candidate c where c.failure_match_id = %(match)s order by c.candidate_id
         limit %(limit)s) c
 {details}
 order by c.candidate_id;

-- name: incident_columns
i.incident_id, i.source, i.error_signature, i.status, i.follows, i.opened_at, i.closed_at, n.matches, n.open, n.stuck,
       n.last_match_at, n.error_message,
       (select count(*) from recovery.scope s where s.incident_id = i.incident_id and s.status = 'active'
                                                and s.expires_at > (select recoup.now())) as active_scopes
  from recovery.incident i
 cross join lateral (
   select count(*) as matches, count(*) filter (where x.ended_at is null) as open,
          count(*) filter (where x.status = 'stuck') as stuck, max(x.created_at) as last_match_at,
          max(x.error_message) as error_message
     from (select m.ended_at, m.status, m.created_at, left(m.error_message, 200) as error_message
             from recovery.failure_match m where m.incident_id = i.incident_id
            order by m.created_at desc limit %(most)s) x) n

-- name: open_incidents
-- By source and signature, along the index of open ones.
select {columns}
 where i.status = 'open' and (%(source)s::text is null or i.source = %(source)s)
   and (%(after)s::uuid is null or (i.source, i.error_signature) > (
          select a.source, a.error_signature from recovery.incident a where a.incident_id = %(after)s))
 order by i.source, i.error_signature limit %(limit)s;

-- name: all_incidents
-- Newest first.
select {columns}
 where (%(source)s::text is null or i.source = %(source)s) and (%(after)s::uuid is null or i.incident_id < %(after)s)
 order by i.incident_id desc limit %(limit)s;

-- name: incident
select {columns} where i.incident_id = %(incident)s;

-- name: task_columns
t.task_id, t.incident_id, t.action_name, t.owner, t.subject, t.status, t.due_at,
       t.status = 'open' and t.due_at <= (select recoup.now()) as is_overdue, t.created_at, t.ended_at, t.ended_by,
       t.note,
       (select count(*) from (select from recovery.candidate c
                               where c.awaits ->> 'key' = t.task_id::text and c.awaits is not null
                                 and c.finished_at is null limit %(most)s) w) as candidates
  from recovery.task t

-- name: open_tasks
-- Those that are due first.
select {columns}
 where t.status = 'open' and (%(owner)s::text is null or t.owner = %(owner)s)
   and (%(after)s::uuid is null or (t.due_at, t.task_id) > (
          select a.due_at, a.task_id from recovery.task a where a.task_id = %(after)s))
 order by t.due_at, t.task_id limit %(limit)s;

-- name: all_tasks
select {columns}
 where (%(owner)s::text is null or t.owner = %(owner)s) and (%(after)s::uuid is null or t.task_id < %(after)s)
 order by t.task_id desc limit %(limit)s;

-- name: task
select {columns} where t.task_id = %(task)s;

-- name: paused_actions
select p.scope_id, p.changed_by, p.reason from recoup.pause p
 where p.status = 'PAUSED'
   and (p.scope in ('global', 'action') or p.scope = 'table' and p.scope_id = 'recovery.candidate');

-- name: bases
-- What the confidence of candidates rests on.
select c.candidate_id, c.confidence_basis, c.confidence, c.action_name from recovery.candidate c
 where c.candidate_id = any(%(ids)s::uuid[]);

-- name: matches_of_subject
-- Of one subject, newest first: as many as it failed times.
select {columns}
 where m.subject_ref = %(ref)s and m.subject_kind = %(kind)s
 order by m.failure_match_id desc limit %(limit)s;

-- name: statuses
select c.candidate_id, c.status from recovery.candidate c where c.candidate_id = any(%(ids)s::uuid[]);
