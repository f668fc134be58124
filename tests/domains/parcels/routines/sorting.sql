create or replace function parcels.end_sorting(units bigint[], tokens uuid[], outcomes text[], failures text[],
  out ended bigint[], out statuses text[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
  perform recoup.require_reports(units, tokens, outcomes, cardinality(failures));
  with applied as (
    update parcels.parcel p
       set status = case when g.outcome = 'SUCCEEDED' then 'SORTED' else 'WAITING' end, sorts = p.sorts + 1,
           due_at = recoup.now() + interval '1 minute', token = g.token, outcome = g.outcome, moved_at = recoup.now()
      from unnest(units, tokens, outcomes) g (unit, token, outcome)
      join parcels.parcel_queue q on q.unit = g.unit and q.token = g.token
           and (q.wake_at >= recoup.now() or g.outcome = 'LAPSED')
     where p.parcel_id = g.unit and p.sorts = q.round and p.status = 'WAITING'
    returning p.parcel_id, p.status)
  select coalesce(array_agg(a.parcel_id), '{}'), coalesce(array_agg(a.status), '{}') into ended, statuses from applied a;
  if cardinality(ended) < cardinality(units) then
    select * into ended, statuses
      from parcels.late_parcel_reports(units, tokens, outcomes, failures, ended, statuses);
  end if;
end $$;
