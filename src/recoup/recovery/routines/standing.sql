-- The condition of the subject of a match: its own row, or that of the latest unit that was started for it. Logs wake
-- an evaluation; these rows decide.

create or replace function recovery.error_heads(refs text[],
  out ref text, out error_table text, out error_id bigint, out status text, out archived_at timestamptz,
  out archive_reason text)
returns setof record
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
begin
  -- A ref is the table and the first error of a lineage. What superseded it is open, with the same entity, signature
  -- and
  -- work key; else it ended with the last one of the chain.
  return query
  with first as materialized (
    select r.ref, split_part(r.ref, '/', 1) as error_table, split_part(r.ref, '/', 2)::bigint as error_id
      from unnest(refs) r (ref)),
  found as materialized (
    select f.ref, f.error_table, f.error_id as lineage, e.*
      from first f
     cross join lateral (
       (select e.error_id as id, e.outreach_id, e.error_signature, e.work_key, e.status, e.archived_at,
               e.archive_reason, e.superseded_by
          from recoup.error e where e.error_table = f.error_table and e.error_id = f.error_id limit 1)
       union all
       (select a.error_id, a.outreach_id, a.error_signature, a.work_key, 'ARCHIVED', a.archived_at, a.archive_reason,
               a.superseded_by
          from recoup.error_archive a where a.error_table = f.error_table and a.error_id = f.error_id limit 1)
       limit 1) e)
  select f.ref, f.error_table, h.id, h.status, h.archived_at, h.archive_reason
    from found f
   cross join lateral (
     (select f.id, f.status, f.archived_at, f.archive_reason where f.superseded_by is null)
     union all
     (select e.error_id, e.status, e.archived_at, e.archive_reason from recoup.error e
       where f.superseded_by is not null and e.error_table = f.error_table and e.outreach_id = f.outreach_id
         and e.error_signature = f.error_signature and coalesce(e.work_key, '') = coalesce(f.work_key, '')
         and e.archived_at is null and e.lineage_id = f.lineage limit 1)
     union all
     (select c.id, c.status, c.archived_at, c.archive_reason
        from recovery.last_of_chain(f.error_table, f.superseded_by) c where f.superseded_by is not null)
     limit 1) h;
end $$;
comment on function recovery.error_heads(text[]) is
'The newest error of each lineage (its table and first error), in its table or in the archive.';

