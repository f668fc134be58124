-- The recorders of recovery: every birth and move of incidents, matches, evaluations, candidates and scopes is an event
-- of recovery.provenance, written in the same statement.

create or replace function recovery.record_incidents() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform recoup.require_table(tg_relid, 'recovery.incident');
  insert into recovery.provenance (incarnation, logged_at, event_type, incident_id, from_status, to_status, facts,
    actor,
                                   actor_id, authority)
  select recoup.present_incarnation(), coalesce(n.closed_at, n.opened_at),
         case tg_op when 'INSERT' then 'incident_opened' else 'incident_closed' end, n.incident_id,
         case tg_op when 'UPDATE' then 'open' end, n.status,
         case when tg_op = 'INSERT' then jsonb_strip_nulls(jsonb_build_object('source', n.source,
                'error_signature', n.error_signature, 'follows', n.follows)) end,
         recoup.acting_kind(), recoup.acting_id(), recoup.acting_role()
    from new_rows n;
  return null;
end $$;
revoke execute on function recovery.record_incidents() from public;
comment on function recovery.record_incidents() is 'incident_opened, incident_closed.';

create or replace function recovery.record_match_births() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  incarnation_ constant integer := recoup.present_incarnation();
  kind         constant text := recoup.acting_kind();
  id           constant text := recoup.acting_id();
  role_        constant text := recoup.acting_role();
begin
  perform recoup.require_table(tg_relid, 'recovery.failure_match');
  insert into recovery.provenance (incarnation, logged_at, event_type, failure_match_id, incident_id, to_status, facts,
                                   policy_version, actor, actor_id, authority)
  select incarnation_, n.created_at, 'match_created', n.failure_match_id, n.incident_id, n.status,
         case when n.follows is not null then jsonb_build_object('follows', n.follows) end, n.policy_version, kind, id,
         role_
    from new_rows n;
  return null;
end $$;
revoke execute on function recovery.record_match_births() from public;
comment on function recovery.record_match_births() is 'match_created.';

create or replace function recovery.record_match_moves() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_nestloop = off set enable_hashjoin = on set enable_mergejoin = off
as $$
declare
  incarnation_ constant integer := recoup.present_incarnation();
  kind         constant text := recoup.acting_kind();
  id           constant text := recoup.acting_id();
  role_        constant text := recoup.acting_role();
  why          constant text := nullif(current_setting('recoup.reason', true), '');
begin
  perform recoup.require_table(tg_relid, 'recovery.failure_match');
  -- Waking a match is no step of it: only evaluations that ended, changes of status and reports are recorded.
  insert into recovery.provenance (incarnation, logged_at, event_type, failure_match_id, incident_id, number,
    from_status,
                                   to_status, token, outcome, reason, policy_version, actor, actor_id, authority)
  select incarnation_, n.updated_at,
         case when n.ended_at is not null then 'match_ended'
              when role_ = 'recoup_operator' then 'match_resumed' else 'match_evaluated' end,
         n.failure_match_id, n.incident_id, n.evaluation_no, o.status, n.status,
         case when n.evaluation_no > o.evaluation_no then n.token end,
         case when n.evaluation_no = o.evaluation_no then null
              when n.evaluation_failures > o.evaluation_failures then 'FAILED' else 'SUCCEEDED' end,
         coalesce(n.end_reason, case when n.evaluation_failures > o.evaluation_failures then n.last_failure end, why),
         n.policy_version, kind, id, role_
    from new_rows n join old_rows o on o.failure_match_id = n.failure_match_id
   where n.status <> o.status or n.evaluation_no > o.evaluation_no or n.reported_end is distinct from o.reported_end;
  return null;
end $$;
revoke execute on function recovery.record_match_moves() from public;
comment on function recovery.record_match_moves() is 'match_evaluated, match_resumed, match_ended.';

create or replace function recovery.record_evaluations() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  incarnation_ constant integer := recoup.present_incarnation();
  kind         constant text := recoup.acting_kind();
  id           constant text := recoup.acting_id();
  role_        constant text := recoup.acting_role();
begin
  perform recoup.require_table(tg_relid, 'recovery.evaluation');
  insert into recovery.provenance (incarnation, logged_at, event_type, failure_match_id, incident_id, number, to_status,
                                   action_name, confidence, reason, facts, policy_version, actor, actor_id, authority)
  select incarnation_, n.evaluated_at, 'rule_evaluated', n.failure_match_id, m.incident_id, n.evaluation_no, n.status,
         n.recommended_action, n.weight, n.rules,
         case when n.rules = 'rules'
           then jsonb_strip_nulls(jsonb_build_object('fired', n.fired, 'failed',
                  (select jsonb_agg(e.key order by e.key) from jsonb_each(n.errors) e))) end,
         n.policy_version, kind, id, role_
    from new_rows n
   cross join lateral (select m.incident_id from recovery.failure_match m
                        where m.failure_match_id = n.failure_match_id limit 1) m;
  return null;
