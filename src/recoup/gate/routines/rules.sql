-- Rules of Gate Zero that a lifecycle alone cannot express: the throttle, the window, the kill switch.
--
-- They run after the guard (b_), once per statement. They lock the rows that decide, in id order, and read them
-- afterwards; so no other transaction can change them meanwhile. PL/pgSQL keeps the plan of its first call: one made
-- for a single row compared a thousand with a thousand, one made for many scanned whole tables for one row ever after.
-- So a join of a transition table and a table is either written as a lookup per row (LATERAL … LIMIT 1, which has one
-- plan) or EXECUTEd.

create or replace function cl.max_attempts() returns integer
language sql immutable parallel safe as $$ select 3 $$;  -- fixed by the documents: not a setting
comment on function cl.max_attempts() is 'How often an intake is verified, the first attempt included.';

create or replace function cl.gate_zero_wait(figures jsonb, attempt_count integer) returns interval
language sql stable parallel safe as $$
  -- After the first failure the first value, after the second the second. After the third there is no wait.
  select make_interval(hours => (figures -> 'gate' -> 'wait_hours' ->> (attempt_count - 1))::integer)
$$;
comment on function cl.gate_zero_wait(jsonb, integer) is
'The wait after this number of failed attempts, by the values of a policy.';

create or replace function cl.gate_zero_lease() returns interval
language sql stable parallel safe as $$
  select make_interval(secs => (p.figures -> 'gate' ->> 'attempt_lease_s')::integer)
    from recoup.policy p order by p.version desc limit 1
$$;
comment on function cl.gate_zero_lease() is 'How long a worker has for an attempt, by the active policy.';

create or replace function cl.gate_zero_recovery_window(policy_version_ integer default recoup.policy_version())
  returns interval
language sql stable parallel safe as $$
  -- In hours: how long a day is depends on the session's time zone.
  select make_interval(hours => 24 * (p.figures -> 'gate' ->> 'recovery_window_days')::integer)
    from recoup.policy p where p.version = policy_version_
$$;
comment on function cl.gate_zero_recovery_window(integer) is
'How long after its completion a batch may be retried, by a policy.';

create or replace function cl.rule_intake_births() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_   constant timestamptz := recoup.now();
  began  constant timestamptz := recoup.statement_time();
  acting constant text := recoup.acting_role();  -- the guard has set it
  bad    record;
begin
  if not exists (select from new_rows where retry_of is not null) then
    return null;
  end if;
  if acting not in ('recoup_operator', 'recoup_executor') then
    raise exception using errcode = 'RC042',
      message = format('%s may not restart an intake.', recoup.actor_name()),
      hint = 'An operator restarts intakes: recoup gate restart INTAKE',
      detail = jsonb_build_object('authority', recoup.actor_name());
  end if;
  -- EXHAUSTED is final, so nothing needs to be locked.
  -- A restart is made now: otherwise it could precede the intake that it follows.
  select n.retry_of, n.created_at, i.status,
         case when i.status is distinct from 'EXHAUSTED' then 'RC042' else 'RC026' end as why into bad
    from new_rows n
    left join lateral (select i.status from cl.gate_zero_intake i where i.intake_id = n.retry_of limit 1) i on true
   where n.retry_of is not null
     and (i.status is distinct from 'EXHAUSTED' or not recoup.is_now(n.created_at, began, now_)) limit 1;
  if bad.why is not null then
    raise exception using errcode = bad.why,
      message = case bad.why
        when 'RC042' then format('Intake %s is %s: only an exhausted one can be restarted.',
                                 bad.retry_of, coalesce(bad.status, 'unknown'))
        else format('The restart of intake %s has the time %s, which is not now.',
                    bad.retry_of, bad.created_at) end,
      hint = case bad.why
        when 'RC042' then 'Its history: recoup gate history ' || bad.retry_of
        else 'Take created_at from recoup.now().' end,
      detail = jsonb_build_object('intake_id', bad.retry_of, 'status', bad.status, 'created_at', bad.created_at,
                                  'now', now_);
  end if;
  if acting <> 'recoup_executor' then
    return null;
  end if;
  -- For a recovery candidate: once in all, and not while the batch of either is paused.
  select n.retry_of, i.retry_of as restarted_from, b.batch_id, b.pause_reason into bad
    from new_rows n
   cross join lateral (select i.retry_of, i.batch_id from cl.gate_zero_intake i
                        where i.intake_id = n.retry_of limit 1) i
    left join lateral (select b.batch_id, b.pause_reason from cl.gate_zero_batch b
                        where b.batch_id in (i.batch_id, n.batch_id) and b.paused_at is not null limit 1) b on true
   where i.retry_of is not null or b.batch_id is not null limit 1;
  if bad.restarted_from is not null then
    raise exception using errcode = 'RC120',
      message = format('Intake %s is the restart of intake %s: recovery restarts an intake once.', bad.retry_of,
                       bad.restarted_from),
      hint = 'A person may restart it again: recoup gate restart ' || bad.retry_of,
      detail = jsonb_build_object('intake_id', bad.retry_of, 'retry_of', bad.restarted_from);
  elsif bad.batch_id is not null then
    raise exception using errcode = 'RC024',
      message = format('Intake %s is not restarted: recovery of batch %s is paused (%s).', bad.retry_of, bad.batch_id,
                       bad.pause_reason),
      hint = 'Resume the batch first.',
      detail = jsonb_build_object('intake_id', bad.retry_of, 'batch_id', bad.batch_id);
  end if;
  return null;
