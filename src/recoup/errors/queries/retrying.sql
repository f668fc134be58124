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
 where e.status = 'RETRY_PENDING' and e.token is null and e.archived_at is null
   and e.next_retry_at <= (select recoup.now())
   and e.error_table = any(%(tables)s::text[])
 order by e.next_retry_at limit 1;
