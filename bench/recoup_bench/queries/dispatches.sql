-- Partitions by hand: the same rows and events, no guards.

-- name: last
select coalesce(max(partition_id), 0) from partitions.partition_state;

-- name: fill
with t as materialized (select recoup.now() as now_),
added as (
  insert into partitions.partition_state (source, customer_id, query_name, logical_date, created_at, updated_at)
  select 'bench-' || g %% 5, 'c' || %(tag)s || '-' || g, 'q', date '2026-01-01', t.now_, t.now_
    from generate_series(1, %(rows)s) g, t order by g
  returning partition_id, source, query_name, created_at)
insert into partitions.schedule (partition_id, source, query_name, lane, next_run_at, backoff_strategy,
                                 first_enqueued_at, updated_at)
select a.partition_id, a.source, a.query_name, 'fresh', a.created_at, 'steps', a.created_at, a.created_at
  from added a order by a.partition_id;

-- name: dispatch
-- Sources in turn, the longest due of each first.
with t as materialized (select clock_timestamp() as now_, gen_random_uuid() as token),
sources as (
  select distinct s.source from raw.schedule s where s.status = 'waiting'),
due as materialized (
  select d.*, row_number() over (partition by d.source order by d.next_run_at, d.partition_id) as turn
    from sources g
   cross join lateral (
     select s.partition_id, s.source, s.next_run_at from raw.schedule s
      where s.status = 'waiting' and s.lane = 'fresh' and s.source = g.source and s.query_name = 'q' and s.priority = 5
        and s.next_run_at <= clock_timestamp()
      order by s.next_run_at, s.partition_id limit %(limit)s) d),
picked as materialized (
  select s.partition_id, s.lane from raw.schedule s
   where s.partition_id = any(array(select d.partition_id from due d order by d.turn, d.source limit %(limit)s))
     and s.status = 'waiting' order by s.partition_id for no key update skip locked),
opened as (
  insert into raw.run (partition_id, number, turn, lane, pool, reprocesses, worker, token, lease_until, started_with,
                       policy_version, opened_at, dispatched_at, updated_at)
  select p.partition_id, coalesce((select max(r.number) from raw.run r where r.partition_id = p.partition_id), 0) + 1,
         coalesce((select max(r.turn) from raw.run r where r.pool = 'default' and r.lane = 'fresh'), 0)
           + row_number() over (), p.lane, 'default', false, 'bench', t.token, t.now_ + interval '5 minutes', t.token,
         1, t.now_, t.now_, t.now_
    from picked p, t
  returning run_id, partition_id, token, opened_at),
scheduled as (
  update raw.schedule s
     set status = 'open', run_id = o.run_id, next_run_at = null, first_dispatched_at = o.opened_at,
         aged_from = o.opened_at, updated_at = o.opened_at
    from opened o where s.partition_id = o.partition_id),
logged as (
  insert into raw.partition_event (incarnation, logged_at, subject, partition_id, run_id, event_type, from_status,
                                   to_status, reason, token, actor, actor_id, authority)
  select 1, o.opened_at, e.subject, o.partition_id, o.run_id, e.event_type, e.from_status, e.to_status, 'bench',
         o.token, 'system', 'bench', 'recoup_control_plane'
    from opened o, (values ('run', 'dispatched', null, 'open'), ('schedule', 'opened', 'waiting', 'open'))
                     e (subject, event_type, from_status, to_status))
select o.run_id, o.token, o.partition_id, p.source, p.customer_id, p.query_name, p.logical_date
  from opened o join raw.partition_state p on p.partition_id = o.partition_id;

-- name: publish
with done as (
  update raw.run r
     set status = 'published', sink_id = %(sink)s, location = 'run_id=' || r.run_id, manifest_digest = %(digest)s,
         format = 'jsonl', rows = 10, bytes = 1000, published_at = t.now_, updated_at = t.now_
    from (select clock_timestamp() as now_) t, unnest(%(ids)s::uuid[], %(tokens)s::uuid[]) g (id, token)
   where r.run_id = g.id and r.token = g.token and r.status = 'open' and r.lease_until >= statement_timestamp()
  returning r.*),
logged as (
  insert into raw.partition_event (incarnation, logged_at, subject, partition_id, run_id, event_type, from_status,
                                   to_status, facts, token, actor, actor_id, authority)
  select 1, d.updated_at, 'run', d.partition_id, d.run_id, 'published', 'open', 'published',
         jsonb_build_object('location', d.location, 'digest', d.manifest_digest, 'rows', d.rows, 'bytes', d.bytes,
                            'format', d.format, 'sink_id', d.sink_id), d.token, 'system', 'bench', 'recoup_extractor'
    from done d)
select d.run_id from done d;

-- name: judge
with judged as (
  update raw.run r
     set status = 'accepted', lease_until = null, ended_with = g.token, ended_at = t.now_, updated_at = t.now_
    from (select clock_timestamp() as now_) t, unnest(%(ids)s::uuid[], %(tokens)s::uuid[]) g (id, token)
   where r.run_id = g.id and r.token = g.token and r.status = 'published' and r.lease_until >= statement_timestamp()
  returning r.*),
stated as (
  update raw.partition_state s
     set status = 'success', current_run_id = j.run_id, attempt_count = s.attempt_count + 1, error_message = null,
         updated_at = j.ended_at
    from judged j where s.partition_id = j.partition_id
  returning s.partition_id, s.attempt_count),
attempted as (
  insert into raw.attempt (incarnation, logged_at, partition_id, run_id, number, verdict, rows, bytes, digest, location,
                           sink_id, policy_version, opened_at, published_at, actor, actor_id, authority)
  select 1, j.ended_at, j.partition_id, j.run_id, s.attempt_count, 'accepted', j.rows, j.bytes, j.manifest_digest,
         j.location, j.sink_id, 1, j.opened_at, j.published_at, 'system', 'bench', 'recoup_validator'
    from judged j join stated s on s.partition_id = j.partition_id),
scheduled as (
  update raw.schedule s set status = 'idle', dispatches = 0, attempts_seen = x.attempt_count, updated_at = j.ended_at
    from judged j join stated x on x.partition_id = j.partition_id where s.partition_id = j.partition_id),
logged as (
  insert into raw.partition_event (incarnation, logged_at, subject, partition_id, run_id, event_type, from_status,
                                   to_status, token, actor, actor_id, authority)
  select 1, j.ended_at, e.subject, j.partition_id, j.run_id, e.event_type, e.from_status, e.to_status, j.token,
         'system', 'bench', e.authority
    from judged j, (values ('run', 'accepted', 'published', 'accepted', 'recoup_validator'),
                           ('partition', 'accepted', 'pending', 'success', 'recoup_validator'),
                           ('schedule', 'done', 'open', 'idle', 'recoup_control_plane'))
                     e (subject, event_type, from_status, to_status, authority))
select j.run_id, j.status from judged j;

-- name: tally
select 'partition ' || p.status, count(*) from {schema}.partition_state p group by 1
union all
select 'schedule ' || s.status, count(*) from {schema}.schedule s group by 1
union all
select 'run ' || r.status, count(*) from {schema}.run r group by 1
union all
select 'attempt ' || a.verdict, count(*) from {schema}.attempt a group by 1
union all
select 'event ' || e.subject || ' ' || e.event_type, count(*) from {schema}.partition_event e group by 1;
