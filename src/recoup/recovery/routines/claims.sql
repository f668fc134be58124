-- Claiming candidates within their scopes, making effects, ending candidates: each in sets, one call of one function.

create or replace function recovery.claim_candidates(
  among text[], most integer, worker_ text, lease interval, outside boolean default false,
  out ids uuid[], out matches uuid[], out actions text[], out types text[], out kinds text[], out given jsonb[],
  out keys text[], out timeouts integer[], out token_ uuid, out until_ timestamptz)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  now_    constant timestamptz := recoup.now();
  gates   constant jsonb := recovery.gates();
  floor_  constant float8 := (gates ->> 'confidence_floor')::float8;
  least_  constant integer := (gates ->> 'evidence_min')::integer;
  allowed text[];
  shut    text[] := '{}';  -- sources behind a breaker
  tried   text[];  -- those of which one candidate tries it now
begin
  if gates -> 'paused' ?| array['*', 'recovery.candidate'] then
    return;
  end if;
  -- Neither retired nor paused.
  select array_agg(a.key) into allowed
    from jsonb_each(gates -> 'actions') a where not gates -> 'paused' ? a.key;
  -- Only what is executed outside calls its source. What is made here waits behind the breaker by itself.
  if exists (select from recovery.breaker b where b.status in ('open', 'half_open')) then
    select s.shut, s.due into shut, tried from recovery.shut_parts('source', null, now_) s;
    -- Only one that may start: while it is looked for, no others are.
    if tried <> '{}' and exists (
         select from recovery.candidate c
           join recovery.incident i on i.incident_id = c.incident_id
           join recovery.scope s on s.scope_id = c.scope_id
          where c.is_ready and c.executed_at is null and c.execute_by > now_ and c.action_name = any(allowed)
            and (among is null or recovery.served_as(c.action_name, c.action_type, c.parameters) = any(among))
            and recovery.makes(c.action_type, c.subject_kind, c.parameters) is null
            and i.source = any(tried) and i.source <> all(shut)
            and s.status = 'active' and s.expires_at > now_ and s.attempts_used < s.max_attempts
            and s.cost_used + c.cost <= s.cost_limit
            and (c.status = 'approved'
                 or c.confidence >= floor_ and c.evidence >= least_
                    and (gates -> 'actions' -> c.action_name ->> 'is_automated')::boolean
                    and not (gates -> 'actions' -> c.action_name ->> 'requires_approval')::boolean)) then
      most := least(most, 1);
    else
      shut := shut || tried;
      tried := null;
    end if;
    if shut = '{}' then
      shut := array[''];
    end if;
  end if;
  token_ := gen_random_uuid();
  until_ := now_ + coalesce(lease, make_interval(secs => (gates ->> 'candidate_lease_s')::integer));
  with picked as materialized (
    select c.candidate_id, c.scope_id, c.cost, c.decided_at is null as by_itself
      from recovery.candidate c
     cross join lateral (
       select s.* from recovery.scope s
        where s.scope_id = c.scope_id and s.status = 'active' and s.expires_at > now_
          and s.attempts_used < s.max_attempts and s.cost_used + c.cost <= s.cost_limit limit 1) s
     where c.is_ready and c.executed_at is null and c.execute_by > now_ and c.action_name = any(allowed)
       -- What is made outside of this database needs a worker that has the action.
       -- A program that executes nothing else leaves the rest to workers.
       and (among is null or recovery.served_as(c.action_name, c.action_type, c.parameters) = any(among)
            or not outside and recovery.makes(c.action_type, c.subject_kind, c.parameters) is not null)
       and (not outside or recovery.makes(c.action_type, c.subject_kind, c.parameters) is null)
       and (shut = '{}'
            or case when recovery.makes(c.action_type, c.subject_kind, c.parameters) is not null then tried is null
                    else exists (select from recovery.incident i
                                  where i.incident_id = c.incident_id and i.source <> all(shut)
                                    and (tried is null or i.source = any(tried))) end)
       and (c.status = 'approved'
            or c.confidence >= floor_ and c.evidence >= least_
               and (gates -> 'actions' -> c.action_name ->> 'is_automated')::boolean
               and not (gates -> 'actions' -> c.action_name ->> 'requires_approval')::boolean)
     order by c.decided_at is null, c.candidate_id
     limit greatest(most, 0)
       for no key update of c skip locked),
  -- Locked in the order of ids; what is left of each is read after the wait.
  held as materialized (
    select s.scope_id, s.max_attempts - s.attempts_used as attempts, s.cost_limit - s.cost_used as units
      from recovery.scope s
     where s.scope_id = any(array(select distinct p.scope_id from picked p))
       and s.status = 'active' and s.expires_at > now_
     order by s.scope_id
       for no key update),
  fitting as (
    select f.candidate_id
      from (select p.candidate_id, h.attempts, h.units, row_number() over in_turn as place,
                   sum(p.cost) over in_turn as cost
              from picked p join held h on h.scope_id = p.scope_id
            window in_turn as (partition by p.scope_id order by p.by_itself, p.candidate_id)) f
     where f.place <= f.attempts and f.cost <= f.units),
  claimed as (
    update recovery.candidate c
       set status = 'executing', executed_at = now_, worker = worker_, token = token_, lease_until = until_,
           idempotency_key = coalesce(c.idempotency_key, c.candidate_id::text), updated_at = greatest(c.updated_at,
             now_)
      from fitting f
     where c.candidate_id = any(array[f.candidate_id]) and c.executed_at is null
    returning c.candidate_id, c.failure_match_id, c.action_name, c.action_type, c.subject_kind, c.parameters,
              c.idempotency_key, c.timeout_s)
  select array_agg(c.candidate_id), array_agg(c.failure_match_id), array_agg(c.action_name), array_agg(c.action_type),
         array_agg(c.subject_kind), array_agg(c.parameters), array_agg(c.idempotency_key), array_agg(c.timeout_s)
    into ids, matches, actions, types, kinds, given, keys, timeouts
    from claimed c;
end $$;
comment on function recovery.claim_candidates(text[], integer, text, interval, boolean) is
'Starts candidates that may start, approved ones first, within what is left of their scopes, under one lease.';