end $$;
comment on function cl.rule_intake_births() is
'A restart follows an exhausted intake, and is made now, by an operator or, once, for a recovery candidate.';

create or replace function cl.rule_attempt_births() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan  -- one look-up for each row is right for any number of them
as $$
declare
  now_   constant timestamptz := recoup.now();
  began  constant timestamptz := recoup.statement_time();
  latest integer;
  paused boolean;
  why    text;
  closed cl.gate_zero_batch;
  bad    record;
begin
  -- A first attempt is decided by its intake, a retry by its recovery: that row is locked, in id order, and what a lock
  -- returns is the row as it is after the wait. LATERAL with a limit: one look-up each, in a plan that may be kept.
  select max(n.attempt_number), exists (select from recoup.pause where status = 'PAUSED')
           or exists (select from recovery.breaker b where b.status in ('open', 'half_open')),
         min(n.intake_id || case
           when not recoup.is_now(n.opened_at, began, now_) then 'RC026'
           when n.policy_version <> (select max(version) from recoup.policy) then 'RC033'
           when n.lease_until > n.opened_at + interval '720 hours' then 'RC036'
           when n.attempt_number = 1 then
             case when i.status is distinct from 'PENDING'
                  then case when i.status = 'EXHAUSTED' then 'RC021' else 'RC025' end
                  when n.batch_id is distinct from i.batch_id then 'RC029' end
           when r.status = 'EXHAUSTED' then 'RC021'
           when r.status is distinct from 'ACTIVE' then 'RC025'
           when n.batch_id is distinct from r.batch_id then 'RC029'
           when n.attempt_number <> r.attempt_count + 1 then 'RC027'
           when n.opened_at < r.next_eligible_at then 'RC020' end)
    into latest, paused, why
    from (select o.intake_id, o.attempt_number, o.opened_at, o.lease_until, o.batch_id, o.policy_version
            from new_rows o order by o.intake_id) n
    left join lateral (select i.status, i.batch_id from cl.gate_zero_intake i
                        where n.attempt_number = 1 and i.intake_id = n.intake_id limit 1 for no key update) i on true
    left join lateral (select r.status, r.batch_id, r.attempt_count, r.next_eligible_at from cl.gate_zero_recovery r
                        where n.attempt_number > 1 and r.intake_id = n.intake_id limit 1
                          for no key update) r on true;
  if coalesce(latest = 1 and not paused and why is null
              and current_setting('transaction_isolation') = 'read committed', latest is null) then
    return null;
  end if;
  perform recoup.require_read_committed('Gate Zero');
  if paused then
    perform recoup.refuse_paused('table:cl.gate_zero_attempt',
      case when exists (select from new_rows where attempt_number = 1) then 'table:cl.gate_zero_intake' end,
      case when latest > 1 then 'table:cl.gate_zero_recovery' end);
    perform recovery.refuse_behind('{table:cl.gate_zero_attempt,table:cl.gate_zero_intake,table:cl.gate_zero_recovery}',
                                   now_, (select count(*) from new_rows) = 1);
  end if;
  if latest > 1 and coalesce(right(why, 5), 'RC020') = 'RC020' then
    -- A closed window is reported before a wait that will end. Once for each batch: they are few.
    select b.* into closed
      from (select distinct o.batch_id from new_rows o where o.attempt_number > 1 and o.batch_id is not null) d
     cross join lateral (select * from cl.gate_zero_batch b where b.batch_id = d.batch_id limit 1) b
     where b.batch_freeze_at <= now_ or b.paused_at is not null limit 1;
    if closed.batch_id is not null then
      select o.intake_id || case when closed.batch_freeze_at <= now_ then 'RC023' else 'RC024' end into why
        from new_rows o where o.attempt_number > 1 and o.batch_id = closed.batch_id limit 1;
    end if;
  end if;
  if why is not null then
    select n.intake_id, n.attempt_number, n.opened_at, n.batch_id, i.status, r.attempt_count,
           case when n.attempt_number > 1 then r.next_eligible_at end as next_eligible_at, right(why, 5) as why
      into bad
      from new_rows n left join cl.gate_zero_intake i on i.intake_id = n.intake_id
      left join cl.gate_zero_recovery r on r.intake_id = i.intake_id
     where n.intake_id = left(why, 36)::uuid limit 1;
    raise exception using errcode = bad.why,
      message = case bad.why
        when 'RC033' then format('The attempt on intake %s has another policy than version %s, which is active.',
                                 bad.intake_id, recoup.policy_version())
        when 'RC036' then format('The attempt on intake %s would have a lease of more than 30 days.', bad.intake_id)
        when 'RC020' then format('Intake %s may not be tried again before %s.', bad.intake_id, bad.next_eligible_at)
        when 'RC021' then format('Intake %s has had its %s attempts or its window is closed: it is EXHAUSTED.',
                                 bad.intake_id, bad.attempt_count)
        when 'RC023' then format('Batch %s closed its recovery window at %s.', closed.batch_id, closed.batch_freeze_at)
        when 'RC024' then format('Recovery of batch %s is paused by %s: %s',
                                 closed.batch_id, closed.paused_by, closed.pause_reason)
        when 'RC025' then format('Intake %s is %s and not waiting for attempt %s.',
                                 bad.intake_id, coalesce(bad.status, 'unknown'), bad.attempt_number)
        when 'RC026' then format('The attempt on intake %s has the start time %s, which is not now.',
                                 bad.intake_id, bad.opened_at)
        when 'RC027' then format('Attempt %s on intake %s does not follow the attempts it has had.',
                                 bad.attempt_number, bad.intake_id)
        else format('The attempt on intake %s has another batch than the intake.', bad.intake_id) end,
      hint = case bad.why
        when 'RC033' then 'The policy may just have been changed. Try again, with recoup.policy_version().'
        when 'RC036' then 'The intake of a dead worker would wait that long. Use the lease of the policy.'
        when 'RC020' then 'Wait; the throttle cannot be shortened.'
        when 'RC021' then 'Exhausted is final. To try again, restart it: recoup gate restart ' || bad.intake_id
        when 'RC023' then 'Its recoveries end with the freeze. Then they can be restarted: recoup gate restart'
        when 'RC024' then 'Resume the batch first.'
        when 'RC025' then 'Its history: recoup gate history ' || bad.intake_id
        when 'RC026' then 'Take opened_at from recoup.now().'
        when 'RC027' then 'Open the attempts in order.'
        else 'Take batch_id from the intake.' end,
      detail = jsonb_build_object('intake_id', bad.intake_id, 'attempt_number', bad.attempt_number,
        'intake_status', bad.status, 'attempt_count', bad.attempt_count,
        'next_eligible_at', bad.next_eligible_at, 'batch_id', coalesce(closed.batch_id, bad.batch_id), 'now', now_);
  end if;
  return null;
