-- name: close_windows
select recoup.close_windows(%(limit)s, %(only)s);

-- name: closed_windows
select q.unit from recoup.error_queue q
 where q.token is null and q.until is not null and q.until <= (select recoup.now())
   and (select not array[q.part, 'recoup.error'] && recovery.shut_tables())
 order by q.until limit %(limit)s;

-- name: window_lag
select extract(epoch from recoup.now() - q.until) from recoup.error_queue q
 where q.token is null and q.until is not null and q.until <= (select recoup.now())
   and (select not array[q.part, 'recoup.error'] && recovery.shut_tables())
 order by q.until limit 1;

-- name: due_by_table
-- The longest due, up to a number: a backlog of millions is not counted one by one.
select q.part, count(*)
  from (select q.part from recoup.error_queue q
         where q.token is null and q.wake_at <= (select recoup.now())
           and (q.until is null or q.until > (select recoup.now()))
         order by q.wake_at limit %(limit)s) q
 group by q.part order by q.part;
