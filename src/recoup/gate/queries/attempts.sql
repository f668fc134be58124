-- Attempts whose lease has expired: found and ended. Others are opened, claimed and ended in routines/attempts.sql.
--
-- Rows named by their key are looked up by their key. Where a status next to it is written  status || '' = 'open'  the
-- partial index on that status is kept out of it: analysed on a quiet day it seems to hold nothing, and would be read
-- from end to end for every row. The time is a materialised row of its own: in any other form it is called again for
-- every row and every use, and rows of one statement would not share one instant.

-- name: lock_lapsed
-- Rows that another transaction holds are skipped, and do not count against the limit.
select a.intake_id
  from cl.gate_zero_attempt a
  join cl.gate_zero_intake i on i.intake_id = a.intake_id
 where a.status = 'open' and a.lease_until <= (select recoup.now())
 order by a.lease_until
 limit %(limit)s
   for no key update of i skip locked;

-- name: lock_lapsed_one
select a.intake_id
  from cl.gate_zero_attempt a
  join cl.gate_zero_intake i on i.intake_id = a.intake_id
 where a.status || '' = 'open' and a.lease_until <= (select recoup.now()) and a.intake_id = %(only)s
   for no key update of i skip locked;

-- name: lock_recoveries
-- After the intakes, and before their attempts are updated: a claim that read too early may hold the recovery, and
-- would wait for us. Counted, not returned: only the locks are needed.
select count(*) from (
  select from cl.gate_zero_recovery where intake_id = any(%(intakes)s::uuid[]) order by intake_id for no key update) l;

-- name: crash_attempts
with t as materialized (select recoup.now() as now_)
update cl.gate_zero_attempt a
   set status = 'crashed', reason_code = 'TIMEOUT',
       finished_at = greatest(t.now_, a.opened_at + interval '1 microsecond')
  from t
 where a.intake_id = any(%(intakes)s::uuid[]) and a.status || '' = 'open' and a.lease_until <= t.now_
returning a.attempt_id;

-- name: sweep_lag
select extract(epoch from recoup.now() - min(a.lease_until))::float8
  from cl.gate_zero_attempt a
 where a.status = 'open' and a.lease_until <= (select recoup.now());
