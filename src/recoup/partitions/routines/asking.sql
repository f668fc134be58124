-- What people, backfills and recovery ask the control plane for: enqueue, retry, reprocess, mark terminal.

create or replace function partitions.key_problem(part text) returns text
language sql immutable as $$
  -- Each part of a key becomes the name of a folder, in which these characters are escaped by three bytes.
  select case when part is null or part = '' then 'is empty' when part in ('.', '..') then format('is "%s"', part)
              when octet_length(part) + 2 * (length(part) - length(regexp_replace(part,
                     '[\x01-\x1f\x7f"#%''*/:=?\\{\[\]^]', '', 'g'))) > 200
                then 'is longer than 200 bytes as the name of a folder' end
$$;
comment on function partitions.key_problem(text) is 'Why a text cannot be a part of the key of a partition, or null.';

create or replace function partitions.enqueue(sources text[], customers text[], queries text[], dates date[],
  lane_ text, priority_ integer, backfill_ uuid, out ids bigint[], out known boolean[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_   constant timestamptz := recoup.now();
  policy constant jsonb := partitions.policy();
  bad    record;
begin
  perform recoup.require_same_length('partitions', cardinality(sources), cardinality(customers), cardinality(queries),
    cardinality(dates));
  select k.name, k.part, partitions.key_problem(k.part) as problem into bad
    from (select distinct 'source' as name, part from unnest(sources) part
          union all select distinct 'customer_id', part from unnest(customers) part
          union all select distinct 'query_name', part from unnest(queries) part) k
   where partitions.key_problem(k.part) is not null limit 1;
  if found then
    raise exception using errcode = 'RC140',
      message = format('The %s "%s" %s.', bad.name, left(bad.part, 60), bad.problem),
      hint = 'Each part of a key becomes the name of a folder: use another name.',
      detail = jsonb_build_object('column', bad.name);
  end if;
  -- In the order of keys, so that two who enqueue the same wait for each other and do not block each other.
  with asked as materialized (
    select distinct g.source, g.customer_id, g.query_name, g.logical_date
      from unnest(sources, customers, queries, dates) g (source, customer_id, query_name, logical_date)
     order by 4, 1, 2, 3),
  added as (
    insert into partitions.partition_state as p (source, customer_id, query_name, logical_date, created_at, updated_at)
    select a.source, a.customer_id, a.query_name, a.logical_date, now_, now_ from asked a
    on conflict (source, customer_id, query_name, logical_date) do nothing
    returning p.partition_id, p.source, p.query_name),
  scheduled as (
    insert into partitions.schedule as s (partition_id, source, query_name, lane, priority, next_run_at,
                                          backoff_strategy, first_enqueued_at, backfill_id, updated_at)
    select a.partition_id, a.source, a.query_name, lane_, coalesce(priority_, 5), now_,
           partitions.figures(policy, a.source, a.query_name) ->> 'backoff_strategy', now_, backfill_, now_
      from added a
    returning s.partition_id)
  select array_agg(s.partition_id) into ids from scheduled s;
  -- Looked up after the insert: what another transaction enqueued meanwhile is known, too.
  select array_agg(p.partition_id order by g.place),
         -- In a set, which is hashed: in an array each would be compared with each.
         array_agg(p.partition_id not in (select n.id from unnest(coalesce(ids, '{}')) n (id)) order by g.place)
    into ids, known
    from unnest(sources, customers, queries, dates) with ordinality
           g (source, customer_id, query_name, logical_date, place)
   cross join lateral (
     select p.partition_id from partitions.partition_state p
      where p.source = g.source and p.customer_id = g.customer_id and p.query_name = g.query_name
        and p.logical_date = g.logical_date limit 1) p;
  if lane_ = 'fresh' then
    -- What waits in the lane of backfills, and is wanted now, leaves it.
    update partitions.schedule s
       set lane = 'fresh', updated_at = greatest(s.updated_at, now_)
      from (select s.partition_id from partitions.schedule s
             where s.partition_id = any(ids) and s.status || '' = 'waiting' and s.lane || '' = 'backfill'
               and (select p.status from partitions.partition_state p where p.partition_id = s.partition_id) = 'pending'
             order by s.partition_id for no key update) w
     where s.partition_id = any(array[w.partition_id]) and s.status || '' = 'waiting';
  end if;
end $$;
comment on function partitions.enqueue(text[], text[], text[], date[], text, integer, uuid) is
'Enqueues partitions that are not known yet, pending and due now. Returns all of them, and which were known.';

create or replace function partitions.answer_to(verb text, schedule_ text, state_ text, causes text[],
  overrides boolean) returns text
language sql immutable as $$
  select case
    when schedule_ = 'open' then 'open'
    when verb = 'reprocess' then case
      when state_ <> 'success' then state_ when schedule_ in ('idle', 'held') then 'asked' else 'pending' end
    when verb = 'mark' then case
      when state_ <> 'failed' then state_ when 'MARKED' = any(causes) then 'marked' else 'asked' end
    when state_ = 'success' then 'success'
    when schedule_ = 'terminal' then case when overrides then 'asked' else 'terminal' end
    when state_ = 'pending' and schedule_ = 'waiting' then 'pending'
    else 'asked' end
$$;
comment on function partitions.answer_to(text, text, text, text[], boolean) is
'What the control plane answers to a request (retry, reprocess, mark): asked, or why not.';

create or replace function partitions.ask(ids bigint[], verb text, attempts integer, lane_ text, priority_ integer,
  backfill_ uuid, alternative_ jsonb, candidates uuid[], overrides boolean, out asked bigint[], out answers text[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_   constant timestamptz := recoup.now();
  policy constant jsonb := partitions.policy();
begin
  with held as materialized (
    select s.*, p.status as state, p.attempt_count, g.candidate,
           (partitions.figures(policy, s.source, s.query_name) ->> 'max_attempts')::integer as max_attempts,
           -- Each request is later than the one before and than the hold that it lifts, also where the clock has not
           -- moved.
           greatest(now_, s.updated_at, greatest(s.requested_at, s.held_at) + interval '1 microsecond') as at_
      from unnest(ids, coalesce(candidates, array_fill(null::uuid, array[cardinality(ids)]))) g (id, candidate)
      join partitions.schedule s on s.partition_id = g.id
      join partitions.partition_state p on p.partition_id = g.id
     order by s.partition_id for no key update of s),
  answer as materialized (
    select h.*, partitions.answer_to(verb, h.status, h.state, h.terminal_causes, overrides) as answer
      from held h),
  moved as (
    update partitions.schedule s
       set status = case verb when 'mark' then 'terminal' else 'waiting' end,
           next_run_at = case when verb <> 'mark' then now_ end,
           requested_at = a.at_, requested_by = recoup.acting_id(), hold = null, held_at = null,
           aged_from = case when a.status = 'terminal' and verb <> 'mark' then null
                            when a.status = 'held' then s.aged_from + (now_ - s.held_at) else s.aged_from end,
           granted_attempts = case when a.status = 'terminal' and verb <> 'mark'
             then greatest(s.granted_attempts, a.attempt_count + coalesce(attempts, 1) - a.max_attempts)
             else s.granted_attempts end,
           dispatches = case when a.status = 'terminal' and verb <> 'mark' then 0 else s.dispatches end,
           terminal_causes = case when verb = 'mark'
             then coalesce(s.terminal_causes, '{}') || 'MARKED'::text end,
           terminal_at = case when verb = 'mark' then coalesce(s.terminal_at, now_) end,
           terminal_policy = case when verb = 'mark' then coalesce(s.terminal_policy, recoup.policy_version()) end,
           reprocesses = verb = 'reprocess' or s.reprocesses,
           lane = coalesce(lane_, s.lane), priority = coalesce(priority_, s.priority),
           backfill_id = coalesce(backfill_, s.backfill_id), alternative = coalesce(alternative_, s.alternative),
           candidate_id = a.candidate, updated_at = a.at_
      from answer a
     where s.partition_id = any(array[a.partition_id]) and a.answer = 'asked'
    returning 1)
  select coalesce(array_agg(a.partition_id), '{}'), coalesce(array_agg(a.answer), '{}') into asked, answers
    from answer a, (select count(*) from moved) m;
end $$;
comment on function partitions.ask(bigint[], text, integer, text, integer, uuid, jsonb, uuid[], boolean) is
'Asks for a retry, a reprocessing, or that partitions are marked terminal. asked: done; otherwise why not.';
