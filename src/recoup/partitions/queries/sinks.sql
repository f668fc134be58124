-- Raw sinks.

-- name: register
-- The time is taken once: a sink is registered and changed at the same instant.
with t as materialized (select recoup.now() as now)
insert into partitions.sink (sink_id, name, registered_at, registered_by, updated_at)
select %(sink_id)s, %(name)s, t.now, recoup.acting_id(), t.now from t
on conflict do nothing;

-- name: one
select s.sink_id, s.name, s.status, s.registered_at, s.registered_by, s.cause, s.message, s.host, s.outage_at,
       s.checked_at, s.restored_at
  from partitions.sink s where s.name = %(name)s;

-- name: list
select s.sink_id, s.name, s.status, s.registered_at, s.registered_by, s.cause, s.message, s.host, s.outage_at,
       s.checked_at, s.restored_at
  from partitions.sink s order by s.name;

-- name: report
select partitions.report_sink(%(sink_id)s, %(host)s, %(cause)s, %(message)s);

-- name: restore
select partitions.restore_sink(%(sink_id)s, %(host)s);

-- name: open_runs
select r.run_id from partitions.run r where r.status in ('open', 'published');
