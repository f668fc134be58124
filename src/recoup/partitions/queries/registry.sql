-- name: place
-- Which database this is, the version of its policy, and the time.
select (select c.system_identifier from pg_control_system() c), d.oid, recoup.present_incarnation(),
       recoup.policy_version(), recoup.now()
  from pg_database d where d.datname = current_database();

-- name: missing
-- Expected keys that the database has not, the newest days first. The customers are those of the active policy.
with policy as materialized (select partitions.policy() as p)
select g.source, c.customer_id, g.query_name, d.day::date
  from policy
 cross join unnest(%(source)s::text[], %(query_name)s::text[], %(first)s::date[], %(last)s::date[])
            g (source, query_name, first, last)
 cross join generate_series(g.first::timestamp, g.last::timestamp, interval '1 day') d (day)
 cross join jsonb_array_elements_text(policy.p #> array['sources', g.source, 'queries', g.query_name, 'customers'])
            c (customer_id)
 where not exists (select from partitions.partition_state s
                    where s.source = g.source and s.customer_id = c.customer_id and s.query_name = g.query_name
                      and s.logical_date = d.day::date)
 order by d.day desc, 1, 3, 2
 limit %(limit)s;
