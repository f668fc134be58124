-- name: heartbeat
select recovery.heartbeat_runs(%(runs)s::uuid[], %(tokens)s::uuid[]);

-- name: note
select recovery.note_run(%(run)s, %(token)s, %(note)s);

-- name: orphans
select o.run_id, r.kind, o.reason
  from recovery.orphans(%(threshold)s, %(limit)s) o join recovery.run r on r.run_id = o.run_id
 limit %(limit)s;

-- name: lag_orphans
select extract(epoch from recoup.now() - min(r.heartbeat_at))::float8
  from recovery.run r
 where r.status = 'running'
   and r.heartbeat_at < (select recoup.now()) - make_interval(mins => (
         select (p.figures -> 'runs' ->> 'orphan_threshold_minutes')::integer
           from recoup.policy p order by p.version desc limit 1));

-- name: list
select r.run_id, r.kind, r.source, r.status, r.owner, r.worker_id, r.created_at, r.queued_at, r.started_at,
       r.heartbeat_at, r.finished_at, r.retry_of, r.candidate_id, coalesce(r.crash_reason, r.message) as message
  from recovery.run r
 where (%(kind)s::text is null or r.kind = %(kind)s)
   and (%(status)s::text is null or r.status = %(status)s)
   and (%(source)s::text is null or r.source = %(source)s)
   and r.created_at <= coalesce(%(at)s::timestamptz, 'infinity')
   and (r.created_at < coalesce(%(at)s::timestamptz, 'infinity') or r.run_id > %(after)s::uuid)
 order by r.created_at desc, r.run_id
 limit %(limit)s;

-- name: show
select r.run_id, r.kind, r.source, r.status, r.owner, r.worker_id, r.created_at, r.queued_at, r.started_at,
       r.heartbeat_at, r.finished_at, r.retry_of, r.candidate_id, coalesce(r.crash_reason, r.message) as message,
       r.input, r.retry_with, r.result,
       (select n.run_id from recovery.run n where n.retry_of = r.run_id) as retried_by
  from recovery.run r where r.run_id = %(run)s;

-- name: trace
select t.seq, t.logged_at, t.event_type, t.from_status, t.to_status, t.reason, t.actor_id
  from recovery.run_trace t where t.run_id = %(run)s order by t.seq limit %(limit)s;

-- name: latest_trace
-- The newest ones, oldest first.
select x.* from (
  select t.seq, t.logged_at, t.event_type, t.from_status, t.to_status, left(t.reason, %(most)s) as reason, t.actor_id
    from recovery.run_trace t where t.run_id = %(run)s order by t.seq desc limit %(limit)s) x
 order by x.seq;

-- name: crashed
-- Those that were marked, newest first.
select t.run_id, r.kind, t.reason
  from recovery.run_trace t join recovery.run r on r.run_id = t.run_id
 where t.event_type = 'crashed' order by t.seq desc limit %(limit)s;

-- name: find
select r.run_id, r.kind, r.status, coalesce(r.crash_reason, r.message) as message
  from recovery.run r where r.run_id between %(low)s and %(high)s order by r.run_id limit %(limit)s;
