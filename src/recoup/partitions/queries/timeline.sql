-- Partitions on a time line: statuses at a time, and events. From partition_event and the attempts, by partition.

-- name: of_name
select p.partition_id::text from partitions.partition_state p
 where p.source = %(source)s and p.customer_id = %(customer)s and p.query_name = %(query)s
   and p.logical_date = %(day)s::date;

-- name: runs
-- The newest ones of each partition.
select r.run_id::text
  from unnest(%(partitions)s::bigint[]) g (id)
 cross join lateral (
   select r.run_id from partitions.run r where r.partition_id = g.id order by r.number desc limit %(most)s) r;

-- name: partitions
-- With the last verdict by then, and its schedule.
select p.partition_id, p.source, p.customer_id, p.query_name, p.logical_date, own.event_type, own.to_status,
       own.logged_at as since, left(own.reason, %(text)s) as given_reason, own.actor_id, s.to_status as schedule,
       s.event_type as scheduled_by, left(s.reason, %(text)s) as schedule_reason, s.facts, s.actor_id as scheduler,
       a.number, a.verdict, a.reason, a.rule, left(a.message, %(text)s) as message, a.category, a.policy_version
  from unnest(%(partitions)s::bigint[]) g (id)
 cross join lateral (select p.* from partitions.partition_state p where p.partition_id = g.id limit 1) p
 cross join lateral (
   select e.* from partitions.partition_event e
    where e.partition_id = g.id and e.subject = 'partition' and e.logged_at <= %(until)s
    order by e.seq desc limit 1) own
  left join lateral (
    select e.* from partitions.partition_event e
     where e.partition_id = g.id and e.subject = 'schedule' and e.logged_at <= %(until)s
     order by e.seq desc limit 1) s on true
  left join lateral (
    select a.* from partitions.attempt a
     where a.partition_id = g.id and a.logged_at <= %(until)s order by a.number desc limit 1) a on true;

-- name: run_statuses
select r.run_id, r.partition_id, r.number, r.policy_version, r.lane, r.worker, e.event_type, e.to_status,
       e.logged_at as since, e.reason, left(e.facts ->> 'message', %(text)s) as message, a.rule,
       left(a.message, %(text)s) as verdict, a.validator
  from unnest(%(runs)s::uuid[]) g (id)
 cross join lateral (select r.* from partitions.run r where r.run_id = g.id limit 1) r
 cross join lateral (
   select e.* from partitions.partition_event e
    where e.partition_id = r.partition_id and e.subject = 'run' and e.run_id = g.id and e.logged_at <= %(until)s
    order by e.seq desc limit 1) e
  left join lateral (
    select a.* from partitions.attempt a
     where a.partition_id = r.partition_id and a.run_id = g.id and a.logged_at <= %(until)s limit 1) a on true;

-- name: events
-- With the version of the policy by which a run was dispatched, or a schedule became terminal.
select t.partition_id::text, t.run_id::text, t.seq, t.logged_at, t.subject, t.event_type, t.to_status, t.reason,
       t.facts, t.actor, t.actor_id, t.authority,
       case t.subject when 'schedule' then (t.facts ->> 'terminal_policy')::integer
                      when 'run' then (select r.policy_version from partitions.run r where r.run_id = t.run_id) end
         as policy_version
  from unnest(%(partitions)s::bigint[]) g (id)
 cross join lateral (
   select e.partition_id, e.run_id, e.seq, e.logged_at, e.subject, e.event_type, e.to_status,
          left(e.reason, %(text)s) as reason, e.facts, e.actor, e.actor_id, e.authority
     from partitions.partition_event e
    where e.partition_id = g.id and e.logged_at <= %(until)s
      and (e.logged_at, e.seq) <= (%(before_at)s::timestamptz, %(before_seq)s::bigint)
    order by e.seq desc limit %(limit)s) t
 order by t.logged_at desc, t.seq desc limit %(limit)s;
