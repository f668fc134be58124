-- The control plane follows what became of a run, and decides when the next one is due, if ever.

create or replace function partitions.follow_runs(most integer, only_ bigint[] default null,
  out decided integer, out terminal bigint[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_   constant timestamptz := recoup.now();
  policy constant jsonb := partitions.policy();
begin
  with ended as materialized (
    select s.partition_id, s.source, s.dispatches, s.granted_attempts, s.aged_from, s.reprocesses, s.backoff_strategy,
           r.status as run_status, r.reason, r.category, p.status as state, p.attempt_count,
           b.status as backfill, partitions.is_asked_since(s, b) as is_asked,
           partitions.figures(policy, s.source, s.query_name) as f, random() as chance
      from partitions.schedule s
      join partitions.run r on r.run_id = s.run_id
      join partitions.partition_state p on p.partition_id = s.partition_id
      left join partitions.backfill b on b.backfill_id = s.backfill_id
     where s.status = 'open' and (only_ is null or s.partition_id = any(only_))
       and (r.status in ('accepted', 'rejected', 'lost') or r.status = 'published' and r.lease_until is null)
     order by s.partition_id limit most
       for no key update of s skip locked),
  decision as materialized (
    select e.*,
           case when e.run_status = 'rejected' and e.state = 'failed' then array_remove(array[
             case when e.attempt_count >= (e.f ->> 'max_attempts')::integer + e.granted_attempts then 'ATTEMPTS' end,
             case when e.category <> 'STRUCTURAL' and partitions.has_aged(e.f, e.source, e.aged_from, now_)
                  then 'AGE' end],
             null) else '{}' end as causes,
           case when e.run_status in ('accepted', 'rejected') then 0
                when e.reason = 'SINK_UNAVAILABLE' then e.dispatches else e.dispatches + 1 end as dispatched
      from ended e),
  becoming as materialized (
    select d.*, case
             when d.state = 'success' and d.run_status in ('accepted', 'rejected') then 'idle'
             when d.causes <> '{}' then 'terminal'
             when d.run_status = 'rejected' and d.category = 'STRUCTURAL' then 'held'
             when d.backfill in ('paused', 'cancelled') and not d.is_asked then 'held'
             else 'waiting' end as status
      from decision d),
  moved as (
    update partitions.schedule s
       set status = b.status,
           next_run_at = case when b.status = 'waiting' then now_ + partitions.backoff(b.f, b.f ->> 'backoff_strategy',
             case when b.run_status = 'rejected' then b.attempt_count else b.dispatched end, b.chance) end,
           backoff_strategy = b.f ->> 'backoff_strategy',
           run_id = case when b.run_status = 'published' or b.status in ('idle', 'terminal') then s.run_id end,
           dispatches = b.dispatched, attempts_seen = b.attempt_count,
           reprocesses = b.status <> 'idle' and s.reprocesses,
           alternative = case when b.run_status in ('lost', 'published') then s.alternative end,
           candidate_id = case when b.status = 'idle' or b.causes <> '{}' then null else s.candidate_id end,
           hold = case when b.status = 'held' then case
             when b.run_status = 'rejected' and b.category = 'STRUCTURAL' then 'OPERATOR'
             when b.backfill = 'paused' then 'PAUSED' else 'CANCELLED' end end,
           held_at = case when b.status = 'held' then now_ end,
           terminal_causes = nullif(b.causes, '{}'),
           terminal_at = case when b.status = 'terminal' then now_ end,
           terminal_policy = case when b.status = 'terminal' then recoup.policy_version() end,
           updated_at = greatest(s.updated_at, now_)
      from becoming b
     where s.partition_id = any(array[b.partition_id]) and s.status || '' = 'open'
    returning s.partition_id, s.status)
  select count(*), coalesce(array_agg(m.partition_id) filter (where m.status = 'terminal'), '{}') into decided, terminal
    from moved m;
end $$;
comment on function partitions.follow_runs(integer, bigint[]) is
'Decides what follows from runs that ended: done, due again after its backoff, held for a person, or terminal.';

create or replace function partitions.least_age(policy jsonb) returns interval
language sql immutable as $$
  select make_interval(hours => least(
    (policy ->> 'max_age_hours')::integer,
    (select min(v.hours) from (
       select (s.value ->> 'max_age_hours')::integer as hours from jsonb_each(policy -> 'sources') s
       union all
       select (q.value ->> 'max_age_hours')::integer
         from jsonb_each(policy -> 'sources') s cross join jsonb_each(s.value -> 'queries') q) v)))
$$;
comment on function partitions.least_age(jsonb) is 'The age before which no partition is too old, of any query.';

create or replace function partitions.give_up_aged(most integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_   constant timestamptz := recoup.now();
  policy constant jsonb := partitions.policy();
  least_ constant interval := partitions.least_age(policy);
  given  integer;
begin
  with old as materialized (
    select s.partition_id
      from partitions.schedule s
      join partitions.partition_state p on p.partition_id = s.partition_id
     where s.status = 'waiting' and s.aged_from is not null
       and s.aged_from <= now_ - least_ and p.status = 'failed'
       and partitions.has_aged(partitions.figures(policy, s.source, s.query_name), s.source, s.aged_from, now_)
       and (recoup.paused('table:partitions.partition_state', 'partition-source:' || s.source)).scope is null
     order by s.aged_from limit most
       for no key update of s skip locked),
  moved as (
    update partitions.schedule s
       set status = 'terminal', next_run_at = null, terminal_causes = '{AGE}', terminal_at = now_,
           terminal_policy = recoup.policy_version(), candidate_id = null, updated_at = greatest(s.updated_at, now_)
      from old o where s.partition_id = any(array[o.partition_id]) and s.status || '' = 'waiting'
    returning 1)
  select count(*) into given from moved;
  return given;
end $$;
comment on function partitions.give_up_aged(integer) is
'Failed partitions that are older than the policy allows are terminal.';