end $$;
comment on function cl.rule_attempt_births() is
'No attempt before next_eligible_at, out of order, after exhaustion, in a paused or closed batch. '
'A second open one is stopped by the unique index.';

create or replace function cl.attempt_move_broken(
  o cl.gate_zero_attempt, n cl.gate_zero_attempt, now_ timestamptz, acting text, policy jsonb) returns text
language sql stable as $$
  select case when n.status = 'crashed' and n.lease_until > now_ then 'RC030'
              when n.ended_with is distinct from case when n.status <> 'crashed' then n.token end then 'RC055'
              -- In a function of its own: with a query in it, this one would not be inlined.
              when starts_with(n.payload_ref, 'evidence:') and not cl.has_evidence(n.attempt_id, n.payload_ref)
                then 'RC067'
              when n.finished_at < now_ and n.finished_at < recoup.statement_time()
                   -- After a clock was set back, the only time left may be just after the start.
                   or n.finished_at > greatest(now_ + interval '10 microseconds',
                                               n.opened_at + interval '1 microsecond') then 'RC026' end
$$;
comment on function
  cl.attempt_move_broken(cl.gate_zero_attempt, cl.gate_zero_attempt, timestamptz, text, jsonb) is
'An attempt ends now, with its token, and crashes only when its lease has expired. Returns the SQLSTATE, or null.';

