-- The recorders of partitions: every step of a partition, its runs and its schedule goes to partition_event, every
-- verdict to attempt, and what somebody asked for to override_log.

create or replace function partitions.record_partitions() returns trigger
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
  why          constant text := nullif(current_setting('recoup.reason', true), '');
begin
  perform recoup.require_table(tg_relid, 'partitions.partition_state');
  if tg_op = 'INSERT' then
    insert into partitions.partition_event (
      incarnation, logged_at, subject, partition_id, event_type, to_status, reason, actor, actor_id, authority)
    select incarnation_, n.updated_at, 'partition', n.partition_id, 'enqueued', n.status, why, kind, id, role_
      from new_rows n;
    return null;
  end if;
  insert into partitions.partition_event (
    incarnation, logged_at, subject, partition_id, run_id, event_type, from_status, to_status, facts, reason, actor,
    actor_id, authority)
  select incarnation_, n.updated_at, 'partition', n.partition_id,
         case when n.current_run_id is distinct from o.current_run_id then n.current_run_id end,
         case when n.attempt_count = o.attempt_count then 'requeued'
              when n.current_run_id is distinct from o.current_run_id then 'accepted' else 'rejected' end,
         o.status, n.status,
         case when n.attempt_count > o.attempt_count then jsonb_build_object('attempt_count', n.attempt_count) end,
         case when n.attempt_count = o.attempt_count then why end, kind, id, role_
    from new_rows n join old_rows o on o.partition_id = n.partition_id;
  return null;
end $$;
revoke execute on function partitions.record_partitions() from public;
comment on function partitions.record_partitions() is 'enqueued, requeued, accepted or rejected.';

create or replace function partitions.record_run_births() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  incarnation_ constant integer := recoup.present_incarnation();
  kind         constant text := recoup.acting_kind();
  id           constant text := recoup.acting_id();
  role_        constant text := recoup.acting_role();
begin
  perform recoup.require_table(tg_relid, 'partitions.run');
  insert into partitions.partition_event (
    incarnation, logged_at, subject, partition_id, run_id, event_type, to_status, reason, facts, token, actor, actor_id,
    authority)
  select incarnation_, n.updated_at, 'run', n.partition_id, n.run_id, 'dispatched', n.status, n.worker,
         jsonb_build_object('started', n.started_with is not null, 'turn', n.turn), n.token, kind, id, role_
    from new_rows n order by n.dispatch_no;
  return null;
end $$;
revoke execute on function partitions.record_run_births() from public;
comment on function partitions.record_run_births() is
'dispatched, to which worker, and whether it is started with that.';

create or replace function partitions.record_run_moves() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
-- Partitions are looked up by an array of keys.
set plan_cache_mode = force_generic_plan set enable_nestloop = off set enable_hashjoin = on set enable_mergejoin = off
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
  judged       constant bigint[] := array(select n.partition_id from new_rows n
                                           where n.status in ('accepted', 'rejected'));
  incarnation_ constant integer := recoup.present_incarnation();
  kind         constant text := recoup.acting_kind();
  id           constant text := recoup.acting_id();
  role_        constant text := recoup.acting_role();
begin
  perform recoup.require_table(tg_relid, 'partitions.run');
  insert into partitions.partition_event (
    incarnation, logged_at, subject, partition_id, run_id, event_type, from_status, to_status, reason, facts, token,
    actor, actor_id, authority)
  select incarnation_, n.updated_at, 'run', n.partition_id, n.run_id, e.event_type, o.status, n.status,
         case when e.event_type = 'dispatched' then n.worker
              when e.event_type in ('lost', 'released', 'rejected') then n.reason end,
         case e.event_type
           when 'dispatched' then jsonb_build_object('started', n.started_with = n.token, 'turn', n.turn)
           when 'published' then jsonb_build_object('location', n.location, 'digest', n.manifest_digest, 'rows', n.rows,
                                                    'bytes', n.bytes, 'format', n.format, 'sink_id', n.sink_id)
           when 'lost' then jsonb_build_object('message', n.message)
           when 'released' then jsonb_build_object('message', n.message) end,
         n.token, kind, id, role_
    from new_rows n
    join old_rows o on o.run_id = n.run_id
   cross join lateral (select case
       when n.status <> o.status then n.status
       when n.token <> o.token then 'dispatched'
       when n.lease_until is null then 'released'
       when n.started_with is distinct from o.started_with then 'started' end as event_type) e
   where e.event_type is not null;  -- an extended lease is no event
  insert into partitions.attempt (
    incarnation, logged_at, partition_id, run_id, number, verdict, reason, rule, message, error_signature, category,
    rows, bytes, digest, location, sink_id, validator, validator_version, contract_digest, policy_version, opened_at,
    published_at, actor, actor_id, authority)
  select incarnation_, n.updated_at, n.partition_id, n.run_id, s.attempt_count + 1, n.status, n.reason, n.rule,
         n.message, n.error_signature, n.category, n.rows, n.bytes, n.manifest_digest, n.location, n.sink_id,
         n.validator, n.validator_version, n.contract_digest, n.policy_version, n.opened_at, n.published_at, kind, id,
         role_
    from new_rows n
    join partitions.partition_state s on s.partition_id = any(judged) and s.partition_id = n.partition_id
   where n.status in ('accepted', 'rejected');
  return null;
