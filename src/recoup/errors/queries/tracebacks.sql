-- name: keep
select recoup.keep_tracebacks(%(tables)s::text[], %(ids)s::bigint[], %(tokens)s::uuid[], %(tracebacks)s::text[]);

-- name: of_errors
select t.error_table, t.error_id, t.retry, t.recorded_at, t.traceback
  from recoup.retry_traceback t
 where t.error_id = any(%(ids)s::bigint[])
 order by t.error_id, t.retry;

-- name: delete
delete from recoup.retry_traceback t
 using unnest(%(ids)s::bigint[], %(retries)s::integer[]) g (error_id, retry)
 where t.error_id = g.error_id and t.retry = g.retry;

-- name: of_month
select t.error_id, t.retry
  from recoup.error_archive a join recoup.retry_traceback t on t.error_id = a.error_id and t.error_table = a.error_table
 where a.error_table = %(table)s and a.archived_at >= %(month)s::timestamp at time zone 'UTC'
   and a.archived_at < (%(month)s::timestamp + interval '1 month') at time zone 'UTC';
