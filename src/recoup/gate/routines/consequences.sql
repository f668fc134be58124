-- What the end of an attempt means for its intake and its recovery.
--
-- Done by the database, after the guard and the recorder (d_), for the authority that ended the attempt: an attempt
-- cannot end without its consequences, whichever program writes the update. Each step is itself a guarded move, which
-- the guard accepts from the owner only: SECURITY DEFINER, so that no authority can make it by hand.

create or replace function cl.settle_attempts() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
-- A table's rows are looked up by the keys that were gathered, and joined to the new ones by hash: right for one row
-- and for a hundred thousand, so the plans may be kept.
set plan_cache_mode = force_generic_plan set jit = off
set enable_nestloop = off set enable_mergejoin = off set enable_hashjoin = on
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  now_   timestamptz;
  ended  uuid[];
  causes integer;
  closed text[];
begin
  if tg_relid <> 'cl.gate_zero_attempt'::regclass then
    perform recoup.require_table(tg_relid, 'cl.gate_zero_attempt');
  end if;
  -- Each step only where it has rows: guarding an empty statement would cost a single attempt dearly. 1: the intake is
  -- decided, 2: it re-enters, 4: it failed for the first time, 8: again. (An aggregate for each would cost, too.)
  select array_agg(n.intake_id),
         bit_or(case when n.status = 'passed' then case when n.attempt_number = 1 then 1 else 1 | 2 end
                     when n.attempt_number = 1 then 1 | 4 else 8 end)
    into ended, causes from new_rows n;
  -- The intake: a first attempt decides it, a passed retry closes it.
  if causes & 1 > 0 then
    update cl.gate_zero_intake i
       set status = case when n.status <> 'passed' then 'FAILED'
                         when n.attempt_number = 1 then 'AUTHORIZED' else 'REENTER_SUCCEEDED' end,
           updated_at = greatest(i.updated_at, n.finished_at)  -- a server's clock may be set back
      from new_rows n
     where i.intake_id = any(ended) and i.intake_id = n.intake_id and (n.attempt_number = 1 or n.status = 'passed');
  end if;

  if causes & 2 > 0 then
    -- Success makes a new intake; the failed one is never turned into a success.
    insert into cl.gate_zero_intake (intake_id, batch_id, company_name, company_domain, linkedin_url,
                                     state, status, reentered_from, created_at, updated_at)
    select n.reentered_as, i.batch_id, i.company_name, i.company_domain, i.linkedin_url, i.state, 'AUTHORIZED',
           i.intake_id, n.finished_at, n.finished_at
      from new_rows n join cl.gate_zero_intake i on i.intake_id = n.intake_id
     where i.intake_id = any(ended) and n.reentered_as is not null;

    update cl.gate_zero_recovery r
       set status = 'SUCCEEDED', next_eligible_at = recoup.never(), updated_at = greatest(r.updated_at, n.finished_at)
      from new_rows n
     where r.intake_id = any(ended) and r.intake_id = n.intake_id and n.reentered_as is not null;
  end if;

  if coalesce(causes & (4 | 8), 0) = 0 then
    return null;
  end if;
  -- Waits start at the time itself, not at an event microseconds later: with a simulated clock, an attempt that opens
  -- and ends at one instant may be tried again exactly one wait later.
  now_ := recoup.now();
  if causes & 4 > 0 then
    with waits as materialized (
      select p.version, cl.gate_zero_wait(p.figures, 1) as wait from recoup.policy p
       where p.version in (select n.policy_version from new_rows n))
    insert into cl.gate_zero_recovery (intake_id, batch_id, failure_reason, attempt_count, next_eligible_at,
                                       created_at, updated_at)
    select n.intake_id, n.batch_id, n.reason_code, 1, least(n.finished_at, now_) + w.wait, n.finished_at, n.finished_at
      from new_rows n join waits w on w.version = n.policy_version
     where n.status <> 'passed' and n.attempt_number = 1;
  end if;

  if causes & 8 > 0 then
    with waits as materialized (
      select p.version, c as attempt_count, cl.gate_zero_wait(p.figures, c) as wait
        from recoup.policy p cross join generate_series(2, cl.max_attempts()) c
       where p.version in (select n.policy_version from new_rows n))
    update cl.gate_zero_recovery r
       set failure_reason = n.reason_code, attempt_count = r.attempt_count + 1,
           next_eligible_at = coalesce(least(n.finished_at, now_) + w.wait, recoup.never()),
           status = case when n.attempt_number < cl.max_attempts() then 'ACTIVE' else 'EXHAUSTED' end,
           -- Behind FAIL, which has finished_at.
           updated_at = greatest(r.updated_at, n.finished_at)
                        + case when n.attempt_number < cl.max_attempts() then interval '0'
                               else interval '1 microsecond' end
      from new_rows n join waits w on w.version = n.policy_version and w.attempt_count = n.attempt_number
     where r.intake_id = any(ended) and r.intake_id = n.intake_id and n.status <> 'passed';
  end if;

  -- An attempt in flight when its batch was frozen may finish; its failure is the last. Asked of each batch once.
  closed := array(select b.batch_id from (select distinct n.batch_id from new_rows n where n.status <> 'passed') d
                   cross join lateral (select b.* from cl.gate_zero_batch b where b.batch_id = d.batch_id limit 1) b
                   where b.batch_freeze_at <= now_);
  if closed <> '{}' then
    -- By the key, not by the partial index on the status (status || ''); see queries/attempts.sql.
    update cl.gate_zero_recovery r
       set status = 'EXHAUSTED', next_eligible_at = recoup.never(), updated_at = r.updated_at + interval '1 microsecond'
      from new_rows n
     where r.intake_id = any(ended) and r.intake_id = n.intake_id and r.status || '' = 'ACTIVE'
       and n.status <> 'passed' and n.batch_id = any(closed);
  end if;
  return null;
end $$;
revoke execute on function cl.settle_attempts() from public;
comment on function cl.settle_attempts() is
'Updates intake and recovery when an attempt ends, in the same statement.';

create or replace function cl.settle_recoveries() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set jit = off  -- as cl.settle_attempts has it
set enable_nestloop = off set enable_mergejoin = off set enable_hashjoin = on
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  exhausted uuid[];
begin
  perform recoup.require_table(tg_relid, 'cl.gate_zero_recovery');
  exhausted := array(select n.intake_id from new_rows n where n.status = 'EXHAUSTED');
  if exhausted <> '{}' then
    update cl.gate_zero_intake i
       set status = 'EXHAUSTED', updated_at = greatest(i.updated_at, n.updated_at)
      from new_rows n where i.intake_id = any(exhausted) and i.intake_id = n.intake_id;
  end if;
  return null;
end $$;
revoke execute on function cl.settle_recoveries() from public;
comment on function cl.settle_recoveries() is 'An exhausted recovery exhausts its intake.';

-- For attempts that are opened by hand; our own statements give the policy once for all rows.
alter table cl.gate_zero_attempt alter column policy_version set default recoup.policy_version();
