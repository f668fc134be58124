-- The archiver's side: closed errors leave their table, in sets, and with them expired ones. Plans are kept, as in
-- recording.sql.

create or replace function recoup.lineage_of(e recoup.error) returns bigint
language sql immutable parallel safe as $$ select coalesce(e.lineage_id, e.error_id) $$;
comment on function recoup.lineage_of(recoup.error) is
'The lineage of an error: where it has none, the error itself.';

create or replace function recoup.held_lineage(e recoup.error, now_ timestamptz) returns bigint
language sql stable as $$
  -- Recovery keeps an error for a bounded time after its expiry.
  select case when e.expires_at > now_ - make_interval(hours => 24 * (
           select coalesce((p.figures #>> '{recovery,hold_days}')::integer, 0)
             from recoup.policy p order by p.version desc limit 1)) then recoup.lineage_of(e) end
$$;
comment on function recoup.held_lineage(recoup.error, timestamptz) is
'The lineage under which recovery may keep an expired error; null: it is not kept any longer.';

create or replace function recoup.kept_errors(
  error_table_ text, ids bigint[], lineages bigint[], now_ timestamptz) returns bigint[]
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  kept bigint[];
begin
  -- By name: errors do without recovery.
  if to_regprocedure('recovery.kept_errors(text, bigint[], timestamptz)') is null then
    return '{}';
  end if;
  execute 'select recovery.kept_errors($1, $2, $3)' into kept using error_table_, array_remove(lineages, null), now_;
  return array(select i.id from unnest(ids, lineages) i (id, lineage) where i.lineage = any(kept));
end $$;
comment on function recoup.kept_errors(text, bigint[], bigint[], timestamptz) is
'Those of expired errors of a table that recovery still works on, by their lineages (recoup.held_lineage).';

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
  -- Read row by row: it continues behind those that recovery keeps, however many they are.
  expired  cursor for
    select e.error_id, recoup.held_lineage(e, now_) as lineage, e.disposition in ('RETRY', 'PARKED') as blocks
      from recoup.error e
     where e.error_table = error_table_ and e.archived_at is null and e.expires_at < now_
       and recoup.may_expire(e, now_, figures) and (only_ is null or e.error_id = only_)
       and (e.status <> 'RETRY_PENDING' or exists (select from recoup.hold_unclaimed(e.error_id)))
     order by e.expires_at for update skip locked;
  one      record;
  more     boolean := true;
  ids      bigint[] := '{}';
  lineages bigint[] := '{}';
  blocks   boolean[] := '{}';
  kept     bigint[];
  page     integer;
begin
  -- First closed errors, then expired ones.
  select array_agg(l.error_id), array_agg(distinct l.month) into leaving, months
    from (select e.error_id, date_trunc('month', e.archived_at at time zone 'UTC')::date as month
            from recoup.error e
           where e.error_table = error_table_ and e.archived_at is not null and (only_ is null or e.error_id = only_)
           order by e.archived_at limit most for update skip locked) l;
  gone := coalesce(cardinality(leaving), 0);
  was_blocking := 0;
  if gone < most then
    page := most - gone;
    open expired;
    while more and gone < most loop
      fetch expired into one;
      more := found;
      if more then
        ids := ids || one.error_id;
        lineages := lineages || one.lineage;
        blocks := blocks || one.blocks;
      end if;
      -- When a page is locked, recovery is asked, in a statement of its own: it sees what was committed until then.
      if cardinality(ids) > 0 and (not more or cardinality(ids) >= page) then
        kept := recoup.kept_errors(error_table_, ids, lineages, now_);
        select coalesce(leaving, '{}') || array_agg(l.id), was_blocking + count(*) filter (where l.blocks and blocking),
               coalesce(months, '{}')
                 || case when count(*) > 0 then date_trunc('month', now_ at time zone 'UTC')::date end
          into leaving, was_blocking, months
          from (select i.id, i.blocks from unnest(ids, blocks) i (id, blocks)
                 where i.id <> all(kept) limit most - gone) l;
        gone := cardinality(leaving);
        page := greatest(most - gone, 100);
        ids := '{}';
        lineages := '{}';
        blocks := '{}';
      end if;
    end loop;
    close expired;
  end if;
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
