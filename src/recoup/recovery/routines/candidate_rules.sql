-- Rules of candidates that a lifecycle alone cannot express: gates, deadlines, what is never automatic.

create or replace function recovery.is_recent(told timestamptz, now_ timestamptz) returns boolean
language sql stable as $$ select told between now_ - interval '1 minute' and now_ + interval '1 second' $$;
comment on function recovery.is_recent(timestamptz, timestamptz) is 'Whether a time that a statement writes is now.';

-- Candidates: the conditions of a move, and their messages under the same codes ---------------------------------------

create or replace function recovery.candidate_move_broken(
  o recovery.candidate, n recovery.candidate, now_ timestamptz, acting text, policy jsonb) returns text
language sql stable as $$
  -- STABLE, as the sums in it are: otherwise it is not inlined.
  select case
    -- What was decided on, or started, is what is executed and what its outcome is of.
    when not (o.status = 'pending' and n.status = 'pending')
         and (n.action_name, n.action_type, n.parameters, n.cost, n.timeout_s, n.is_automated, n.requires_approval,
              n.held_for_review, n.scope_id, n.execute_by)
             is distinct from (o.action_name, o.action_type, o.parameters, o.cost, o.timeout_s, o.is_automated,
                               o.requires_approval, o.held_for_review, o.scope_id, o.execute_by) then 'action_kept'
    -- Started. The scope is asked, and spent, by recovery.settle_candidates.
    when n.status = 'executing' and o.status <> 'executing' then case
      when policy -> 'paused' ?| array['*', 'recovery.candidate', n.action_name] then 'paused'
      when policy -> 'actions' -> n.action_name is null then 'action_retired'
      when n.execute_by <= now_ then 'execute_overdue'
      when n.lease_until <= now_ or n.lease_until > now_ + interval '24 hours' then 'lease'
      when not recovery.is_recent(n.executed_at, now_) then 'time'
      when o.status = 'pending' and not (o.is_ready
             and o.confidence >= (policy ->> 'confidence_floor')::float8
             and o.evidence >= (policy ->> 'evidence_min')::integer
             and (policy -> 'actions' -> n.action_name ->> 'is_automated')::boolean
             and not (policy -> 'actions' -> n.action_name ->> 'requires_approval')::boolean)
        then 'needs_approval' end
    when o.status = 'executing' and n.status = 'executing' then case
      when acting = 'recoup_executor' then case
        when o.effect_made_at is not null or n.effect_made_at is null then 'effect_once'
        when o.lease_until < now_ then 'lease_expired'
        when not recovery.is_recent(n.effect_made_at, now_) then 'time'
        when not (n.automatic or n.decided_at is not null) then 'needs_approval'
        when num_nulls(n.reported, n.awaits) <> 1 then 'outcome_missing'
        when n.awaits ->> 'kind'
             is distinct from nullif(recovery.makes(n.action_type, n.subject_kind, n.parameters), 'nothing')
          then 'awaits_other'
        when recovery.makes(n.action_type, n.subject_kind, n.parameters) = 'nothing' and n.reported <> 'succeeded'
          then 'outcome_missing'
        -- Nothing is awaited for ever: a task that is due after 9,999 hours is the longest.
        when n.outcome_by <= now_ or n.outcome_by > now_ + interval '1000 days' then 'time' end
      when n.overridden_by is not distinct from o.overridden_by
           or (n.result, n.error, n.teaches, n.effect_made_at, n.reported)
              is distinct from (o.result, o.error, o.teaches, o.effect_made_at, o.reported) then 'override_only' end
    -- Ended. The move that ends it may also report its effect, if that is outside of this database and awaits nothing.
    when o.status = 'executing' then case
      when not recovery.is_recent(n.finished_at, now_) then 'time'
      when (n.effect_made_at, n.reported) is distinct from (o.effect_made_at, o.reported)
           and (o.effect_made_at is not null or n.effect_made_at is distinct from n.finished_at or n.reported is null
                or recovery.makes(n.action_type, n.subject_kind, n.parameters) is not null) then 'effect_once'
      when o.effect_made_at is null and n.effect_made_at is not null and o.lease_until < now_ then 'lease_expired'
      when o.effect_made_at is null and n.effect_made_at is not null
           and not (n.automatic or n.decided_at is not null) then 'needs_approval'
      when n.reported is not null and n.status <> n.reported then 'reported_otherwise'
      when n.status <> 'failed' and n.effect_made_at is null then 'no_effect'
      when n.status = 'failed' and n.error is null then 'no_error'
      when n.error = 'CRASHED' and (n.effect_made_at is not null or o.lease_until >= now_) then 'not_crashed'
      when n.error = 'OUTCOME_OVERDUE' and coalesce(n.outcome_by > now_, true) then 'not_overdue' end
    when n.status = 'skipped' then case
      when not recovery.is_recent(n.finished_at, now_) then 'time'
      when n.skip_reason = 'DECISION_OVERDUE' and (o.status <> 'pending' or n.decide_by > now_) then 'not_overdue'
      when n.skip_reason = 'EXECUTE_OVERDUE' and coalesce(n.execute_by > now_, true) then 'not_overdue' end
    -- Decided by a person.
    when n.status in ('approved', 'rejected') then case
      when recoup.acting_kind() <> 'human' or n.decided_by <> recoup.acting_id() then 'decided_by'
      when n.decided_by = n.proposed_by then 'same_person'
      when not recovery.is_recent(n.decided_at, now_) then 'time'
      when o.action_name is null then 'no_action'
      when n.status = 'rejected' and not recovery.is_recent(n.finished_at, now_) then 'time'
      when n.decide_by <= now_ then 'decide_overdue'
      when n.status = 'approved' and (n.execute_by <= now_ or n.scope_id is null) then 'no_scope' end
    -- Still pending: confidence by the matcher, action and scope by the evaluator.
    when acting = 'recoup_matcher' then case
      when n.confidence_of is distinct from n.action_name then 'confidence_of' end
    else case
      when n.action_name is distinct from o.action_name and n.confidence_of is not null then 'confidence_kept'
      when n.confidence_of is not null and n.confidence_of is distinct from o.confidence_of then 'confidence_kept'
      when o.held_for_review and not n.held_for_review then 'held_kept'
      -- Only its scope: the action stays as it was selected, whatever the policy says since. Its start asks both.
      when (n.action_name, n.action_type, n.parameters, n.cost, n.timeout_s, n.is_automated, n.requires_approval)
           is not distinct from (o.action_name, o.action_type, o.parameters, o.cost, o.timeout_s, o.is_automated,
                                 o.requires_approval)
        then case when (n.scope_id is null) <> (n.execute_by is null) then 'no_scope' end
      when policy -> 'actions' -> n.action_name is null then 'action_unknown'
      when not recovery.applicable(n.action_type, n.subject_kind) then 'not_applicable'
      when recovery.lacks(n.action_type, n.subject_kind, n.parameters) is not null then 'not_given'
      when n.action_type = 'rollback' and recovery.undo_refused(n.parameters, n.failure_match_id, policy) is not null
        then recovery.undo_refused(n.parameters, n.failure_match_id, policy)
      when (n.action_type, n.is_automated, n.requires_approval)
           is distinct from (policy -> 'actions' -> n.action_name ->> 'type',
                             (policy -> 'actions' -> n.action_name ->> 'is_automated')::boolean,
                             (policy -> 'actions' -> n.action_name ->> 'requires_approval')::boolean)
           or n.cost < (policy -> 'actions' -> n.action_name ->> 'cost')::integer then 'action_differs'
      when (n.scope_id is null) <> (n.execute_by is null) then 'no_scope' end end
