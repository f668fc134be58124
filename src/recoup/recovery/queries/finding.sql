-- Rows of recovery by the beginning of their ids, along the primary keys.

-- name: matches
select m.failure_match_id, left(m.error_message, 500), m.status, m.source from recovery.failure_match m
 where m.failure_match_id between %(low)s and %(high)s order by m.failure_match_id limit %(limit)s;

-- name: by_key
-- A failure by the key that it was reported under; of an error or a run, its id.
select m.failure_match_id, left(m.error_message, 500), m.status, m.source from recovery.failure_match m
 where m.subject_ref = %(text)s order by m.subject_kind limit %(limit)s;

-- name: candidates
select c.candidate_id, coalesce(c.action_name, c.recommended_action), c.status from recovery.candidate c
 where c.candidate_id between %(low)s and %(high)s order by c.candidate_id limit %(limit)s;

-- name: incidents
select i.incident_id, i.source, i.status, i.error_signature from recovery.incident i
 where i.incident_id between %(low)s and %(high)s order by i.incident_id limit %(limit)s;

-- name: scopes
select s.scope_id, array_to_string(s.allowed_actions, ', '), s.status, s.incident_id from recovery.scope s
 where s.scope_id between %(low)s and %(high)s order by s.scope_id limit %(limit)s;

-- name: tasks
select t.task_id, left(t.subject, 500), t.status, t.owner from recovery.task t
 where t.task_id between %(low)s and %(high)s order by t.task_id limit %(limit)s;
