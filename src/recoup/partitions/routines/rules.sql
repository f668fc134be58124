-- What a list of steps cannot say of partitions, their runs and their schedules.
--
-- Rows of other tables are looked up by an array of keys and joined by hash, which is right for one row and for ten
-- thousand, so the plans may be kept.

create or replace function partitions.is_now(at_ timestamptz, now_ timestamptz) returns boolean
language sql immutable as $$ select at_ between now_ - interval '1 minute' and now_ + interval '1 second' $$;
comment on function partitions.is_now(timestamptz, timestamptz) is 'Whether a time is that of this statement.';

create or replace function partitions.rule_partition_births() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_nestloop = off set enable_mergejoin = off set enable_hashjoin = on
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
  now_ constant timestamptz := recoup.now();
  ids  constant bigint[] := array(select n.partition_id from new_rows n);
  bad  record;
begin
  select n.partition_id, n.source, n.customer_id, n.query_name, n.logical_date, w.why into bad
    from new_rows n
    left join partitions.schedule s on s.partition_id = any(ids) and s.partition_id = n.partition_id
   cross join lateral (select case
       when s.partition_id is null then 'it is enqueued together with its schedule'
       when (s.source, s.query_name) <> (n.source, n.query_name) then 'its schedule names another source or query'
       when n.attempt_count <> 0 or n.error_message is not null then 'it was not tried yet'
       when not partitions.is_now(n.created_at, now_) or n.updated_at <> n.created_at then 'it is enqueued now' end
       as why) w
   where w.why is not null limit 1;
  if found then
    raise exception using errcode = 'RC140',
      message = format('Partition %s/%s/%s/%s is not enqueued: %s.', bad.source, bad.customer_id, bad.query_name,
                       bad.logical_date, bad.why),
      hint = 'Use: recoup state enqueue',
      detail = jsonb_build_object('partition_id', bad.partition_id, 'why', bad.why);
  end if;
  return null;
end $$;
comment on function partitions.rule_partition_births() is 'A partition is enqueued now, together with its schedule.';

-- Runs ----------------------------------------------------------------------------------------------------------------

create or replace function partitions.not_due(s partitions.schedule, now_ timestamptz, paused boolean) returns text
language sql stable as $$
  select case
    when s.partition_id is null then 'there is no such partition'
    when s.status <> 'waiting' then format('its schedule is %s', s.status)
    when s.next_run_at > now_ then format('its next run is at %s', s.next_run_at)
    when paused and (recoup.paused('table:partitions.partition_state', 'partition-source:' || s.source)).scope
         is not null then 'it is paused' end
$$;
comment on function partitions.not_due(partitions.schedule, timestamptz, boolean) is
'Why a partition is not dispatched now, or null.';

create or replace function partitions.rule_run_births() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_nestloop = off set enable_mergejoin = off set enable_hashjoin = on
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
  now_    constant timestamptz := recoup.now();
  paused  constant boolean := exists (select from recoup.pause p where p.status = 'PAUSED');
  version constant integer := recoup.policy_version();
  ids     constant bigint[] := array(select n.partition_id from new_rows n);
  bad     record;
begin
  select n.run_id, n.partition_id, w.why into bad
    from new_rows n
    left join partitions.schedule s on s.partition_id = any(ids) and s.partition_id = n.partition_id
   cross join lateral (select case
       when partitions.not_due(s, now_, paused) is not null then partitions.not_due(s, now_, paused)
       when (n.lane, n.reprocesses, n.alternative, n.candidate_id)
            is distinct from (s.lane, s.reprocesses, s.alternative, s.candidate_id)
         then 'its schedule says something else'
       when n.policy_version <> version then 'it is dispatched under the active policy'
       when n.started_with <> n.token then 'it is started under its token'
       -- The index by partition and number answers for each run that is opened.
       when n.number <> coalesce((select r.number from partitions.run r
                                   where r.partition_id = n.partition_id and r.run_id <> n.run_id
                                   order by r.number desc limit 1), 0) + 1 then 'its runs are numbered without a gap'
       when not partitions.is_now(n.opened_at, now_) or n.updated_at <> n.opened_at or n.dispatched_at <> n.opened_at
            or n.lease_until is null or n.lease_until <= n.opened_at or n.lease_until > now_ + interval '31 days'
            or n.validations <> 0 then 'it is dispatched now, under a lease' end as why) w
   where w.why is not null limit 1;
  if found then
    raise exception using errcode = 'RC141',
      message = format('Partition %s is not dispatched: %s.', bad.partition_id, bad.why),
      hint = 'The control plane dispatches what is due. To ask for one now: recoup state retry',
      detail = jsonb_build_object('partition_id', bad.partition_id, 'run_id', bad.run_id, 'why', bad.why);
  end if;
  if exists (select from recovery.breaker b where b.status in ('open', 'half_open')) then
    perform recovery.refuse_behind(
              array_agg(distinct 'source:' || s.source) || 'table:partitions.partition_state'::text, now_,
              count(*) = 1)
      from new_rows n
      join partitions.schedule s on s.partition_id = any(ids) and s.partition_id = n.partition_id;
  end if;
  return null;