$$;
comment on function recovery.candidate_move_broken(
  recovery.candidate, recovery.candidate, timestamptz, text, jsonb) is
'The rule that a move of a candidate breaks (recovery.candidate_move_rules), or null.';

create or replace function recovery.candidate_move_rules()
returns table (code text, sqlstate text, message text, hint text)
language sql immutable as $$
  -- %1$s: its action; %2$s: its execute_by; %3$s: its decide_by.
  values
    ('paused', 'RC032', 'its action %1$s is paused.', 'Resume it first: recoup resume action %1$s --reason …'),
    ('action_retired', 'RC080', 'the active policy has no action %1$s.',
      'It is skipped, and its match evaluated again.'),
    ('execute_overdue', 'RC080', 'it had to be started before %2$s.', 'It is skipped, and its match evaluated again.'),
    ('lease', 'RC080', 'its lease ends after it began, and 24 hours later at most.', null),
    ('time', 'RC080', 'it has a time that is not now.', 'Take times from recoup.now().'),
    ('needs_approval', 'RC081', '%1$s needs an approval: it is not automatic for this subject, or its confidence, its'
     ' evidence or the policy do not allow it.', 'Have a person decide: recoup recovery approve ID'),
    ('effect_once', 'RC082', 'its effect is made once, and reported with it.', null),
    ('lease_expired', 'RC082', 'its lease expired before its effect was made.', 'The result is stored as late.'),
    ('outcome_missing', 'RC082', 'an effect tells its outcome, or what it awaits.', null),
    ('awaits_other', 'RC082', 'the effect of %1$s awaits something else.', 'Use recovery.make_effects.'),
    ('override_only', 'RC082', 'while it is executed, only overridden_by is written, once.', null),
    ('reported_otherwise', 'RC082', 'its executor reported another outcome.', null),
    ('no_effect', 'RC082', 'its effect was not made: it can only have failed.', null),
    ('no_error', 'RC082', 'a failed candidate says why, in error.', null),
    ('not_crashed', 'RC082', 'its lease has not expired without an effect.', null),
    ('not_overdue', 'RC082', 'its deadline has not passed.', null),
    ('decided_by', 'RC083', 'a person decides, under their own name.', 'Set the actor: kind human, and a name.'),
    ('same_person', 'RC083', 'another person than the one who proposed it approves it.',
      'Ask somebody else to decide.'),
    ('no_action', 'RC083', 'no action is selected yet.', 'Wait for its evaluation.'),
    ('decide_overdue', 'RC083', 'it had to be decided before %3$s.',
      'Its match is unrecovered; propose an action again.'),
    ('no_scope', 'RC083', 'it has no active scope.', 'Open one: recoup recovery scope open INCIDENT --action %1$s'),
    ('action_kept', 'RC084', 'its action, parameters, cost and scope are selected while it is pending, and stay as they'
     ' are afterwards.', 'Propose another action: recoup recovery propose MATCH --action NAME'),
    ('confidence_of', 'RC084', 'a confidence is of the selected action.', null),
    ('confidence_kept', 'RC084', 'another action has no confidence yet.', 'Set confidence_of to null.'),
    ('held_kept', 'RC084', 'it is held for a person to decide.', 'Have a person decide: recoup recovery approve ID'),
    ('action_unknown', 'RC084', 'the active policy has no action %1$s.', 'List them: recoup recovery actions'),
    ('not_applicable', 'RC084', '%1$s cannot be executed for this kind of subject.',
     'Choose another: recoup recovery actions'),
    ('not_given', 'RC084', '%1$s is not given what it needs for this kind of subject.',
     'Propose it with what it needs: recoup recovery propose MATCH --action %1$s --parameters …'),
    ('undo_unknown', 'RC098', 'there is no candidate that it could undo.', 'List them: recoup recovery list'),
    ('undo_not_done', 'RC098', 'what it undoes has not been executed to its end.', 'Wait for its outcome.'),
    ('undo_undeclared', 'RC098', 'what it undoes cannot be undone: its action declares no undo, or undid nothing.',
     'Propose another action instead: recoup recovery propose MATCH --action NAME'),
    ('undo_elsewhere', 'RC098', 'what it undoes is of another match.', 'Use: recoup recovery rollback CANDIDATE'),
    ('action_differs', 'RC084', 'type, gates or cost of %1$s are not those of the active policy.', null)
