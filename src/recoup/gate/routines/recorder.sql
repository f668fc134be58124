-- The recorders of Gate Zero: they write the events of births and moves to the AIR log, and of pauses to the pause log.
--
-- SECURITY DEFINER and owned by the tables' owner: only they can write a log. A recorder works for its own table only,
-- and only the owner may make a trigger of it. Each locks its entities before it draws seq, so that seq rises with time
-- within an entity. Times come from the rows: ATTEMPT at
-- opened_at, outcomes from finished_at on, a microsecond apart.

create or replace function cl.record_attempt_births() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = utc set datestyle = iso, ymd
as $$
declare
  kind_        constant text := recoup.acting_kind();
  id_          constant text := recoup.acting_id();
  role_        constant text := recoup.acting_role();
  incarnation_ constant integer := recoup.present_incarnation();
begin
  if tg_relid <> 'cl.gate_zero_attempt'::regclass then
    perform recoup.require_table(tg_relid, 'cl.gate_zero_attempt');
  end if;
  -- rule_attempt_births has locked the intakes in this same statement.
  insert into cl.gate_zero_air (entity_id, event_type, reason_code, batch_id, payload_ref, actor, event_timestamp,
                                incarnation, attempt_id, actor_id, authority, form, digest)
  select n.intake_id, 'ATTEMPT', case when n.attempt_number = 1 then 'START' else 'RETRY' end, n.batch_id,
         n.payload_ref, kind_, n.opened_at, incarnation_, n.attempt_id, id_, role_,
         1, sha256(convert_to(array[n.attempt_id::text, n.intake_id::text, n.batch_id, n.attempt_number::text, n.worker,
                                    n.token::text, n.opened_at::text, n.lease_until::text, n.policy_version::text
                                   ]::text, 'UTF8'))
    from new_rows n;
  return null;
end $$;
revoke execute on function cl.record_attempt_births() from public;
comment on function cl.record_attempt_births() is 'ATTEMPT, with START or RETRY.';

create or replace function cl.record_attempt_moves() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  kind_        constant text := recoup.acting_kind();
  id_          constant text := recoup.acting_id();
  role_        constant text := recoup.acting_role();
  incarnation_ constant integer := recoup.present_incarnation();
begin
  if tg_relid <> 'cl.gate_zero_attempt'::regclass
     or current_setting('transaction_isolation') <> 'read committed' then
    perform recoup.require_table(tg_relid, 'cl.gate_zero_attempt');
    perform recoup.require_read_committed('Gate Zero');
  end if;
  insert into cl.gate_zero_air (entity_id, event_type, reason_code, batch_id, payload_ref, actor, event_timestamp,
                                incarnation, attempt_id, actor_id, authority)
  select e.intake_id, e.event_type, e.reason_code, e.batch_id, e.payload_ref, kind_,
         e.finished_at + e.step * interval '1 microsecond', incarnation_, e.attempt_id, id_, role_
    from (select n.intake_id, said.event_type, said.reason_code, n.batch_id, said.payload_ref, n.finished_at,
                 said.step, n.attempt_id
            from (select o.* from new_rows o order by o.intake_id) n
           cross join lateral (select from cl.gate_zero_intake i
                                where i.intake_id = n.intake_id limit 1 for no key update) locked
           cross join lateral (values
              (0, 'PASS',    'CHECKS_PASSED',       n.payload_ref,                 n.status = 'passed'),
              (1, 'AUTH',    'EXISTENCE_CONFIRMED', n.payload_ref,                 n.status = 'passed'),
              (2, 'REENTER', 'RECOVERY_SUCCESS',    'intake:' || n.reentered_as,   n.reentered_as is not null),
              (0, 'FAIL',    n.reason_code,         n.payload_ref,                 n.status = 'failed'),
              (0, 'FAIL',    n.reason_code,         'attempt:' || n.attempt_id,    n.status = 'crashed')
           ) as said (step, event_type, reason_code, payload_ref, happened)
           where said.happened
           order by n.intake_id, said.step) e;
  return null;
