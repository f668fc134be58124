-- Rules of matches, evaluations, incidents, scopes and tasks that a lifecycle alone cannot express.

create or replace function recovery.rule_match_births() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
as $$
declare
  now_ constant timestamptz := recoup.now();
  bad  record;
begin
  -- Many failures of one incident come at once: it is looked up once.
  select d.failure_match_id, i.status as incident, false as follows_other into bad
    from (select n.incident_id, (array_agg(n.failure_match_id))[1] as failure_match_id
            from new_rows n group by n.incident_id) d
    left join lateral (select i.* from recovery.incident i where i.incident_id = d.incident_id limit 1) i on true
   where i.status is distinct from 'open' limit 1;
  if not found then
    select n.failure_match_id, 'open' as incident,
           recovery.is_recent(n.created_at, now_) and n.evaluate_at <= now_ + interval '1 second'
             and n.match_until > now_ as follows_other into bad
      from new_rows n
     where not recovery.is_recent(n.created_at, now_) or n.evaluate_at > now_ + interval '1 second'
        or n.match_until <= now_
        or n.follows is not null and not exists (
             select from recovery.failure_match f
              where f.failure_match_id = n.follows and f.failure_match_id <> n.failure_match_id
                and f.ended_at <= n.created_at and f.subject_kind = n.subject_kind and f.subject_ref = n.subject_ref)
     limit 1;
  end if;
  if found then
    raise exception using errcode = 'RC085',
      message = case when bad.incident is distinct from 'open'
                     then format('The incident of match %s is %s.', bad.failure_match_id, coalesce(bad.incident,
                       'unknown'))
                     when bad.follows_other
                     then format('What match %s follows is no match of the same subject that has ended.',
                                 bad.failure_match_id)
                     else format('Match %s has a time that is not now.', bad.failure_match_id) end,
      hint = 'Ingest failures with recovery.ingest, or through the library.',
      detail = jsonb_build_object('failure_match_id', bad.failure_match_id, 'now', now_);
  end if;
  return null;
end $$;
comment on function recovery.rule_match_births() is
'A match is created now, in an open incident, is evaluated at once, and follows one of its subject that has ended.';

create or replace function recovery.rule_match_moves() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_nestloop = off set enable_hashjoin = on set enable_mergejoin = off
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  now_ constant timestamptz := recoup.now();
  bad  record;
begin
  select n.failure_match_id, n.status, n.ended_at into bad
    from new_rows n join old_rows o on o.failure_match_id = n.failure_match_id
   where n.ended_at is not null and not recovery.is_recent(n.ended_at, now_)
      or n.ended_at is not null and n.end_reason is null
      or n.recovered_at is distinct from case when n.status = 'recovered' then n.ended_at end
      or n.reported_by is distinct from o.reported_by and n.reported_by is distinct from recoup.acting_id()
      -- Nothing waits for ever: it is evaluated within its time, or when its candidate has to end.
      or n.ended_at is null and n.evaluate_at > greatest(n.match_until, now_) + interval '366 days' limit 1;
  if found then
    raise exception using errcode = 'RC085',
      message = format('Match %s: a move is made now, says why it ends, and who reports it.', bad.failure_match_id),
      hint = 'Use recoup recovery, or the library.',
      detail = jsonb_build_object('failure_match_id', bad.failure_match_id, 'status', bad.status, 'now', now_);
  end if;
  -- Nobody evaluates it any more, so its candidate would stay open for ever. Looked up one by one: few end at once.
  select e.* into bad
    from (select n.failure_match_id, n.status,
                 (select c.candidate_id from recovery.candidate c
                   where c.failure_match_id = n.failure_match_id and c.finished_at is null limit 1) as candidate_id
            from new_rows n where n.ended_at is not null
          offset 0) e
   where e.candidate_id is not null limit 1;
  if found then
    raise exception using errcode = 'RC085',
      message = format('Match %s has an open candidate, %s: it does not end before that.', bad.failure_match_id,
                       bad.candidate_id),
      hint = 'End the candidate first.',
      detail = jsonb_build_object('failure_match_id', bad.failure_match_id, 'status', bad.status,
                                  'candidate_id', bad.candidate_id);
  end if;
  return null;
