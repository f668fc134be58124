-- The rules of keys. Every query gives rows whose first column, breaks, is the id of an invariant of invariants.py.

-- name: keys
-- Each key compared with its events in the control log.
with events as (
  select c.key, count(*) filter (where c.event_type = 'BIRTH') as births,
         (array_agg(c.facts order by c.seq))[1] as born, (array_agg(c.facts order by c.seq desc))[1] as facts,
         (array_agg(c.event_type order by c.seq desc))[1] as last_event
    from recoup.control_log c where c.subject = 'recoup.api_key' group by c.key)
select b.breaks, k.key_id, k.name, k.role, k.status
  from recoup.api_key k
  left join events e on e.key = k.key_id::text
  left join recoup.api_key o on o.key_id = k.replaces
 cross join lateral unnest(array_remove(array[
   case when e.births is distinct from 1
          or (k.name, k.role, k.hub, k.prefix, k.replaces::text, k.created_by)
             is distinct from (e.born ->> 'name', e.born ->> 'role', e.born ->> 'hub', e.born ->> 'prefix',
                               e.born ->> 'replaces', e.born ->> 'created_by')
          or k.expires_at is distinct from (e.facts ->> 'expires_at')::timestamptz
          or e.last_event = 'MOVE' and (k.replaced_at, k.ended_at) is distinct from
             ((e.facts ->> 'replaced_at')::timestamptz, (e.facts ->> 'ended_at')::timestamptz)
        then 'service/keys/as-logged' end,
   case when k.replaces is not null and ((k.name, k.role, k.hub) is distinct from (o.name, o.role, o.hub)
             or o.replaced_at is null)
        then 'service/keys/rotation' end], null)) b (breaks)

-- name: sessions
-- A session has the name, the role and the hub of its key.
select 'service/sessions' as breaks, s.session_id, s.name, s.role
  from recoup.session s join recoup.api_key k on k.key_id = s.key_id
 where (s.name, s.role, s.hub) is distinct from (k.name, k.role, k.hub)
