-- What the end of an attempt means for its intake and its recovery.
--
-- Done by the database, behind the guard and the recorder (d_), for the authority that ended the attempt: an attempt
-- cannot end without its consequences, whoever writes the update. Each step is itself a guarded move, and the guard
-- takes these from the owner alone: SECURITY DEFINER, so that no authority can make them by hand.

create or replace function cl.settle_attempts() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  -- Waits run from the time itself, not from an event's microseconds behind it: where time stands still, an attempt
  -- that opens and ends at one instant may be tried again exactly a wait later.
  now_ timestamptz := recoup.now();
begin
  perform recoup.require_table(tg_relid, 'cl.gate_zero_attempt');
  -- The intake: a first attempt decides it, a passed retry closes it.
  if exists (select from new_rows where attempt_number = 1 or status = 'passed') then
    execute $settle$ update cl.gate_zero_intake i
       set status = case when n.status <> 'passed' then 'FAILED'
                         when n.attempt_number = 1 then 'AUTHORIZED' else 'REENTER_SUCCEEDED' end,
           updated_at = greatest(i.updated_at, n.finished_at)  -- a server's clock may be set back
      from new_rows n
     where i.intake_id = n.intake_id and (n.attempt_number = 1 or n.status = 'passed') $settle$;
  end if;

  -- Each step only where it has rows: planning and guarding an empty statement would cost a single attempt dearly.
  if exists (select from new_rows where status <> 'passed' and attempt_number = 1) then
    insert into cl.gate_zero_recovery (intake_id, batch_id, failure_reason, attempt_count, next_eligible_at,
                                       created_at, updated_at)
    select n.intake_id, n.batch_id, n.reason_code, 1, least(n.finished_at, now_) + cl.gate_zero_wait(p.figures, 1),
           n.finished_at, n.finished_at
      from new_rows n join recoup.policy p on p.version = n.policy_version
     where n.status <> 'passed' and n.attempt_number = 1;
  end if;

  if exists (select from new_rows where status <> 'passed' and attempt_number > 1) then
    execute $settle$ update cl.gate_zero_recovery r
       set failure_reason = n.reason_code, attempt_count = r.attempt_count + 1,
           next_eligible_at = coalesce(
             least(n.finished_at, $1) + cl.gate_zero_wait(p.figures, n.attempt_number), recoup.never()),
           status = case when n.attempt_number < cl.max_attempts() then 'ACTIVE' else 'EXHAUSTED' end,
           -- Behind FAIL, which has finished_at.
           updated_at = greatest(r.updated_at, n.finished_at)
                        + case when n.attempt_number < cl.max_attempts() then interval '0'
                               else interval '1 microsecond' end
      from new_rows n join recoup.policy p on p.version = n.policy_version
     where r.intake_id = n.intake_id and n.status <> 'passed' and n.attempt_number > 1 $settle$ using now_;
  end if;

  -- An attempt in flight when its batch was frozen may finish; its failure is the last. Asked of each batch once,
  -- before anything is planned: hardly any window is closed. (status || '': by the key, not by the partial index on the
  -- status; see queries/attempts.sql.)
  if exists (select from (select distinct n.batch_id from new_rows n
                           where n.status <> 'passed' and n.batch_id is not null) d
              cross join lateral (select from cl.gate_zero_batch b
                                   where b.batch_id = d.batch_id and b.batch_freeze_at <= now_ limit 1) closed) then
    execute $settle$ update cl.gate_zero_recovery r
       set status = 'EXHAUSTED', next_eligible_at = recoup.never(), updated_at = r.updated_at + interval '1 microsecond'
      from new_rows n join cl.gate_zero_batch b on b.batch_id = n.batch_id and b.batch_freeze_at <= $1
     where r.intake_id = n.intake_id and r.status || '' = 'ACTIVE' and n.status <> 'passed' $settle$ using now_;
  end if;

  if exists (select from new_rows where reentered_as is not null) then
    -- Success makes a new intake; the failed one is never turned into a success.
    execute $settle$ insert into cl.gate_zero_intake (intake_id, batch_id, company_name, company_domain, linkedin_url,
                                                      state, status, reentered_from, created_at, updated_at)
    select n.reentered_as, i.batch_id, i.company_name, i.company_domain, i.linkedin_url, i.state, 'AUTHORIZED',
           i.intake_id, n.finished_at, n.finished_at
      from new_rows n join cl.gate_zero_intake i on i.intake_id = n.intake_id
     where n.reentered_as is not null $settle$;

    execute $settle$ update cl.gate_zero_recovery r
       set status = 'SUCCEEDED', next_eligible_at = recoup.never(), updated_at = greatest(r.updated_at, n.finished_at)
      from new_rows n where r.intake_id = n.intake_id and n.reentered_as is not null $settle$;
  end if;
  return null;
end $$;
revoke execute on function cl.settle_attempts() from public;
comment on function cl.settle_attempts() is
'Carries the end of an attempt to its intake and its recovery, in the same statement.';

create or replace function cl.settle_recoveries() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform recoup.require_table(tg_relid, 'cl.gate_zero_recovery');
  if exists (select from new_rows where status = 'EXHAUSTED') then
    execute $settle$ update cl.gate_zero_intake i
       set status = 'EXHAUSTED', updated_at = greatest(i.updated_at, n.updated_at)
      from new_rows n where i.intake_id = n.intake_id and n.status = 'EXHAUSTED' $settle$;
  end if;
  return null;
end $$;
revoke execute on function cl.settle_recoveries() from public;
comment on function cl.settle_recoveries() is 'An exhausted recovery exhausts its intake.';

-- For whoever opens an attempt by hand; our own statements name the policy once for all their rows.
alter table cl.gate_zero_attempt alter column policy_version set default recoup.policy_version();
