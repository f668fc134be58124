-- name: lapse
select recoup.lapse_retries(%(limit)s, %(only)s);

-- name: close_windows
select recoup.close_windows(%(limit)s, %(only)s);

-- name: lapsed
select q.unit from recoup.error_queue q
 where q.token is not null and q.wake_at < (select recoup.now())
 order by q.wake_at limit %(limit)s;

-- name: closed_windows
select q.unit from recoup.error_queue q
 where q.token is null and q.until is not null and q.until <= (select recoup.now())
 order by q.until limit %(limit)s;

-- name: lapse_lag
select extract(epoch from recoup.now() - q.wake_at) from recoup.error_queue q
 where q.token is not null and q.wake_at < (select recoup.now())
 order by q.wake_at limit 1;

-- name: window_lag
select extract(epoch from recoup.now() - q.until) from recoup.error_queue q
 where q.token is null and q.until is not null and q.until <= (select recoup.now())
 order by q.until limit 1;

-- name: due_lag
select extract(epoch from recoup.now() - q.wake_at) from recoup.error_queue q
 where q.token is null and q.wake_at <= (select recoup.now())
   -- As something that half of them are: else the planner takes them for few, and sorts them.
   and case when q.part = any(%(tables)s::text[]) then true else false end
 order by q.wake_at limit 1;
