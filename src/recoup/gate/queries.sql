-- Rows named by their key are looked up by their key. Where a status beside it is written  status || '' = 'open'  the
-- partial index on that status is kept out of it: analysed on a quiet day it seems to hold nothing, and would be read
-- from end to end for every row. The time is a materialised row of its own: in any other form it is called anew for every
-- row and every use, and rows of one statement would not share one instant.

-- name: create_batch
insert into cl.gate_zero_batch (batch_id, imported_at) values (%(batch_id)s, recoup.now())
returning batch_id;

-- name: complete_batch
-- Opens the recovery window. Set once: a second completion changes nothing.
with t as materialized (select recoup.now() as now_, recoup.policy_version() as policy_)
update cl.gate_zero_batch b
   set completed_at = t.now_, batch_freeze_at = t.now_ + cl.gate_zero_recovery_window(t.policy_), policy_version = t.policy_
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
select b.batch_id, b.status, b.imported_at, b.completed_at, b.batch_freeze_at, b.frozen_at, b.paused_at, b.paused_by, b.pause_reason
  from cl.gate_zero_batch b
 where b.batch_id = %(batch_id)s;

-- name: list_batches
-- Newest first.
select b.batch_id, b.status, b.imported_at, b.completed_at, b.batch_freeze_at, b.frozen_at, b.paused_at, b.paused_by, b.pause_reason
  from cl.gate_zero_batch b
 order by b.imported_at desc, b.batch_id
 limit %(limit)s;

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

-- name: exhaust_recoveries
with t as materialized (select recoup.now() as now_)
update cl.gate_zero_recovery r
   set status = 'EXHAUSTED', next_eligible_at = cl.never(),
       updated_at = greatest(t.now_, r.updated_at + interval '1 microsecond')
  from t, unnest(%(intakes)s::uuid[]) given (intake_id)
  left join lateral (select true as open from cl.gate_zero_attempt a
                      where a.intake_id = given.intake_id and a.status || '' = 'open' limit 1) a on true
 where r.intake_id = given.intake_id and r.status || '' = 'ACTIVE' and a.open is null
returning r.intake_id;

-- name: add_intakes
-- Ids come back in the order of the input.
with t as materialized (select recoup.now() as now_),
given as materialized (
  select recoup.new_id() as intake_id, g.*
    from unnest(%(names)s::text[], %(domains)s::text[], %(urls)s::text[], %(states)s::text[]) with ordinality
         as g(company_name, company_domain, linkedin_url, state, place)),
made as (
  insert into cl.gate_zero_intake (intake_id, batch_id, company_name, company_domain, linkedin_url, state, created_at, updated_at)
  select g.intake_id, %(batch_id)s, g.company_name, g.company_domain, g.linkedin_url, g.state, t.now_, t.now_
    from given g, t)
select intake_id from given order by place;

-- name: restart
-- What the exhausted intake was given, or what is known better by now.
with t as materialized (select recoup.now() as now_)
insert into cl.gate_zero_intake (batch_id, company_name, company_domain, linkedin_url, state, retry_of, created_at, updated_at)
select %(batch_id)s, coalesce(%(company_name)s, i.company_name), coalesce(%(company_domain)s, i.company_domain),
       coalesce(%(linkedin_url)s, i.linkedin_url), coalesce(%(state)s, i.state), i.intake_id, t.now_, t.now_
  from t, cl.gate_zero_intake i
 where i.intake_id = %(intake_id)s
returning intake_id;

-- name: candidates
select i.intake_id, i.company_name, i.company_domain, i.linkedin_url, i.state
  from unnest(%(intakes)s::uuid[]) g (intake_id)
 cross join lateral (select * from cl.gate_zero_intake i where i.intake_id = g.intake_id limit 1) i;

-- name: open_attempts
select attempts, intakes, numbers, tokens, lease_until from cl.open_attempts(%(intakes)s::uuid[], %(worker)s, %(lease)s);

-- name: claim_retries
select attempts, intakes, numbers, tokens, lease_until from cl.claim_retries(%(limit)s, %(worker)s, %(lease)s);

-- name: claim_pending
select attempts, intakes, numbers, tokens, lease_until from cl.claim_pending(%(limit)s, %(worker)s, %(lease)s);

-- name: finish_attempts
select attempts, intakes, statuses, reentered from cl.finish_attempts(%(attempts)s::uuid[], %(tokens)s::uuid[], %(reasons)s::text[], %(payloads)s::text[]);

-- name: lock_lapsed
-- What somebody holds at this moment is passed over, and does not count against the limit.
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

-- name: sweep_lag
select extract(epoch from recoup.now() - min(a.lease_until))::float8
  from cl.gate_zero_attempt a
 where a.status = 'open' and a.lease_until <= (select recoup.now());

-- name: freeze_lag
-- Batches that are to be frozen; what a freeze has yet to end in frozen ones is not waited for.
select extract(epoch from recoup.now() - min(b.batch_freeze_at))::float8
  from cl.gate_zero_batch b
 where b.frozen_at is null and b.batch_freeze_at <= (select recoup.now());

-- name: lock_frozen_recovery
select i.intake_id
  from cl.gate_zero_recovery r
  join cl.gate_zero_batch b on b.batch_id = r.batch_id
  join cl.gate_zero_intake i on i.intake_id = r.intake_id
 where r.intake_id = %(only)s and r.status || '' = 'ACTIVE' and b.batch_freeze_at <= (select recoup.now())
   for no key update of i, r skip locked;

-- name: lock_recoveries
-- Behind the intakes, and before their attempts are touched: a claim that looked too early may hold the recovery, and would
-- wait for us. Counted, not returned: nobody asks which.
select count(*) from (
  select from cl.gate_zero_recovery where intake_id = any(%(intakes)s::uuid[]) order by intake_id for no key update) l;