end $$;
comment on function recovery.rule_match_moves()
  is 'A match ends now, with a reason and without an open candidate; and it always has a next evaluation.';

create or replace function recovery.rule_evaluations() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
as $$
declare
  now_ constant timestamptz := recoup.now();
  bad  record;
begin
  select n.failure_match_id, n.evaluation_no into bad
    from new_rows n
    left join lateral (select m.* from recovery.failure_match m where m.failure_match_id = n.failure_match_id limit 1) m
           on true
   where m.failure_match_id is null or m.ended_at is not null or n.evaluation_no <> m.evaluation_no + 1
      or not recovery.is_recent(n.evaluated_at, now_) limit 1;
  if found then
    raise exception using errcode = 'RC085',
      message = format('Evaluation %s of match %s is not its next one, made now.', bad.evaluation_no,
                       bad.failure_match_id),
      hint = 'An evaluation is numbered one after those that have ended.',
      detail = jsonb_build_object('failure_match_id', bad.failure_match_id, 'evaluation_no', bad.evaluation_no);
  end if;
  return null;
end $$;
comment on function recovery.rule_evaluations() is 'An evaluation is of an open match, the next in number, made now.';

create or replace function recovery.rule_incidents() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_  constant timestamptz := recoup.now();
  quiet constant interval := make_interval(hours => (recovery.policy() ->> 'incident_quiet_hours')::integer);
  bad   record;
begin
  select n.incident_id into bad from new_rows n
   where n.status = 'closed'
     and (not recovery.is_recent(n.closed_at, now_)
          or exists (select from recovery.failure_match m
                      where m.incident_id = n.incident_id and (m.ended_at is null or m.created_at > now_ - quiet)))
   limit 1;
  if found then
    raise exception using errcode = 'RC085',
      message = format('Incident %s has an open match, or had one within %s.', bad.incident_id, quiet),
      hint = 'It closes by itself when it has been quiet.',
      detail = jsonb_build_object('incident_id', bad.incident_id, 'now', now_);
  end if;
  return null;
end $$;
comment on function recovery.rule_incidents() is 'An incident closes when none of its matches is open, and none came.';

create or replace function recovery.rule_scope_births() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_     constant timestamptz := recoup.now();
  policy   constant jsonb := recovery.policy();
  longest  constant integer := (policy -> 'scope' ->> 'max_ttl_seconds')::integer;
  bad      record;
begin
  -- Two scopes of one incident, opened at once, wait for each other here.
  perform from recovery.incident i where i.incident_id in (select n.incident_id from new_rows n)
    order by i.incident_id for no key update;
  select n.scope_id, n.ttl_seconds, i.status as incident, a.name as unknown, x.scope_id as other into bad
    from new_rows n
    left join recovery.incident i on i.incident_id = n.incident_id
    left join lateral (select a.name from unnest(n.allowed_actions) a (name)
                        where policy -> 'actions' -> a.name is null limit 1) a on true
    left join lateral (select s.scope_id from recovery.scope s
                        where s.incident_id = n.incident_id and s.scope_id <> n.scope_id and s.status = 'active'
                          and s.expires_at > now_ and s.allowed_actions && n.allowed_actions limit 1) x on true
   where i.status is distinct from 'open' or a.name is not null or x.scope_id is not null
      or n.ttl_seconds > longest or not recovery.is_recent(n.opened_at, now_)
      or n.opened_by <> recoup.acting_id()
      or n.least_cost is distinct from coalesce((select min((policy -> 'actions' -> a.name ->> 'cost')::integer)
                                                   from unnest(n.allowed_actions) a (name)), 1) limit 1;
  if found then
    raise exception using errcode = 'RC087',
      message = case
        when bad.incident is distinct from 'open' then format('The incident is %s: no scope is opened for it.',
                                                              coalesce(bad.incident, 'unknown'))
        when bad.unknown is not null then format('The active policy has no action %s.', bad.unknown)
        when bad.other is not null then format('Scope %s of this incident already allows one of these actions.',
          bad.other)
        when bad.ttl_seconds > longest then format('A scope lasts %s seconds at most.', longest)
        else 'A scope is opened now, by the acting person, with the least cost of its actions.' end,
      hint = case when bad.other is not null then format('Use it, or revoke it: recoup recovery scope revoke %s',
        bad.other)
                  when bad.incident is distinct from 'open' then 'List open ones: recoup recovery incidents'
                  when bad.unknown is not null then 'List them: recoup recovery actions'
                  when bad.ttl_seconds > longest
                    then format('Give at most %s hours; the policy says it: recovery.scope.max_ttl_seconds',
                                longest / 3600)
                  else 'Open it with: recoup recovery scope open INCIDENT --action NAME' end,
      detail = jsonb_build_object('scope_id', bad.scope_id, 'other', bad.other, 'unknown', bad.unknown);
  end if;
  return null;
