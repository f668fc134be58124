-- What was paused at a time, by the log.

-- name: paused_at
-- The last event of each scope by then, if it is a pause.
select e.scope, e.scope_id, e.logged_at as paused_at, e.actor_id as paused_by, left(e.reason, 500) as reason
  from unnest(%(scopes)s::text[], %(names)s::text[]) g (scope, scope_id)
 cross join lateral (
   select l.* from recoup.pause_log l
    where l.scope = g.scope and l.scope_id = g.scope_id and l.logged_at <= %(until)s
    order by l.seq desc limit 1) e
 where e.event_type = 'PAUSE';
