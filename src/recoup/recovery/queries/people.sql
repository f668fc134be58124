-- What operators do with matches and tasks.

-- name: evaluate
-- A stuck match is new again; an open one is evaluated now.
with t as materialized (select recoup.now() as now_)
update recovery.failure_match m
   set status = case m.status when 'stuck' then 'new' else m.status end, evaluate_at = least(m.evaluate_at, t.now_),
       wakes = m.wakes + 1, evaluation_failures = case m.status when 'stuck' then 0 else m.evaluation_failures end,
       updated_at = greatest(m.updated_at, t.now_)
  from t where m.failure_match_id = %(match)s and m.ended_at is null
returning m.status;

-- name: recovered
with t as materialized (select recoup.now() as now_)
update recovery.failure_match m
   set reported_end = 'recovered', reported_by = recoup.acting_id(), evaluate_at = least(m.evaluate_at, t.now_),
       wakes = m.wakes + 1, updated_at = greatest(m.updated_at, t.now_)
  from t where m.failure_match_id = %(match)s and m.ended_at is null and m.reported_end is null
returning m.status;

-- name: match
select m.status, m.reported_by, m.ended_at is not null as is_over from recovery.failure_match m
 where m.failure_match_id = %(match)s;

-- name: end_task
with t as materialized (select recoup.now() as now_)
update recovery.task k
   set status = %(status)s, ended_at = t.now_, ended_by = recoup.acting_id(), note = %(note)s
  from t where k.task_id = %(task)s and k.status = 'open'
returning k.status;

-- name: task
select k.status, k.ended_by from recovery.task k where k.task_id = %(task)s;

-- name: claim
select c.status, c.token, recovery.makes(c.action_type, c.subject_kind, c.parameters) as makes from recovery.candidate c
 where c.candidate_id = %(candidate)s;
