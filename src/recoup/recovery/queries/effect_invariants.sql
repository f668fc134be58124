-- What actions change and leave behind: breakers, keys, what was undone, what outcomes teach.

-- name: breakers
-- Each opening is of a person, or of a candidate that says so; each probe came after its wait, and one at a time. What
-- each is now is what its last event says.
with events as (
  select l.seq, l.key, l.from_status, l.to_status, l.logged_at, l.authority, l.facts,
         lag(l.to_status) over (partition by l.key order by l.seq) as before
    from recoup.control_log l where l.subject = 'recovery.breaker')
select 'recovery/breakers' as breaks, e.key as breaker, e.seq, e.from_status, e.to_status
  from events e
 where e.from_status is distinct from e.before
    or e.to_status = 'half_open' and e.logged_at < (e.facts ->> 'open_until')::timestamptz
    or e.to_status = 'open' and e.authority = 'recoup_executor'
       and not exists (select from recovery.candidate c
                        where c.candidate_id = (e.facts ->> 'candidate_id')::uuid and c.effect_made_at is not null
                          and c.result -> 'undo' ->> 'key' = e.key)
union all
select 'recovery/breakers', b.name, l.seq, l.to_status, b.status
  from recovery.breaker b
  left join lateral (select l.* from recoup.control_log l where l.subject = 'recovery.breaker' and l.key = b.name
                      order by l.seq desc limit 1) l on true
 where jsonb_populate_record(null::recovery.breaker,
         l.facts || jsonb_build_object('name', l.key, 'status', l.to_status)) is distinct from b

-- name: experience
-- Counted again from the provenance, as far as the learner has read it. A settled read has no gaps: what it has read is
-- what its snapshot sees, and of the range that it is reading, what is not after its last position.
with cursors as (
  select s.incarnation, s.since, s.until, s.after_seq from recoup.subscription s
   where s.log = 'recovery.provenance' and s.name = 'learner'),
read as (
  select p.candidate_id
    from cursors k
    join recovery.provenance p on p.event_type in ('success', 'failure', 'rolled_back')
   where p.incarnation < k.incarnation
      or p.incarnation = k.incarnation
         and (pg_visible_in_snapshot(p.xid, k.since)
              or k.until is not null and pg_visible_in_snapshot(p.xid, k.until) and p.seq <= k.after_seq
              or k.until is null and p.seq <= k.after_seq)),
counted as (
  select c.action_name, l.source, l.category, (c.finished_at at time zone 'UTC')::date as day,
         count(*) filter (where c.status = 'succeeded') as succeeded, count(*) as ended
    from read r
    join recovery.candidate c on c.candidate_id = r.candidate_id and c.teaches
     and c.action_type not in ('escalate', 'notify', 'manual', 'skip')
    join recovery.failure_match m on m.failure_match_id = c.failure_match_id
   cross join lateral (values ('', ''), (m.source, ''), (m.source, m.category)) l (source, category)
   group by 1, 2, 3, 4)
select 'recovery/experience' as breaks, coalesce(e.action_name, n.action_name) as action_name,
       coalesce(e.source, n.source) as source, coalesce(e.category, n.category) as category,
       coalesce(e.day, n.day) as day, e.succeeded, e.ended, n.succeeded as counted_succeeded, n.ended as counted_ended
  from recovery.experience e
  full join counted n on (n.action_name, n.source, n.category, n.day) = (e.action_name, e.source, e.category, e.day)
 where (e.succeeded, e.ended) is distinct from (n.succeeded, n.ended)

-- name: config
-- The versions of a key follow each other, and each that a candidate set is what that candidate tells.
select 'recovery/config' as breaks, c.key, c.version, c.status, c.candidate_id
  from (select c.*, lag(c.version, 1, 0) over in_turn as last_version, lag(c.value) over in_turn as before
          from recovery.config c window in_turn as (partition by c.key order by c.version)) c
  left join recovery.candidate k on k.candidate_id = c.candidate_id
 where c.version <> c.last_version + 1 or (c.status = 'removed') <> (c.value is null)
    or c.candidate_id is not null
       and (recovery.change_record('reconfigure', c.key, c.before, c.value)
            = coalesce(k.result -> 'undo', k.result -> 'restored')) is not true
union all
select 'recovery/config', k.parameters ->> 'key', null, k.status, k.candidate_id
  from recovery.candidate k
 where (k.action_type = 'reconfigure' and k.parameters ? 'key' or k.result -> 'restored' ->> 'type' = 'reconfigure')
   and k.effect_made_at is not null
   and (select count(*) from recovery.config c where c.candidate_id = k.candidate_id) <> 1

-- name: undone
-- What was undone had been done, by an action that can be undone, once; and what was there before it was restored.
select 'recovery/undo' as breaks, r.candidate_id, r.parameters ->> 'undoes' as undoes, r.status,
       u.status as undone_status
  from recovery.candidate r
  left join recovery.candidate u on u.candidate_id = (r.parameters ->> 'undoes')::uuid
 where r.action_type = 'rollback' and r.executed_at is not null
   and (r.decided_at is not null and u.effect_made_at is not null and u.finished_at <= r.executed_at
        and u.action_type <> 'rollback'
        and (r.effect_made_at is null or r.parameters ? 'action'
             or (r.result -> 'restored' ->> 'before_digest', r.result -> 'restored' ->> 'after_digest')
                is not distinct from (u.result -> 'undo' ->> 'after_digest', u.result -> 'undo' ->> 'before_digest')))
       is not true
union all
select 'recovery/undo', null, r.parameters ->> 'undoes', null, null
  from recovery.candidate r
 where r.action_type = 'rollback' and r.status not in ('failed', 'skipped', 'rejected')
 group by r.parameters ->> 'undoes' having count(*) > 1
