-- Making effects, reporting outcomes, ending candidates: in sets, each one call of one function, fenced by the token.

create or replace function recovery.report_outcomes(
  ids_ uuid[], tokens uuid[], outcomes text[], results jsonb[], errors text[],
  out reported uuid[], out statuses text[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  perform recoup.require_same_length('outcomes', cardinality(ids_), cardinality(tokens), cardinality(outcomes),
    coalesce(cardinality(results), cardinality(ids_)), coalesce(cardinality(errors), cardinality(ids_)));
  with made as (
    update recovery.candidate c
       set effect_made_at = now_, reported = g.outcome, result = g.result, error = g.error,
           updated_at = greatest(c.updated_at, now_)
      from (select g.id, g.token, g.outcome, results[g.place] as result,
                   case when g.outcome = 'succeeded' then null else coalesce(errors[g.place], 'failed') end as error
              from unnest(ids_, tokens, outcomes) with ordinality g (id, token, outcome, place)) g
     where c.candidate_id = any(array[g.id]) and c.token = g.token and c.status = 'executing'
       and c.lease_until >= now_ and num_nulls(c.effect_made_at) = 1
    returning c.candidate_id)
  select coalesce(array_agg(m.candidate_id), '{}') into reported from made m;
  statuses := array_fill('made'::text, array[cardinality(reported)]);
  if cardinality(reported) < cardinality(ids_) then
    select * into reported, statuses from recovery.late_outcomes(ids_, tokens, outcomes, errors, reported, statuses);
  end if;
end $$;
comment on function recovery.report_outcomes(uuid[], uuid[], text[], jsonb[], text[]) is
'The executor''s report on actions outside this database: made, reported before, or late (stored, and not applied).';

create or replace function recovery.late_outcomes(
  ids_ uuid[], tokens uuid[], outcomes text[], errors text[], inout reported uuid[], inout statuses text[])
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  -- Reported again, because the answer was lost: the first report counts. Otherwise it comes late.
  with others as materialized (
    select g.*, c.candidate_id is not null as known,
           c.token = g.token and c.effect_made_at is not null
             and (c.told is null or g.outcome is null or c.told = g.outcome) as again
      from unnest(ids_, tokens, outcomes, coalesce(errors, array_fill(null::text, array[cardinality(ids_)])))
             g (id, token, outcome, error)
      left join lateral (select c.candidate_id, c.token, c.effect_made_at, c.reported as told
                           from recovery.candidate c where c.candidate_id = g.id limit 1) c on true
     where g.id <> all(late_outcomes.reported)),
  stored as (
    insert into recoup.late_result (subject, unit_id, token, result)
    select 'recovery.candidate', o.id::text, o.token, jsonb_build_object('outcome', o.outcome, 'failure', o.error)
      from others o where o.known and o.again is not true)
  select late_outcomes.reported || coalesce(array_agg(o.id), '{}'),
         statuses || coalesce(array_agg(case when o.again then 'made' else 'late' end), '{}')
    into reported, statuses from others o where o.known;
  if cardinality(reported) < cardinality(ids_) then
    perform recoup.refuse_unknown('candidate', ids_, reported, 'RC082');
  end if;
end $$;
comment on function recovery.late_outcomes(uuid[], uuid[], text[], text[], uuid[], text[]) is
'Adds to what was reported what was reported before, and stores as late what comes late.';

create or replace function recovery.make_effects(ids_ uuid[], tokens uuid[],
  out candidates uuid[], out statuses text[])
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  now_    timestamptz;
  within_ constant jsonb := recovery.policy() -> 'outcome_within_hours';
  planned record;
begin
  perform recoup.require_same_length('effects', cardinality(ids_), cardinality(tokens));
  -- Someone may change a subject between our look and our change of it: then we look again.
  for turn in 1 .. 5 loop
    begin
      now_ := recoup.now();
      perform recovery.hold_keys(ids_);
      with held as materialized (
        select c.*, g.token as given
          from (select * from unnest(ids_, tokens) g (id, token) order by g.id) g
         cross join lateral (select c.* from recovery.candidate c where c.candidate_id = g.id limit 1
                                for no key update) c),
      asked as (
        select h.candidate_id, h.incident_id, h.action_name, h.action_type, h.parameters, h.subject_kind, h.decided_at,
               case when h.action_type in ('reconfigure', 'rollback')
                    then (select recovery.effect_record(c) from recovery.candidate c
                           where c.candidate_id = h.candidate_id) end as result,
               case when h.action_type = 'circuit_breaker' then recovery.breaker_named(h.parameters, m.source) end
                 as breaker,
               recovery.makes(h.action_type, h.subject_kind, h.parameters) as makes, m.subject_ref, case
                 when h.token is distinct from h.given then 'late'
                 when h.effect_made_at is not null then 'made'
                 when h.status <> 'executing' or h.lease_until < now_ then 'late'
                 when s.status = 'revoked' then 'SCOPE_REVOKED'
                 when recovery.makes(h.action_type, h.subject_kind, h.parameters) is null then 'OUTSIDE'
                 when h.action_type = 'rollback'
                      and (select recovery.conflicts(c) from recovery.candidate c
                            where c.candidate_id = h.candidate_id) then 'CONFLICT' end as answer
          from held h
         cross join lateral (select m.* from recovery.failure_match m
                              where m.failure_match_id = h.failure_match_id limit 1) m
          left join lateral (select s.status from recovery.scope s where s.scope_id = h.scope_id limit 1) s on true),
      standing as materialized (
        select s.* from recovery.standings(
          array(select a.makes from asked a
                 where a.answer is null and a.makes in ('error', 'intake', 'run', 'partition')),
          array(select a.subject_ref from asked a
                 where a.answer is null and a.makes in ('error', 'intake', 'run', 'partition'))) s),
      -- Actions skip and escalate of an error need it parked, too; skip of a partition, that it is terminal.
      skipped as materialized (
        select s.* from recovery.standings(
          array(select a.subject_kind from asked a
                 where a.answer is null and a.makes = 'nothing' and a.subject_kind in ('error', 'partition')),
          array(select a.subject_ref from asked a
                 where a.answer is null and a.makes = 'nothing' and a.subject_kind in ('error', 'partition'))) s),
      answered as (
        select a.*, coalesce(a.answer, case
                 when a.makes in ('error', 'intake', 'run', 'partition') and s.standing is distinct from 'failed'
                   then 'SUBJECT_CHANGED'
                 -- Somebody marked it, or it was requeued by itself, since its candidate was made.
                 when a.makes = 'partition' and a.decided_at is null
                      and partitions.waits_for_person(a.subject_ref::bigint) then 'SUBJECT_CHANGED'
                 when k.ref is not null and k.standing <> 'failed' then 'SUBJECT_CHANGED'
                 when a.action_type = 'escalate' and a.subject_kind = 'error'
                      and recovery.is_at_highest_tier(a.subject_ref) then 'HIGHEST_TIER' end) as answer_
          from asked a
          left join standing s on s.kind = a.makes and s.ref = a.subject_ref
          left join skipped k on a.makes = 'nothing' and k.kind = a.subject_kind and k.ref = a.subject_ref),
      -- The first one of a breaker opens it, others join.
      broken as materialized (
        select b.*, recovery.breaker_state(b.breaker) as before
          from (select a.breaker, min(a.candidate_id::text)::uuid as opener from answered a
                 where a.answer_ is null and a.breaker is not null group by 1) b),
      joined as (
        -- Deliveries and tasks of one incident, action and owner are one; new ones get their id here.
        select k.makes, k.key, coalesce(
                 case k.makes when 'delivery' then (select d.delivery_id from recoup.delivery d
                                                     where d.dedup_key = k.key and d.status = 'queued' limit 1)
                              else (select t.task_id from recovery.task t
                                     where t.incident_id = k.incident_id and t.action_name = k.action_name
                                       and t.owner = k.owner and t.status = 'open' limit 1) end,
                 recoup.new_id()) as unit
          from (select distinct a.makes, a.incident_id, a.action_name, a.parameters ->> 'owner' as owner,
                       case a.makes when 'delivery' then recovery.delivery_key(a.incident_id, a.action_name,
                         a.parameters)
                                    else format('%s/%s/%s', a.incident_id, a.action_name, a.parameters ->> 'owner')
                       end as key
                  from answered a where a.answer_ is null and a.makes in ('delivery', 'task')) k)
      select array_agg(a.candidate_id) filter (where a.answer_ is null) as ids,
             array_agg(a.makes) filter (where a.answer_ is null) as makes,
             array_agg(case when a.makes in ('error', 'partition') then a.subject_ref
                            when a.makes in ('intake', 'run') then recoup.new_id()::text
                            when a.makes in ('delivery', 'task') then j.unit::text
                            when a.makes = 'breaker' then a.breaker end)
               filter (where a.answer_ is null) as keys,
             array_agg(case a.makes
               when 'task' then now_ + make_interval(hours => (a.parameters ->> 'due_hours')::integer
                                                              + (within_ ->> 'task')::integer)
               when 'nothing' then null
               else now_ + make_interval(hours => (within_ ->> a.makes)::integer) end)
               filter (where a.answer_ is null) as deadlines,
             array_agg(case when b.breaker is null then a.result else jsonb_build_object('undo', recovery.change_record(
                         'circuit_breaker', b.breaker,
                         case when a.candidate_id = b.opener or b.before ->> 'status' = 'open' then b.before
                              else jsonb_build_object('status', 'open', 'opened_at', now_) end,
                         case when b.before ->> 'status' = 'open' then b.before
                              else jsonb_build_object('status', 'open', 'opened_at', now_) end)) end)
               filter (where a.answer_ is null) as results,
             coalesce(array_agg(a.candidate_id) filter (where a.answer_ is not null), '{}') as others,
             coalesce(array_agg(a.answer_) filter (where a.answer_ is not null), '{}') as answers
        into planned
        from answered a
        left join broken b on b.breaker = a.breaker
        left join joined j on j.makes = a.makes and j.key = case a.makes
          when 'delivery' then recovery.delivery_key(a.incident_id, a.action_name, a.parameters)
          when 'task' then format('%s/%s/%s', a.incident_id, a.action_name, a.parameters ->> 'owner') end;
      if planned.ids is not null then
        update recovery.candidate c
           set effect_made_at = now_,
               awaits = case when g.makes <> 'nothing' then jsonb_build_object('kind', g.makes, 'key', g.key,
                          'since_seq', nextval('recoup.event_seq')) end,
               outcome_by = g.deadline, reported = case when g.makes = 'nothing' then 'succeeded' end,
               result = g.result, updated_at = greatest(c.updated_at, now_)
          from unnest(planned.ids, planned.makes, planned.keys, planned.deadlines, planned.results)
                 g (id, makes, key, deadline, result)
         where c.candidate_id = g.id;
      end if;
      candidates := coalesce(planned.ids, '{}') || planned.others;
      statuses := array_fill('made'::text, array[coalesce(cardinality(planned.ids), 0)]) || planned.answers;
      exit;
    exception
      when sqlstate 'RC086' or sqlstate 'RC089' or serialization_failure or unique_violation then
        if turn = 5 then
          raise;
        end if;
    end;
  end loop;
  if cardinality(candidates) < cardinality(ids_) then
    perform recoup.refuse_unknown('candidate', ids_, candidates, 'RC082');
  end if;
  -- What came late is stored.
  insert into recoup.late_result (subject, unit_id, token, result)
  select 'recovery.candidate', g.id::text, g.token, jsonb_build_object('outcome', null, 'failure', 'no effect was made')
    from unnest(ids_, tokens) g (id, token)
   where g.id = any(array(select u.id from unnest(candidates, statuses) u (id, status) where u.status = 'late'));
end $$;
comment on function recovery.make_effects(uuid[], uuid[]) is
'Makes the effects of claimed candidates in this database. Of each: made, late, or why not.';

create or replace function recovery.end_candidates(ids_ uuid[], targets text[], errors text[], teach boolean[],
  overriders text[], out ended uuid[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  with done as (
    update recovery.candidate c
       set status = g.target, finished_at = now_, error = coalesce(g.error, c.error), teaches = c.teaches and g.teaches,
           overridden_by = coalesce(c.overridden_by, g.overrider), updated_at = greatest(c.updated_at, now_)
      from unnest(ids_, targets, errors, teach, overriders) g (id, target, error, teaches, overrider)
     where c.candidate_id = any(array[g.id]) and c.status = 'executing'
    returning c.candidate_id)
  select coalesce(array_agg(d.candidate_id), '{}') into ended from done d;
end $$;
comment on function recovery.end_candidates(uuid[], text[], text[], boolean[], text[]) is
'Ends executing candidates: succeeded, failed or rolled back. Returns those that had not ended yet.';

create or replace function recovery.end_reported(ids_ uuid[], out ended uuid[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  with done as (
    update recovery.candidate c
       set status = c.reported, finished_at = now_, updated_at = greatest(c.updated_at, now_),
           -- Of a change whose subject is outside nobody here saw what came of it.
           teaches = c.teaches and c.action_type not in ('reconfigure', 'rollback')
     where c.candidate_id = any(ids_) and c.status = 'executing' and num_nulls(c.reported) = 0
    returning c.candidate_id)
  select coalesce(array_agg(d.candidate_id), '{}') into ended from done d;
end $$;
comment on function recovery.end_reported(uuid[]) is
'Ends candidates as their executor reported: they await nothing.';

create or replace function recovery.finish_candidates(
  ids_ uuid[], tokens uuid[], outcomes text[], results jsonb[], errors text[],
  out finished uuid[], out statuses text[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  perform recoup.require_same_length('outcomes', cardinality(ids_), cardinality(tokens), cardinality(outcomes),
    coalesce(cardinality(results), cardinality(ids_)), coalesce(cardinality(errors), cardinality(ids_)));
  -- One move for the effect and its end: a second version of the row would cost as much as the first.
  with done as (
    update recovery.candidate c
       set status = g.outcome, reported = g.outcome, effect_made_at = now_, finished_at = now_, result = g.result,
           error = g.error, updated_at = greatest(c.updated_at, now_)
      from (select g.id, g.token, g.outcome, results[g.place] as result,
                   case when g.outcome = 'succeeded' then null else coalesce(errors[g.place], 'failed') end as error
              from unnest(ids_, tokens, outcomes) with ordinality g (id, token, outcome, place)) g
     where c.candidate_id = any(array[g.id]) and c.token = g.token and c.status = 'executing'
       and c.lease_until >= now_ and num_nulls(c.effect_made_at) = 1
    returning c.candidate_id, c.status)
  select coalesce(array_agg(d.candidate_id), '{}'), coalesce(array_agg(d.status), '{}') into finished, statuses
    from done d;
  if cardinality(finished) < cardinality(ids_) then
    select * into finished, statuses from recovery.late_outcomes(ids_, tokens, outcomes, errors, finished, statuses);
  end if;
end $$;
comment on function recovery.finish_candidates(uuid[], uuid[], text[], jsonb[], text[]) is
'Ends candidates whose action is outside of this database and awaits nothing, as it reported; late ones are stored.';

create or replace function recovery.turn(
  ids_ uuid[], tokens uuid[], outcomes text[], results jsonb[], errors text[],
  among text[], most integer, worker_ text, lease interval,
  out finished uuid[], out statuses text[],
  out ids uuid[], out matches uuid[], out actions text[], out types text[], out kinds text[], out given jsonb[],
  out keys text[], out timeouts integer[], out token_ uuid, out until_ timestamptz)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  -- Each step under its own authority, for a login that has both.
  if cardinality(ids_) > 0 then
    perform set_config('role', 'recoup_evaluator', true);
    select f.finished, f.statuses into finished, statuses
      from recovery.finish_candidates(ids_, tokens, outcomes, results, errors) f;
    perform set_config('role', 'recoup_claim_worker', true);
  end if;
  if most > 0 then
    select c.ids, c.matches, c.actions, c.types, c.kinds, c.given, c.keys, c.timeouts, c.token_, c.until_
      into ids, matches, actions, types, kinds, given, keys, timeouts, token_, until_
      from recovery.claim_candidates(among, most, worker_, lease) c;
  end if;
end $$;
comment on function recovery.turn(
  uuid[], uuid[], text[], jsonb[], text[], text[], integer, text, interval) is
'Ends candidates as reported and claims the next ones, in one call.';

create or replace function recovery.expire_candidates(most integer, only_ uuid default null) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  now_    constant timestamptz := recoup.now();
  leases  uuid[];
  expired uuid[];
  ended   uuid[];
begin
  if not recovery.leases_expire() then
    return 0;
  end if;
  leases := array(select l.token from recovery.lease l
                   where l.lease_until < now_ and (only_ is null or l.token = only_)
                   order by l.lease_until limit greatest(most / 100, 1));
  if leases = '{}' then
    return 0;
  end if;
  expired := array(
    select c.candidate_id
      from (select u.id from recovery.lease l cross join unnest(l.candidates) u (id)
             where l.token = any(leases) order by u.id) u
     cross join lateral (select c.* from recovery.candidate c where c.candidate_id = u.id limit 1 for no key update) c
     where c.status = 'executing' and c.token = any(leases) and c.effect_made_at is null and c.lease_until < now_);
  ended := recovery.end_candidates(expired, array_fill('failed'::text, array[cardinality(expired)]),
    array_fill('CRASHED'::text, array[cardinality(expired)]), array_fill(true, array[cardinality(expired)]),
    array_fill(null::text, array[cardinality(expired)]));
  delete from recovery.lease l where l.token = any(leases);
  return cardinality(leases);
end $$;
comment on function recovery.expire_candidates(integer, uuid) is
'Ends as failed (CRASHED) the candidates whose lease expired before their effect, and removes their leases.';