end $$;
comment on function partitions.rule_run_births() is
'A run is opened for a partition that is due, as its schedule says.';

create or replace function partitions.run_move_broken(o partitions.run, n partitions.run, now_ timestamptz, acting text,
  policy jsonb) returns text
language sql stable as $$
  -- Written so that it can be inlined into the guard's own pass. What checks demand of a row is not repeated here.
  -- A lease is compared with the time of the step, which is now, or that of the statement that waited for a lock.
  select case
    when n.updated_at > greatest(o.updated_at, now_ + interval '1 second') or n.updated_at < now_ - interval '1 minute'
      or n.ended_at <> n.updated_at or o.published_at is null and n.published_at <> n.updated_at
      or n.dispatched_at <> o.dispatched_at
         and not n.dispatched_at between now_ - interval '1 minute' and n.updated_at then 'times'
    -- A new token is a new dispatch: of what was published and is under no lease. Nothing else gives a lease back.
    when n.token <> o.token and not coalesce(
           o.status = 'published' and n.status = 'published' and o.lease_until is null
           and n.lease_until > n.dispatched_at
           and n.lease_until <= now_ + interval '31 days' and n.validations = o.validations + 1
           and n.dispatched_at >= o.dispatched_at
           and (n.reason, n.message) is not distinct from (o.reason, o.message), false) then 'token'
    when n.token = o.token
         and (n.worker, n.validations, n.dispatched_at, n.turn)
             is distinct from (o.worker, o.validations, o.dispatched_at, o.turn) then 'token'
    when n.started_with is distinct from o.started_with and not coalesce(
           n.started_with = n.token and n.status = o.status
           and (acting = 'recoup_control_plane') = (n.token <> o.token), false) then 'start'
    when n.status = o.status and n.token <> o.token then null
    when n.status = o.status and acting = 'recoup_control_plane' then case
      when o.lease_until is null or n.lease_until is null and (o.status = 'open' or n.reason is null) then 'lease'
      when n.lease_until is null then null
      when (n.reason, n.message) is distinct from (o.reason, o.message) then 'lease'
      when o.lease_until < n.updated_at then 'late'
      when n.lease_until < o.lease_until or n.lease_until > now_ + interval '31 days' then 'lease' end
    when n.status = o.status then case
      when n.started_with is not distinct from o.started_with
           or (n.lease_until, n.reason, n.message) is distinct from (o.lease_until, o.reason, o.message) then 'start'
      when coalesce(o.lease_until < n.updated_at, true) then 'late' end
    when n.status = 'published' then case
      when o.started_with is distinct from o.token then 'start'
      when coalesce(o.lease_until < n.updated_at, true) then 'late'
      when n.lease_until is distinct from o.lease_until then 'lease' end
    when n.status = 'rejected' and n.reason in ('NOTHING_TO_VALIDATE', 'VALIDATOR_LOST') then case
      when (n.reason = 'NOTHING_TO_VALIDATE') <> (o.status = 'open') or o.lease_until is null
           or num_nonnulls(n.ended_with, n.rule, n.validator, n.validator_version, n.contract_digest) > 0
        then 'nothing' end
    when n.status in ('accepted', 'rejected') then case
      when n.ended_with is distinct from o.token or o.started_with is distinct from o.token then 'token'
      when coalesce(o.lease_until < n.updated_at, true) then 'late'
      when o.status <> 'published' then 'nothing' end end
$$;
comment on function partitions.run_move_broken(partitions.run, partitions.run, timestamptz, text, jsonb) is
'The rule that a move of a run breaks, or null.';

create or replace function partitions.run_move_refusal(code_ text, o partitions.run, n partitions.run,
  out sqlstate text, out message text, out hint text, out detail jsonb)
