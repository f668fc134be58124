-- Claiming and ending retries, in sets. Each is one call of one function, whose plans are kept, as in recording.sql.
-- Results are one row of arrays: a thousand rows of many columns would cost the way to the client what it costs to
-- write them.
--
-- Which errors are to be retried, and when, is in recoup.error_queue. A claim writes there alone. An outcome moves the
-- error, and its place in the queue follows (recoup.settle_retries), for every writer: whoever raises retry_count
-- presents the token of the claim.

create or replace function recoup.claim_errors(among text[], most integer, worker_ text, lease interval,
  out tables text[], out ids bigint[], out entities uuid[], out codes text[], out messages text[],
  out signatures text[], out severities text[], out categories text[], out counts integer[], out budgets integer[],
  out payloads jsonb[], out created timestamptz[], out token_ uuid, out until_ timestamptz)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  if exists (select from recoup.pause where status = 'PAUSED') then
    if (recoup.paused('table:recoup.error')).scope is not null then
      return;
    end if;
    -- Of which tables, if some of them are paused.
    among := coalesce(among, (select array_agg(k) from jsonb_object_keys(recoup.error_policy() -> 'tables') k));
    select coalesce(array_agg(t), '{}') into among
      from unnest(among) t
     where not exists (
       select from recoup.pause p where p.status = 'PAUSED' and p.scope = 'table' and p.scope_id = t);
  end if;
  token_ := gen_random_uuid();
  until_ := now_ + coalesce(lease, make_interval(secs => (recoup.error_policy() ->> 'retry_lease_s')::integer));
  with picked as materialized (
    select q.ctid from recoup.error_queue q
     where q.token is null and q.wake_at <= now_ and (q.until is null or q.until > now_)
       and (among is null or q.part = any(among))
     order by q.wake_at
     limit greatest(most, 0)
       for no key update skip locked),
  claimed as (
    update recoup.error_queue q
       set token = token_, worker = worker_, claimed_at = now_, wake_at = until_
      from picked p where q.ctid = p.ctid
    returning q.unit, q.part)
  select array_agg(e.error_table), array_agg(e.error_id), array_agg(e.outreach_id), array_agg(e.error_code),
         array_agg(e.error_message), array_agg(e.error_signature), array_agg(e.severity), array_agg(e.category),
         array_agg(e.retry_count), array_agg(e.max_retries),
         case when bool_or(e.payload is not null) then array_agg(e.payload) end, array_agg(e.created_at)
    into tables, ids, entities, codes, messages, signatures, severities, categories, counts, budgets, payloads, created
    from claimed c
   cross join lateral (
     select e.* from recoup.error e where e.error_table = c.part and e.error_id = c.unit limit 1) e;
end $$;
comment on function recoup.claim_errors(text[], integer, text, interval) is
'Takes errors of these tables (null: of all) whose retry is due, longest due first, under one lease.';

