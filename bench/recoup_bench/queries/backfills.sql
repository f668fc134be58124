-- The planning of a backfill by hand: the same rows and events, no guards.

-- name: begin
insert into raw.backfill select * from partitions.backfill b where b.backfill_id = %(backfill)s;

-- name: plan
-- One chunk: what is not known is enqueued, and every partition is a member.
with t as materialized (select clock_timestamp() as now_),
b as materialized (
  select x.*, least(x.planned + %(limit)s, x.expected) as upto
    from raw.backfill x where x.backfill_id = %(backfill)s for no key update),
members as materialized (
  select m.* from b cross join lateral partitions.backfill_members(b.selection, b.planned + 1, b.upto) m),
added as (
  insert into raw.partition_state (source, customer_id, query_name, logical_date, created_at, updated_at)
  select m.source, m.customer_id, m.query_name, m.logical_date, t.now_, t.now_
    from members m, t order by m.logical_date, m.source, m.customer_id, m.query_name
  on conflict (source, customer_id, query_name, logical_date) do nothing
  returning partition_id, source, customer_id, query_name, logical_date, created_at),
scheduled as (
  insert into raw.schedule (partition_id, source, query_name, lane, priority, next_run_at, backoff_strategy,
                            first_enqueued_at, backfill_id, updated_at)
  select a.partition_id, a.source, a.query_name, 'backfill', b.priority, a.created_at, 'steps', a.created_at,
         b.backfill_id, a.created_at
    from added a, b),
items as (
  insert into raw.backfill_item (backfill_id, place, partition_id, found, status, planned_at)
  select b.backfill_id, m.place, a.partition_id, 'new', 'waiting', a.created_at
    from b, members m join added a using (source, customer_id, query_name, logical_date)),
logged as (
  insert into raw.partition_event (incarnation, logged_at, subject, partition_id, event_type, to_status, reason, actor,
                                   actor_id, authority)
  select 1, a.created_at, e.subject, a.partition_id, e.event_type, e.to_status, b.reason, 'system', 'bench',
         'recoup_control_plane'
    from added a, b, (values ('partition', 'enqueued', 'pending'), ('schedule', 'scheduled', 'waiting'))
                       e (subject, event_type, to_status))
update raw.backfill x
   set planned = b.upto, status = case when b.upto = b.expected then 'running' else 'planning' end, updated_at = t.now_
  from b, t where x.backfill_id = b.backfill_id
returning b.upto - b.planned;

-- name: tally
select 'partition ' || p.status, count(*) from {schema}.partition_state p group by 1
union all
select 'schedule ' || s.status || ' ' || s.lane, count(*) from {schema}.schedule s group by 1
union all
select 'backfill ' || b.status, count(*) from {schema}.backfill b group by 1
union all
select 'member ' || i.found || ' ' || i.status, count(*) from {schema}.backfill_item i group by 1
union all
select 'event ' || e.subject || ' ' || e.event_type, count(*) from {schema}.partition_event e group by 1;