language sql stable as $$
  select case code_ when 'late' then 'RC143' when 'token' then 'RC143' else 'RC142' end,
         format('Run %s: %s', n.run_id, case code_
           when 'times' then 'it is started, published and ended now, and at no other time.'
           when 'token' then 'its token is that of its dispatch, which every step presents.'
           when 'start' then 'it is started once under its token, before anything is published or judged.'
           when 'late' then 'its lease has expired.'
           when 'lease' then 'its lease is extended, or released with a reason, and nothing else.'
           else 'it is rejected by its validator, or, when its dispatches are used up, for what was lost.' end),
         case code_ when 'late' then 'Its result is late: it is stored, and not applied.'
                    else 'Use the functions of the schema partitions, which the worker uses.' end,
         jsonb_build_object('run_id', n.run_id, 'why', code_, 'from', o.status, 'to', n.status)
$$;
comment on function partitions.run_move_refusal(text, partitions.run, partitions.run) is
'The refusal of a move that breaks a rule of partitions.run_move_broken.';

create or replace function partitions.rule_run_moves() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_nestloop = off set enable_mergejoin = off set enable_hashjoin = on
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
  now_   constant timestamptz := recoup.now();
  ids    bigint[];
  again  uuid[];  -- runs that are dispatched to be validated again
  policy jsonb;
  paused boolean;
  bad    record;
begin
  select array_agg(n.partition_id), array_agg(n.run_id) filter (where n.token <> o.token) into ids, again
    from new_rows n join old_rows o on o.run_id = n.run_id
   where n.token <> o.token or n.status = 'rejected' and n.reason in ('NOTHING_TO_VALIDATE', 'VALIDATOR_LOST');
  if ids is null then
    return null;
  end if;
  paused := exists (select from recoup.pause p where p.status = 'PAUSED');
  select n.run_id, n.partition_id, w.why into bad
    from new_rows n
    left join partitions.schedule s on s.partition_id = any(ids) and s.partition_id = n.partition_id
   cross join lateral (select partitions.not_due(s, now_, paused) as why) w
   where n.run_id = any(again) and w.why is not null limit 1;
  if found then
    raise exception using errcode = 'RC141',
      message = format('Partition %s is not dispatched: %s.', bad.partition_id, bad.why),
      hint = 'The control plane dispatches what is due. To ask for one now: recoup state retry',
      detail = jsonb_build_object('partition_id', bad.partition_id, 'run_id', bad.run_id, 'why', bad.why);
  end if;
  policy := partitions.policy();
  select n.run_id, s.dispatches, f.cap into bad
    from new_rows n
    join partitions.schedule s on s.partition_id = any(ids) and s.partition_id = n.partition_id
   cross join lateral (
     select (partitions.figures(policy, s.source, s.query_name) ->> 'dispatch_cap')::integer as cap) f
   where n.status = 'rejected' and n.reason in ('NOTHING_TO_VALIDATE', 'VALIDATOR_LOST') and s.dispatches + 1 < f.cap
   limit 1;
  if found then
    raise exception using errcode = 'RC142',
      message = format('Run %s: %s of %s dispatches are used, so it is not rejected for want of a result.', bad.run_id,
                       bad.dispatches + 1, bad.cap),
      hint = 'Let the control plane dispatch it again.',
      detail = jsonb_build_object('run_id', bad.run_id, 'dispatches', bad.dispatches + 1, 'cap', bad.cap);
  end if;
  return null;
end $$;
comment on function partitions.rule_run_moves() is
'A run is validated again when its partition is due, and rejected for want of a result when no dispatch is left.';

-- Schedules -----------------------------------------------------------------------------------------------------------

create or replace function partitions.rule_schedule_births() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_nestloop = off set enable_mergejoin = off set enable_hashjoin = on
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
  now_ constant timestamptz := recoup.now();
  ids  constant bigint[] := array(select n.partition_id from new_rows n);
  bad  record;
begin
  select n.partition_id, w.why into bad
    from new_rows n
    left join partitions.partition_state s on s.partition_id = any(ids) and s.partition_id = n.partition_id
   cross join lateral (select case
       when s.partition_id is null then 'it is enqueued together with its partition'
       when not partitions.is_now(n.first_enqueued_at, now_) or n.updated_at <> n.first_enqueued_at
            or n.next_run_at < n.first_enqueued_at
            or num_nonnulls(n.run_id, n.first_dispatched_at, n.aged_from, n.alternative, n.candidate_id,
                            n.requested_at) > 0
            or n.dispatches + n.attempts_seen + n.granted_attempts > 0 or n.reprocesses
         then 'it is enqueued now, and was not dispatched yet' end as why) w
   where w.why is not null limit 1;
  if found then
    raise exception using errcode = 'RC140',
      message = format('Partition %s is not enqueued: %s.', bad.partition_id, bad.why),
      hint = 'Use: recoup state enqueue',
      detail = jsonb_build_object('partition_id', bad.partition_id, 'why', bad.why);
  end if;
  return null;
