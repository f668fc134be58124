-- Ending retries, in sets. Each is one call of one function, whose plans are kept, as in recording.sql.
--
-- Which errors are to be retried, and when, is in recoup.error_queue, which is declared with their lifecycle. A claim
-- (recoup.claim_errors) writes there alone. An outcome moves the error, and its place in the queue follows
-- (recoup.queue_error_moves), for every writer: retry_count rises only with the token of the claim.

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
  -- Not needed if all succeeded.
  policy constant jsonb := case when failed then recoup.error_policy() end;
  ends   constant jsonb := case when failed then recoup.ends_as(policy) end;
begin
  perform recoup.require_reports(ids, tokens, outcomes, cardinality(tables), cardinality(failures));
  -- Fenced by the token. In the order of tables and ids, as in every transaction that locks several errors. An error
  -- that another transaction ended while we waited has another status or count.
  with timed as materialized (
    -- When the next retry would come: of those that failed, this was number round + 1.
    select g.error_id, g.outcome, g.failure, q.part, q.round, q.token, q.claimed_at, q.max_retries, q.until,
           now_ + recoup.retry_wait(k.backoff, k.base_s, k.cap_s, k.jitter_percent, q.round + 2) as next_retry_at
      from unnest(tables, ids, tokens, outcomes, failures) g (error_table, error_id, token, outcome, failure)
     cross join lateral (select q.* from recoup.error_queue q where q.unit = g.error_id limit 1) q
      left join recoup.retry_rules(policy) k on k.category = q.category
     where q.token = g.token and q.part = g.error_table
       and (q.wake_at >= now_ or g.outcome = 'LAPSED')  -- late, whether a sweep has run or not
     order by q.part, q.unit),
  decided as (
    select t.*, r.ended_by, case
             when t.outcome = 'SUCCEEDED' then 'RESOLVED'
             when r.ended_by is not null then recoup.status_of(ends ->> t.part)
             else 'RETRY_PENDING' end as status
      from timed t
     cross join lateral (
       select recoup.retries_end(t.round + 1, t.max_retries, t.next_retry_at, t.until) as ended_by) r),
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
           park_reason = case when d.status in ('PARKED', 'ACTIVE') then d.ended_by else e.park_reason end,
           -- Parked in the first tier, or in the one where it was.
           parked_since = case when d.status = 'PARKED' then coalesce(e.parked_since, now_) else e.parked_since end,
           escalation_level = case
             when d.status = 'PARKED' then recoup.tier_when_parked(e.escalation_level, e.parked_since, now_, policy)
             else e.escalation_level end,
           escalated_at = case when d.status = 'PARKED' then now_ else e.escalated_at end,
           escalated_to = case
             when d.status = 'PARKED' then recoup.owner_when_parked(e.error_table, e.escalation_level, e.escalated_to,
                                                                    e.parked_since, now_, policy)
             else e.escalated_to end,
           escalation_reason = case when d.status = 'PARKED' then d.ended_by else e.escalation_reason end,
           sla_due_at = case
             when d.status = 'PARKED' then now_ + recoup.sla_of(
               recoup.tier_when_parked(e.escalation_level, e.parked_since, now_, policy), policy)
             else e.sla_due_at end,
           sla_met_at = case when d.status = 'PARKED' then null else e.sla_met_at end,
           sla_breached_at = case when d.status = 'PARKED' then null else e.sla_breached_at end,
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
    select * into ended, statuses
      from recoup.late_error_reports(tables, ids, tokens, outcomes, failures, ended, statuses);
  end if;
end $$;
comment on function recoup.end_retries(text[], bigint[], uuid[], text[], text[]) is
'Ends retries: resolved, retried later, parked, or archived. Late outcomes are stored, and not applied.';

create or replace function recoup.close_windows(most integer, only_ bigint default null) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  now_   constant timestamptz := recoup.now();
  policy constant jsonb := recoup.error_policy();
  ends   constant jsonb := recoup.ends_as(policy);
  shut   constant text[] := recovery.held_tables();  -- behind a breaker nobody can retry: a window does not close there
  closed integer;
begin
  with picked as materialized (
    select e.error_table, e.error_id, ends ->> e.error_table as ends, ends ->> e.error_table = 'PARKED' as parks
      from (select q.part, q.unit from recoup.error_queue q
             where q.token is null and q.until is not null and q.until <= now_ and (only_ is null or q.unit = only_)
               and q.part <> all(shut) and 'recoup.error' <> all(shut)
             order by q.until limit most) q
     cross join lateral (
       select e.* from recoup.error e
        where e.error_table = q.part and e.error_id = q.unit limit 1 for no key update skip locked) e)
  update recoup.error e
     set status = recoup.status_of(p.ends),
         disposition = p.ends,
         next_retry_at = null,
         parked_at = case when p.parks then now_ end,
         parked_by = case when p.parks then 'system' end,
         park_reason = 'RETRY_WINDOW_CLOSED',
         parked_since = case when p.parks then coalesce(e.parked_since, now_) else e.parked_since end,
         escalation_level = case
           when p.parks then recoup.tier_when_parked(e.escalation_level, e.parked_since, now_, policy)
           else e.escalation_level end,
         escalated_at = case when p.parks then now_ else e.escalated_at end,
         escalated_to = case
           when p.parks then recoup.owner_when_parked(e.error_table, e.escalation_level, e.escalated_to,
                                                      e.parked_since, now_, policy)
           else e.escalated_to end,
         escalation_reason = case when p.parks then 'RETRY_WINDOW_CLOSED' else e.escalation_reason end,
         sla_due_at = case
           when p.parks then now_ + recoup.sla_of(
             recoup.tier_when_parked(e.escalation_level, e.parked_since, now_, policy), policy)
           else e.sla_due_at end,
         sla_met_at = case when p.parks then null else e.sla_met_at end,
         sla_breached_at = case when p.parks then null else e.sla_breached_at end,
         updated_at = greatest(e.updated_at, now_)
    from picked p
   where e.error_table = p.error_table and e.error_id = any(array[p.error_id])
     and e.status = 'RETRY_PENDING' and num_nulls(e.archived_at) = 1;
  get diagnostics closed = row_count;
  return closed;
end $$;
comment on function recoup.close_windows(integer, bigint) is
'Parks errors whose retry window closed, or one of them.';