end $$;
comment on function recovery.rule_scope_births() is
'A scope is opened now, for an open incident, with known actions that no other active scope of it allows.';

create or replace function recovery.scope_move_broken(
  o recovery.scope, n recovery.scope, now_ timestamptz, acting text, policy jsonb) returns text
language sql stable as $$
  select case when n.status = 'expired' and n.expires_at > now_ then 'unexpired'
              when n.ended_at is not null and not recovery.is_recent(n.ended_at, now_) then 'time' end
$$;
comment on function recovery.scope_move_broken(recovery.scope, recovery.scope, timestamptz, text, jsonb) is
'The rule that a move of a scope breaks, or null.';

create or replace function recovery.scope_move_refusal(code_ text, o recovery.scope, n recovery.scope,
  out sqlstate text, out message text, out hint text, out detail jsonb)
language sql stable as $$
  select 'RC087', case code_ when 'unexpired' then format('Scope %s expires at %s, not now.', n.scope_id, n.expires_at)
                             else format('Scope %s ends now, and at no other time.', n.scope_id) end,
         'To end it earlier: recoup recovery scope revoke',
         jsonb_build_object('scope_id', n.scope_id, 'why', code_, 'from', o.status, 'to', n.status)
$$;
comment on function recovery.scope_move_refusal(text, recovery.scope, recovery.scope) is
'The refusal of a move that breaks a rule of recovery.scope_move_broken.';

create or replace function recovery.rule_tasks() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_ constant timestamptz := recoup.now();
  bad  record;
begin
  select n.task_id into bad from new_rows n
   where n.ended_by is distinct from recoup.acting_id() or not recovery.is_recent(n.ended_at, now_) limit 1;
  if found then
    raise exception using errcode = 'RC088',
      message = format('Task %s is ended now, by the acting person.', bad.task_id),
      hint = 'Use: recoup recovery tasks done ID', detail = jsonb_build_object('task_id', bad.task_id, 'now', now_);
  end if;
  return null;
end $$;
comment on function recovery.rule_tasks() is 'A task is ended now, by the acting person.';

create or replace function recovery.guard_leases() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'DELETE' and current_user = 'recoup_evaluator' and old.lease_until < recoup.now() then
    return old;
  end if;
  if tg_op = 'INSERT' and recoup.by_follower() then
    return new;
  end if;
  raise exception using errcode = 'RC012',
    message = 'recovery.lease follows from claims; it is not written by hand.',
    hint = 'Claim candidates; the evaluator removes a lease that has expired.',
    detail = jsonb_build_object('operation', tg_op, 'authority', current_user);
end $$;
comment on function recovery.guard_leases() is
'Leases come from claims, and go when they have expired, by the evaluator.';
call recoup.put_trigger('recovery.lease', 'a_guard_leases', 'before', 'insert or update or delete', 'row',
                        'recovery.guard_leases');
call recoup.put_trigger('recovery.lease', 'a_guard_truncate', 'before', 'truncate', 'statement',
                        'recoup.guard_truncate', 'recovery.lease');
