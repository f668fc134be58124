-- name: close_windows
select recoup.close_windows(%(limit)s, %(only)s);

-- name: closed_windows
select q.unit from recoup.error_queue q
 where q.token is null and q.until is not null and q.until <= (select recoup.now())
   and (select not array[q.part, 'recoup.error'] && recovery.held_tables())
 order by q.until limit %(limit)s;

-- name: window_lag
select extract(epoch from recoup.now() - q.until) from recoup.error_queue q
 where q.token is null and q.until is not null and q.until <= (select recoup.now())
   and (select not array[q.part, 'recoup.error'] && recovery.held_tables())
 order by q.until limit 1;

-- name: due_by_table
-- The longest due, up to a number: a backlog of millions is not counted one by one.
select q.part, count(*)
  from (select q.part from recoup.error_queue q
         where q.token is null and q.wake_at <= (select recoup.now())
           and (q.until is null or q.until > (select recoup.now()))
         order by q.wake_at limit %(limit)s) q
 group by q.part order by q.part;

-- name: reported
-- Whether a claim still holds, whether the last retry was its own, and how that ended.
select q.token is not null, e.token is not distinct from %(token)s, e.status, e.last_outcome, e.last_failure
  from recoup.error e
  left join recoup.error_queue q on q.unit = e.error_id and q.token = %(token)s
 where e.error_table = %(error_table)s and e.error_id = %(error_id)s;
