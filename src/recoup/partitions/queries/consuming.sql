-- name: current
-- The current runs of partitions that succeeded: one statement, so one snapshot.
select p.source, p.customer_id, p.query_name, p.logical_date, p.partition_id, c.run_id, c.sink_id, c.location,
       c.digest, r.format, c.rows, c.bytes, c.published_at, c.logged_at as accepted_at
  from partitions.partition_state p
  join partitions.schedule s on s.partition_id = p.partition_id
  join partitions.attempt c on c.partition_id = p.partition_id and c.accepted_run_id = p.current_run_id
  join partitions.run r on r.run_id = c.run_id
  left join partitions.attempt a on a.partition_id = p.partition_id and a.number = p.attempt_count
 where p.status = 'success' and {matching}
 order by p.source, p.query_name, p.customer_id, p.logical_date
 limit %(limit)s;

-- name: accepted
-- Those of these runs that are the current ones, in the order in which they are named.
select p.source, p.customer_id, p.query_name, p.logical_date, p.partition_id, c.run_id, c.sink_id, c.location,
       c.digest, r.format, c.rows, c.bytes, c.published_at, c.logged_at as accepted_at
  from unnest(%(runs)s::uuid[]) with ordinality g (run_id, place)
  join partitions.run r on r.run_id = g.run_id
  join partitions.attempt c on c.partition_id = r.partition_id and c.accepted_run_id = r.run_id
  join partitions.partition_state p on p.partition_id = r.partition_id and p.current_run_id = r.run_id
  join partitions.schedule s on s.partition_id = p.partition_id
  left join partitions.attempt a on a.partition_id = p.partition_id and a.number = p.attempt_count
 where {matching}
 order by g.place;

-- name: published
-- Every run that was published into a sink, with its status.
select p.source, p.customer_id, p.query_name, p.logical_date, r.run_id, r.manifest_digest, r.status, r.location,
       r.published_at, r.sink_id
  from partitions.run r
  join partitions.partition_state p on p.partition_id = r.partition_id
 where r.published_at is not null
 order by p.partition_id, r.number;

-- name: statuses
-- And whether they are published into this sink.
select r.run_id, r.status, coalesce(r.sink_id = %(sink)s, false)
  from partitions.run r where r.run_id = any(%(runs)s::uuid[]);
