-- What /metrics reads. Every count is bounded, and every row is found by an index, whatever else a table holds.

-- name: now
select extract(epoch from recoup.now() - clock_timestamp())::float8;

-- name: as_reader
select set_config('statement_timeout', %(timeout)s, true);

-- name: workers
-- Running ones by their last heartbeat: some fell silent and were not found lost yet.
select count(*) filter (where w.heartbeat_at > (select recoup.now()) - make_interval(secs => %(lost_after_s)s)),
       count(*) filter (where w.heartbeat_at <= (select recoup.now()) - make_interval(secs => %(lost_after_s)s)),
       extract(epoch from (select recoup.now()) - max(w.heartbeat_at))::float8
  from (select w.heartbeat_at from recoup.worker w where w.status = 'running'
         order by w.heartbeat_at desc limit %(most)s) w;

-- name: tallies
-- Of running workers: counters begin at 0 in each of their lives.
select t.duty, w.name, t.runs, t.done, t.failures, extract(epoch from t.last_run_at)::float8 as last_run_at
  from (select w.worker_id, w.name from recoup.worker w where w.status = 'running'
         order by w.heartbeat_at desc limit %(most)s) w
 cross join lateral (select t.* from recoup.duty_tally t where t.worker_id = w.worker_id) t;

-- name: pauses
select p.scope, count(*) from recoup.pauses p group by p.scope;

-- name: alerts
select a.severity, count(*)
  from (select a.severity from recoup.alert a where a.status = 'firing' limit %(most)s) a group by a.severity;

-- name: judged
-- Failures are words by the names of signals: how many groups of signals could not be measured.
select extract(epoch from recoup.now() - r.judged_at)::float8,
       (select count(*) from jsonb_object_keys(r.failures)) as failing
  from recoup.alert_round r;

-- name: signals
-- What alerts are judged by: measured by a worker some seconds ago, not by the one who asks.
select distinct on (r.signal, b.key) r.signal, b.key, b.value::float8
  from (select recoup.alert_policy() as policy offset 0) p
 cross join lateral recoup.alert_rules(p.policy) r
 cross join lateral (
   select b.key, b.value, b.seen_at from recoup.alert_gauge b where b.rule = r.rule limit %(most)s) b
 where b.value is not null
 order by r.signal, b.key, b.seen_at desc nulls last;

-- name: queue
-- Of one queue: how much is due and how much is claimed, counted up to a maximum; the longest due; and since when the
-- claim is held whose lease ends first.
select (select count(*) from (select from {queue} q where q.token is null and q.wake_at <= t.now_
                               order by q.wake_at limit {most}) d) as due,
       (select count(*) from (select from {queue} q where q.token is not null
                               order by q.wake_at limit {most}) c) as claimed,
       (select extract(epoch from t.now_ - q.wake_at)::float8 from {queue} q
         where q.token is null and q.wake_at <= t.now_ order by q.wake_at limit 1) as longest_due,
       (select extract(epoch from t.now_ - q.claimed_at)::float8 from {queue} q
         where q.token is not null order by q.wake_at limit 1) as oldest_lease
  from (select recoup.now() as now_ offset 0) t;

-- name: waits
-- What waits in tables that are no queues of that form, counted up to a maximum.
select 'cl.gate_zero_intake' as queue, 'pending' as stage, (
         select count(*) from (select from cl.gate_zero_intake i where i.status = 'PENDING'
                                order by i.created_at, i.intake_id limit %(most)s) x)
 union all
select 'cl.gate_zero_recovery', 'due', (
         select count(*) from (select from cl.gate_zero_recovery r where r.status = 'ACTIVE'
                                  and r.next_eligible_at <= (select recoup.now())
                                order by r.next_eligible_at limit %(most)s) x)
 union all
select 'recovery.candidate', 'ready', (
         select count(*) from (select from recovery.candidate c
                                where c.is_ready and c.executed_at is null
                                order by c.decided_at is null, c.candidate_id limit %(most)s) x)
 union all
select 'recovery.task', 'open', (
         select count(*) from (select from recovery.task t where t.status = 'open'
                                order by t.due_at limit %(most)s) x)
 union all
select 'recovery.run', 'queued', (
         select count(*) from (select from recovery.run r where r.status = 'queued'
                                order by r.kind, r.queued_at limit %(most)s) x)
 union all
select 'recovery.run', 'running', (
         select count(*) from (select from recovery.run r where r.status = 'running'
                                order by r.heartbeat_at limit %(most)s) x)
 union all
select 'partitions.schedule', 'open', (
         select count(*) from (select from partitions.schedule s where s.status = 'open'
                                order by s.source limit %(most)s) x)
 union all
select 'partitions.backfill', 'open', (
         select count(*) from (select from partitions.backfill b where b.ended_at is null
                                order by b.created_at limit %(most)s) x);

-- name: leases
-- Of tables that are no queues of that form: for how long the claim is held whose lease ends first.
select 'cl.gate_zero_attempt' as queue, (
         select extract(epoch from (select recoup.now()) - a.opened_at)::float8 from cl.gate_zero_attempt a
          where a.status = 'open' order by a.lease_until limit 1)
 union all
select 'recovery.lease', (
         select extract(epoch from (select recoup.now()) - c.executed_at)::float8
           from (select l.candidates[1] as first from recovery.lease l order by l.lease_until limit 1) l
          cross join lateral (select c.executed_at from recovery.candidate c
                               where c.candidate_id = l.first limit 1) c)
 union all
select 'partitions.run', (
         select extract(epoch from (select recoup.now()) - r.dispatched_at)::float8 from partitions.run r
          where r.lease_until is not null order by r.lease_until limit 1);

-- name: horizon
-- How many transactions began since the oldest one that is still open: events behind it wait for it in no log, but rows
-- that it made obsolete stay. And its age, as far as this login may see it.
select (pg_snapshot_xmax(s.s)::text::numeric - pg_snapshot_xmin(s.s)::text::numeric)::float8 as transactions,
       (select extract(epoch from clock_timestamp() - min(a.xact_start))::float8 from pg_stat_activity a
         where a.backend_xid is not null and a.pid <> pg_backend_pid()) as seconds
  from (select pg_current_snapshot() as s) s;

-- name: subscriptions
select s.log, s.name, s.incarnation, pg_snapshot_xmax(s.since)::text as first_unread
  from recoup.subscription s order by s.log, s.name limit %(most)s;

-- name: first_unread
-- Of one subscription: since when its first unread event waits. Late commits before it are read next, and not searched
-- for here.
select extract(epoch from (select recoup.now()) - l.{at})::float8 from {log} l
 where l.xid >= %(first_unread)s::xid8 and l.incarnation = %(incarnation)s
 order by l.xid limit 1;

-- name: releases
select d.name, d.epoch, d.release from recoup.domain d order by d.name;

-- name: policy
select max(p.version) from recoup.policy p;
