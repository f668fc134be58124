-- What the audit compares with the raw sink.

-- name: current_runs
select p.partition_id, p.source, p.customer_id, p.query_name, p.logical_date, p.current_run_id as run_id, a.sink_id,
       a.location, a.digest
  from partitions.partition_state p
  left join partitions.attempt a on a.partition_id = p.partition_id and a.run_id = p.current_run_id
 where p.current_run_id is not null
 order by p.source, p.customer_id, p.query_name, p.logical_date;
