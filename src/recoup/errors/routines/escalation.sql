-- Escalation: what may change the tier of an error and the clock of its review, and the duty that raises tiers.

create or replace function recoup.tier_facts(from_ integer, to_ integer, parked_since timestamptz, policy jsonb)
returns jsonb
language sql immutable
set timezone = utc
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'due_at', parked_since + make_interval(
      hours => (policy #>> array['escalation', 'tier_' || to_, 'after_hours'])::integer),
    'skipped', (select jsonb_agg(t) from generate_series(from_ + 1, to_ - 1) t)))
$$;
comment on function recoup.tier_facts(integer, integer, timestamptz, jsonb) is
'Of a tier that was raised with time: since when it was due, and which tiers were skipped.';

create or replace function recoup.tier_columns() returns text[]
language sql immutable as $$
  select '{parked_since,escalation_level,escalated_at,escalated_to,escalation_reason,sla_due_at,sla_met_at,
           sla_breached_at,updated_at}'::text[]
$$;
comment on function recoup.tier_columns() is 'The columns that the duty on tiers changes.';

create or replace function recoup.tier_broken(
  o recoup.error, n recoup.error, now_ timestamptz, acting text, policy jsonb) returns text
language sql stable as $$
  -- STABLE, and part of recoup.error_move_broken, as recoup.error_change_broken.
  select case
    -- It is parked: in the first tier, or in the one where it was.
    when n.status = 'PARKED' and o.status not in ('PARKED', 'ESCALATED') then case
      when (n.parked_since, n.escalation_level, n.escalated_to, n.escalated_at, n.sla_due_at)
           is distinct from (
             coalesce(o.parked_since, n.parked_at),
             recoup.tier_when_parked(o.escalation_level, o.parked_since, n.parked_at, policy),
             recoup.owner_when_parked(n.error_table, o.escalation_level, o.escalated_to, o.parked_since, n.parked_at,
                                      policy),
             n.parked_at, n.parked_at + recoup.sla_of(n.escalation_level, policy))
           or num_nulls(n.escalation_reason) + num_nonnulls(n.sla_met_at, n.sla_breached_at) > 0 then 'first_tier' end
    -- Its tier is raised, by a person, for a recovery candidate, or with time.
    when n.escalated_at is distinct from o.escalated_at or n.escalation_level <> o.escalation_level
         or n.status = 'ESCALATED' and o.status <> 'ESCALATED' then case
      when n.status not in ('PARKED', 'ESCALATED') or n.archived_at is not null or acting = 'recoup_reviewer'
           or n.escalation_level < o.escalation_level
           or recoup.is_now(n.escalated_at, now_ - interval '1 minute', now_) is not true
           or n.parked_since is distinct from coalesce(o.parked_since, o.parked_at)
           or num_nonnulls(n.sla_met_at, n.sla_breached_at) > 0 then 'escalation'
      when n.sla_due_at is distinct from n.escalated_at + recoup.sla_of(n.escalation_level, policy) then 'sla'
      when not recoup.decides_errors(acting)
           and (n.escalation_level = o.escalation_level
                or n.escalation_level <> recoup.tier_due(n.parked_since, n.escalated_at, policy)
                or n.escalated_to is distinct from recoup.tier_owner(n.error_table, n.escalation_level, policy)
                or n.escalation_reason is null
                or num_nonnulls(o.sla_met_at, o.sla_breached_at) = 0 and coalesce(o.sla_due_at < n.escalated_at, false))
        then 'tier_not_due' end
    -- Nothing else changes the tier; a review may end its clock, and so may time.
    when (n.escalated_to, n.escalation_reason) is distinct from (o.escalated_to, o.escalation_reason) then 'escalation'
    when n.parked_since is distinct from o.parked_since
         and (n.parked_since is distinct from o.parked_at or n.status <> 'RETRY_PENDING') then 'parked_since'
    when n.sla_due_at is distinct from o.sla_due_at then 'sla'
    when n.sla_breached_at is distinct from o.sla_breached_at
         and (recoup.decides_errors(acting) or n.status <> o.status or o.status not in ('PARKED', 'ESCALATED')
              or o.sla_met_at is not null or n.sla_met_at is not null
              or recoup.is_now(n.sla_breached_at, now_ - interval '1 minute', now_) is not true) then 'sla'
    -- Whatever a person does with a parked error is a review of it.
    when n.sla_met_at is distinct from case
           when acting in ('recoup_operator', 'recoup_reviewer')
             then recoup.sla_met(o.status, o.sla_due_at, o.sla_met_at, o.sla_breached_at, n.last_reviewed_at)
           else o.sla_met_at end then 'sla' end
$$;
comment on function recoup.tier_broken(recoup.error, recoup.error, timestamptz, text, jsonb) is
'The rule on tiers that a move breaks (recoup.error_move_rules), or null.';

