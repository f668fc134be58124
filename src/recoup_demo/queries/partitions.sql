-- What the demo of partitions looks up.

-- name: partitions
-- Every partition with its status, and which of its attempts is the current one.
select p.source, p.customer_id, p.query_name, p.logical_date, p.status, s.status as schedule, s.hold,
       s.terminal_causes, p.attempt_count,
       (select a.number from partitions.attempt a
         where a.partition_id = p.partition_id and a.run_id = p.current_run_id and a.verdict = 'accepted') as current
  from partitions.partition_state p join partitions.schedule s on s.partition_id = p.partition_id
 order by p.source, p.query_name, p.customer_id, p.logical_date;

-- name: counts
select 'partition' as what, p.status, count(*) as rows from partitions.partition_state p group by 2
union all
select 'schedule', s.status, count(*) from partitions.schedule s group by 2
union all
select 'terminal', array_to_string(s.terminal_causes, ', '), count(*) from partitions.schedule s
 where s.status = 'terminal' group by 2
union all
select 'run', r.status, count(*) from partitions.run r group by 2
union all
select 'backfill', b.status, count(*) from partitions.backfill b group by 2
union all
select 'member', i.status, count(*) from partitions.backfill_item i group by 2
 order by 1, 2;

-- name: eventful
-- A partition that succeeded after all, with the most events.
select p.source, p.customer_id, p.query_name, p.logical_date
  from partitions.partition_state p
 where p.status = 'success'
 order by (select count(*) from partitions.partition_event e where e.partition_id = p.partition_id) desc,
          p.partition_id
 limit 1;
