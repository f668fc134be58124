-- What holds of backfills; in the form of invariants.sql.

-- name: backfills
with members as (
  select i.backfill_id, count(*) as members, count(distinct i.place) as places, min(i.place) as first_place,
         max(i.place) as last_place, count(*) filter (where i.status = 'waiting') as waiting
    from partitions.backfill_item i group by i.backfill_id)
select 'partitions/6/backfills' as breaks, coalesce(b.backfill_id, m.backfill_id) as backfill_id, b.status, b.expected,
       b.planned, m.members, m.waiting
  from partitions.backfill b
  full join members m on m.backfill_id = b.backfill_id
 where b.backfill_id is null or b.planned is distinct from coalesce(m.members, 0)
    or m.members > 0 and (m.places, m.first_place, m.last_place) is distinct from (m.members, 1, m.members)
    or b.expected is distinct from partitions.backfill_size(b.selection) or b.status = 'done' and m.waiting > 0

-- name: members
-- Their ends compared with the events of their schedules, within a minute: both are written in one statement.
with ends as (
  select e.partition_id, (e.facts ->> 'backfill_id')::uuid as backfill_id, e.logged_at, case
           when e.to_status = 'terminal' then 'terminal'
           when e.facts ->> 'hold' = 'CANCELLED' or e.from_status <> 'open' then 'cancelled'
           when a.verdict = 'accepted' then 'succeeded' else 'failed' end as status
    from partitions.partition_event e
    left join partitions.attempt a
           on a.partition_id = e.partition_id and a.number = (e.facts ->> 'attempts')::integer
   where e.subject = 'schedule' and e.facts ? 'backfill_id'
     and (e.to_status in ('idle', 'terminal') or e.facts ->> 'hold' = 'CANCELLED')),
told as (
  select distinct i.backfill_id, i.place
    from partitions.backfill_item i
    join ends e on (e.backfill_id, e.partition_id, e.status) = (i.backfill_id, i.partition_id, i.status)
   where i.ended_at between e.logged_at - interval '1 minute' and e.logged_at + interval '1 minute')
select 'rebuild/partitions.backfill_item' as breaks, i.backfill_id, i.place, i.partition_id, i.found, i.status,
       i.ended_at,
       s.status as schedule, s.backfill_id as member_of
  from partitions.backfill_item i
  left join partitions.backfill b on b.backfill_id = i.backfill_id
  left join partitions.schedule s on s.partition_id = i.partition_id
  left join partitions.partition_state p on p.partition_id = i.partition_id
  left join told t on (t.backfill_id, t.place) = (i.backfill_id, i.place)
 cross join lateral (select jsonb_array_length(b.selection -> 'customers') as customers,
                            jsonb_array_length(b.selection -> 'queries') as queries) n
 where case i.status
         when 'left' then i.ended_at is distinct from i.planned_at
         when 'waiting' then (b.status = 'cancelled' or s.backfill_id = i.backfill_id
                              and s.status in ('waiting', 'open', 'held')) is not true
         else t.place is null end
    or i.partition_id is not null
       and (p.source, p.customer_id, p.query_name, p.logical_date) is distinct from (
             b.selection ->> 'source', b.selection -> 'customers' ->> ((i.place - 1) / n.queries % n.customers),
             b.selection -> 'queries' ->> ((i.place - 1) % n.queries),
             (b.selection ->> 'from')::date + (i.place - 1) / (n.queries * n.customers))