create or replace function recoup.tiers_due(most integer, only_ bigint default null)
returns table (error_table text, error_id bigint, due_at timestamptz, is_sla boolean)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set jit = off
as $$
declare
  now_   constant timestamptz := recoup.now();
  policy constant jsonb := recoup.error_policy();
  second constant interval := make_interval(hours => (policy #>> '{escalation,tier_2,after_hours}')::integer);
  third  constant interval := make_interval(hours => (policy #>> '{escalation,tier_3,after_hours}')::integer);
begin
  -- A range of an index for the clocks, and one for each tier: what is not due is not read. With CASE as in the index:
  -- COALESCE is no condition of an index where a table has a policy.
  return query
  (select e.error_table, e.error_id, e.sla_due_at, true from recoup.error e
    where e.status in ('PARKED', 'ESCALATED') and e.archived_at is null and e.sla_met_at is null
      and e.sla_breached_at is null and e.sla_due_at < now_ and (only_ is null or e.error_id = only_)
    order by e.sla_due_at limit most)
  union all
  (select e.error_table, e.error_id, s.since, false
     from recoup.error e
    cross join lateral (select case when e.parked_since is null then e.parked_at else e.parked_since end as since) s
    where e.status in ('PARKED', 'ESCALATED') and e.archived_at is null and e.escalation_level = 0
      and (only_ is null or e.error_id = only_)
    order by s.since limit most)
  union all
  (select e.error_table, e.error_id, s.since + second, false
     from recoup.error e
    cross join lateral (select case when e.parked_since is null then e.parked_at else e.parked_since end as since) s
    where e.status in ('PARKED', 'ESCALATED') and e.archived_at is null and e.escalation_level = 1
      and s.since < now_ - second and (only_ is null or e.error_id = only_)
    order by s.since limit most)
  union all
  (select e.error_table, e.error_id, s.since + third, false
     from recoup.error e
    cross join lateral (select case when e.parked_since is null then e.parked_at else e.parked_since end as since) s
    where e.status in ('PARKED', 'ESCALATED') and e.archived_at is null and e.escalation_level = 2
      and s.since < now_ - third and (only_ is null or e.error_id = only_)
    order by s.since limit most);
end $$;
comment on function recoup.tiers_due(integer, bigint) is
'Parked errors whose review is overdue, or whose tier is due, and since when: up to a number of each kind, or one.';

create or replace function recoup.raise_tiers(most integer, only_ bigint default null,
  out breached integer, out raised integer)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_   constant timestamptz := recoup.now();
  policy constant jsonb := recoup.error_policy();
begin
  -- First the clocks that ended: the next tier has its own. Nothing waits for a lock here: its holder acts on the
  -- error.
  with held as materialized (
    select e.error_table, e.error_id
      from (select d.error_table, d.error_id from recoup.tiers_due(most, only_) d where d.is_sla limit most) d
     cross join lateral (
       select e.* from recoup.error e
        where e.error_table = d.error_table and e.error_id = d.error_id limit 1 for no key update skip locked) e
     where e.status in ('PARKED', 'ESCALATED') and e.archived_at is null and e.sla_met_at is null
       and e.sla_breached_at is null and e.sla_due_at < now_)
  update recoup.error e
     set sla_breached_at = now_, updated_at = greatest(e.updated_at, now_)
    from held h
   where e.error_table = h.error_table and e.error_id = any(array[h.error_id]);
  get diagnostics breached = row_count;

  -- Then one step to the highest tier that is due, however late this runs: nothing is dated back. Not over a clock that
  -- ended and is not marked, because another worker has it: its breach would be lost.
  with held as materialized (
    select e.error_table, e.error_id, coalesce(e.parked_since, e.parked_at) as since, t.tier
      from (select d.error_table, d.error_id from recoup.tiers_due(most, only_) d where not d.is_sla limit most) d
     cross join lateral (
       select e.* from recoup.error e
        where e.error_table = d.error_table and e.error_id = d.error_id limit 1 for no key update skip locked) e
     cross join lateral (
       select recoup.tier_due(coalesce(e.parked_since, e.parked_at), now_, policy) as tier) t
     where e.status in ('PARKED', 'ESCALATED') and e.archived_at is null and t.tier > e.escalation_level
       and (e.sla_due_at is null or e.sla_due_at >= now_ or num_nonnulls(e.sla_met_at, e.sla_breached_at) > 0))
  update recoup.error e
     set parked_since = h.since, escalation_level = h.tier, escalated_at = now_,
         escalated_to = recoup.tier_owner(e.error_table, h.tier, policy),
         escalation_reason = case h.tier when 1 then e.park_reason else format('parked for more than %s hours',
           policy #>> array['escalation', 'tier_' || h.tier, 'after_hours']) end,
         sla_due_at = now_ + recoup.sla_of(h.tier, policy), sla_met_at = null, sla_breached_at = null,
         updated_at = greatest(e.updated_at, now_)
    from held h
   where e.error_table = h.error_table and e.error_id = any(array[h.error_id]);
  get diagnostics raised = row_count;
end $$;
comment on function recoup.raise_tiers(integer, bigint) is
'Marks reviews that are overdue, and raises parked errors to the tier that is due; or one of them.';
