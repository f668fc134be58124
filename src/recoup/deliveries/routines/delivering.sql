-- Ending tries, in sets, and cancelling. Claim, expiry and late reports are written out from the declaration.

create or replace function recoup.end_deliveries(
  parts text[], units uuid[], tokens uuid[], outcomes text[], failures text[], out ended uuid[], out statuses text[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_   constant timestamptz := recoup.now();
  routes constant jsonb := recoup.delivery_policy() -> 'routes';
begin
  perform recoup.require_reports(units, tokens, outcomes, cardinality(parts), cardinality(failures));
  -- Fenced by the token, in the order of ids. One that another transaction ended while we waited has another count.
  with timed as materialized (
    select g.unit, g.outcome, coalesce(nullif(left(g.failure, 1000), ''), 'no reason given') as failure, q.round,
           q.token, q.part,
           -- A route that the policy has no longer leads nowhere: not tried again.
           routes -> q.part as route
      from unnest(parts, units, tokens, outcomes, failures) g (part, unit, token, outcome, failure)
     cross join lateral (select q.* from recoup.delivery_queue q where q.unit = g.unit limit 1) q
     where q.token = g.token and q.part = g.part
       and (q.wake_at >= now_ or g.outcome = 'LAPSED')  -- late, whether a sweep has run or not
     order by q.unit),
  applied as (
    update recoup.delivery d
       set status = s.status,
           attempts = d.attempts + 1,
           next_try_at = case when s.status = 'queued'
             then now_ + recoup.delivery_wait((t.route ->> 'base_s')::integer, (t.route ->> 'cap_s')::integer,
                                              -- Not doubled for a heartbeat: while it waits, no other is queued.
                                              case when d.origin = 'heartbeat' then 1 else t.round + 1 end)
             else d.next_try_at end,
           token = t.token,
           outcome = t.outcome,
           last_failure = case when t.outcome = 'SUCCEEDED' then d.last_failure else t.failure end,
           updated_at = greatest(d.updated_at, now_),
           ended_at = case when s.status <> 'queued' then greatest(d.updated_at, now_) end
      from timed t
     cross join lateral (
       select d.policy_version from recoup.delivery d where d.delivery_id = t.unit limit 1) p
     cross join lateral (
       select case when t.outcome = 'SUCCEEDED' then 'delivered'
                   when t.route is null or t.round + 1 >= recoup.delivery_tries(p.policy_version, t.part) then 'dead'
                   else 'queued' end as status) s
     where d.delivery_id = any(array[t.unit]) and d.attempts = t.round and d.status || '' = 'queued'
    returning d.delivery_id, d.status)
  select coalesce(array_agg(a.delivery_id), '{}'), coalesce(array_agg(a.status), '{}') into ended, statuses
    from applied a;
  if cardinality(ended) < cardinality(units) then
    select * into ended, statuses
      from recoup.late_delivery_reports(parts, units, tokens, outcomes, failures, ended, statuses);
  end if;
end $$;
comment on function recoup.end_deliveries(text[], uuid[], uuid[], text[], text[]) is
'Ends tries: delivered, tried again later, or dead. Late outcomes are stored, and not applied.';

create or replace function recoup.cancel_deliveries(ids uuid[]) returns table (delivery_id uuid, was text)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
  now_ constant timestamptz := recoup.now();
begin
  -- The delivery first, then its place in the queue, as everybody who locks both: no claim comes in between.
  perform from (select unnest(ids) as id order by 1) i
   cross join lateral (
     select from recoup.delivery d where d.delivery_id = i.id limit 1 for no key update) d;
  perform from unnest(ids) i (id)
   cross join lateral (select from recoup.delivery_queue q where q.unit = i.id limit 1 for no key update) q;
  return query
  with held as materialized (
    select d.delivery_id, d.status, q.token
      from unnest(ids) i (id)
     cross join lateral (select d.* from recoup.delivery d where d.delivery_id = i.id limit 1) d
      left join lateral (select q.token from recoup.delivery_queue q where q.unit = i.id limit 1) q on true),
  cancelled as (
    update recoup.delivery d
       set status = 'dead', outcome = 'CANCELLED', updated_at = greatest(d.updated_at, now_),
           ended_at = greatest(d.updated_at, now_),
           -- A try that is under way ends with it, and counts; its result comes late.
           attempts = d.attempts + (h.token is not null)::integer, token = coalesce(h.token, d.token)
      from held h where d.delivery_id = any(array[h.delivery_id]) and h.status = 'queued')
  select h.delivery_id, h.status from held h;
end $$;
comment on function recoup.cancel_deliveries(uuid[]) is
'Cancels those of these deliveries that are queued. Returns which there are, and their status before.';