end $$;
revoke execute on function recovery.record_evaluations() from public;
comment on function recovery.record_evaluations() is 'rule_evaluated.';

create or replace function recovery.record_candidate_births() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  incarnation_ constant integer := recoup.present_incarnation();
  kind         constant text := recoup.acting_kind();
  id           constant text := recoup.acting_id();
  role_        constant text := recoup.acting_role();
begin
  perform recoup.require_table(tg_relid, 'recovery.candidate');
  insert into recovery.provenance (incarnation, logged_at, event_type, candidate_id, failure_match_id, incident_id,
                                   to_status, action_name, facts, policy_version, actor, actor_id, authority)
  select incarnation_, n.created_at, 'created', n.candidate_id, n.failure_match_id, n.incident_id, n.status,
         n.recommended_action,
         case when num_nonnulls(n.follows, n.proposed_by) > 0
              then jsonb_strip_nulls(jsonb_build_object('follows', n.follows, 'proposed_by', n.proposed_by)) end,
         n.policy_version, kind, id, role_
    from new_rows n;
  return null;
end $$;
revoke execute on function recovery.record_candidate_births() from public;
comment on function recovery.record_candidate_births() is 'created.';

create or replace function recovery.outcome_facts(result jsonb, teaches boolean) returns jsonb
language sql stable as $$
  select case when result is not null or not teaches then jsonb_strip_nulls(jsonb_build_object(
    'result', encode(sha256(convert_to(result::text, 'UTF8')), 'hex'), 'teaches', nullif(teaches, true))) end
$$;
comment on function recovery.outcome_facts(jsonb, boolean) is
'What the event of an outcome tells: the digest of its result, and that it is no evidence, if it is none.';

create or replace function recovery.record_candidate_moves() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
-- A join by hash is right for one row and for a hundred thousand, so its plan may be kept.
set plan_cache_mode = force_generic_plan set enable_nestloop = off set enable_hashjoin = on set enable_mergejoin = off
as $$
declare
  incarnation_ constant integer := recoup.present_incarnation();
  kind         constant text := recoup.acting_kind();
  id           constant text := recoup.acting_id();
  role_        constant text := recoup.acting_role();
  more         boolean;