$$;
comment on function recovery.candidate_move_rules() is
'The message and hint for each rule of recovery.candidate_move_broken.';

create or replace function recovery.candidate_move_refusal(code_ text, o recovery.candidate, n recovery.candidate,
  out sqlstate text, out message text, out hint text, out detail jsonb)
language sql stable as $$
  select r.sqlstate,
         format('Candidate %s: ', n.candidate_id)
           || format(r.message, coalesce(n.action_name, 'none'), n.execute_by, n.decide_by),
         format(coalesce(r.hint, 'Use the functions of recovery: recoup recovery --help.'),
                coalesce(n.action_name, 'none')),
         jsonb_build_object('candidate_id', n.candidate_id, 'why', code_, 'from', o.status, 'to', n.status,
                            'action', n.action_name)
    from recovery.candidate_move_rules() r where r.code = code_
$$;
comment on function recovery.candidate_move_refusal(text, recovery.candidate, recovery.candidate) is
'The refusal of a move that breaks a rule of recovery.candidate_move_broken.';

create or replace function recovery.rule_candidate_births() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
as $$
declare
  now_   constant timestamptz := recoup.now();
  refs   text[];
  bad    record;
begin
  -- A transaction that ends one of the matches at this moment has ended it before we look, or waits and sees the
  -- candidate.
  perform recovery.hold_matches(array(select distinct n.failure_match_id from new_rows n));
  select n.candidate_id, m.status, m.failure_match_id is null as missing,
         (m.incident_id, m.error_signature, m.subject_kind)
           is distinct from (n.incident_id, n.error_signature, n.subject_kind) as differs into bad
    from new_rows n
    left join lateral (select m.* from recovery.failure_match m where m.failure_match_id = n.failure_match_id limit 1) m
           on true
   where m.ended_at is not null or m.failure_match_id is null
      or (m.incident_id, m.error_signature, m.subject_kind)
         is distinct from (n.incident_id, n.error_signature, n.subject_kind)
      or not recovery.is_recent(n.created_at, now_) or n.decide_by <= now_
      or n.decide_by > now_ + interval '366 days' limit 1;
  if found then
    raise exception using errcode = 'RC085',
      message = case when bad.missing then format('Candidate %s has no match.', bad.candidate_id)
                     when bad.status in ('recovered', 'accepted', 'unrecovered')
                       then format('The match of candidate %s is %s: it has ended.', bad.candidate_id, bad.status)
                     when bad.differs then format('Candidate %s is not of its match''s incident.', bad.candidate_id)
                     else format('Candidate %s has a time that is not now.', bad.candidate_id) end,
      hint = 'A proposal on an ended match opens one that follows it: recoup recovery propose',
      detail = jsonb_build_object('candidate_id', bad.candidate_id, 'match', bad.status, 'now', now_);
  end if;
  -- The archiver waits for us, or we see that the error is gone.
  refs := array(select m.subject_ref from new_rows n
                 cross join lateral (select m.subject_ref from recovery.failure_match m
                                      where m.failure_match_id = n.failure_match_id limit 1) m
                 where n.subject_kind = 'error');
  if refs <> '{}' then
    perform recovery.hold_errors(refs);
  end if;
  return null;
