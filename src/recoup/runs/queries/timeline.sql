-- Runs on a time line: the chain of retries, statuses at a time, and events. From the trace.

-- name: chains
-- What a run is the retry of, and its retry.
select x.run_id::text
  from unnest(%(runs)s::uuid[]) g (run_id)
 cross join lateral (
   (select r.retry_of as run_id from recovery.run r where r.run_id = g.run_id and r.retry_of is not null limit 1)
   union all
   (select r.run_id from recovery.run r where r.retry_of = g.run_id limit 1)) x;

-- name: of_candidates
select r.run_id::text from recovery.run r where r.candidate_id = any(%(candidates)s::uuid[]) limit %(most)s;

-- name: statuses
-- With the threshold of the policy of that time, and whether the worker had ended by then, after the last heartbeat.
select r.run_id, r.kind, r.source, r.retry_of, r.heartbeat_at, t.event_type, t.to_status, t.logged_at as since,
       left(t.reason, %(text)s) as reason, t.actor_id, t.facts, w.name as gone_worker, n.run_id as retried_by,
       greatest(make_interval(mins => (p.figures #>> '{runs,orphan_threshold_minutes}')::integer),
                interval '60 seconds') as threshold
  from unnest(%(runs)s::uuid[]) g (run_id)
 cross join lateral (select r.* from recovery.run r where r.run_id = g.run_id limit 1) r
 cross join lateral (
   select t.* from recovery.run_trace t
    where t.run_id = g.run_id and t.logged_at <= %(until)s and t.event_type <> 'note' order by t.seq desc limit 1) t
  left join lateral (
    select w.name from recoup.worker w
     where w.worker_id = r.worker_id and w.status <> 'running' and w.ended_at <= %(until)s
       and (r.heartbeat_at is null or r.heartbeat_at <= w.ended_at) limit 1) w on true
  left join lateral (
    select n.run_id from recovery.run n
     where n.retry_of = g.run_id and n.created_at <= %(until)s limit 1) n on true
  left join lateral (
    select p.figures from recoup.policy p where p.applied_at <= %(until)s order by p.version desc limit 1) p on true;

-- name: events
select t.run_id::text, t.seq, t.logged_at, t.event_type, t.to_status, t.reason, t.facts, t.actor, t.actor_id,
       t.authority
  from unnest(%(runs)s::uuid[]) g (run_id)
 cross join lateral (
   select t.run_id, t.seq, t.logged_at, t.event_type, t.to_status, left(t.reason, %(text)s) as reason, t.facts,
          t.actor, t.actor_id, t.authority
     from recovery.run_trace t
    where t.run_id = g.run_id and t.logged_at <= %(until)s
      and (t.logged_at, t.seq) <= (%(before_at)s::timestamptz, %(before_seq)s::bigint)
    order by t.seq desc limit %(limit)s) t
 order by t.logged_at desc, t.seq desc limit %(limit)s;