begin
  if tg_relid <> 'recovery.candidate'::regclass then
    perform recoup.require_table(tg_relid, 'recovery.candidate');
  end if;
  insert into recovery.provenance (incarnation, logged_at, event_type, candidate_id, failure_match_id, incident_id,
                                   scope_id, from_status, to_status, action_name, confidence, evidence, token, reason,
                                   facts, actor, actor_id, authority)
  select incarnation_, n.updated_at, said.event_type, n.candidate_id, n.failure_match_id, n.incident_id, n.scope_id,
         o.status, n.status, n.action_name,
         case said.event_type when 'confidence_updated' then n.confidence when 'executed' then n.confidence
                              when 'approved' then n.confidence end,
         case said.event_type when 'confidence_updated' then n.evidence when 'executed' then n.evidence end,
         case said.event_type when 'executed' then n.token end,
         case said.event_type when 'executed' then n.worker when 'skipped' then n.skip_reason when 'failure'
           then n.error when 'rolled_back' then n.error
                              when 'approved' then n.decision_note when 'rejected' then n.decision_note end,
         case said.event_type
           when 'action_selected' then jsonb_build_object('type', n.action_type, 'cost', n.cost,
             'is_automated', n.is_automated, 'requires_approval', n.requires_approval, 'timeout_s', n.timeout_s,
             'held_for_review', n.held_for_review, 'execute_by', n.execute_by,
             'parameters', encode(sha256(convert_to(n.parameters::text, 'UTF8')), 'hex'))
           when 'confidence_updated' then jsonb_build_object('before', o.confidence, 'basis', n.confidence_basis)
           when 'effect_made' then case
             when n.awaits is not null then n.awaits || jsonb_build_object('outcome_by', n.outcome_by)
             else jsonb_build_object('reported', n.reported) end
           when 'success' then recovery.outcome_facts(n.result, n.teaches)
           when 'failure' then recovery.outcome_facts(n.result, n.teaches)
           when 'rolled_back' then recovery.outcome_facts(n.result, n.teaches)
           -- A pause stops neither a deadline nor the end of a scope: what was skipped for that names it.
           when 'skipped' then case when n.skip_reason in ('SCOPE_ENDED', 'EXECUTE_OVERDUE', 'DECISION_OVERDUE') then (
             select jsonb_build_object('paused', p.scope_id, 'paused_by', p.changed_by, 'paused_at', p.changed_at)
               from recoup.pause p
              where p.status = 'PAUSED'
                and (p.scope = 'global' or p.scope = 'action' and p.scope_id = n.action_name
                     or p.scope = 'table' and p.scope_id = 'recovery.candidate')
              order by p.changed_at limit 1) end
           when 'manual_override' then jsonb_build_object('by', n.overridden_by) end,
         kind, id, role_
    from new_rows n join old_rows o on o.candidate_id = n.candidate_id
   cross join lateral (select case
       when n.status <> o.status then case n.status
         when 'executing' then 'executed' when 'succeeded' then 'success' when 'failed' then 'failure' else n.status end
       when n.status = 'executing' then case role_ when 'recoup_executor' then 'effect_made' else 'manual_override' end
       when role_ = 'recoup_matcher' then 'confidence_updated'
       else 'action_selected' end as event_type) said;
  -- What a second event tells: a lease that expired, and a person's act or decision against what was planned.
  select bool_or(n.error = 'CRASHED' or n.overridden_by is not null or n.decided_at is not null) into more
    from new_rows n where n.status not in ('executing', 'pending', 'succeeded') or n.overridden_by is not null;
  if more then
    insert into recovery.provenance (incarnation, logged_at, event_type, candidate_id, failure_match_id, incident_id,
                                     scope_id, from_status, to_status, action_name, reason, facts, actor, actor_id,
                                     authority)
    select incarnation_, n.updated_at, e.event_type, n.candidate_id, n.failure_match_id, n.incident_id, n.scope_id,
           o.status, n.status, n.action_name, coalesce(n.skip_reason, n.error),
           case e.event_type when 'manual_override'
             then jsonb_build_object('by', coalesce(n.overridden_by, n.decided_by)) end, kind, id, role_
      from new_rows n join old_rows o on o.candidate_id = n.candidate_id
     cross join lateral (
       select 'crashed' as event_type where n.status = 'failed' and o.status <> 'failed' and n.error = 'CRASHED'
       union all
       select 'manual_override'
        where n.status <> o.status
          and (n.overridden_by is distinct from o.overridden_by
               or n.status = 'rejected' and n.action_name is not distinct from n.recommended_action
               or n.status = 'approved' and n.action_name is distinct from n.recommended_action)) e;
  end if;
  return null;
end $$;
revoke execute on function recovery.record_candidate_moves() from public;
comment on function recovery.record_candidate_moves() is
'The event of a move of a candidate, and crashed or manual_override where that is what happened.';

create or replace function recovery.record_scope_births() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform recoup.require_table(tg_relid, 'recovery.scope');
  insert into recovery.provenance (incarnation, logged_at, event_type, incident_id, scope_id, to_status, reason, facts,
                                   policy_version, actor, actor_id, authority)
  select recoup.present_incarnation(), n.opened_at, 'scope_opened', n.incident_id, n.scope_id, n.status, n.reason,
         jsonb_build_object('allowed_actions', n.allowed_actions, 'max_attempts', n.max_attempts,
           'cost_limit', n.cost_limit, 'ttl_seconds', n.ttl_seconds),
         n.policy_version, recoup.acting_kind(), recoup.acting_id(), recoup.acting_role()
    from new_rows n;
  return null;
end $$;
revoke execute on function recovery.record_scope_births() from public;
comment on function recovery.record_scope_births() is 'scope_opened.';

create or replace function recovery.record_scope_moves() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform recoup.require_table(tg_relid, 'recovery.scope');
  -- What a claim spends is in the event executed of each candidate.
  if not exists (select from new_rows n where n.status <> 'active') then
    return null;
  end if;
  insert into recovery.provenance (incarnation, logged_at, event_type, incident_id, scope_id, from_status, to_status,
                                   reason, facts, actor, actor_id, authority)
  select recoup.present_incarnation(), n.ended_at, 'scope_' || n.status, n.incident_id, n.scope_id, 'active', n.status,
         nullif(current_setting('recoup.reason', true), ''),
         jsonb_build_object('attempts_used', n.attempts_used, 'cost_used', n.cost_used),
         recoup.acting_kind(), recoup.acting_id(), recoup.acting_role()
    from new_rows n where n.status <> 'active';
  return null;
end $$;
revoke execute on function recovery.record_scope_moves() from public;
comment on function recovery.record_scope_moves() is 'scope_exhausted, scope_expired, scope_revoked.';
