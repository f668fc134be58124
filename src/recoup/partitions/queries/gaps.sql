-- name: known
-- Partitions in a range that consumers cannot read. No row: it was never enqueued.
select p.source, p.customer_id, p.query_name, p.logical_date,
       case when s.status = 'terminal' then 'terminal' else p.status end as kind, s.next_run_at, s.hold,
       s.terminal_causes, p.error_message
  from partitions.partition_state p
  join partitions.schedule s on s.partition_id = p.partition_id
  left join partitions.attempt a on a.partition_id = p.partition_id and a.number = p.attempt_count
 where p.status <> 'success' and case when s.status = 'terminal' then 'terminal' else p.status end = any(%(kinds)s)
   and {matching}
 order by p.source, p.query_name, p.customer_id, p.logical_date
 limit %(limit)s;

-- name: customers
-- The customers of a query that the database knows.
select distinct p.source, p.query_name, p.customer_id
  from partitions.partition_state p
  join unnest(%(sources)s::text[], %(queries)s::text[]) g (source, query_name)
       on p.source = g.source and p.query_name = g.query_name;

-- name: queries
-- The sources and queries that the database knows, each found by one step along the index.
with recursive found as (
  (select p.source, p.query_name from partitions.partition_state p order by p.source, p.query_name limit 1)
  union all
  select n.* from found f
   cross join lateral (select p.source, p.query_name from partitions.partition_state p
                        where (p.source, p.query_name) > (f.source, f.query_name)
                        order by p.source, p.query_name limit 1) n)
select f.source, f.query_name from found f;

-- name: never_enqueued
-- Of these days and customers of queries, those without a row. Each is looked up by its key, however many rows there
-- are.
select g.source, g.customer_id, g.query_name, d.day::date
  from unnest(%(sources)s::text[], %(queries)s::text[], %(customers)s::text[], %(firsts)s::date[], %(lasts)s::date[])
       g (source, query_name, customer_id, first, last)
 cross join generate_series(g.first::timestamp, g.last::timestamp, interval '1 day') d (day)
  left join lateral (select true as there from partitions.partition_state s
                      where s.source = g.source and s.customer_id = g.customer_id and s.query_name = g.query_name
                        and s.logical_date = d.day::date limit 1) s on true
 where s.there is null
 order by 1, 3, 2, 4
 limit %(limit)s;
