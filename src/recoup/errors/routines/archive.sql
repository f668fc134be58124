-- The archiver's side: closed errors leave their table, in sets, and with them expired ones. Plans are kept, as in
-- recording.sql.

create or replace function recoup.sweep_errors(
  error_table_ text, most integer, only_ bigint default null, out gone integer, out was_blocking integer)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  now_     constant timestamptz := recoup.now();
  figures  constant jsonb := recoup.error_policy();
  blocking constant boolean := coalesce((figures -> 'tables' -> error_table_ ->> 'blocks')::boolean, false);
  leaving  bigint[];
  months   date[];
begin
  -- First closed errors, then expired ones.
  select array_agg(l.error_id), array_agg(distinct l.month) into leaving, months
    from (select e.error_id, date_trunc('month', e.archived_at at time zone 'UTC')::date as month
            from recoup.error e
           where e.error_table = error_table_ and e.archived_at is not null and (only_ is null or e.error_id = only_)
           order by e.archived_at limit most for update skip locked) l;
  was_blocking := 0;
  if coalesce(cardinality(leaving), 0) < most then
    select coalesce(leaving, '{}') || array_agg(l.error_id),
           coalesce(months, '{}') || case when count(*) > 0 then date_trunc('month', now_ at time zone 'UTC')::date end,
           count(*) filter (where l.disposition in ('RETRY', 'PARKED'))
      into leaving, months, was_blocking
      from (select e.error_id, e.disposition from recoup.error e
             where e.error_table = error_table_ and e.archived_at is null and e.expires_at < now_
               and recoup.may_expire(e, now_, figures) and (only_ is null or e.error_id = only_)
               and (e.status <> 'RETRY_PENDING'
                    or exists (select from recoup.hold_unclaimed(e.error_id)))
             order by e.expires_at limit most - coalesce(cardinality(leaving), 0) for update skip locked) l;
    was_blocking := case when blocking then was_blocking else 0 end;
  end if;
  gone := coalesce(cardinality(leaving), 0);
  if gone = 0 then
    return;
  end if;
  insert into recoup.error_archive_month (error_table, month, made_at)
  select error_table_, m, now_ from (select distinct unnest(months)) d (m)
   where m is not null
     and not exists (select from recoup.error_archive_month k where k.error_table = error_table_ and k.month = m)
  on conflict do nothing;
  delete from recoup.error e where e.error_table = error_table_ and e.error_id = any(leaving);
end $$;
comment on function recoup.sweep_errors(text, integer, bigint) is
'Moves a maximum number of errors of one table to its archive: closed ones, then expired ones.';
