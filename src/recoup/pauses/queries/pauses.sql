-- name: pause
-- Of two sessions that pause one thing at once, one succeeds; the other gets no row.
insert into recoup.pause (scope, scope_id, status, changed_at, changed_by, reason)
values (%(scope)s, %(scope_id)s, 'PAUSED', recoup.now(), recoup.acting_id(), %(reason)s)
on conflict (scope, scope_id) do update
   set status = 'PAUSED', changed_at = greatest(pause.changed_at, excluded.changed_at),
       changed_by = excluded.changed_by, reason = excluded.reason
 where pause.status = 'RUNNING'
returning scope_id;

-- name: resume
update recoup.pause
   set status = 'RUNNING', changed_at = greatest(changed_at, recoup.now()), changed_by = recoup.acting_id(),
       reason = %(reason)s
 where scope = %(scope)s and scope_id = %(scope_id)s and status = 'PAUSED'
returning scope_id;

-- name: list_pauses
select scope, scope_id, paused_at, paused_by, reason
  from recoup.pauses
 where paused_at <= coalesce(%(at)s::timestamptz, 'infinity')
   and (paused_at < coalesce(%(at)s::timestamptz, 'infinity')
        or (scope, scope_id) > (%(scope)s::text, %(scope_id)s::text))
 order by paused_at desc, scope, scope_id
 limit %(limit)s;

-- name: list_log
select logged_at, event_type, scope, scope_id, reason, actor, actor_id, seq
  from recoup.pause_log
 where seq < coalesce(%(after)s::bigint, 9223372036854775807)
 order by seq desc limit %(limit)s;

-- name: paused
select p.scope, p.scope_id, p.changed_at as paused_at, p.changed_by as paused_by, p.reason
  from recoup.paused(variadic %(scopes)s::text[]) p
 where p.scope is not null;

-- name: scopes
select p.scope from recoup.pausable p group by p.scope order by p.scope <> 'global', p.scope;

-- name: names
-- Whether each is paused is asked of what is listed alone: batches can be many.
select n.scope, n.name,
       exists (select from recoup.pauses q where q.scope = n.scope and q.scope_id = n.name) as paused
  from (select s.scope, x.name
          from (select distinct p.scope from recoup.pausable p
                 where %(scope)s::text is null or p.scope = %(scope)s) s
         cross join lateral recoup.pausable_names(s.scope) x (name)
         where %(text)s::text is null or strpos(lower(x.name), lower(%(text)s)) > 0
         order by s.scope <> 'global', s.scope, x.name limit %(limit)s) n
 order by n.scope <> 'global', n.scope, n.name;
