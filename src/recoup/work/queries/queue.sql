-- Of any declared queue.

-- name: expire
select {expire}(%(limit)s, %(only)s);

-- name: expired
select q.unit from {queue} q
 where q.token is not null and q.wake_at < (select recoup.now())
 order by q.wake_at limit %(limit)s;

-- name: expired_lag
select extract(epoch from recoup.now() - q.wake_at) from {queue} q
 where q.token is not null and q.wake_at < (select recoup.now())
 order by q.wake_at limit 1;

-- name: due_lag
select extract(epoch from recoup.now() - q.wake_at) from {queue} q
 where q.token is null and q.wake_at <= (select recoup.now())
   -- As something that half of them are: else the planner takes them for few, and sorts them.
   and case when %(parts)s::text[] is null or q.part = any(%(parts)s::text[]) then true else false end
 order by q.wake_at limit 1;