end $$;
revoke execute on function cl.record_attempt_moves() from public;
comment on function cl.record_attempt_moves() is
'PASS and AUTH, on a retry REENTER with the new intake; or FAIL. '
'A crashed attempt is FAIL, TIMEOUT, with a pointer to itself.';

create or replace function cl.record_restarts() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform recoup.require_table(tg_relid, 'cl.gate_zero_intake');
  -- A new candidate is no event of Gate Zero. A restart is a decision: who, and why.
  if exists (select from new_rows where retry_of is not null) then
    insert into recoup.control_log (incarnation, logged_at, subject, key, event_type, to_status, facts,
                                    reason, actor, actor_id, authority)
    select (select recoup.present_incarnation()), (select recoup.now()), 'cl.gate_zero_intake', n.intake_id::text,
           'BIRTH', n.status, jsonb_build_object('retry_of', n.retry_of),
           coalesce(nullif(current_setting('recoup.reason', true), ''), 'none given'),
           (select recoup.acting_kind()), (select recoup.acting_id()), (select recoup.acting_role())
      from new_rows n where n.retry_of is not null;
  end if;
  return null;
end $$;
revoke execute on function cl.record_restarts() from public;
comment on function cl.record_restarts() is 'A restart, in the control log.';

create or replace function cl.record_recovery_moves() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_nestloop = off set enable_hashjoin = on  -- see cl.rule_recovery_moves
as $$
begin
  perform recoup.require_table(tg_relid, 'cl.gate_zero_recovery');
  if not exists (select from new_rows where status = 'EXHAUSTED') then
    return null;
  end if;
  -- rule_recovery_moves has locked the intakes in this same statement.
  execute $record$
  insert into cl.gate_zero_air (entity_id, event_type, reason_code, batch_id, actor, event_timestamp,
                                incarnation, actor_id, authority)
  select n.intake_id, 'EXHAUSTED',
         case when final.attempt_id is null then 'RECOVERY_WINDOW_CLOSED' else 'MAX_ATTEMPTS_REACHED' end,
         n.batch_id, (select recoup.acting_kind()), greatest(n.updated_at, o.updated_at + interval '1 microsecond'),
         (select recoup.present_incarnation()), (select recoup.acting_id()), (select recoup.acting_role())
    from new_rows n
    join old_rows o on o.recovery_id = n.recovery_id
    left join lateral (select f.attempt_id from cl.gate_zero_attempt f
                        where f.intake_id = n.intake_id and f.attempt_number = cl.max_attempts() limit 1) final on true
   where n.status = 'EXHAUSTED' $record$;
  return null;
end $$;
revoke execute on function cl.record_recovery_moves() from public;
comment on function cl.record_recovery_moves() is
'EXHAUSTED, with its reason: three attempts, or the window closed.';

create or replace function cl.record_batch_moves() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform recoup.require_table(tg_relid, 'cl.gate_zero_batch');
  execute $record$
  insert into recoup.pause_log (incarnation, logged_at, event_type, scope, scope_id, reason, actor, actor_id, authority)
  select (select recoup.present_incarnation()), (select recoup.now()),
         case when n.paused_at is null then 'RESUME' else 'PAUSE' end, 'batch', n.batch_id,
         coalesce(n.pause_reason, nullif(current_setting('recoup.reason', true), ''), 'none given'),
         (select recoup.acting_kind()), (select recoup.acting_id()), (select recoup.acting_role())
    from new_rows n join old_rows o on o.batch_id = n.batch_id
   where (n.paused_at, n.paused_by, n.pause_reason)
           is distinct from (o.paused_at, o.paused_by, o.pause_reason) $record$;
  return null;
end $$;
revoke execute on function cl.record_batch_moves() from public;
comment on function cl.record_batch_moves() is 'PAUSE or RESUME of a batch, in the pause log.';
