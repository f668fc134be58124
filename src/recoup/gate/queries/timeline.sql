-- Companies and batches on a time line: what belongs to an intake, its status at a time, and its events. From AIR.

-- name: lineages
-- The intake from which one re-entered, or of which it is a restart; and those that re-entered or restarted it.
select x.intake_id::text
  from unnest(%(intakes)s::uuid[]) g (intake_id)
 cross join lateral (
   (select unnest(array[i.reentered_from, i.retry_of]) from cl.gate_zero_intake i
     where i.intake_id = g.intake_id limit 2)
   union all
   (select i.intake_id from cl.gate_zero_intake i where i.reentered_from = g.intake_id limit 1)
   union all
   (select i.intake_id from cl.gate_zero_intake i where i.retry_of = g.intake_id limit 1)) x (intake_id)
 where x.intake_id is not null;

-- name: batches_of
select distinct i.batch_id from cl.gate_zero_intake i
 where i.intake_id = any(%(intakes)s::uuid[]) and i.batch_id is not null;

-- name: companies
-- With the last attempt that had ended, the one that was open, and whether AIR had ended it as exhausted.
select i.intake_id, i.batch_id, i.company_name, i.company_domain, i.state, i.reentered_from, i.retry_of, i.created_at,
       p.attempt_number, p.status as outcome, p.reason_code, p.finished_at, p.policy_version, p.worker,
       reentered.intake_id as reentered_as, restarted.intake_id as restarted_as, x.reason_code as exhausted_by,
       x.event_timestamp as exhausted_at, f.check_name, left(f.message, %(text)s) as message,
       o.attempt_number as open_number, o.worker as open_worker, o.lease_until as open_until,
       o.policy_version as open_policy, o.opened_at,
       case when r.status = 'ACTIVE' and r.attempt_count = p.attempt_number then r.next_eligible_at
            else p.finished_at + cl.gate_zero_wait(v.figures, p.attempt_number) end as next_eligible_at,
       b.batch_freeze_at
  from unnest(%(intakes)s::uuid[]) g (intake_id)
 cross join lateral (select i.* from cl.gate_zero_intake i where i.intake_id = g.intake_id limit 1) i
  left join lateral (
    select a.* from cl.gate_zero_attempt a where a.intake_id = g.intake_id and a.finished_at <= %(until)s
     order by a.attempt_number desc limit 1) p on true
  left join lateral (
    select a.* from cl.gate_zero_attempt a
     where a.intake_id = g.intake_id and a.opened_at <= %(until)s
       and (a.finished_at is null or a.finished_at > %(until)s)
     order by a.attempt_number desc limit 1) o on true
  left join lateral (
    select a.reason_code, a.event_timestamp from cl.gate_zero_air a
     where a.entity_id = g.intake_id and a.event_timestamp <= %(until)s
     order by a.event_timestamp desc limit 1) last on true
  left join lateral (
    select last.reason_code, last.event_timestamp
     where last.reason_code in ('MAX_ATTEMPTS_REACHED', 'RECOVERY_WINDOW_CLOSED')) x on true
  left join lateral (
    select e.check_name, e.message from cl.gate_zero_evidence e where e.attempt_id = p.attempt_id
     order by e.check_number desc limit 1) f on true
  left join lateral (
    select n.intake_id from cl.gate_zero_intake n where n.reentered_from = g.intake_id limit 1) reentered on true
  left join lateral (
    select n.intake_id from cl.gate_zero_intake n
     where n.retry_of = g.intake_id and n.created_at <= %(until)s limit 1) restarted on true
  left join lateral (
    select r.* from cl.gate_zero_recovery r where r.intake_id = g.intake_id limit 1) r on true
  left join lateral (select v.figures from recoup.policy v where v.version = p.policy_version limit 1) v on true
  left join lateral (
    select b.batch_freeze_at from cl.gate_zero_batch b
     where b.batch_id = i.batch_id and b.completed_at <= %(until)s limit 1) b on true
 where i.created_at <= %(until)s;

