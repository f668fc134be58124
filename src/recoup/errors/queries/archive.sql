-- name: sweep
select * from recoup.sweep_errors(%(table)s, %(limit)s, %(only)s);

-- name: leaving
-- Through the parent, as in retrying.sql: closed errors, and expired ones.
(select e.error_table, e.error_id from recoup.error e
  where e.archived_at is not null
  order by e.archived_at limit %(limit)s)
 union all
(select e.error_table, e.error_id from recoup.error e
  where e.archived_at is null and e.expires_at < (select recoup.now())
    and not exists (select from recoup.error_queue q where q.unit = e.error_id and q.token is not null)
    and recoup.may_expire(e, (select recoup.now()), (select recoup.error_policy()))
    and recoup.kept_errors(e.error_table, array[e.error_id], array[recoup.held_lineage(e, (select recoup.now()))],
                           (select recoup.now())) = '{}'
  order by e.expires_at limit %(limit)s);

-- name: lag
-- A closed error has waited since it was closed; an expired one, since it expired. Errors that are kept do not wait.
select extract(epoch from recoup.now() - min(l.since)) from (
  (select e.archived_at as since from recoup.error e where e.archived_at is not null order by e.archived_at limit 1)
   union all
  (select e.expires_at from recoup.error e
    where e.archived_at is null and e.expires_at < (select recoup.now())
      and not exists (select from recoup.error_queue q where q.unit = e.error_id and q.token is not null)
      and recoup.may_expire(e, (select recoup.now()), (select recoup.error_policy()))
      and recoup.kept_errors(e.error_table, array[e.error_id], array[recoup.held_lineage(e, (select recoup.now()))],
                             (select recoup.now())) = '{}'
    order by e.expires_at limit 1)) l
 where l.since < recoup.now();

-- name: months_over
-- Months that are older than their table's retention, oldest first. Not while an error has yet to be moved there: after
-- a long pause of the archiver it would have no partition. The last column: seconds since the first retention ended.
select m.error_table, m.month,
       extract(epoch from recoup.now() at time zone 'UTC'
                          - min(m.month + interval '1 month' + make_interval(years => t.years)) over ())::float8
  from recoup.error_archive_month m
  join unnest(%(tables)s::text[], %(years)s::integer[]) t (name, years) on t.name = m.error_table
 where m.status = 'KEPT'
   and m.month + interval '1 month' <= recoup.now() at time zone 'UTC' - make_interval(years => t.years)
   and not exists (
     select from recoup.error e
      where e.error_table = m.error_table and e.archived_at < (m.month + interval '1 month') at time zone 'UTC')
 order by m.month, m.error_table limit %(limit)s;

-- name: lock_month
-- No other transaction drops it meanwhile.
select from recoup.error_archive_month
 where error_table = %(table)s and month = %(month)s and status = 'KEPT' for update;

-- name: drop_month
update recoup.error_archive_month m
   set status = 'DROPPED', dropped_at = recoup.now(),
       (rows, digest) = (select d.rows, d.digest from recoup.archive_month_digest(m.error_table, m.month) d)
 where m.error_table = %(table)s and m.month = %(month)s and m.status = 'KEPT'
returning m.rows, m.digest;
