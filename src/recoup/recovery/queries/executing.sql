-- Starting candidates, and ending those that could not be executed.

-- name: end_reported
select e.ended from recovery.end_reported(%(ids)s::uuid[]) e;

-- name: end_candidates
select e.ended from recovery.end_candidates(%(ids)s::uuid[], %(targets)s::text[], %(errors)s::text[],
  %(teach)s::boolean[],
                                            %(people)s::text[]) e;

-- name: changed_by
-- Which person acted on the error of a candidate, that was found changed when its effect was to be made.
select c.candidate_id, v.actor_id
  from unnest(%(ids)s::uuid[]) i (id)
 cross join lateral (select c.* from recovery.candidate c where c.candidate_id = i.id
   and c.subject_kind = 'error' limit 1) c
 cross join lateral (select m.* from recovery.failure_match m where m.failure_match_id = c.failure_match_id limit 1) m
 cross join lateral (select h.* from recovery.error_heads(array[m.subject_ref]) h limit 1) h
 cross join lateral (
   select v.actor_id
     from (select h.error_id as id
           union all
           select recovery.errors_before(h.error_table, split_part(h.ref, '/', 2)::bigint)
            where h.ref <> h.error_table || '/' || h.error_id) l
    cross join lateral (
      select v.actor_id, v.seq from recoup.error_event v
       where v.error_id = l.id and v.error_table = h.error_table and v.authority = 'recoup_operator'
         and v.logged_at >= c.created_at
       order by v.seq desc limit 1) v
    order by v.seq desc limit 1) v;

-- name: expire
select recovery.expire_candidates(%(limit)s, %(only)s::uuid);

-- name: expired
select l.token from recovery.lease l where l.lease_until < (select recoup.now()) order by l.lease_until limit %(limit)s;

-- name: expired_lag
select extract(epoch from recoup.now() - l.lease_until) from recovery.lease l
 where l.lease_until < (select recoup.now()) order by l.lease_until limit 1;

-- name: ready_lag
select extract(epoch from recoup.now() - coalesce(c.decided_at, c.updated_at)) from recovery.candidate c
 where c.is_ready and c.executed_at is null and c.execute_by > (select recoup.now())
 order by c.decided_at is null, c.candidate_id limit 1;

-- name: waiting_for_executors
select c.served_as, count(*) as candidates from (
  select recovery.served_as(c.action_name, c.action_type, c.parameters) as served_as from recovery.candidate c
   where c.is_ready and c.executed_at is null and c.execute_by > (select recoup.now())
     and recovery.makes(c.action_type, c.subject_kind, c.parameters) is null
     and recovery.served_as(c.action_name, c.action_type, c.parameters) <> all(%(known)s::text[])
   limit 10000) c
 group by 1 order by 1;

-- name: subjects
select c.candidate_id, m.source, m.subject_ref, m.error_code, m.error_message, m.error_signature, m.context,
       case when c.action_type = 'rollback' then (
         select jsonb_build_object('candidate_id', u.candidate_id, 'action', u.action_name, 'parameters', u.parameters,
                                   'result', u.result, 'idempotency_key', u.idempotency_key)
           from recovery.candidate u where u.candidate_id = c.undoes) end as undoes
  from unnest(%(ids)s::uuid[]) i (id)
 cross join lateral (select c.* from recovery.candidate c where c.candidate_id = i.id limit 1) c
 cross join lateral (select m.* from recovery.failure_match m where m.failure_match_id = c.failure_match_id limit 1) m;
