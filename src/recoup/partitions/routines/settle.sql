-- What follows from a step: a dispatch opens the schedule, a verdict ends the attempt of its partition, and a partition
-- that is dispatched or asked for again is pending.
--
-- Rows are looked up by an array of keys and joined by hash, which is right for one row and for ten thousand.

create or replace function partitions.settle_run_births() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_nestloop = off set enable_mergejoin = off set enable_hashjoin = on
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
  ids     constant bigint[] := array(select n.partition_id from new_rows n);
  changed integer;
begin
  perform recoup.require_table(tg_relid, 'partitions.run');
  update partitions.schedule s
     set status = 'open', run_id = n.run_id, next_run_at = null,
         first_dispatched_at = coalesce(s.first_dispatched_at, n.opened_at),
         aged_from = coalesce(s.aged_from, n.opened_at), updated_at = greatest(s.updated_at, n.opened_at)
    from new_rows n where s.partition_id = any(ids) and s.partition_id = n.partition_id;
  get diagnostics changed = row_count;
  if changed <> cardinality(ids) then
    raise exception using errcode = 'RC141', message = 'A dispatched partition has no schedule.',
      hint = 'Use: recoup state enqueue', detail = '{}';
  end if;
  return null;
end $$;
revoke execute on function partitions.settle_run_births() from public;
comment on function partitions.settle_run_births() is 'The schedule of a dispatched partition is open.';

create or replace function partitions.settle_run_moves() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_nestloop = off set enable_mergejoin = off set enable_hashjoin = on
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
  judged constant bigint[] := array(select n.partition_id from new_rows n where n.status in ('accepted', 'rejected'));
  again  bigint[];
begin
  perform recoup.require_table(tg_relid, 'partitions.run');
  if judged <> '{}' then
    update partitions.partition_state s
       set status = case when n.status = 'accepted' or s.status = 'success' then 'success' else 'failed' end,
           current_run_id = case when n.status = 'accepted' then n.run_id else s.current_run_id end,
           attempt_count = s.attempt_count + 1,
           error_message = case when n.status = 'rejected' and s.status <> 'success' then n.message end,
           updated_at = greatest(s.updated_at, n.ended_at)
      from new_rows n
     where s.partition_id = any(judged) and s.partition_id = n.partition_id and n.status in ('accepted', 'rejected');
  end if;
  again := array(select n.partition_id from new_rows n join old_rows o on o.run_id = n.run_id where n.token <> o.token);
  if again <> '{}' then
    update partitions.schedule s
       set status = 'open', next_run_at = null, updated_at = greatest(s.updated_at, n.updated_at)
      from new_rows n
     where s.partition_id = any(again) and s.partition_id = n.partition_id;
  end if;
  return null;
end $$;
revoke execute on function partitions.settle_run_moves() from public;
comment on function partitions.settle_run_moves() is
'A verdict ends the attempt of its partition; a run that is dispatched again opens its schedule.';

create or replace function partitions.settle_schedules() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_nestloop = off set enable_mergejoin = off set enable_hashjoin = on
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
  again constant bigint[] := array(
    select n.partition_id from new_rows n join old_rows o on o.partition_id = n.partition_id
     where n.status = 'open' and o.status <> 'open'
        or n.status = 'waiting' and n.requested_at is distinct from o.requested_at);
begin
  perform recoup.require_table(tg_relid, 'partitions.schedule');
  if again <> '{}' then
    update partitions.partition_state s
       set status = 'pending', updated_at = greatest(s.updated_at, n.updated_at)
      from new_rows n
     where s.partition_id = any(again) and s.partition_id = n.partition_id and s.status = 'failed';
  end if;
  return null;
end $$;
revoke execute on function partitions.settle_schedules() from public;
comment on function partitions.settle_schedules() is
'A failed partition that is dispatched, or asked for again, is pending.';
