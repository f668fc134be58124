-- name: figures_in_force
-- And whether it is this transaction's own, which may yet be rolled back.
select p.version, (p.figures -> 'errors')::text, p.xid is not distinct from pg_current_xact_id_if_assigned() from recoup.policy p order by p.version desc limit 1;

-- name: hold
select recoup.hold_promotions((select array_agg(distinct recoup.entity_bucket(e)) from unnest(%(entities)s::uuid[]) e where e is not null));

-- name: record
select recoup.record_errors(%(places)s::integer[], %(entities)s::uuid[], %(messages)s::text[], %(signatures)s::text[],
  %(payloads)s::text[]::jsonb[], %(later)s::integer[], %(tables)s::text[], %(codes)s::text[], %(severities)s::text[], %(categories)s::text[],
  %(dispositions)s::text[], %(tiers)s::text[], %(days)s::integer[], %(budgets)s::integer[], %(park_reasons)s::text[], %(deciders)s::text[],
  %(clamps)s::text[], %(version)s);

-- name: claim
select * from recoup.claim_errors(%(tables)s::text[], %(limit)s, %(worker)s, %(lease)s);

-- name: end
select * from recoup.end_retries(%(tables)s::text[], %(ids)s::bigint[], %(tokens)s::uuid[], %(outcomes)s::text[], %(failures)s::text[]);

-- name: lapse
select recoup.lapse_retries(%(limit)s, %(only)s);

-- name: close_windows
select recoup.close_windows(%(limit)s, %(only)s);

-- name: lapsed
-- Through the parent, and without naming tables: each partition gives its own index in order, and none its primary key.
select e.error_id from recoup.error e
 where e.token is not null and e.lease_until < (select recoup.now())
 order by e.lease_until limit %(limit)s;

-- name: closed_windows
select e.error_id from recoup.error e
 where e.status = 'RETRY_PENDING' and e.token is null and e.archived_at is null and e.retry_until is not null
   and e.retry_until <= (select recoup.now())
 order by e.retry_until limit %(limit)s;

-- name: lapse_lag
select extract(epoch from recoup.now() - e.lease_until) from recoup.error e
 where e.token is not null and e.lease_until < (select recoup.now())
 order by e.lease_until limit 1;

-- name: window_lag
select extract(epoch from recoup.now() - e.retry_until) from recoup.error e
 where e.status = 'RETRY_PENDING' and e.token is null and e.archived_at is null and e.retry_until is not null
   and e.retry_until <= (select recoup.now())
 order by e.retry_until limit 1;

-- name: due_lag
select extract(epoch from recoup.now() - e.next_retry_at) from recoup.error e
 where e.status = 'RETRY_PENDING' and e.token is null and e.archived_at is null and e.next_retry_at <= (select recoup.now())
   and e.error_table = any(%(tables)s::text[])
 order by e.next_retry_at limit 1;
