-- The recorders of runs: they write the events of births and moves to recovery.run_trace. Heartbeats are not recorded.

create or replace function recovery.digest(result jsonb) returns text
language sql immutable as $$ select encode(sha256(convert_to(result::text, 'UTF8')), 'hex') $$;
comment on function recovery.digest(jsonb) is 'The digest of a result, as the log has it.';

create or replace function recovery.record_run_births() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = utc as $$
declare
  incarnation_ constant integer := recoup.present_incarnation();
  kind_        constant text := recoup.acting_kind();
  id           constant text := recoup.acting_id();
  role_        constant text := recoup.acting_role();
begin
  perform recoup.require_table(tg_relid, 'recovery.run');
  insert into recovery.run_trace (incarnation, logged_at, run_id, event_type, to_status, facts, token, actor, actor_id,
                                  authority)
  select incarnation_, n.created_at, n.run_id, case n.status when 'queued' then 'queued' else 'started' end, n.status,
         jsonb_strip_nulls(jsonb_build_object(
           'kind', n.kind, 'source', n.source, 'retry_of', n.retry_of, 'candidate_id', n.candidate_id,
           'owner', n.owner, 'worker_id', n.worker_id, 'started_at', n.started_at)),
         n.token, kind_, id, role_
    from new_rows n;
  return null;
end $$;
revoke execute on function recovery.record_run_births() from public;
comment on function recovery.record_run_births() is 'queued, or started.';

create or replace function recovery.record_run_moves() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp set timezone = utc
-- A join by hash is right for one row and for a hundred thousand, so its plan may be kept.
set plan_cache_mode = force_generic_plan set enable_nestloop = off set enable_hashjoin = on set enable_mergejoin = off
as $$
declare
  incarnation_ constant integer := recoup.present_incarnation();
  kind_        constant text := recoup.acting_kind();
  id           constant text := recoup.acting_id();
  role_        constant text := recoup.acting_role();
begin
  perform recoup.require_table(tg_relid, 'recovery.run');
  insert into recovery.run_trace (incarnation, logged_at, run_id, event_type, from_status, to_status, reason, facts,
                                  token, actor, actor_id, authority)
  select incarnation_,
         case said.event_type when 'started' then n.started_at when 'note' then n.heartbeat_at else n.finished_at end,
         n.run_id, said.event_type, o.status, n.status,
         case said.event_type when 'note' then n.note when 'crashed' then n.crash_reason else n.message end,
         jsonb_strip_nulls(case said.event_type
           when 'started' then jsonb_build_object('owner', n.owner, 'worker_id', n.worker_id,
                                                  'started_at', n.started_at)
           when 'note' then jsonb_build_object('notes', n.notes)
           else jsonb_build_object('finished_at', n.finished_at, 'heartbeat_at', n.heartbeat_at,
                                   'result', recovery.digest(n.result)) end),
         n.token, kind_, id, role_
    from new_rows n
    join old_rows o on o.run_id = n.run_id
   cross join lateral (select case
       when n.status <> o.status then case n.status when 'running' then 'started' else n.status end
       when n.notes > o.notes then 'note' end as event_type) said
   where said.event_type is not null;  -- a heartbeat is no event
  return null;
end $$;
revoke execute on function recovery.record_run_moves() from public;
comment on function recovery.record_run_moves() is
'The event of a move: started, note, succeeded, failed, crashed. A heartbeat has none.';