create or replace function cl.attempt_move_refusal(code text, o cl.gate_zero_attempt, n cl.gate_zero_attempt,
  out sqlstate text, out message text, out hint text, out detail jsonb)
language sql stable as $$
  select code,
         case code
           when 'RC026' then format('The attempt on intake %s has the end time %s, which is not now.',
                                    n.intake_id, n.finished_at)
           when 'RC055' then format(
             'The attempt on intake %s is ended with its token; only a crash has none.', n.intake_id)
           when 'RC067' then format('The attempt on intake %s points at evidence that is not recorded: %s.',
                                    n.intake_id, n.payload_ref)
           else format('The attempt on intake %s has its lease until %s: it has not crashed.',
                       n.intake_id, n.lease_until) end,
         case code when 'RC026' then 'Take finished_at from recoup.now().'
                   when 'RC055' then 'Give its token in ended_with.'
                   when 'RC067' then 'Record it first with cl.record_evidence; evidence:<attempt_id> is its own.'
                   else 'Wait for its outcome, or until the lease expires.' end,
         jsonb_build_object('intake_id', n.intake_id, 'finished_at', n.finished_at, 'lease_until', n.lease_until,
                            'now', recoup.now())
$$;
comment on function cl.attempt_move_refusal(text, cl.gate_zero_attempt, cl.gate_zero_attempt) is
'The refusal of a move that breaks a rule of cl.attempt_move_broken.';

create or replace function cl.rule_recovery_moves() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
-- Old and new are paired by hash: taken for a few, the exhausted ones were compared with each other row by row.
set enable_nestloop = off set enable_hashjoin = on
as $$
declare
  now_ timestamptz := recoup.now();
  bad  record;