create or replace function recovery.last_of_chain(error_table_ text, next_id bigint,
  out id bigint, out status text, out archived_at timestamptz, out archive_reason text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  then_ bigint := next_id;
begin
  while then_ is not null loop
    id := then_;
    select e.status, e.archived_at, e.archive_reason, e.superseded_by into status, archived_at, archive_reason, then_
      from recoup.error e where e.error_table = error_table_ and e.error_id = id;
    if not found then
      select 'ARCHIVED', a.archived_at, a.archive_reason, a.superseded_by into status, archived_at, archive_reason,
        then_
        from recoup.error_archive a where a.error_table = error_table_ and a.error_id = id;
    end if;
    -- Its archive was dropped; or a hub wrote a circle, past the library. What supersedes an error is newer.
    if status is null or then_ <= id then
      return;
    end if;
  end loop;
end $$;
comment on function recovery.last_of_chain(text, bigint) is
'The last error of a chain of superseded ones, from this one on.';

create or replace function recovery.errors_before(error_table_ text, lineage bigint) returns setof bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  -- From the first on; "union" ends at a circle that a hub wrote past the library.
  with recursive chain as (
    select lineage as id
    union
    select n.superseded_by
      from chain c
     cross join lateral (
       (select e.superseded_by from recoup.error e where e.error_table = error_table_ and e.error_id = c.id limit 1)
       union all
       (select a.superseded_by from recoup.error_archive a
         where a.error_table = error_table_ and a.error_id = c.id limit 1)
       limit 1) n
     where n.superseded_by is not null)
  select c.id from chain c
$$;
comment on function recovery.errors_before(text, bigint) is
'The errors of a lineage, from the first to the newest, each superseded by the next: people act on each.';

create or replace function recovery.standings(kinds text[], refs text[],
  out kind text, out ref text, out standing text, out unit text, out status text)
returns setof record
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- failed: as when it was matched; busy: something is under way; good: the failure is gone; gone: given up elsewhere.
  return query
  select 'error', h.ref,
         case when h.status = 'RESOLVED' or h.archive_reason = 'RESOLVED' then 'good'
              when h.archived_at is not null then 'gone'
              when h.status = 'RETRY_PENDING' then 'busy' else 'failed' end,
         h.error_table || '/' || h.error_id, coalesce(h.archive_reason, h.status)
    from recovery.error_heads(array(select distinct u.ref from unnest(kinds, refs) u (kind, ref)
                                     where u.kind = 'error')) h;
  if 'intake' = any(kinds) then
    return query
    with recursive chain as (
      select u.ref, i.intake_id, i.status, 1 as n
        from (select distinct u.ref from unnest(kinds, refs) u (kind, ref) where u.kind = 'intake') u
       cross join lateral (select i.* from cl.gate_zero_intake i where i.intake_id = u.ref::uuid limit 1) i
      union all
      select c.ref, i.intake_id, i.status, c.n + 1
        from chain c
       cross join lateral (select i.* from cl.gate_zero_intake i where i.retry_of = c.intake_id
                            order by i.created_at desc limit 1) i)
    select distinct on (c.ref) 'intake', c.ref,
           case when c.status in ('AUTHORIZED', 'REENTER_SUCCEEDED') then 'good'
                when c.status = 'EXHAUSTED' then 'failed' else 'busy' end, c.intake_id::text, c.status
      from chain c order by c.ref, c.n desc;
  end if;
  if 'run' = any(kinds) then
    return query
    with recursive chain as (
      select u.ref, r.run_id, r.status, 1 as n
        from (select distinct u.ref from unnest(kinds, refs) u (kind, ref) where u.kind = 'run') u
       cross join lateral (select r.* from recovery.run r where r.run_id = u.ref::uuid limit 1) r
      union all
      select c.ref, r.run_id, r.status, c.n + 1
        from chain c
       cross join lateral (select r.* from recovery.run r where r.retry_of = c.run_id
                            order by r.queued_at desc limit 1) r)
    select distinct on (c.ref) 'run', c.ref,
           case when c.status = 'succeeded' then 'good'
                when c.status in ('failed', 'crashed') then 'failed' else 'busy' end, c.run_id::text, c.status
      from chain c order by c.ref, c.n desc;
  end if;
  if 'partition' = any(kinds) then
    -- One that failed and is not terminal is tried again by itself, or waits for a person: it has not ended.
    return query
    select 'partition', u.ref, case when s.status = 'terminal' then 'failed'
                                    when p.status = 'success' then 'good' else 'busy' end, u.ref, s.status
      from (select distinct u.ref from unnest(kinds, refs) u (kind, ref) where u.kind = 'partition') u
     cross join lateral (select s.* from partitions.schedule s where s.partition_id = u.ref::bigint limit 1) s
     cross join lateral (select p.* from partitions.partition_state p where p.partition_id = u.ref::bigint limit 1) p;
  end if;
  return query
  select u.kind, u.ref, 'failed', null::text, null::text
    from (select distinct u.kind, u.ref from unnest(kinds, refs) u (kind, ref)) u
   where u.kind = 'outside';
  if 'delivery' = any(kinds) then
    return query
    -- One that died counts as what the fallback route took in its place: then somebody may have been notified.
    select 'delivery', u.ref, case k.status when 'delivered' then 'good' when 'dead' then 'failed' else 'busy' end,
           u.ref, k.status
      from (select distinct u.ref from unnest(kinds, refs) u (kind, ref) where u.kind = 'delivery') u
     cross join lateral (select d.* from recoup.delivery d where d.delivery_id = u.ref::uuid limit 1) d
      left join lateral (select f.status from recoup.delivery f where f.instead_of = d.delivery_id limit 1) f on true
     cross join lateral (
       select case when d.status = 'dead' then coalesce(f.status, d.status) else d.status end as status) k;
  end if;
  if 'breaker' = any(kinds) then
    return query
    select 'breaker', u.ref, case b.status when 'closed' then 'good' else 'busy' end, u.ref, b.status
      from (select distinct u.ref from unnest(kinds, refs) u (kind, ref) where u.kind = 'breaker') u
     cross join lateral (select b.status from recovery.breaker b where b.name = u.ref limit 1) b;
  end if;
  if 'task' = any(kinds) then
    return query
    select 'task', u.ref, case t.status when 'done' then 'good' when 'cancelled' then 'failed' else 'busy' end, u.ref,
           t.status
      from (select distinct u.ref from unnest(kinds, refs) u (kind, ref) where u.kind = 'task') u
     cross join lateral (select t.* from recovery.task t where t.task_id = u.ref::uuid limit 1) t;
  end if;
end $$;
comment on function recovery.standings(text[], text[]) is
'The condition of each subject or started unit: failed, busy, good or gone; the newest unit of it; and its status.';
