-- name: close_windows
select recoup.close_windows(%(limit)s, %(only)s);

-- name: closed_windows
select q.unit from recoup.error_queue q
 where q.token is null and q.until is not null and q.until <= (select recoup.now())
 order by q.until limit %(limit)s;

-- name: window_lag
select extract(epoch from recoup.now() - q.until) from recoup.error_queue q
 where q.token is null and q.until is not null and q.until <= (select recoup.now())
 order by q.until limit 1;