end $$;
revoke execute on function partitions.record_run_moves() from public;
comment on function partitions.record_run_moves() is
'started, published, released, dispatched again, lost, accepted or rejected; and the attempt of a verdict.';

create or replace function partitions.schedule_facts(s partitions.schedule) returns jsonb
language sql stable as $$
  -- All that may change of a schedule, so that the audit can compare each of them with its last event.
  select jsonb_strip_nulls(jsonb_build_object(
    'lane', s.lane, 'priority', s.priority, 'next_run_at', s.next_run_at, 'backoff', s.backoff_strategy,
    'dispatches', nullif(s.dispatches, 0), 'attempts', nullif(s.attempts_seen, 0),
    'reprocesses', nullif(s.reprocesses, false), 'alternative', s.alternative, 'candidate_id', s.candidate_id,
    'requested_at', s.requested_at, 'requested_by', s.requested_by, 'hold', s.hold, 'held_at', s.held_at,
    'causes', s.terminal_causes, 'terminal_at', s.terminal_at, 'terminal_policy', s.terminal_policy,
    'granted', nullif(s.granted_attempts, 0), 'first_dispatched_at', s.first_dispatched_at, 'aged_from', s.aged_from,
    'backfill_id', s.backfill_id))
$$;
comment on function partitions.schedule_facts(partitions.schedule) is 'What the event of a schedule keeps of it.';

create or replace function partitions.record_schedules() returns trigger
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
  command_     constant text := nullif(current_setting('recoup.command', true), '');
  which        constant text := nullif(current_setting('recoup.selection', true), '');
begin
  perform recoup.require_table(tg_relid, 'partitions.schedule');
  if tg_op = 'INSERT' then
    insert into partitions.partition_event (
      incarnation, logged_at, subject, partition_id, event_type, to_status, facts, reason, actor, actor_id, authority)
    select incarnation_, n.updated_at, 'schedule', n.partition_id, 'scheduled', n.status,
           partitions.schedule_facts(n::partitions.schedule), why, kind, id, role_
      from new_rows n;
    return null;
  end if;
  insert into partitions.partition_event (
    incarnation, logged_at, subject, partition_id, run_id, event_type, from_status, to_status, facts, reason, actor,
    actor_id, authority)
  select incarnation_, n.updated_at, 'schedule', n.partition_id, n.run_id, case
           when n.status = 'terminal' and o.status <> 'terminal' then 'terminal_marked'
           when n.status = 'terminal' then 'terminal_marked_too'
           when o.status = 'terminal' then 'terminal_lifted'
           when n.requested_at is distinct from o.requested_at then 'requested'
           when n.status = 'held' then 'held' when o.status = 'held' then 'released'
           when n.status = 'open' then 'opened' when n.status = 'idle' then 'done' else 'scheduled' end,
         o.status, n.status,
         case when n.requested_at is distinct from o.requested_at then jsonb_build_object('asked', true) else '{}' end
           || partitions.schedule_facts(n::partitions.schedule),
         why, kind, id, role_
    from new_rows n join old_rows o on o.partition_id = n.partition_id;
  -- What somebody asked for: one row for all that one statement changed, with how many were in which status.
  insert into partitions.override_log (incarnation, logged_at, command, selection, partitions, before, after, reason,
                                       actor, actor_id, authority)
  with asked as (
    select n.partition_id, n.updated_at, o.status as was, n.status
      from new_rows n join old_rows o on o.partition_id = n.partition_id
     where n.requested_at is distinct from o.requested_at)
  select incarnation_, max(a.updated_at), coalesce(command_, 'sql'), which,
         array_agg(a.partition_id order by a.partition_id),
         (select jsonb_object_agg(x.was, x.n) from (select a.was, count(*) as n from asked a group by 1) x),
         (select jsonb_object_agg(x.status, x.n) from (select a.status, count(*) as n from asked a group by 1) x),
         why, kind, id, role_
    from asked a having count(*) > 0;
  return null;
end $$;
revoke execute on function partitions.record_schedules() from public;
comment on function partitions.record_schedules() is
'The event of a step of a schedule; and what somebody asked for, in override_log.';