create or replace function recoup.end_retries(
  tables text[], ids bigint[], tokens uuid[], outcomes text[], failures text[],
  out ended bigint[], out statuses text[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_   constant timestamptz := recoup.now();
  failed constant boolean := not outcomes <@ '{SUCCEEDED}';
  -- What succeeded needs none of it.
  policy constant jsonb := case when failed then recoup.error_policy() end;
  ends   constant jsonb := case when failed then recoup.ends_as(policy) end;
begin
  perform recoup.require_same_length('outcomes', cardinality(ids), cardinality(tables), cardinality(tokens),
    cardinality(outcomes), cardinality(failures));
  if (select count(distinct i) from unnest(ids) i) < cardinality(ids) or array_position(tokens, null) is not null
     or not outcomes <@ '{SUCCEEDED,FAILED,LAPSED}' then
    raise exception using errcode = 'RC039',
      message = format('%s outcomes do not make reports: one error twice, or without a token or an outcome.',
                       cardinality(ids)),
      hint = 'Give each error once: its table, its token, SUCCEEDED or FAILED, and what was said or null.',
      detail = jsonb_build_object('errors', cardinality(ids));
  end if;
  -- Fenced by the token. In the order of tables and ids, as whoever locks several errors. What somebody else ended
  -- while we waited for it is not what was claimed any more: its status or its count is another.
  with timed as materialized (
    -- When the next retry would come: of those that failed, this was number round + 1.
    select g.error_id, g.outcome, g.failure, q.part, q.round, q.token, q.claimed_at, q.max_retries, q.until,
           now_ + recoup.retry_wait(k.backoff, k.base_s, k.cap_s, k.jitter_percent, q.round + 2) as next_retry_at
      from unnest(tables, ids, tokens, outcomes, failures) g (error_table, error_id, token, outcome, failure)
     cross join lateral (select q.* from recoup.error_queue q where q.unit = g.error_id limit 1) q
      left join recoup.retry_rules(policy) k on k.category = q.category
     where q.token = g.token and q.part = g.error_table
     order by q.part, q.unit),
  decided as (
    select t.*, case
             when t.outcome = 'SUCCEEDED' then 'RESOLVED'
             when recoup.retries_over(t.round + 1, t.max_retries, t.next_retry_at, t.until)
               then recoup.status_of(ends ->> t.part)
             else 'RETRY_PENDING' end as status
      from timed t),
  applied as (
    update recoup.error e
       set status = d.status,
           disposition = case when d.status in ('PARKED', 'ACTIVE') then ends ->> e.error_table else e.disposition end,
           retry_count = e.retry_count + 1,
           last_retry_at = d.claimed_at,
           last_outcome = d.outcome,
           last_failure = case when d.outcome = 'SUCCEEDED' then e.last_failure else d.failure end,
           next_retry_at = case when d.status = 'RETRY_PENDING' then d.next_retry_at end,
           parked_at = case when d.status = 'PARKED' then now_ end,
           parked_by = case when d.status = 'PARKED' then 'system' end,
           park_reason = case when d.status in ('PARKED', 'ACTIVE') then 'MAX_RETRIES_EXCEEDED' end,
           token = d.token,
           updated_at = greatest(e.updated_at, now_),
           archived_at = case when d.status = 'RESOLVED' then now_ end,
           archive_reason = case when d.status = 'RESOLVED' then 'RESOLVED' end
      from decided d
     where e.error_table = d.part and e.error_id = any(array[d.error_id])
       -- num_nulls: "is null" would lead the planner to an index on what is open.
       and e.retry_count = d.round and e.status = 'RETRY_PENDING' and num_nulls(e.archived_at) = 1
    returning e.error_id, e.status)
  select coalesce(array_agg(a.error_id), '{}'), coalesce(array_agg(a.status), '{}') into ended, statuses from applied a;

  if cardinality(ended) < cardinality(ids) then
    -- Reported again, because the answer was lost: it became what it became. Otherwise it comes late.
    with others as materialized (
      select g.error_id, g.error_table, g.token, g.outcome, g.failure, v.to_status,
             exists (select from recoup.error e where e.error_table = g.error_table and e.error_id = g.error_id)
             or exists (select from recoup.error_archive a
                         where a.error_table = g.error_table and a.error_id = g.error_id) as is_known
        from unnest(tables, ids, tokens, outcomes, failures) g (error_table, error_id, token, outcome, failure)
        left join lateral (
          select v.to_status from recoup.error_event v
           where v.error_id = g.error_id and v.error_table = g.error_table and v.token = g.token
             and v.event_type = g.outcome limit 1) v on true
       where g.error_id <> all(ended)),
    stored as (
      insert into recoup.late_result (subject, unit_id, token, result)
      select 'recoup.error', o.error_table || '/' || o.error_id, o.token,
             jsonb_build_object('outcome', o.outcome, 'failure', o.failure)
        from others o where o.is_known and o.to_status is null)
    select ended || coalesce(array_agg(o.error_id), '{}'),
           statuses || coalesce(array_agg(coalesce(o.to_status, 'late')), '{}')
      into ended, statuses
      from others o where o.is_known;
    if cardinality(ended) < cardinality(ids) then
      perform recoup.refuse_unknown('error', array(select i::text from unnest(ids) i where i <> all(ended) order by i));
    end if;
  end if;
end $$;
comment on function recoup.end_retries(text[], bigint[], uuid[], text[], text[]) is
'Ends retries: resolved, once more later, parked, or left to the archive. Late outcomes are stored, and not applied.';

create or replace function recoup.lapse_retries(most integer, only_ bigint default null) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  now_   constant timestamptz := recoup.now();
  lapsed record;
begin
  select array_agg(q.part) as tables, array_agg(q.unit) as ids, array_agg(q.token) as tokens,
         array_agg('The lease of ' || q.worker || ' lapsed without a result.') as failures into lapsed
    from (select q.* from recoup.error_queue q
           where q.token is not null and q.wake_at < now_ and (only_ is null or q.unit = only_)
           order by q.wake_at limit most) q
   cross join lateral (
     select from recoup.error e
      where e.error_table = q.part and e.error_id = q.unit limit 1 for no key update skip locked) e;
  if lapsed.ids is null then
    return 0;
  end if;
  perform recoup.end_retries(lapsed.tables, lapsed.ids, lapsed.tokens,
    array_fill('LAPSED'::text, array[cardinality(lapsed.ids)]), lapsed.failures);
  return cardinality(lapsed.ids);
end $$;
comment on function recoup.lapse_retries(integer, bigint) is
'Counts as failed every retry that outlived its lease, or one of them.';

create or replace function recoup.close_windows(most integer, only_ bigint default null) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  now_   constant timestamptz := recoup.now();
  ends   constant jsonb := recoup.ends_as(recoup.error_policy());
  closed integer;
begin
  with picked as materialized (
    select e.error_table, e.error_id
      from (select q.part, q.unit from recoup.error_queue q
             where q.token is null and q.until is not null and q.until <= now_ and (only_ is null or q.unit = only_)
             order by q.until limit most) q
     cross join lateral (
       select e.* from recoup.error e
        where e.error_table = q.part and e.error_id = q.unit limit 1 for no key update skip locked) e)
  update recoup.error e
     set status = recoup.status_of(ends ->> e.error_table),
         disposition = ends ->> e.error_table,
         next_retry_at = null,
         parked_at = case when ends ->> e.error_table = 'PARKED' then now_ end,
         parked_by = case when ends ->> e.error_table = 'PARKED' then 'system' end,
         park_reason = 'MAX_RETRIES_EXCEEDED',
         updated_at = greatest(e.updated_at, now_)
    from picked p
   where e.error_table = p.error_table and e.error_id = any(array[p.error_id])
     and e.status = 'RETRY_PENDING' and num_nulls(e.archived_at) = 1;
  get diagnostics closed = row_count;
  return closed;
end $$;
comment on function recoup.close_windows(integer, bigint) is
'Parks what was not retried within its window, or one of it.';