end $$;
comment on function partitions.rule_schedule_births() is 'A schedule begins with its partition, now.';

create or replace function partitions.marks(o partitions.schedule, n partitions.schedule) returns boolean
language sql immutable as $$
  select coalesce('MARKED' = any(n.terminal_causes), false) and not coalesce('MARKED' = any(o.terminal_causes), false)
$$;
comment on function partitions.marks(partitions.schedule, partitions.schedule) is
'Whether a step marks a partition terminal by hand.';

create or replace function partitions.schedule_move_broken(o partitions.schedule, n partitions.schedule,
  now_ timestamptz, acting text, policy jsonb) returns text
language sql stable as $$
  select case
    when n.updated_at > greatest(o.updated_at, now_ + interval '1 second') or n.updated_at < now_ - interval '1 minute'
      or o.status = 'open' and n.next_run_at < now_ - interval '1 minute'
      or n.held_at is distinct from o.held_at and not n.held_at between now_ - interval '1 minute' and n.updated_at
      or n.terminal_at is distinct from o.terminal_at
         and not n.terminal_at between now_ - interval '1 minute' and n.updated_at then 'times'
    when case when n.requested_at is not distinct from o.requested_at
              then n.requested_by is distinct from o.requested_by
              else n.status = 'open' or n.requested_by is distinct from recoup.acting_id()
                   or not coalesce(n.requested_at between now_ - interval '1 minute' and n.updated_at, false) end
      then 'request'
    -- What ended, was given up or waits for a person continues only when somebody asks for it; and nobody else makes it
    -- sooner, or another way.
    when n.requested_at is not distinct from o.requested_at and (
           o.status in ('terminal', 'idle') and n.status = 'waiting'
           or o.hold in ('OPERATOR', 'CANCELLED') and n.hold is distinct from o.hold and n.status <> 'idle'
           or o.status = 'waiting' and n.next_run_at < o.next_run_at
           or n.alternative is distinct from o.alternative and n.alternative is not null
           or n.candidate_id is distinct from o.candidate_id and n.candidate_id is not null
           or n.granted_attempts > o.granted_attempts or partitions.marks(o, n)) then 'request'
    when o.status = 'terminal' and n.status = 'waiting'
         and coalesce(current_setting('recoup.reason', true), '') = '' then 'reason'
    when n.granted_attempts > o.granted_attempts and not (o.status = 'terminal' and n.status = 'waiting')
      or o.status = 'terminal' and n.status = 'waiting' and (n.aged_from is not null or n.dispatches > 0) then 'grant'
    when (o.status = 'idle' and n.status = 'waiting') <> (n.reprocesses and not o.reprocesses)
      or o.reprocesses and not n.reprocesses and n.status <> 'idle' then 'reprocess'
    when partitions.marks(o, n) and recoup.acting_kind() = 'system' and n.candidate_id is null then 'marked'
    when o.status = 'terminal' and n.status = 'terminal' and not coalesce(
           n.terminal_causes @> o.terminal_causes and n.terminal_causes <@ (o.terminal_causes || 'MARKED'::text)
           and (n.terminal_at, n.terminal_policy) = (o.terminal_at, o.terminal_policy), false) then 'causes'
    -- Age begins with the first dispatch, begins again with an override, and does not run while it is held.
    when n.status <> 'open' and (
           n.first_dispatched_at is distinct from o.first_dispatched_at
           or n.aged_from is distinct from o.aged_from and not coalesce(
                o.status = 'terminal' and n.status = 'waiting' and n.aged_from is null
                or o.status = 'held' and n.aged_from between o.aged_from
                                                        and o.aged_from + (n.updated_at - o.held_at), false))
      then 'age'
    when n.status <> 'open' and n.run_id is distinct from o.run_id and (o.status <> 'open' or n.run_id is not null)
      then 'run'
    when o.status <> 'open' and n.status <> 'open'
         and (n.dispatches, n.attempts_seen)
             <> (case when o.status = 'terminal' and n.status = 'waiting' then 0 else o.dispatches end, o.attempts_seen)
      then 'counts' end
$$;
comment on function partitions.schedule_move_broken(partitions.schedule, partitions.schedule, timestamptz, text, jsonb)
is 'The rule that a move of a schedule breaks, or null.';

create or replace function partitions.schedule_move_refusal(code_ text, o partitions.schedule, n partitions.schedule,
  out sqlstate text, out message text, out hint text, out detail jsonb)
