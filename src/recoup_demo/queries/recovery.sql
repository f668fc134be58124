-- What the demo of recovery looks up.

-- name: incident
select i.incident_id from recovery.incident i where i.source = %(source)s and i.status = 'open'
 order by i.opened_at desc limit 1;

-- name: pending
select c.candidate_id
  from recovery.failure_match m
  join recovery.candidate c on c.failure_match_id = m.failure_match_id and c.finished_at is null
 where m.source = %(source)s and m.ended_at is null and c.status = 'pending' and c.scope_id is not null
 order by c.candidate_id;

-- name: recovered
update recovery.failure_match m
   set reported_end = 'recovered', reported_by = recoup.acting_id(), evaluate_at = recoup.now(), wakes = m.wakes + 1,
       updated_at = recoup.now()
 where m.failure_match_id = %(match)s;

-- name: task_done
update recovery.task t set status = 'done', ended_at = recoup.now(), ended_by = recoup.acting_id(),
  note = 'done by hand'
 where t.task_id = (select t.task_id from recovery.task t where t.status = 'open' order by t.task_id limit 1);

-- name: task_cancelled
update recovery.task t
   set status = 'cancelled', ended_at = recoup.now(), ended_by = recoup.acting_id(), note = 'not needed any more'
 where t.task_id = (select t.task_id from recovery.task t where t.status = 'open' order by t.task_id desc limit 1);

-- name: queued_notice
select d.delivery_id from recoup.delivery d where d.status = 'queued' and d.origin = 'candidate'
 order by d.delivery_id desc limit 1;

-- name: due_now
update recovery.failure_match m set evaluate_at = recoup.now(), wakes = m.wakes + 1, updated_at = recoup.now()
 where m.failure_match_id = %(match)s;

-- name: eventful
select p.failure_match_id from recovery.provenance p where p.failure_match_id is not null
 group by 1 order by count(distinct p.candidate_id) desc, count(*) desc, 1 limit 1;

-- name: counts
select 'match' as what, m.status, count(*) as rows from recovery.failure_match m group by 2
union all
select 'candidate', c.status, count(*) from recovery.candidate c group by 2
union all
select 'scope', s.status, count(*) from recovery.scope s group by 2
union all
select 'incident', i.status, count(*) from recovery.incident i group by 2
union all
select 'delivery', d.status, count(*) from recoup.delivery d group by 2
union all
select 'task', t.status, count(*) from recovery.task t group by 2
union all
select 'run', r.status, count(*) from recovery.run r group by 2
union all
select 'breaker', b.status, count(*) from recovery.breaker b group by 2
union all
select 'key', c.status, count(*) from recovery.config c group by 2
 order by 1, 2;
