-- name: list
-- Partitions that match, in the order of their keys.
select p.partition_id, p.source, p.customer_id, p.query_name, p.logical_date, p.status, p.attempt_count,
       p.current_run_id, p.error_message, p.created_at, p.updated_at, s.status as schedule, s.lane, s.next_run_at,
       s.hold, s.terminal_causes, s.terminal_at, s.backfill_id, s.dispatches, a.reason, a.rule, a.category,
       a.error_signature, a.validator_version, c.rows
  from partitions.partition_state p
  join partitions.schedule s on s.partition_id = p.partition_id
  left join partitions.attempt a on a.partition_id = p.partition_id and a.number = p.attempt_count
  left join partitions.attempt c on c.partition_id = p.partition_id and c.accepted_run_id = p.current_run_id
 where {matching}
   and (%(after_source)s::text is null
        or (p.source, p.query_name, p.customer_id, p.logical_date)
           > (%(after_source)s, %(after_query)s, %(after_customer)s, %(after_day)s))
 order by p.source, p.query_name, p.customer_id, p.logical_date
 limit %(limit)s;

-- name: count
select count(*)
  from partitions.partition_state p
  join partitions.schedule s on s.partition_id = p.partition_id
  left join partitions.attempt a on a.partition_id = p.partition_id and a.number = p.attempt_count
 where {matching};

-- name: grid
-- The days of partitions in the order of their keys, as the grid shows them.
select p.source, p.query_name, p.customer_id, p.logical_date, p.status, s.status as schedule
  from partitions.partition_state p
  join partitions.schedule s on s.partition_id = p.partition_id
  left join partitions.attempt a on a.partition_id = p.partition_id and a.number = p.attempt_count
 where {matching}
 order by p.source, p.query_name, p.customer_id, p.logical_date
 limit %(limit)s;

-- name: more
-- What is known of partitions in addition to a list.
select p.partition_id, s.first_enqueued_at, s.first_dispatched_at, s.aged_from, s.granted_attempts, s.held_at,
       s.terminal_policy, s.requested_at, s.requested_by, s.reprocesses, s.priority, s.backoff_strategy,
       (f.f ->> 'max_attempts')::integer as max_attempts, (f.f ->> 'dispatch_cap')::integer as dispatch_cap,
       (f.f ->> 'max_age_hours')::integer as max_age_hours,
       to_jsonb(r) - '{partition_id,token,alternative,ended_with,started_with}'::text[] as run
  from partitions.schedule s
  join partitions.partition_state p on p.partition_id = s.partition_id
 cross join lateral (select partitions.figures(partitions.policy(), s.source, s.query_name) as f) f
  left join partitions.run r on r.partition_id = s.partition_id and r.status in ('open', 'published')
 where s.partition_id = any(%(ids)s);

-- name: attempts
-- Every verdict, oldest first, with the dispatches that came to nothing before it.
select a.partition_id, a.number, a.run_id, a.verdict, a.reason, a.rule, a.message, a.error_signature, a.category,
       a.rows, a.bytes, a.digest, a.location, a.validator, a.validator_version, a.contract_digest, a.policy_version,
       a.opened_at, a.published_at, a.logged_at as judged_at, a.actor_id
  from partitions.attempt a where a.partition_id = any(%(ids)s) order by a.partition_id, a.number;

-- name: lost
-- Dispatches that came to nothing, with the message of each.
select r.partition_id, r.run_id, r.reason, r.message, r.worker, r.opened_at, r.ended_at
  from partitions.run r where r.partition_id = any(%(ids)s) and r.status = 'lost' order by r.partition_id, r.number;

-- name: history
-- All that happened, in order. A verdict that came too late is in the log of late results.
with chosen as materialized (
  select p.partition_id, p.source, p.customer_id, p.query_name, p.logical_date
    from partitions.partition_state p
    join partitions.schedule s on s.partition_id = p.partition_id
    left join partitions.attempt a on a.partition_id = p.partition_id and a.number = p.attempt_count
   where {matching}
   order by p.source, p.query_name, p.customer_id, p.logical_date limit %(limit)s),
told as (
  select e.logged_at, e.partition_id, e.subject, e.event_type, e.from_status, e.to_status, e.run_id, e.reason, e.facts,
         e.actor_id, e.authority, e.seq
    from chosen c join partitions.partition_event e on e.partition_id = c.partition_id
  union all
  select l.received_at, c.partition_id, 'run', 'late_verdict', null, l.result ->> 'verdict', r.run_id,
         l.result ->> 'reason', l.result, l.actor_id, null, null
    from chosen c
    join partitions.run r on r.partition_id = c.partition_id
    join recoup.late_result l on l.subject = 'partitions.run' and l.unit_id = r.run_id::text)
select t.logged_at, c.source, c.customer_id, c.query_name, c.logical_date, t.subject, t.event_type, t.from_status,
       t.to_status, t.run_id, t.reason, t.facts, t.actor_id, t.authority
  from told t join chosen c on c.partition_id = t.partition_id
 order by c.source, c.query_name, c.customer_id, c.logical_date, t.logged_at, t.seq nulls last
 limit %(limit)s;

-- name: terminal
-- Partitions that are given up, the latest first.
select p.partition_id, p.source, p.customer_id, p.query_name, p.logical_date, s.terminal_causes, s.terminal_at,
       s.terminal_policy, p.attempt_count, s.aged_from, a.reason, a.category, p.error_message
  from partitions.partition_state p
  join partitions.schedule s on s.partition_id = p.partition_id
  left join partitions.attempt a on a.partition_id = p.partition_id and a.number = p.attempt_count
 where s.status = 'terminal' and {matching}
   and (%(at)s::timestamptz is null or s.terminal_at <= %(at)s and (s.terminal_at < %(at)s or p.partition_id > %(id)s))
 order by s.terminal_at desc, p.partition_id
 limit %(limit)s;

-- name: terminal_causes
select c.cause, count(*)
  from partitions.partition_state p
  join partitions.schedule s on s.partition_id = p.partition_id
  left join partitions.attempt a on a.partition_id = p.partition_id and a.number = p.attempt_count
 cross join unnest(s.terminal_causes) c (cause)
 where s.status = 'terminal' and {matching}
 group by 1 order by 1;

-- name: overrides
-- What somebody asked for, the latest first.
select o.seq, o.logged_at, o.command, o.selection, cardinality(o.partitions) as partitions, o.before, o.after, o.reason,
       o.actor, o.actor_id, o.login
  from partitions.override_log o
 where (%(partition)s::bigint[] is null or o.partitions && %(partition)s::bigint[])
   and (%(after)s::bigint is null or o.seq < %(after)s)
 order by o.seq desc limit %(limit)s;
