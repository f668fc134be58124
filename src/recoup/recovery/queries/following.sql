-- Which matches events of other logs concern, and which failures become matches. Events only say where to look.
--
-- "offset 0" keeps a lookup per event: joined freely, statistics from before a storm made one of them compare every
-- open match with every event of a page, for minutes.

-- name: of_errors
select m.failure_match_id
  from (select distinct u.error_table, u.error_id
          from unnest(%(tables)s::text[], %(ids)s::bigint[]) u (error_table, error_id)) g
 cross join lateral (
   (select coalesce(e.lineage_id, e.error_id) as lineage from recoup.error e
     where e.error_table = g.error_table and e.error_id = g.error_id limit 1)
   union all
   (select coalesce(a.lineage_id, a.error_id) from recoup.error_archive a
     where a.error_table = g.error_table and a.error_id = g.error_id limit 1)
   limit 1) e
 cross join lateral (
   select m.failure_match_id from recovery.failure_match m
    where m.subject_ref = g.error_table || '/' || e.lineage and m.subject_kind = 'error' and m.ended_at is null
   offset 0) m;

-- name: of_units
-- Of intakes, runs, deliveries and tasks: the subject itself, what was started for it, or what a person restarted.
select m.failure_match_id
  from (select distinct u.key from unnest(%(keys)s::text[]) u (key)) g
 cross join lateral (
   select m.failure_match_id from recovery.failure_match m
    where m.subject_ref = g.key and m.subject_kind = %(kind)s and m.ended_at is null
   union
   select c.failure_match_id from recovery.candidate c where c.awaits ->> 'key' = g.key) m;

-- name: of_restarted_intakes
select m.failure_match_id
  from unnest(%(keys)s::text[]) g (key)
 cross join lateral (select i.retry_of from cl.gate_zero_intake i where i.intake_id = g.key::uuid limit 1) i
 cross join lateral (
   select m.failure_match_id from recovery.failure_match m
    where m.subject_ref = i.retry_of::text and m.subject_kind = 'intake' and m.ended_at is null
   offset 0) m;

-- name: of_fallbacks
-- Of deliveries that replace one that died: what awaits that one.
select c.failure_match_id
  from unnest(%(keys)s::text[]) g (key)
 cross join lateral (select d.instead_of from recoup.delivery d where d.delivery_id = g.key::uuid limit 1) d
 cross join lateral (
   select c.failure_match_id from recovery.candidate c where c.awaits ->> 'key' = d.instead_of::text offset 0) c;

-- name: of_retried_runs
select m.failure_match_id
  from unnest(%(keys)s::text[]) g (key)
 cross join lateral (select r.retry_of from recovery.run r where r.run_id = g.key::uuid limit 1) r
 cross join lateral (
   select m.failure_match_id from recovery.failure_match m
    where m.subject_ref = r.retry_of::text and m.subject_kind = 'run' and m.ended_at is null
   offset 0) m;

-- name: of_candidates
-- Not what an evaluation did itself: the same transaction has the next step.
select distinct g.match
  from unnest(%(matches)s::uuid[], %(xids)s::text[]) g (match, xid)
 where not exists (
   select from recovery.provenance p
    where p.failure_match_id = g.match and p.xid = g.xid::xid8 and p.event_type in ('match_evaluated', 'match_ended')
   offset 0);

-- name: of_scopes
select m.failure_match_id from recovery.failure_match m
 where m.incident_id = any(%(incidents)s::uuid[]) and m.ended_at is null;

-- name: of_retired_actions
-- Of candidates that were not started, and whose action the active policy has no longer, or as one of another type.
select c.failure_match_id
  from (select recovery.policy() -> 'actions' as actions offset 0) p
 cross join lateral (
   select c.failure_match_id from recovery.candidate c
    where c.executed_at is null and c.finished_at is null
      and c.action_type is distinct from p.actions -> c.action_name ->> 'type' and c.action_name is not null
   offset 0) c;

-- name: wake
select recovery.wake_matches(%(ids)s::uuid[]);

-- name: subjects_of
select m.failure_match_id, m.subject_kind || '/' || m.subject_ref from recovery.failure_match m
 where m.failure_match_id = any(%(ids)s::uuid[]);

-- name: parked
-- Errors that are parked now, for a reason of the policy, and that no open match is about. After a match that ended, a
-- new one needs a person's act in between.
select e.error_table, coalesce(e.lineage_id, e.error_id) as lineage, e.error_code, e.error_message, e.error_signature,
       e.category, e.park_reason, e.outreach_id::text as outreach_id, e.work_key, m.failure_match_id as before
  from (select distinct u.error_table, u.error_id
          from unnest(%(tables)s::text[], %(ids)s::bigint[]) u (error_table, error_id)) g
 cross join lateral (
   select e.* from recoup.error e
    where e.error_table = g.error_table and e.error_id = g.error_id and e.archived_at is null
      and e.status in ('PARKED', 'ESCALATED') limit 1) e
  left join lateral (
   select m.failure_match_id, m.ended_at from recovery.failure_match m
    where m.subject_ref = e.error_table || '/' || coalesce(e.lineage_id, e.error_id) and m.subject_kind = 'error'
    order by m.created_at desc limit 1) m on true
 where m.failure_match_id is null
    or m.ended_at is not null and exists (
      -- On this error, or on one of its lineage that was superseded since.
      select from (select e.error_id as id
                   union all
                   select recovery.errors_before(e.error_table, e.lineage_id) where e.lineage_id <> e.error_id) c
       cross join lateral (
         select from recoup.error_event v
          where v.error_id = c.id and v.error_table = e.error_table and v.authority = 'recoup_operator'
            and v.logged_at >= m.ended_at limit 1) v
      offset 0);