end $$;
comment on function recovery.rule_candidate_births() is
'A candidate is created now, for an open match, whose subject is there and is not archived meanwhile.';

create or replace function recovery.hold_matches(ids uuid[]) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
as $$
begin
  -- As the owner: the matcher has no right to change matches. In the order in which everybody locks several.
  perform from (select i.id from unnest(ids) i (id) order by i.id) i
    cross join lateral (select from recovery.failure_match m where m.failure_match_id = i.id limit 1 for share) m;
end $$;
revoke execute on function recovery.hold_matches(uuid[]) from public;
grant execute on function recovery.hold_matches(uuid[]) to recoup_matcher;
comment on function recovery.hold_matches(uuid[]) is
'Keeps matches from ending until the transaction ends, so that none ends with an open candidate.';

create or replace function recovery.hold_errors(refs text[]) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  heads record;
  held  bigint;
begin
  -- As the owner: the matcher has no right to lock errors. KEY SHARE: only a deletion waits for it.
  select array_agg(h.error_table) as tables, array_agg(h.error_id) as ids, count(*) as n into heads
    from recovery.error_heads(refs) h where h.archived_at is null;
  select count(*) into held
    from unnest(heads.tables, heads.ids) g (error_table, error_id)
   cross join lateral (select from recoup.error e
                        where e.error_table = g.error_table and e.error_id = g.error_id and e.archived_at is null
                        limit 1 for key share) e;
  if coalesce(held, 0) < cardinality(array(select distinct r from unnest(refs) r)) then
    raise exception using errcode = 'RC086',
      message = 'An error is closed or archived: there is nothing to recover.',
      hint = 'Its match is evaluated again, and ends.',
      detail = jsonb_build_object('refs', refs[:100], 'held', held);
  end if;
end $$;
revoke execute on function recovery.hold_errors(text[]) from public;
grant execute on function recovery.hold_errors(text[]) to recoup_matcher;
comment on function recovery.hold_errors(text[]) is
'Keeps the archiver from errors until the transaction ends; refused if one is gone.';
