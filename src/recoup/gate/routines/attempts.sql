-- Attempts in sets: opened, claimed, ended. Each is one call of one function, whose plans are kept.
--
-- One plan is right for each of these statements, whatever the statistics are: an index lookup per row. By itself the
-- planner estimates "is null" of a lookup as rare, and sorts a whole backlog to find the few that remain; or it keeps a
-- plan from the day when the table was small. So scans are disabled here, for a claim also sorting, and the plan is
-- kept. (What is disabled here is disabled for the triggers, too.) Results are one row of arrays: sending a thousand
-- rows of five columns to the client would cost as much as selecting them.

create or replace function cl.open_attempts(wanted uuid[], worker_ text, lease interval,
  out attempts uuid[], out intakes uuid[], out numbers integer[], out tokens uuid[], out lease_until timestamptz)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set jit = off
as $$
declare
  now_    timestamptz;
  batches text[];
  again   boolean;
  ended   text;  -- an intake that waits for no attempt, and its status
begin
  -- In id order, so that two sets with common intakes wait for each other instead of deadlocking.
  select array_agg(i.intake_id), array_agg(i.batch_id), bool_or(i.status <> 'PENDING'),
         min(i.intake_id || ' is ' || i.status) filter (where i.status in ('AUTHORIZED', 'REENTER_SUCCEEDED'))
    into intakes, batches, again, ended from (
    select i.intake_id, i.batch_id, i.status from cl.gate_zero_intake i
     where i.intake_id = any(wanted) order by i.intake_id for no key update) i;
  if cardinality(intakes) is distinct from cardinality(wanted) then  -- or one is asked for twice
    perform recoup.refuse_unknown('intake', wanted, coalesce(intakes, '{}'), 'RC057');
  end if;
  if ended is not null then  -- the unique index would report that it is being verified
    raise exception using errcode = 'RC025',
      message = format('Intake %s and not waiting for an attempt.', ended),
      hint = 'Its history: recoup gate history ' || left(ended, 36),
      detail = jsonb_build_object('intake_id', left(ended, 36), 'intake_status', substr(ended, 41));
  end if;
  if again then
    -- After the intakes, and before an attempt is written: a claim locks the recovery only.
    perform from cl.gate_zero_recovery r where r.intake_id = any(intakes) order by r.intake_id for no key update;
    select array_agg(coalesce(r.attempt_count, 0) + 1 order by p.place) into numbers
      from unnest(intakes) with ordinality p (intake_id, place)
      left join lateral (select r.attempt_count from cl.gate_zero_recovery r
                          where r.intake_id = p.intake_id limit 1) r on true;
  end if;
  now_ := recoup.now();
  lease_until := now_ + coalesce(lease, cl.gate_zero_lease());
  -- They are locked: the unique index refuses a second open attempt.
  with opened as (
    insert into cl.gate_zero_attempt as o (intake_id, batch_id, attempt_number, worker, opened_at, lease_until,
                                           policy_version)
    select p.intake_id, p.batch_id, coalesce(p.place, 1), worker_, now_, open_attempts.lease_until,
           (select max(version) from recoup.policy)
      from unnest(intakes, batches, numbers) p (intake_id, batch_id, place)
    returning o.attempt_id, o.intake_id, o.attempt_number, o.token)
  select array_agg(o.attempt_id), array_agg(o.intake_id), array_agg(o.attempt_number), array_agg(o.token)
    into attempts, intakes, numbers, tokens from opened o;
end $$;
comment on function cl.open_attempts(uuid[], text, interval) is
'Opens the next attempt of each intake, all or none. Refuses unknown intakes.';