-- name: crash_attempts
with t as materialized (select recoup.now() as now_)
update cl.gate_zero_attempt a
   set status = 'crashed', reason_code = 'TIMEOUT', finished_at = greatest(t.now_, a.opened_at + interval '1 microsecond')
  from t
 where a.intake_id = any(%(intakes)s::uuid[]) and a.status || '' = 'open' and a.lease_until <= t.now_
returning a.attempt_id;

-- name: history
select a.entity_id as intake_id, a.event_type, a.reason_code, a.event_timestamp, a.payload_ref, a.actor, a.actor_id
  from cl.gate_zero_air a
 where a.entity_id = any(%(intakes)s::uuid[])
 order by a.entity_id, a.event_timestamp;

-- name: find_intakes
select i.intake_id, i.batch_id, i.company_name, i.company_domain, i.state, i.status, i.reentered_from, i.retry_of, i.created_at,
       r.status as recovery_status, r.attempt_count, r.next_eligible_at, r.failure_reason
  from cl.gate_zero_intake i
  left join cl.gate_zero_recovery r on r.intake_id = i.intake_id
 where i.intake_id = any(%(intakes)s::uuid[]);

-- name: eligible
-- Who may be tried again now, longest due first: not in a paused or closed batch, and not being tried.
select r.recovery_id, r.intake_id, r.attempt_count, i.company_name, r.next_eligible_at,
       extract(epoch from recoup.now() - r.next_eligible_at)::float8 as due_for_s
  from cl.gate_zero_recovery r
  cross join lateral (select i.company_name from cl.gate_zero_intake i where i.intake_id = r.intake_id limit 1) i
  left join lateral (select b.paused_at, b.batch_freeze_at from cl.gate_zero_batch b
                      where b.batch_id = r.batch_id limit 1) b on true
  left join lateral (select true as open from cl.gate_zero_attempt a
                      where a.intake_id = r.intake_id and a.status || '' = 'open' limit 1) a on true
 where r.status = 'ACTIVE' and r.next_eligible_at <= (select recoup.now())
   and b.paused_at is null and (b.batch_freeze_at is null or b.batch_freeze_at > (select recoup.now()))
   and a.open is null
 order by r.next_eligible_at
 limit %(limit)s;

-- name: exhausted
-- Of one batch, or of all, batch by batch. Why it ended is the last thing that AIR says of it.
select r.intake_id, i.company_name, r.batch_id, r.failure_reason, r.attempt_count, e.ended_by, e.ended_at, later.restarted_as
  from cl.gate_zero_recovery r
 cross join lateral (select i.company_name from cl.gate_zero_intake i where i.intake_id = r.intake_id limit 1) i
  left join lateral (select a.reason_code as ended_by, a.event_timestamp as ended_at from cl.gate_zero_air a
                      where a.entity_id = r.intake_id order by a.event_timestamp desc limit 1) e on true
  left join lateral (select i.intake_id as restarted_as from cl.gate_zero_intake i where i.retry_of = r.intake_id limit 1) later on true
 where r.status = 'EXHAUSTED' {of_batch}
 order by r.batch_id
 limit %(limit)s;

-- name: verify_lag
-- For how long the oldest intake that nobody looks at has been waiting for its first attempt.
select extract(epoch from recoup.now() - i.created_at)::float8
  from cl.gate_zero_intake i
  left join lateral (select true as open from cl.gate_zero_attempt a
                      where a.intake_id = i.intake_id and a.status || '' = 'open' limit 1) a on true
 where i.status = 'PENDING' and a.open is null
 order by i.created_at, i.intake_id
 limit 1;

-- name: funnel
-- Re-entered intakes are the same companies once more, and are counted with their origins.
select count(*) filter (where i.reentered_from is null),
       count(*) filter (where i.status = 'AUTHORIZED' and i.reentered_from is null),
       count(*) filter (where i.status = 'REENTER_SUCCEEDED'),
       count(*) filter (where i.status = 'PENDING'),
       count(*) filter (where i.status = 'FAILED'),
       count(*) filter (where i.status = 'EXHAUSTED'),
       (select count(*) from cl.sovereign_mint_air m where %(batch_id)s::text is null or m.batch_id = %(batch_id)s::text),
       (select count(*) from cl.gate_zero_attempt a
         where a.status = 'open' and (%(batch_id)s::text is null or a.batch_id = %(batch_id)s::text))
  from cl.gate_zero_intake i
 where %(batch_id)s::text is null or i.batch_id = %(batch_id)s::text;

-- name: failures_by_reason
select a.reason_code, count(*)
  from cl.gate_zero_air a
 where a.event_type = 'FAIL' and (%(batch_id)s::text is null or a.batch_id = %(batch_id)s::text)
 group by a.reason_code
 order by count(*) desc, a.reason_code;

-- name: longest_recovery
-- For the demo, whose tables are small: an intake whose last attempt passed.
select a.intake_id from cl.gate_zero_attempt a
 where a.attempt_number = 3 and a.status = 'passed'
 order by a.opened_at, a.intake_id
 limit 1;

-- name: overdue_batches
-- Not declared complete for so long: their recoveries are never frozen.
select b.batch_id, b.imported_at
  from cl.gate_zero_batch b
 where b.completed_at is null and b.imported_at <= (select recoup.now()) - make_interval(hours => 24 * %(days)s)
 order by b.imported_at
 limit %(limit)s;

-- name: intakes_of_batch
select i.intake_id from cl.gate_zero_intake i
 where i.batch_id = %(batch_id)s and i.reentered_from is null
 order by i.created_at, i.intake_id
 limit %(limit)s;
