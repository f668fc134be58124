-- name: report
-- Those that are new. A key that is there, or that comes twice in one call, is stored once.
with given as materialized (
  select g.*, coalesce(g.key, gen_random_uuid()::text) as named
    from unnest(%(tables)s::text[], %(froms)s::timestamptz[], %(tos)s::timestamptz[], %(counts)s::bigint[],
                %(keys)s::text[]) with ordinality g (error_table, period_from, period_to, count, key, place)),
-- Sorted: two calls with the same keys wait for each other instead of deadlocking.
stored as (
  insert into recoup.processed (error_table, period_from, period_to, count, idempotency_key)
  select g.error_table, g.period_from, g.period_to, g.count, g.named
    from given g order by g.error_table, g.named, g.place
  on conflict (error_table, idempotency_key) do nothing
  returning error_table, period_from, period_to, count, idempotency_key)
select distinct on (s.error_table, s.idempotency_key) g.place, s.*
  from stored s join given g on g.error_table = s.error_table and g.named = s.idempotency_key
 order by s.error_table, s.idempotency_key, g.place;

-- name: reported
select g.place, p.error_table, p.period_from, p.period_to, p.count, p.idempotency_key
  from unnest(%(places)s::integer[], %(tables)s::text[], %(keys)s::text[]) g (place, error_table, key)
 cross join lateral (
   select p.* from recoup.processed p where p.error_table = g.error_table and p.idempotency_key = g.key limit 1) p;