begin
  if not exists (select from new_rows where status = 'EXHAUSTED') then
    return null;
  end if;
  perform recoup.require_read_committed('Gate Zero');
  perform from (select o.intake_id from new_rows o order by o.intake_id) n
    cross join lateral (select from cl.gate_zero_intake i where i.intake_id = n.intake_id limit 1 for no key update) i;

  execute $rule$
  select n.intake_id, n.updated_at, a.ended, a.open,
         a.ended = 0 or (a.ended < cl.max_attempts() and coalesce(b.batch_freeze_at > $1, true)) as early
    from new_rows n
    join old_rows o on o.recovery_id = n.recovery_id
    left join lateral (select f.batch_freeze_at from cl.gate_zero_batch f
                        where f.batch_id = n.batch_id limit 1) b on true
   cross join lateral (
         select count(*) filter (where t.status = 'open') as open,
                count(*) filter (where t.status in ('failed', 'crashed')) as ended
           from cl.gate_zero_attempt t where t.intake_id = n.intake_id) a
   where n.status = 'EXHAUSTED'
     -- After a clock was set back, the only time left may be just after the last one.
     and (n.updated_at > greatest($1 + interval '1 second', o.updated_at + interval '1 microsecond')
          or n.next_eligible_at <> recoup.never()
          or n.updated_at <= o.updated_at or n.updated_at < least($1, $2)
          or n.attempt_count <> a.ended or a.open > 0 or a.ended = 0
          or (a.ended < cl.max_attempts() and coalesce(b.batch_freeze_at > $1, true)))
   limit 1 $rule$ into bad using now_, recoup.statement_time();
  if bad.open > 0 then
    raise exception using errcode = 'RC022',
      message = format('Intake %s is being verified: it may still pass.', bad.intake_id),
      hint = 'Wait until the attempt ends; then it is exhausted or recovered.',
      detail = jsonb_build_object('intake_id', bad.intake_id);
  elsif bad.updated_at > now_ + interval '1 second' then
    raise exception using errcode = 'RC026',
      message = format('The recovery of intake %s has the end time %s, which is in the future.',
                       bad.intake_id, bad.updated_at),
      hint = 'Take updated_at from recoup.now().',
      detail = jsonb_build_object('intake_id', bad.intake_id, 'updated_at', bad.updated_at, 'now', now_);
  elsif bad.early then
    raise exception using errcode = 'RC028',
      message = format('Intake %s has failed %s of %s attempts and its window is open: it is not exhausted.',
                       bad.intake_id, bad.ended, cl.max_attempts()),
      hint = 'Its batch can be paused, which stops its recovery.',
      detail = jsonb_build_object('intake_id', bad.intake_id, 'failed', bad.ended);
  elsif bad.intake_id is not null then
    raise exception using errcode = 'RC026',
      message = format('The columns of the recovery of intake %s are wrong: it ends now, after %s failed attempts, '
                       'and is never tried again.', bad.intake_id, bad.ended),
      hint = 'Leave attempt_count; set next_eligible_at = recoup.never() '
             'and updated_at = greatest(recoup.now(), updated_at + interval ''1 microsecond'').',
      detail = jsonb_build_object('intake_id', bad.intake_id, 'updated_at', bad.updated_at, 'now', now_);
  end if;
  return null;
end $$;
comment on function cl.rule_recovery_moves() is
'EXHAUSTED only after three failed attempts, or some and a closed window; and never during an open attempt.';

create or replace function cl.rule_batch_moves() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_ timestamptz := recoup.now();
  bad  record;
begin
  execute $rule$
  select n.batch_id, n.batch_freeze_at, n.frozen_at is distinct from o.frozen_at as freezing
    from new_rows n join old_rows o on o.batch_id = n.batch_id
   where (n.completed_at is distinct from o.completed_at
          and not (recoup.is_now(n.completed_at, $2, $1) and n.policy_version = recoup.policy_version()
                   and n.batch_freeze_at = n.completed_at + cl.gate_zero_recovery_window(n.policy_version)))
      or (n.frozen_at is distinct from o.frozen_at
          and (n.batch_freeze_at > $1 or not recoup.is_now(n.frozen_at, $2, $1)))
      -- A pause is set now, by the acting person, and is not changed while it lasts.
      or ((n.paused_at, n.paused_by, n.pause_reason) is distinct from (o.paused_at, o.paused_by, o.pause_reason)
          and n.paused_at is not null
          and (o.paused_at is not null or n.paused_by <> $3 or not recoup.is_now(n.paused_at, $2, $1)))
   limit 1 $rule$ into bad using now_, recoup.statement_time(), recoup.acting_id();
  if bad.batch_id is not null then
    raise exception using errcode = 'RC023',
      message = case
        when bad.freezing then format('Batch %s can be frozen from %s on, and only now.',
                                      bad.batch_id, bad.batch_freeze_at)
        else format('Batch %s can be completed now, with a window of %s; or paused now, by the acting person, once.',
                    bad.batch_id, cl.gate_zero_recovery_window()) end,
      hint = 'Take times from recoup.now(), and paused_by from recoup.acting_id(). '
             'A recovery is stopped by pausing its batch.',
      detail = jsonb_build_object('batch_id', bad.batch_id, 'batch_freeze_at', bad.batch_freeze_at, 'now', now_);
  end if;
  return null;
end $$;
comment on function cl.rule_batch_moves() is
'A batch is completed, paused and frozen now; its window has the length of the policy, and is not closed early.';
