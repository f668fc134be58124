-- Claiming and ending retries, in sets. Each is one call of one function, whose plans are kept, as in recording.sql.
-- Results are one row of arrays: a thousand rows of many columns would cost the way to the client what it costs to
-- write them.

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
    select e.error_table, e.error_id from recoup.error e
     where (among is null or e.error_table = any(among))
       and e.status = 'RETRY_PENDING' and e.token is null and e.archived_at is null
       and e.next_retry_at <= now_ and (e.retry_until is null or e.retry_until > now_)
     order by e.next_retry_at
     limit greatest(most, 0)
       for no key update skip locked),
  claimed as (
    update recoup.error e
       set token = token_, leased_by = worker_, lease_until = until_, last_retry_at = now_,
           updated_at = greatest(e.updated_at, now_)
      from picked p
     where e.error_table = p.error_table and e.error_id = any(array[p.error_id])
    returning e.*)
  select array_agg(c.error_table), array_agg(c.error_id), array_agg(c.outreach_id), array_agg(c.error_code),
         array_agg(c.error_message), array_agg(c.error_signature), array_agg(c.severity), array_agg(c.category),
         array_agg(c.retry_count), array_agg(c.max_retries),
         case when bool_or(c.payload is not null) then array_agg(c.payload) end, array_agg(c.created_at)
    into tables, ids, entities, codes, messages, signatures, severities, categories, counts, budgets, payloads, created
    from claimed c;
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
  policy jsonb;
  ends   jsonb;
  now_   timestamptz;
  held   record;
  late   bigint[];
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
  -- In the order of tables and ids, so that two sets that share some wait for each other instead of deadlocking. Fenced
  -- by the token.
  select array_agg(g.error_table) as tables, array_agg(g.error_id) as ids, array_agg(g.outcome) as outcomes,
         array_agg(g.failure) as failures, array_agg(e.category) as categories, array_agg(e.retry_count) as counts,
         array_agg(e.max_retries) as budgets, array_agg(e.retry_until) as windows
    into held
    from (select * from unnest(tables, ids, tokens, outcomes, failures)
                     g (error_table, error_id, token, outcome, failure)
           order by error_table, error_id) g
   cross join lateral (
     select e.* from recoup.error e
      where e.error_table = g.error_table and e.error_id = g.error_id limit 1 for no key update) e
   where e.token = g.token;
  -- Not before all has been waited for.
  now_ := recoup.now();
  policy := recoup.error_policy();
  ends := recoup.ends_as(policy);
  -- Succeeded and failed alike, in one statement.
  with timed as (
    -- When the next retry would come: of those that failed, this was number retry_count + 1.
    select g.*, now_ + recoup.retry_wait(k.backoff, k.base_s, k.cap_s, k.jitter_percent, g.retry_count + 2)
             as next_retry_at
      from unnest(held.tables, held.ids, held.outcomes, held.failures, held.categories, held.counts, held.budgets,
                  held.windows)
             g (error_table, error_id, outcome, failure, category, retry_count, max_retries, retry_until)
      join recoup.retry_rules(policy) k on k.category = g.category),
  decided as (
    select t.*, case
             when t.outcome = 'SUCCEEDED' then 'RESOLVED'
             when recoup.retries_over(t.retry_count + 1, t.max_retries, t.next_retry_at, t.retry_until)
               then recoup.status_of(ends ->> t.error_table)
             else 'RETRY_PENDING' end as status
      from timed t),
  applied as (
    update recoup.error e
       set status = d.status,
           disposition = case when d.status in ('PARKED', 'ACTIVE') then ends ->> e.error_table else e.disposition end,
           retry_count = e.retry_count + 1,
           last_outcome = d.outcome,
           last_failure = case when d.outcome = 'SUCCEEDED' then e.last_failure else d.failure end,
           next_retry_at = case when d.status = 'RETRY_PENDING' then d.next_retry_at end,
           parked_at = case when d.status = 'PARKED' then now_ end,
           parked_by = case when d.status = 'PARKED' then 'system' end,
           park_reason = case when d.status in ('PARKED', 'ACTIVE') then 'MAX_RETRIES_EXCEEDED' end,
           token = null, leased_by = null, lease_until = null,
           updated_at = greatest(e.updated_at, now_),
           archived_at = case when d.status = 'RESOLVED' then now_ end,
           archive_reason = case when d.status = 'RESOLVED' then 'RESOLVED' end
      from decided d
     where e.error_table = d.error_table and e.error_id = any(array[d.error_id])
    returning e.error_id, e.status)
  select coalesce(array_agg(a.error_id), '{}'), coalesce(array_agg(a.status), '{}') into ended, statuses from applied a;

  if cardinality(ended) < cardinality(ids) then
    with stored as (
      insert into recoup.late_result (subject, unit_id, token, result)
      select 'recoup.error', g.error_table || '/' || g.error_id, g.token,
             jsonb_build_object('outcome', g.outcome, 'failure', g.failure)
        from unnest(tables, ids, tokens, outcomes, failures) g (error_table, error_id, token, outcome, failure)
       where g.error_id <> all(ended)
         and (exists (select from recoup.error e
                       where e.error_table = g.error_table and e.error_id = g.error_id)
              or exists (select from recoup.error_archive a
                          where a.error_table = g.error_table and a.error_id = g.error_id))
      returning split_part(unit_id, '/', 2)::bigint as error_id)
    select array_agg(s.error_id) into late from stored s;
    ended := ended || coalesce(late, '{}');
    statuses := statuses || array_fill('late'::text, array[coalesce(cardinality(late), 0)]);
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
  select array_agg(l.error_table) as tables, array_agg(l.error_id) as ids, array_agg(l.token) as tokens,
         array_agg('The lease of ' || l.leased_by || ' lapsed without a result.') as failures into lapsed
    from (select e.error_table, e.error_id, e.token, e.leased_by from recoup.error e
           where e.token is not null and e.lease_until < now_ and (only_ is null or e.error_id = only_)
           order by e.lease_until limit most for no key update skip locked) l;
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
    select e.error_table, e.error_id from recoup.error e
     where e.status = 'RETRY_PENDING' and e.token is null and e.archived_at is null and e.retry_until is not null
       and e.retry_until <= now_ and (only_ is null or e.error_id = only_)
     order by e.retry_until limit most for no key update skip locked)
  update recoup.error e
     set status = recoup.status_of(ends ->> e.error_table),
         disposition = ends ->> e.error_table,
         next_retry_at = null,
         parked_at = case when ends ->> e.error_table = 'PARKED' then now_ end,
         parked_by = case when ends ->> e.error_table = 'PARKED' then 'system' end,
         park_reason = 'MAX_RETRIES_EXCEEDED',
         updated_at = greatest(e.updated_at, now_)
    from picked p
   where e.error_table = p.error_table and e.error_id = any(array[p.error_id]);
  get diagnostics closed = row_count;
  return closed;
end $$;
comment on function recoup.close_windows(integer, bigint) is
'Parks what was not retried within its window, or one of it.';
