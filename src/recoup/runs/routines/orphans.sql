-- Orphans: runs that nobody runs any more, and queued ones that nobody will claim.
--
-- Kinds and workers of open runs are few, and found by leaping along their index: the sweep reads as many rows as it
-- marks, however many wait.

create or replace function recovery.orphans(threshold interval, most integer)
  returns table (run_id uuid, reason text)
language plpgsql stable rows 100
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  now_   constant timestamptz := recoup.now();
  policy constant jsonb := recovery.run_policy();
  within constant interval := make_interval(hours => (policy ->> 'queued_within_hours')::integer);
begin
  return query
    select s.run_id, format('silent since %s', to_char(s.heartbeat_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS"Z"'))
      from recovery.run s
     where s.status = 'running' and s.heartbeat_at <= now_ - greatest(threshold, interval '60 seconds')
     order by s.heartbeat_at limit most;
  return query
    with recursive owners (id) as (
      (select r.worker_id from recovery.run r
        where r.status in ('queued', 'running') and r.worker_id is not null order by r.worker_id limit 1)
      union all
      select (select r.worker_id from recovery.run r
               where r.status in ('queued', 'running') and r.worker_id is not null and r.worker_id > o.id
               order by r.worker_id limit 1)
        from owners o where o.id is not null)
    select r.run_id, format('its worker %s %s', w.name, case w.status when 'lost' then 'is lost' else 'has stopped' end)
      from owners o
     cross join lateral (select w.* from recoup.worker w
                          where w.worker_id = o.id and w.status <> 'running' limit 1) w
     cross join lateral (select r.run_id from recovery.run r
                          where r.worker_id = o.id and r.status in ('queued', 'running')
                            and (r.heartbeat_at is null or r.heartbeat_at <= w.ended_at)
                            and (r.heartbeat_at is null
                                 or r.heartbeat_at > now_ - greatest(threshold, interval '60 seconds'))  -- above
                          limit most) r;
  if (policy ->> 'paused')::boolean then
    return;
  end if;
  return query
    with recursive kinds (kind) as (
      (select r.kind from recovery.run r where r.status = 'queued' order by r.kind limit 1)
      union all
      select (select r.kind from recovery.run r where r.status = 'queued' and r.kind > k.kind
               order by r.kind limit 1)
        from kinds k where k.kind is not null)
    select r.run_id, format('nobody claimed a run of kind %s for %s hours', k.kind, policy ->> 'queued_within_hours')
      from kinds k
     cross join lateral (select r.run_id, r.worker_id from recovery.run r
                          where r.status = 'queued' and r.kind = k.kind and r.queued_at <= now_ - within
                            and not recovery.was_shut(r.kind, r.source, now_ - within)
                          order by r.queued_at, r.run_id limit most) r
     where coalesce(greatest(recovery.last_claim(k.kind), (policy ->> 'resumed_at')::timestamptz) <= now_ - within,
                    true)
       and not exists (select from recoup.worker w where w.worker_id = r.worker_id and w.status <> 'running');
end $$;
comment on function recovery.orphans(interval, integer) is
'Runs to be marked crashed, and why; at most this number for each reason.';

create or replace function recovery.crash_orphans(threshold interval, most integer,
  out ids uuid[], out kinds text[], out reasons text[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  now_   constant timestamptz := recoup.now();
  found_ jsonb;
begin
  -- A simulated clock that was moved leaves every heartbeat behind: wait until each worker has sent one.
  if (select c.status from recoup.clock c) = 'simulated'
     and exists (select from recoup.worker w where w.status = 'running' and w.heartbeat_at < now_) then
    return;
  end if;
  select jsonb_object_agg(o.run_id, o.reason) into found_ from recovery.orphans(threshold, most) o;
  -- What somebody holds at this moment is being claimed, kept alive or ended.
  with held as materialized (
    select r.run_id from recovery.run r
     where r.run_id = any(array(select k::uuid from jsonb_object_keys(found_) k order by k limit most))
       and r.status || '' in ('queued', 'running')
       for no key update skip locked),
  crashed as (
    update recovery.run r
       set status = 'crashed', crash_reason = found_ ->> r.run_id::text,
           finished_at = greatest(now_, r.heartbeat_at, r.created_at)
      from held h
     where r.run_id = h.run_id and recovery.is_orphaned(r, now_, recovery.run_policy())
    returning r.run_id, r.kind, r.crash_reason)
  select array_agg(c.run_id), array_agg(c.kind), array_agg(c.crash_reason) into ids, kinds, reasons from crashed c;
end $$;
comment on function recovery.crash_orphans(interval, integer) is
'Marks orphaned runs as crashed, in one statement. Call it again until it returns none.';
