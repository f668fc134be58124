-- What follows from a candidate's move, in the same statement: a claim spends its scope, an effect of ours is made, a
-- person's decision is a review of the error.

create or replace function recovery.settle_candidates() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
-- Joined by hash, which is right for one row and for a hundred thousand, so the plans may be kept.
set plan_cache_mode = force_generic_plan set jit = off
set enable_nestloop = off set enable_mergejoin = off set enable_hashjoin = on
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  now_   constant timestamptz := recoup.now();
  causes integer;
  scopes uuid[];
  spent  integer;
begin
  if tg_relid <> 'recovery.candidate'::regclass then
    perform recoup.require_table(tg_relid, 'recovery.candidate');
  end if;
  -- 1: started, 2: an effect of ours, 4: approved, 8: rejected.
  select bit_or(case when n.status = 'executing' and o.status <> 'executing' then 1
                     when n.effect_made_at is not null and o.effect_made_at is null
                       then case when recovery.makes(n.action_type, n.subject_kind, n.parameters) is not null then 2
                                 else 0 end
                     when n.status = 'approved' and o.status = 'pending' then 4
                     when n.status = 'rejected' and o.status = 'pending' then 8 else 0 end)
    into causes
    from new_rows n join old_rows o on o.candidate_id = n.candidate_id;
  if causes & 1 > 0 then
    scopes := array(select distinct n.scope_id from new_rows n);
    with spending as (
      select n.scope_id, count(*)::integer as attempts, sum(n.cost)::integer as cost,
             array_agg(distinct n.action_name) as actions, array_agg(distinct n.incident_id) as incidents
        from new_rows n group by n.scope_id)
    update recovery.scope s
       set attempts_used = s.attempts_used + x.attempts, cost_used = s.cost_used + x.cost,
           status = case when s.attempts_used + x.attempts >= s.max_attempts
                           or s.cost_used + x.cost + s.least_cost > s.cost_limit then 'exhausted' else 'active' end,
           ended_at = case when s.attempts_used + x.attempts >= s.max_attempts
                             or s.cost_used + x.cost + s.least_cost > s.cost_limit then now_ end
      from spending x
     where s.scope_id = any(scopes) and s.scope_id = x.scope_id and s.status = 'active' and s.expires_at > now_
       and x.actions <@ s.allowed_actions and x.incidents = array[s.incident_id]
       and s.attempts_used + x.attempts <= s.max_attempts and s.cost_used + x.cost <= s.cost_limit;
    get diagnostics spent = row_count;
    if spent <> cardinality(scopes) then
      perform recovery.refuse_spending(array(select n.candidate_id from new_rows n), now_);
    end if;
    if exists (select from recovery.breaker b where b.status in ('open', 'half_open')) then
      -- However it was started, one candidate alone tries a breaker whose wait has ended. Who comes at the same time
      -- waits here, and is refused.
      perform from recovery.breaker b
        where b.status = 'open' and b.parts && array(
          select 'source:' || i.source from new_rows n join recovery.incident i on i.incident_id = n.incident_id
           where recovery.makes(n.action_type, n.subject_kind, n.parameters) is null)
        order by b.name for no key update;
      perform recovery.refuse_behind(array_agg(distinct 'source:' || i.source), now_, count(*) = 1)
        from new_rows n join recovery.incident i on i.incident_id = n.incident_id
       where recovery.makes(n.action_type, n.subject_kind, n.parameters) is null having count(*) > 0;
      perform recovery.start_probe(array['source:' || i.source], 'recovery.candidate', n.candidate_id::text, n.token,
                                   n.lease_until, now_)
        from new_rows n join recovery.incident i on i.incident_id = n.incident_id
       where recovery.makes(n.action_type, n.subject_kind, n.parameters) is null;
    end if;
    insert into recovery.lease (token, worker, lease_until, candidates)
    select n.token, n.worker, n.lease_until, array_agg(n.candidate_id)
      from new_rows n group by n.token, n.worker, n.lease_until;
  end if;
  if causes & 2 > 0 then
    scopes := array(select distinct n.scope_id from new_rows n);
    scopes := array(select s.scope_id from recovery.scope s where s.scope_id = any(scopes) and s.status = 'revoked');
    if scopes <> '{}' then
      perform recovery.refuse_spending(array(select n.candidate_id from new_rows n where n.scope_id = any(scopes)),
                                       now_);
    end if;
    perform recovery.settle_effects(
      array_agg(n.candidate_id), array_agg(n.action_type), array_agg(n.subject_kind), array_agg(n.failure_match_id),
      array_agg(n.incident_id), array_agg(n.action_name), array_agg(n.parameters), array_agg(n.awaits ->> 'key'),
      array_agg(n.decided_by))
      from new_rows n where recovery.makes(n.action_type, n.subject_kind, n.parameters) is not null;
  end if;
  if causes & 4 > 0 then
    perform recovery.settle_approvals(array_agg(n.candidate_id), array_agg(n.scope_id), array_agg(n.failure_match_id)
                                        filter (where n.subject_kind = 'error'))
      from new_rows n where n.status = 'approved';
  end if;
  if causes & 8 > 0 then
    perform recovery.review_errors_of(array_agg(n.failure_match_id))
      from new_rows n where n.status = 'rejected' and n.subject_kind = 'error';
  end if;
  return null;