create or replace function cl.finish_attempts(wanted uuid[], with_tokens uuid[], reasons text[], payloads text[],
  out attempts uuid[], out intakes uuid[], out statuses text[], out reentered uuid[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set jit = off
as $$
declare
  now_    timestamptz;
  known   uuid[];
  retried uuid[];
begin
  select coalesce(array_agg(a.attempt_id), '{}'), array_agg(a.intake_id) filter (where a.attempt_number > 1)
    into known, retried
    from (select a.attempt_id, a.intake_id, a.attempt_number from cl.gate_zero_attempt a
           where a.attempt_id = any(wanted) order by a.intake_id) a
   cross join lateral (select from cl.gate_zero_intake i
                        where i.intake_id = a.intake_id limit 1 for no key update) i;
  if cardinality(known) is distinct from cardinality(wanted)
     or cardinality(with_tokens) is distinct from cardinality(wanted)
     or cardinality(reasons) is distinct from cardinality(wanted)  -- a missing reason would mean passed
     or (payloads is not null and cardinality(payloads) <> cardinality(wanted))
     or array_position(with_tokens, null) is not null then
    perform recoup.refuse_unknown('attempt', wanted, coalesce(known, '{}'), 'RC058');
    raise exception using errcode = 'RC039',
      message = format('%s attempts, %s tokens and %s reasons do not fit together.', coalesce(cardinality(wanted), 0),
                       coalesce(cardinality(with_tokens), 0), coalesce(cardinality(reasons), 0)),
      hint = 'Give each attempt once, and arrays of one length: a token each, and a reason or null.',
      detail = jsonb_build_object('attempts', cardinality(wanted), 'tokens', cardinality(with_tokens),
                                  'reasons', cardinality(reasons));
  end if;
  if retried is not null then
    -- Before the attempts are updated: a claim that read too early may hold the recovery, and would wait for us.
    perform from cl.gate_zero_recovery r where r.intake_id = any(retried) order by r.intake_id for no key update;
  end if;
  now_ := recoup.now();
  -- Passed and failed alike, in one statement. Fenced by token and lease: the result of a worker whose lease has
  -- expired is stored and not applied.
  with applied as (
    update cl.gate_zero_attempt a
       set status = case when g.reason_code is null then 'passed' else 'failed' end,
           reason_code = g.reason_code,
           payload_ref = g.payload_ref,
           finished_at = greatest(now_, a.opened_at + interval '1 microsecond'),
           ended_with = g.token,
           reentered_as = case when g.reason_code is null and a.attempt_number > 1 then recoup.new_id() end
      from unnest(wanted, with_tokens, reasons, payloads) g (attempt_id, token, reason_code, payload_ref)
     where a.attempt_id = g.attempt_id and a.token = g.token and a.status || '' = 'open' and a.lease_until > now_
    returning a.attempt_id, a.intake_id, a.status, a.reentered_as)
  select coalesce(array_agg(p.attempt_id), '{}'), coalesce(array_agg(p.intake_id), '{}'),
         coalesce(array_agg(p.status), '{}'), coalesce(array_agg(p.reentered_as), '{}')
    into attempts, intakes, statuses, reentered from applied p;

  if cardinality(attempts) < cardinality(wanted) then
    -- Reported again, because the answer was lost: the same answer. Otherwise it is late.
    with others as materialized (
      select g.attempt_id, g.token, g.reason_code, g.payload_ref, a.intake_id, a.status, a.reentered_as,
             a.token = g.token and a.reason_code is not distinct from g.reason_code
             and a.status = case when g.reason_code is null then 'passed' else 'failed' end as is_again
        from unnest(wanted, with_tokens, reasons, payloads) g (attempt_id, token, reason_code, payload_ref)
        join cl.gate_zero_attempt a on a.attempt_id = g.attempt_id
       where g.attempt_id <> all(attempts)),
    stored as (
      insert into recoup.late_result (subject, unit_id, token, result)
      select 'cl.gate_zero_attempt', o.attempt_id, o.token,
             jsonb_build_object('status', case when o.reason_code is null then 'passed' else 'failed' end,
                                'reason_code', o.reason_code, 'payload_ref', o.payload_ref)
        from others o where not o.is_again)
    select attempts || coalesce(array_agg(o.attempt_id), '{}'),
           intakes || coalesce(array_agg(case when o.is_again then o.intake_id end), '{}'),
           statuses || coalesce(array_agg(case when o.is_again then o.status else 'late' end), '{}'),
           reentered || coalesce(array_agg(case when o.is_again then o.reentered_as end), '{}')
      into attempts, intakes, statuses, reentered
      from others o;
  end if;
end $$;
comment on function cl.finish_attempts(uuid[], uuid[], text[], text[]) is
'Ends attempts, passed (no reason) and failed alike. Late results are stored, and come back as late.';

-- Claims: select and lock intakes that are due, and open their attempts. Rows that another worker holds are skipped and
-- do not count against the limit. An attempt that it opened between our read and our lock is caught by the unique index
-- on open attempts; one that it opened and ended meanwhile, by the lock: the recovery has changed.

create or replace function cl.open_picked(picked uuid[], batches text[], places integer[], worker_ text,
  now_ timestamptz, until_ timestamptz,
  out attempts uuid[], out intakes uuid[], out numbers integer[], out tokens uuid[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set jit = off
as $$
declare
  in_force constant integer := (select max(version) from recoup.policy);
begin
  with opened as (
    insert into cl.gate_zero_attempt as o (intake_id, batch_id, attempt_number, worker, opened_at, lease_until,
                                           policy_version)
    select p.intake_id, p.batch_id, p.place, worker_, now_, until_, in_force
      from unnest(picked, batches, places) p (intake_id, batch_id, place)
    returning o.attempt_id, o.intake_id, o.attempt_number, o.token)
  select array_agg(o.attempt_id), array_agg(o.intake_id), array_agg(o.attempt_number), array_agg(o.token)
    into attempts, intakes, numbers, tokens from opened o;
exception when unique_violation then
  -- Another worker opened one of them between our read and our lock. This form skips it. It writes each row twice to
  -- the WAL, so it is used only here.
  with opened as (
    insert into cl.gate_zero_attempt as o (intake_id, batch_id, attempt_number, worker, opened_at, lease_until,
                                           policy_version)
    select p.intake_id, p.batch_id, p.place, worker_, now_, until_, in_force
      from unnest(picked, batches, places) p (intake_id, batch_id, place)
    on conflict (intake_id) where status = 'open' do nothing
    returning o.attempt_id, o.intake_id, o.attempt_number, o.token)
  select array_agg(o.attempt_id), array_agg(o.intake_id), array_agg(o.attempt_number), array_agg(o.token)
    into attempts, intakes, numbers, tokens from opened o;
end $$;
comment on function cl.open_picked(uuid[], text[], integer[], text, timestamptz, timestamptz) is
'Opens attempts on intakes that a claim has selected and locked. Those opened by others meanwhile are skipped.';

create or replace function cl.behind_breakers(most integer, now_ timestamptz, out most_ integer, out tries boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  ours constant text[] := '{cl.gate_zero_attempt,cl.gate_zero_intake,cl.gate_zero_recovery}';
  held record;
begin
  most_ := most;
  tries := false;
  if exists (select from recovery.breaker b where b.status in ('open', 'half_open')) then
    select s.* into held from recovery.shut_parts('table', ours, now_) s;
    tries := held.due && ours;
    most_ := case when held.shut && ours then 0 when tries then least(most, 1) else most end;
  end if;
end $$;
comment on function cl.behind_breakers(integer, timestamptz) is
'How many attempts may be opened: none behind a breaker, one if it is tried now.';

create or replace function cl.try_breakers(attempt uuid, token_ uuid, until_ timestamptz, now_ timestamptz)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform recovery.start_probe('{table:cl.gate_zero_attempt,table:cl.gate_zero_intake,table:cl.gate_zero_recovery}',
                               'cl.gate_zero_attempt', attempt::text, token_, until_, now_);
end $$;
comment on function cl.try_breakers(uuid, uuid, timestamptz, timestamptz) is
'Makes an attempt the probe of the breakers of Gate Zero.';

create or replace function cl.claim_retries(most integer, worker_ text, lease interval,
  out attempts uuid[], out intakes uuid[], out numbers integer[], out tokens uuid[], out lease_until timestamptz)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set jit = off
as $$
declare
  now_    constant timestamptz := recoup.now();
  batches text[];
  probing boolean;
begin
  lease_until := now_ + coalesce(lease, cl.gate_zero_lease());
  if exists (select from recoup.pause where status = 'PAUSED')
     and (recoup.paused('table:cl.gate_zero_attempt', 'table:cl.gate_zero_recovery')).scope is not null then
    return;
  end if;
  select g.most_, g.tries into most, probing from cl.behind_breakers(most, now_) g;
  select array_agg(p.intake_id), array_agg(p.batch_id), array_agg(p.attempt_count + 1)
    into intakes, batches, numbers from (
    select r.intake_id, r.batch_id, r.attempt_count
      from cl.gate_zero_recovery r
      left join lateral (select b.paused_at, b.batch_freeze_at from cl.gate_zero_batch b
                          where b.batch_id = r.batch_id limit 1) b on true
      left join lateral (select true as open from cl.gate_zero_attempt a
                          where a.intake_id = r.intake_id and a.status || '' = 'open' limit 1) a on true
     where r.status = 'ACTIVE' and r.next_eligible_at <= now_
       and b.paused_at is null and (b.batch_freeze_at is null or b.batch_freeze_at > now_)
       and a.open is null
     order by r.next_eligible_at
     limit greatest(most, 0)
       for no key update of r skip locked) p;
  if intakes is not null then
    select * into attempts, intakes, numbers, tokens
      from cl.open_picked(intakes, batches, numbers, worker_, now_, lease_until);
    if probing and attempts is not null then
      perform cl.try_breakers(attempts[1], tokens[1], lease_until, now_);
    end if;
  end if;
end $$;
comment on function cl.claim_retries(integer, text, interval) is
'Opens attempts on failed intakes whose wait has ended, longest due first.';

create or replace function cl.claim_pending(most integer, worker_ text, lease interval,
  out attempts uuid[], out intakes uuid[], out numbers integer[], out tokens uuid[], out lease_until timestamptz)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set jit = off
as $$
declare
  now_    constant timestamptz := recoup.now();
  batches text[];
  probing boolean;
begin
  lease_until := now_ + coalesce(lease, cl.gate_zero_lease());
  if exists (select from recoup.pause where status = 'PAUSED')
     and (recoup.paused('table:cl.gate_zero_attempt', 'table:cl.gate_zero_intake')).scope is not null then
    return;
  end if;
  select g.most_, g.tries into most, probing from cl.behind_breakers(most, now_) g;
  select array_agg(p.intake_id), array_agg(p.batch_id) into intakes, batches from (
    select i.intake_id, i.batch_id
      from cl.gate_zero_intake i
      left join lateral (select true as open from cl.gate_zero_attempt a
                          where a.intake_id = i.intake_id and a.status || '' = 'open' limit 1) a on true
     where i.status = 'PENDING' and a.open is null
     order by i.created_at, i.intake_id
     limit greatest(most, 0)
       for no key update of i skip locked) p;
  if intakes is not null then
    select * into attempts, intakes, numbers, tokens
      from cl.open_picked(intakes, batches, array_fill(1, array[cardinality(intakes)]), worker_, now_, lease_until);
    if probing and attempts is not null then
      perform cl.try_breakers(attempts[1], tokens[1], lease_until, now_);
    end if;
  end if;
end $$;
comment on function cl.claim_pending(integer, text, interval) is
'Opens the first attempt of waiting intakes, oldest first.';