language sql stable as $$
  select 'RC144',
         format('Partition %s: %s', n.partition_id, case code_
           when 'times' then 'its schedule changes now, and at no other time.'
           when 'request' then 'it is asked for by the actor, now.'
           when 'reason' then 'an override of a terminal partition has a reason.'
           when 'grant' then 'attempts are granted, and its age begins again, by an override of a terminal partition.'
           when 'reprocess' then 'only what succeeded is reprocessed, until it is done or given up.'
           when 'marked' then 'it is marked terminal by a person.'
           when 'causes' then 'it was given up for these reasons, then, and a person may add their mark.'
           when 'age' then 'its age begins with its first dispatch, and stops only while it is held.'
           when 'run' then 'its run is the one that was dispatched.'
           else 'its dispatches are counted when a run has ended.' end),
         'Use the verbs: recoup state --help',
         jsonb_build_object('partition_id', n.partition_id, 'why', code_, 'from', o.status, 'to', n.status)
$$;
comment on function partitions.schedule_move_refusal(text, partitions.schedule, partitions.schedule) is
'The refusal of a move that breaks a rule of partitions.schedule_move_broken.';

create or replace function partitions.rule_schedule_moves() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_nestloop = off set enable_mergejoin = off set enable_hashjoin = on
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
  now_    constant timestamptz := recoup.now();
  version constant integer := recoup.policy_version();
  policy  jsonb;
  ids     bigint[];
  runs    uuid[];
  bad     record;
begin
  select array_agg(n.partition_id), array_agg(n.run_id) into ids, runs from new_rows n where n.status <> 'open';
  if ids is null then
    return null;  -- a dispatch, whose run has rules of its own
  end if;
  runs := runs || array(select o.run_id from old_rows o where o.status = 'open');
  policy := partitions.policy();
  -- What a decision says is true: a run that is under way is not over, what came of it is counted, and
  -- nothing is given up for a reason that does not hold.
  select n.partition_id, w.why into bad
    from new_rows n
    join old_rows o on o.partition_id = n.partition_id
    join partitions.partition_state s on s.partition_id = any(ids) and s.partition_id = n.partition_id
    left join partitions.run r on r.run_id = any(runs) and r.run_id = o.run_id
   cross join lateral (select partitions.figures(policy, n.source, n.query_name) as f) f
   cross join lateral (select case
       when o.status = 'open' and not coalesce(r.status in ('accepted', 'rejected', 'lost')
                                               or r.status = 'published' and r.lease_until is null, false)
         then 'its run is under way'
       when o.status = 'open' and (r.status = 'accepted' or r.status = 'rejected' and s.status = 'success')
                                  <> (n.status = 'idle') then format('its run was %s', r.status)
       when r.status = 'published' and (n.run_id is null or n.status = 'idle') then 'its run is to be validated again'
       when n.status = 'terminal' and s.status <> 'failed' then format('it is %s, not failed', s.status)
       when n.status = 'idle' and s.status <> 'success' then format('it is %s, and not done', s.status)
       when n.status in ('waiting', 'held') and n.reprocesses <> (s.status = 'success')
         then format('it is %s: only what succeeded is reprocessed', s.status)
       when o.status = 'open' and (n.dispatches, n.attempts_seen) <> (
              case when r.status in ('accepted', 'rejected') then 0
                   when r.reason = 'SINK_UNAVAILABLE' then o.dispatches else o.dispatches + 1 end, s.attempt_count)
         then 'its dispatches and attempts are counted'
       when n.hold = 'OPERATOR' and o.hold is distinct from n.hold
            and not coalesce(o.status = 'open' and r.status = 'rejected' and r.category = 'STRUCTURAL', false)
         then 'it waits for an operator after a structural failure'
       when o.status <> 'terminal' and n.status = 'terminal' then case
         when n.terminal_policy <> version then 'it is decided under the active policy'
         when 'ATTEMPTS' = any(n.terminal_causes)
              and s.attempt_count < (f.f ->> 'max_attempts')::integer + n.granted_attempts
           then format('it was tried %s times', s.attempt_count)
         when 'AGE' = any(n.terminal_causes) and not partitions.has_aged(f.f, n.source, o.aged_from, now_)
           then 'it is not that old' end end as why) w
   where n.status <> 'open' and w.why is not null limit 1;
  if found then
    raise exception using errcode = 'RC145',
      message = format('Partition %s: %s.', bad.partition_id, bad.why),
      hint = 'See its status: recoup state inspect',
      detail = jsonb_build_object('partition_id', bad.partition_id, 'why', bad.why);
  end if;
  return null;
end $$;
comment on function partitions.rule_schedule_moves() is
'A schedule leaves a run that has ended, and gives a partition up only for a reason that holds.';
