-- What an evaluation changes of candidates that were not started, in sets. Functions, because only these keep to one
-- plan: a lookup for each candidate. On a table without statistics the planner read all of it for each of them.

create or replace function recovery.is_held(candidate_id uuid, share float8) returns boolean
language sql immutable as $$
  select ('x' || left(encode(sha256(uuid_send(candidate_id)), 'hex'), 8))::bit(32)::bigint < share * 4294967296
$$;
comment on function recovery.is_held(uuid, float8) is
'Whether a candidate is among the share that waits for a person although it would start by itself: by its id alone.';

create or replace function recovery.select_actions(
  ids uuid[], actions text[], types text[], parameters_ jsonb[], costs integer[], timeouts integer[],
  automated boolean[], approvals boolean[], scopes uuid[], execute_by_ timestamptz[], keys text[], held boolean[])
returns setof uuid
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_  constant timestamptz := recoup.now();
  share constant float8 := coalesce((recovery.policy() ->> 'held_share')::float8, 0);
begin
  -- Held: of those that are meant to recover by themselves. A page, or a task, is not held back.
  return query
  update recovery.candidate c
     set action_name = g.action, action_type = g.type, parameters = g.parameters, cost = g.cost, timeout_s = g.timeout,
         is_automated = g.is_automated, requires_approval = g.requires_approval, scope_id = g.scope,
         execute_by = g.execute_by, confidence_of = case when c.action_name = g.action then c.confidence_of end,
         idempotency_key = coalesce(c.idempotency_key, g.key), held_for_review = c.held_for_review or g.held or (
           g.is_automated and not g.requires_approval and num_nulls(c.proposed_by) = 1
           and c.subject_kind in ('run', 'partition', 'outside')
           and g.type not in ('escalate', 'notify', 'manual', 'skip', 'rollback')
           and (recovery.is_held(c.candidate_id, share)
                -- A partition is requeued by itself once, until a person acts.
                or c.subject_kind = 'partition' and (
                  select partitions.waits_for_person(m.subject_ref::bigint) from recovery.failure_match m
                   where m.failure_match_id = c.failure_match_id))),
         updated_at = greatest(c.updated_at, now_)
    from unnest(ids, actions, types, parameters_, costs, timeouts, automated, approvals, scopes, execute_by_, keys,
      held)
           g (id, action, type, parameters, cost, timeout, is_automated, requires_approval, scope, execute_by, key,
             held)
   where c.candidate_id = any(array[g.id]) and c.status = 'pending'
  returning c.candidate_id;
end $$;
comment on function recovery.select_actions(
  uuid[], text[], text[], jsonb[], integer[], integer[], boolean[], boolean[], uuid[], timestamptz[], text[],
  boolean[]) is
'Selects the actions of pending candidates, with their scopes.';

create or replace function recovery.attach_scopes(ids uuid[], scopes uuid[], execute_by_ timestamptz[])
returns setof uuid
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  return query
  update recovery.candidate c
     set scope_id = g.scope, execute_by = g.execute_by, updated_at = greatest(c.updated_at, now_)
    from unnest(ids, scopes, execute_by_) g (id, scope, execute_by)
   where c.candidate_id = any(array[g.id]) and c.status = 'pending' and num_nulls(c.scope_id) = 1
  returning c.candidate_id;
end $$;
comment on function recovery.attach_scopes(uuid[], uuid[], timestamptz[]) is
'Gives pending candidates their scopes.';

create or replace function recovery.rate_candidates(
  ids uuid[], confidences float8[], evidence_ integer[], bases jsonb[])
returns setof uuid
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  return query
  update recovery.candidate c
     set confidence = g.confidence, confidence_of = c.action_name, evidence = g.evidence, confidence_basis = g.basis,
         updated_at = greatest(c.updated_at, now_)
    from unnest(ids, confidences, evidence_, bases) g (id, confidence, evidence, basis)
   where c.candidate_id = any(array[g.id]) and c.status = 'pending'
  returning c.candidate_id;
end $$;
comment on function recovery.rate_candidates(uuid[], float8[], integer[], jsonb[]) is
'Writes the confidence of pending candidates, and what it rests on.';

create or replace function recovery.skip_candidates(ids uuid[], reasons text[], people text[], was text[])
returns setof uuid
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  return query
  update recovery.candidate c
     set status = 'skipped', skip_reason = g.reason, finished_at = now_, teaches = false,
         overridden_by = coalesce(c.overridden_by, g.person), updated_at = greatest(c.updated_at, now_)
    from unnest(ids, reasons, people, was) g (id, reason, person, was)
   where c.candidate_id = any(array[g.id]) and c.status = g.was
  returning c.candidate_id;
end $$;
comment on function recovery.skip_candidates(uuid[], text[], text[], text[]) is
'Skips candidates that were not started, if they are still in the status in which they were read.';
