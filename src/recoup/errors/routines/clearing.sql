-- Clearing: work that failed before has succeeded, so what is open of it is resolved. Parked errors need a person.

create or replace function recoup.clear_errors(
  error_table_ text, entities uuid[], code text, work_key_ text, ran_for interval,
  out resolved bigint[], out parked bigint[], out changed bigint[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  perform recoup.require_entities(entities);
  -- In the order of ids, and the queue behind the error, as every routine does that locks several.
  with found as materialized (
    select e.error_id from recoup.error e
     where e.error_table = error_table_ and e.outreach_id = any(entities) and e.archived_at is null
       and (code is null or e.error_code = code) and coalesce(e.work_key, '') = coalesce(work_key_, '')
       and e.ttl_tier <> 'INFINITE'
     order by e.error_id),
  locked as (
    select e.error_id, e.status, e.updated_at
      from found f
     cross join lateral (
       select e.* from recoup.error e
        where e.error_table = error_table_ and e.error_id = f.error_id limit 1 for no key update) e
      left join lateral (
        select from recoup.error_queue q
         where e.status = 'RETRY_PENDING' and q.unit = e.error_id limit 1 for no key update) q on true
     where e.archived_at is null)
  select coalesce(array_agg(l.error_id) filter (where k.clears and l.updated_at <= now_ - ran_for), '{}'),
         coalesce(array_agg(l.error_id) filter (where not k.clears), '{}'),
         coalesce(array_agg(l.error_id) filter (where k.clears and l.updated_at > now_ - ran_for), '{}')
    into resolved, parked, changed
    from locked l cross join lateral (select l.status in ('ACTIVE', 'RETRY_PENDING') as clears) k;

  if resolved <> '{}' then
    -- A retry that is running is cut off: its token is used up here, and the retry counts.
    update recoup.error e
       set status = 'RESOLVED', archived_at = now_, archive_reason = 'RESOLVED', next_retry_at = null,
           retry_count = e.retry_count + (g.token is not null)::integer, token = coalesce(g.token, e.token),
           last_retry_at = coalesce(g.claimed_at, e.last_retry_at), updated_at = greatest(e.updated_at, now_)
      from (select r.error_id, q.token, q.claimed_at
              from unnest(resolved) r (error_id) left join recoup.error_queue q on q.unit = r.error_id) g
     where e.error_table = error_table_ and e.error_id = any(array[g.error_id]);
  end if;
end $$;
comment on function recoup.clear_errors(text, uuid[], text, text, interval) is
'Resolves what is open for a table and entities, after a later success. Leaves parked errors, and those changed since.';