-- name: exhausted
select i.intake_id::text as intake_id, i.company_name, i.batch_id, r.failure_reason
  from (select distinct u.key from unnest(%(keys)s::text[]) u (key)) g
 cross join lateral (select i.* from cl.gate_zero_intake i where i.intake_id = g.key::uuid limit 1) i
  left join lateral (select r.failure_reason from cl.gate_zero_recovery r where r.intake_id = i.intake_id limit 1)
    r on true
 where i.status = 'EXHAUSTED'
   -- What a candidate started ends as its outcome; what a person restarted meanwhile is of the match that is open.
   and not exists (select from recovery.candidate c where c.awaits ->> 'key' = i.intake_id::text offset 0)
   and not exists (select from recovery.failure_match m
                    where m.subject_ref = i.retry_of::text and m.subject_kind = 'intake' and m.ended_at is null
                   offset 0);

-- name: crashed
select r.run_id::text as run_id, r.kind, r.source, r.message, r.crash_reason
  from (select distinct u.key from unnest(%(keys)s::text[]) u (key)) g
 cross join lateral (select r.* from recovery.run r where r.run_id = g.key::uuid limit 1) r
 where r.status = 'crashed' and r.candidate_id is null;

-- name: given_up
-- Partitions that are terminal now, and that no open match is about. What a candidate requeued ends as its outcome,
-- unless a person marked it since.
select s.partition_id, s.source, s.terminal_causes, s.terminal_at, p.customer_id, p.query_name, p.logical_date,
       p.attempt_count, p.error_message, a.reason, a.error_signature, a.category, m.failure_match_id as before
  from (select distinct u.id from unnest(%(ids)s::bigint[]) u (id)) g
 cross join lateral (
   select s.* from partitions.schedule s where s.partition_id = g.id and s.status = 'terminal' limit 1) s
 cross join lateral (select p.* from partitions.partition_state p where p.partition_id = g.id limit 1) p
  left join lateral (
   select a.* from partitions.attempt a where a.partition_id = g.id order by a.number desc limit 1) a on true
  left join lateral (
   select r.candidate_id from partitions.run r where r.partition_id = g.id order by r.number desc limit 1) r on true
  left join lateral (
   select m.failure_match_id, m.ended_at from recovery.failure_match m
    where m.subject_ref = g.id::text and m.subject_kind = 'partition' order by m.created_at desc limit 1) m on true
 where (m.failure_match_id is null or m.ended_at is not null)
   and (r.candidate_id is null or 'MARKED' = any(s.terminal_causes));

-- name: expire_scopes
with t as materialized (select recoup.now() as now_)
update recovery.scope s set status = 'expired', ended_at = t.now_
  from t
 where s.scope_id = any(array(
         select s.scope_id from recovery.scope s
          where s.status = 'active' and s.expires_at <= (select recoup.now()) and (%(only)s::uuid is null
            or s.scope_id = %(only)s)
          order by s.expires_at limit %(limit)s for no key update skip locked))
returning s.scope_id;

-- name: expired_scopes
select s.scope_id from recovery.scope s
 where s.status = 'active' and s.expires_at <= (select recoup.now()) order by s.expires_at limit %(limit)s;

-- name: scope_lag
select extract(epoch from recoup.now() - s.expires_at) from recovery.scope s
 where s.status = 'active' and s.expires_at <= (select recoup.now()) order by s.expires_at limit 1;

-- name: hold_quiet
-- Locked against new matches first; then read again, in a second statement.
select i.incident_id from recovery.incident i
 where i.status = 'open' and i.opened_at <= (select recoup.now()) - make_interval(hours => %(hours)s)
   and not exists (select from recovery.failure_match m
                    where m.incident_id = i.incident_id
                      and (m.ended_at is null
                           or m.created_at > (select recoup.now()) - make_interval(hours => %(hours)s)))
 order by i.opened_at limit %(limit)s
   for update skip locked;

-- name: close_quiet
with t as materialized (select recoup.now() as now_)
update recovery.incident i set status = 'closed', closed_at = t.now_
  from t
 where i.incident_id = any(%(ids)s::uuid[]) and i.status = 'open'
   and not exists (select from recovery.failure_match m
                    where m.incident_id = i.incident_id
                      and (m.ended_at is null or m.created_at > t.now_ - make_interval(hours => %(hours)s)))
returning i.incident_id;

-- name: lag
select extract(epoch from recoup.now() - l.{at})
  from recoup.subscription s
 cross join lateral (
   select l.{at} from {log} l
    where l.xid >= pg_snapshot_xmax(s.since) and l.{event} = any(%(types)s::text[]) order by l.xid limit 1) l
 where s.log = %(log)s and s.name = %(name)s;

-- name: quiet_lag
-- How long the incident has been quiet that opened first and has no open match, less the time that it has to be.
select greatest(0, extract(epoch from recoup.now() - q.last_at) - 3600 * q.hours)
  from (select coalesce(max(m.created_at), i.opened_at) as last_at,
               (recovery.policy() ->> 'incident_quiet_hours')::integer as hours
          from recovery.incident i left join recovery.failure_match m on m.incident_id = i.incident_id
         where i.status = 'open'
           and not exists (select from recovery.failure_match o where o.incident_id = i.incident_id
             and o.ended_at is null)
         group by i.incident_id order by i.opened_at limit 1) q
 where recoup.now() - q.last_at > make_interval(hours => q.hours);
