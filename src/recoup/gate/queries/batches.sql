-- Batches: the import, the window, the kill switch, the freeze.
-- See attempts.sql on  status || ''  and on the time as a row of its own.

-- name: create_batch
insert into cl.gate_zero_batch (batch_id, imported_at) values (%(batch_id)s, recoup.now())
    on conflict (batch_id) do nothing;

-- name: complete_batch
-- Opens the recovery window. Set once: a second completion changes nothing.
with t as materialized (select recoup.now() as now_, recoup.policy_version() as policy_)
update cl.gate_zero_batch b
   set completed_at = t.now_, batch_freeze_at = t.now_ + cl.gate_zero_recovery_window(t.policy_),
       policy_version = t.policy_
  from t
 where b.batch_id = %(batch_id)s and b.completed_at is null
returning b.batch_freeze_at;

-- name: pause_batch
update cl.gate_zero_batch
   set paused_at = recoup.now(), paused_by = recoup.acting_id(), pause_reason = %(reason)s
 where batch_id = %(batch_id)s and paused_at is null
returning batch_id;

-- name: resume_batch
update cl.gate_zero_batch
   set paused_at = null, paused_by = null, pause_reason = null
 where batch_id = %(batch_id)s and paused_at is not null
returning batch_id;

-- name: find_batch
select b.batch_id, b.status, b.imported_at, b.completed_at, b.batch_freeze_at, b.frozen_at,
       b.paused_at, b.paused_by, b.pause_reason
  from cl.gate_zero_batch b
 where b.batch_id = %(batch_id)s;

-- name: list_batches
-- Newest first.
select b.batch_id, b.status, b.imported_at, b.completed_at, b.batch_freeze_at, b.frozen_at,
       b.paused_at, b.paused_by, b.pause_reason
  from cl.gate_zero_batch b
 where b.imported_at <= coalesce(%(at)s::timestamptz, 'infinity')
   and (b.imported_at < coalesce(%(at)s::timestamptz, 'infinity') or b.batch_id > %(after)s::text)
 order by b.imported_at desc, b.batch_id
 limit %(limit)s;

-- name: counts
-- Of each batch the first intakes: a list of batches reads no more, however large they are.
select b.batch_id, c.read, c.came_in, c.passed, c.waiting, c.exhausted
  from unnest(%(batches)s::text[]) b (batch_id)
 cross join lateral (
   select count(*) as read,
          count(*) filter (where i.reentered_from is null) as came_in,
          count(*) filter (where i.status in ('AUTHORIZED', 'REENTER_SUCCEEDED')
                             and i.reentered_from is null) as passed,
          count(*) filter (where i.status in ('PENDING', 'FAILED')) as waiting,
          count(*) filter (where i.status = 'EXHAUSTED') as exhausted
     from (select i.status, i.reentered_from from cl.gate_zero_intake i
            where i.batch_id = b.batch_id order by i.intake_id limit %(most)s) i) c;

-- name: freeze_batches
-- A batch that somebody holds is left for the next time.
with t as materialized (select recoup.now() as now_)
update cl.gate_zero_batch b set frozen_at = t.now_
  from t
 where b.batch_id in (select d.batch_id from cl.gate_zero_batch d
                       where d.batch_freeze_at <= (select recoup.now()) and d.frozen_at is null
                       order by d.batch_freeze_at
                         for no key update skip locked)
returning b.batch_id;

-- name: lock_frozen_recoveries
-- Recoveries whose window closed and that nobody is verifying, in frozen batches too: a failure from before the end may
-- have committed after the freeze. Found by hopping from batch to batch along the index of ACTIVE recoveries, so that
-- neither old batches nor waiting recoveries are read. Intake and recovery are locked and the update looks again: an
-- attempt that opens at this moment either holds one of them, and is skipped, or comes later, and is refused.
-- LATERAL with a limit: one look-up each, whatever the statistics say of a table that was quiet when it was analysed.
with recursive live as (
  (select r.batch_id from cl.gate_zero_recovery r
    where r.status = 'ACTIVE' and r.batch_id is not null order by r.batch_id limit 1)
   union all
  select (select r.batch_id from cl.gate_zero_recovery r
           where r.status = 'ACTIVE' and r.batch_id > live.batch_id order by r.batch_id limit 1)
    from live where live.batch_id is not null)
select i.intake_id
  from live
 cross join lateral (select b.batch_id from cl.gate_zero_batch b
                      where b.batch_id = live.batch_id and b.batch_freeze_at <= (select recoup.now()) limit 1) closed
 cross join lateral (select r.intake_id from cl.gate_zero_recovery r
                      where r.batch_id = closed.batch_id and r.status = 'ACTIVE' limit %(limit)s) r
  left join lateral (select true as open from cl.gate_zero_attempt a
                      where a.intake_id = r.intake_id and a.status || '' = 'open' limit 1) a on true
  join cl.gate_zero_intake i on i.intake_id = r.intake_id
  join cl.gate_zero_recovery mine on mine.intake_id = r.intake_id
 where a.open is null
 limit %(limit)s
   for no key update of i, mine skip locked;

-- name: lock_frozen_recovery
select i.intake_id
  from cl.gate_zero_recovery r
  join cl.gate_zero_batch b on b.batch_id = r.batch_id
  join cl.gate_zero_intake i on i.intake_id = r.intake_id
 where r.intake_id = %(only)s and r.status || '' = 'ACTIVE' and b.batch_freeze_at <= (select recoup.now())
   for no key update of i, r skip locked;

-- name: exhaust_recoveries
with t as materialized (select recoup.now() as now_)
update cl.gate_zero_recovery r
   set status = 'EXHAUSTED', next_eligible_at = recoup.never(),
       updated_at = greatest(t.now_, r.updated_at + interval '1 microsecond')
  from t, unnest(%(intakes)s::uuid[]) given (intake_id)
  left join lateral (select true as open from cl.gate_zero_attempt a
                      where a.intake_id = given.intake_id and a.status || '' = 'open' limit 1) a on true
 where r.intake_id = given.intake_id and r.status || '' = 'ACTIVE' and a.open is null
returning r.intake_id;

-- name: freeze_lag
-- Batches that are to be frozen; what a freeze has yet to end in frozen ones is not waited for.
select extract(epoch from recoup.now() - min(b.batch_freeze_at))::float8
  from cl.gate_zero_batch b
 where b.frozen_at is null and b.batch_freeze_at <= (select recoup.now());

-- name: overdue_batches
-- Not declared complete for so long: their recoveries are never frozen.
select b.batch_id, b.imported_at
  from cl.gate_zero_batch b
 where b.completed_at is null and b.imported_at <= (select recoup.now()) - make_interval(hours => 24 * %(days)s)
 order by b.imported_at
 limit %(limit)s;