end $$;
revoke execute on function recovery.settle_candidates() from public;
comment on function recovery.settle_candidates() is
'A claim spends its scopes and takes a lease; an effect of ours is made; a decision reviews the error.';

create or replace function recovery.refuse_spending(ids uuid[], now_ timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  bad record;
begin
  select c.candidate_id, c.action_name, s.scope_id, s.status, s.expires_at, s.attempts_used, s.max_attempts,
    s.cost_used,
         s.cost_limit, x.attempts, x.cost,
         case when s.scope_id is null then 'unknown'
              when s.status <> 'active' then 'ended'
              when s.expires_at <= now_ then 'expired'
              when s.incident_id <> c.incident_id then 'incident'
              when c.action_name <> all(s.allowed_actions) then 'action'
              when s.attempts_used + x.attempts > s.max_attempts then 'attempts'
              when s.cost_used + x.cost > s.cost_limit then 'cost' end as why into bad
    from recovery.candidate c
    join (select c.scope_id, count(*) as attempts, sum(c.cost) as cost from recovery.candidate c
           where c.candidate_id = any(ids) group by 1) x on x.scope_id is not distinct from c.scope_id
    left join recovery.scope s on s.scope_id = c.scope_id
   where c.candidate_id = any(ids)
     and (s.scope_id is null or s.status <> 'active' or s.expires_at <= now_ or s.incident_id <> c.incident_id
          or c.action_name <> all(s.allowed_actions) or s.attempts_used + x.attempts > s.max_attempts
          or s.cost_used + x.cost > s.cost_limit)
   limit 1;
  raise exception using errcode = 'RC089',
    message = format('Candidate %s: its scope %s ', bad.candidate_id, bad.scope_id) || case bad.why
      when 'ended' then format('is %s.', bad.status)
      when 'expired' then format('expired at %s.', bad.expires_at)
      when 'incident' then 'is of another incident.'
      when 'action' then format('does not allow %s.', bad.action_name)
      when 'attempts' then format('has %s of %s attempts left, and %s are claimed.',
                                  bad.max_attempts - bad.attempts_used, bad.max_attempts, bad.attempts)
      when 'cost' then format('has %s of %s units left, and %s are claimed.', bad.cost_limit - bad.cost_used,
                              bad.cost_limit, bad.cost)
      else 'does not exist.' end,
    hint = 'Open a new scope for its incident: recoup recovery scope open INCIDENT',
    detail = jsonb_build_object('candidate_id', bad.candidate_id, 'scope_id', bad.scope_id, 'why', bad.why);
end $$;
comment on function recovery.refuse_spending(uuid[], timestamptz) is
'Refuses a claim that its scope does not allow, with the reason.';

create or replace function recovery.settle_effects(ids uuid[], types text[], kinds text[], matches uuid[],
  incidents uuid[], actions text[], parameters_ jsonb[], keys text[], approvers text[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_nestloop = on set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  group_  record;
  made    integer;
  why     text;
begin
  for group_ in
    select recovery.makes(g.type, g.kind, g.parameters) as makes, g.type, array_agg(g.id order by g.id) as ids,
           array_agg(m.subject_ref order by g.id) as refs, array_agg(g.match order by g.id) as matches,
           array_agg(g.incident order by g.id) as incidents, array_agg(g.action order by g.id) as actions,
           array_agg(g.parameters order by g.id) as parameters, array_agg(g.key order by g.id) as keys,
           g.kind, count(*) as n, min(g.approver) as approver
      from unnest(ids, types, kinds, matches, incidents, actions, parameters_, keys, approvers)
             g (id, type, kind, match, incident, action, parameters, key, approver)
     cross join lateral (select m.subject_ref from recovery.failure_match m where m.failure_match_id = g.match
       limit 1) m
     group by recovery.makes(g.type, g.kind, g.parameters), g.type, g.kind
  loop
    why := format('recovery candidate %s', group_.ids[1]) || case
      when group_.n > 1 then format(' and %s more', group_.n - 1) else '' end
      || coalesce(', approved by ' || group_.approver, '');
    perform set_config('recoup.reason', why, true);
    made := case
      when group_.type in ('reconfigure', 'rollback') then recovery.change_reversibly(group_.ids)
      when group_.type = 'circuit_breaker' then recovery.break_circuits(group_.ids)
      else group_.n end;
    made := case
      when made <> group_.n or group_.makes = 'breaker' then made
      when group_.makes in ('error', 'partition') and group_.keys <> group_.refs then 0
      when group_.makes = 'error' then recovery.retry_errors(group_.ids, group_.refs)
      when group_.makes = 'intake' then recovery.retry_intakes(group_.ids, group_.refs, group_.keys)
      when group_.makes = 'run' then recovery.retry_runs(group_.ids, group_.refs, group_.keys)
      when group_.makes = 'partition' then recovery.requeue_partitions(group_.ids, group_.refs, 'retry')
      when group_.makes = 'delivery' then recovery.notify_of(group_.ids, group_.keys, group_.incidents, group_.actions,
                                                             group_.parameters, group_.matches)
      when group_.makes = 'task' then recovery.ask_people(group_.ids, group_.keys, group_.incidents, group_.actions,
                                                          group_.parameters, group_.matches)
      when group_.kind = 'error' and group_.type = 'skip' then recovery.skip_errors(group_.ids, group_.refs)
      when group_.kind = 'partition' and group_.type = 'skip'
        then recovery.requeue_partitions(group_.ids, group_.refs, 'mark')
      when group_.kind = 'error' and group_.type = 'escalate' then recovery.escalate_errors(group_.ids, group_.refs)
      else group_.n end;
    if made <> group_.n then
      -- 40001: the other transaction made it first; tried again, its candidates join that one.
      raise exception using errcode = case when group_.makes in ('delivery', 'task') then '40001' else 'RC086' end,
        message = format('%s of %s subjects have changed since the claim, so %s was not executed for them.',
                         group_.n - made, group_.n, group_.type),
        hint = 'Use recovery.make_effects, which leaves those out and says which.',
        detail = jsonb_build_object('candidates', group_.ids[:100], 'made', made, 'claimed', group_.n);
    end if;
  end loop;
end $$;
comment on function recovery.settle_effects(
  uuid[], text[], text[], uuid[], uuid[], text[], jsonb[], text[], text[]) is
'Makes the effects of candidates in this database, by kind, in sets.';

create or replace function recovery.settle_approvals(ids uuid[], scopes uuid[], of_errors uuid[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  now_ constant timestamptz := recoup.now();
  bad  record;
begin
  select g.candidate_id, s.scope_id, s.status, s.expires_at into bad
    from unnest(ids, scopes) g (candidate_id, scope_id)
    left join recovery.scope s on s.scope_id = g.scope_id
   where s.status is distinct from 'active' or s.expires_at <= now_ limit 1;
  if found then
    raise exception using errcode = 'RC083',
      message = format('Candidate %s has no active scope: %s is %s.', bad.candidate_id, coalesce(bad.scope_id::text,
        'it'),
                       case when bad.status = 'active' then 'expired' else coalesce(bad.status, 'missing') end),
      hint = 'Open one: recoup recovery scope open INCIDENT',
      detail = jsonb_build_object('candidate_id', bad.candidate_id, 'scope_id', bad.scope_id, 'status', bad.status);
  end if;
  -- A name is what a program says; with separate logins, the login is known, too. One that may also execute is not
  -- separate from anything.
  if not pg_has_role(session_user, 'recoup_claim_worker', 'member') then
    select c.candidate_id, c.proposed_by into bad
      from recovery.candidate c
     where c.candidate_id = any(ids) and num_nulls(c.proposed_by) = 0
       and (select p.login from recovery.provenance p
             where p.failure_match_id = c.failure_match_id and p.candidate_id = c.candidate_id
               and p.event_type = 'created' limit 1) = session_user limit 1;
    if found then
      raise exception using errcode = 'RC083',
        message = format('Candidate %s was proposed by %s through this login (%s): another one approves it.',
                         bad.candidate_id, bad.proposed_by, session_user),
        hint = 'Ask somebody else to decide, through their own login.',
        detail = jsonb_build_object('candidate_id', bad.candidate_id, 'why', 'same_login', 'login', session_user);
    end if;
  end if;
  perform recovery.review_errors_of(of_errors);
end $$;
comment on function recovery.settle_approvals(uuid[], uuid[], uuid[]) is
'An approval needs an active scope, comes through another login than the proposal, and is a review of the error.';