-- name: batches
select b.batch_id, b.imported_at, b.batch_freeze_at, b.policy_version,
       case when b.frozen_at <= %(until)s then 'FROZEN' when b.completed_at <= %(until)s then 'COMPLETED'
            else 'OPEN' end as status,
       case when b.frozen_at <= %(until)s then b.frozen_at when b.completed_at <= %(until)s then b.completed_at
            else b.imported_at end as since
  from cl.gate_zero_batch b where b.batch_id = any(%(batches)s::text[]) and b.imported_at <= %(until)s;

-- name: events
-- The newest ones of each intake: AIR, with what the check that decided found; how it came in; and who restarted it.
select t.intake_id, t.seq, t.at, t.event, t.reason, t.detail, t.number, t.policy_version, t.actor, t.actor_id,
       t.authority
  from unnest(%(intakes)s::uuid[]) g (intake_id)
 cross join lateral (
   (select a.entity_id as intake_id, a.seq, a.event_timestamp as at, a.event_type as event, a.reason_code as reason,
           case when a.event_type in ('PASS', 'FAIL') then (
             select e.check_name || ': ' || left(e.message, %(text)s) from cl.gate_zero_evidence e
              where e.attempt_id = a.attempt_id order by e.check_number desc limit 1)
                else a.payload_ref end as detail,
           p.attempt_number as number, p.policy_version, a.actor, a.actor_id, a.authority
      from cl.gate_zero_air a
      left join lateral (select p.attempt_number, p.policy_version from cl.gate_zero_attempt p
                          where p.attempt_id = a.attempt_id limit 1) p on true
     where a.entity_id = g.intake_id and a.event_timestamp <= least(%(until)s, %(before_at)s::timestamptz)
       and (a.event_timestamp, a.seq) <= (%(before_at)s::timestamptz, %(before_seq)s::bigint)
     order by a.event_timestamp desc limit %(limit)s)
   union all
   (select i.intake_id, 0, i.created_at, 'CAME_IN', null, coalesce(i.reentered_from, i.retry_of)::text, null, null,
           null, null, null
      from cl.gate_zero_intake i
     where i.intake_id = g.intake_id and i.created_at <= %(until)s
       and (i.created_at, 0) <= (%(before_at)s::timestamptz, %(before_seq)s::bigint) limit 1)
   union all
   (select g.intake_id, l.seq, l.logged_at, 'RESTARTED', null, left(l.reason, %(text)s), null, null, l.actor,
           l.actor_id, l.authority
      from recoup.control_log l
     where l.subject = 'cl.gate_zero_intake' and l.key = g.intake_id::text and l.logged_at <= %(until)s
       and (l.logged_at, l.seq) <= (%(before_at)s::timestamptz, %(before_seq)s::bigint)
     order by l.seq desc limit %(limit)s)) t
 order by t.at desc, t.seq desc limit %(limit)s;

-- name: batch_events
-- Its steps, and its pauses.
select t.batch_id, t.seq, t.logged_at, t.event, t.reason, t.actor, t.actor_id, t.authority
  from unnest(%(batches)s::text[]) g (batch_id)
 cross join lateral (
   (select g.batch_id, l.seq, l.logged_at, case l.event_type when 'BIRTH' then 'IMPORTED' else l.to_status end as event,
           null as reason, l.actor, l.actor_id, l.authority
      from recoup.control_log l
     where l.subject = 'cl.gate_zero_batch' and l.key = g.batch_id and l.logged_at <= %(until)s
       and l.from_status is distinct from l.to_status
       and (l.logged_at, l.seq) <= (%(before_at)s::timestamptz, %(before_seq)s::bigint)
     order by l.seq desc limit %(limit)s)
   union all
   (select g.batch_id, l.seq, l.logged_at, l.event_type, left(l.reason, %(text)s), l.actor, l.actor_id, l.authority
      from recoup.pause_log l
     where l.scope = 'batch' and l.scope_id = g.batch_id and l.logged_at <= %(until)s
       and (l.logged_at, l.seq) <= (%(before_at)s::timestamptz, %(before_seq)s::bigint)
     order by l.seq desc limit %(limit)s)) t
 order by t.logged_at desc, t.seq desc limit %(limit)s;
