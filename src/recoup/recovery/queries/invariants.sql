-- The rules of recovery: matches, scopes, and what is true of all. Every query gives rows whose first column, breaks,
-- is the id of an invariant of invariants.py. Candidates and what they start: candidate_invariants.sql.

-- name: scopes
-- The rows compared with what was started within them, and with their events.
with spent as (
  select p.scope_id, count(*) as attempts, sum(c.cost) as cost
    from recovery.provenance p left join recovery.candidate c on c.candidate_id = p.candidate_id
   where p.event_type = 'executed' group by p.scope_id),
told as (
  select p.scope_id, max(p.event_type) filter (where p.event_type <> 'scope_opened') as ended_as,
         count(*) filter (where p.event_type <> 'scope_opened') as ends,
         max(p.logged_at) filter (where p.event_type <> 'scope_opened') as ended_at,
         max((p.facts ->> 'attempts_used')::integer) filter (where p.event_type <> 'scope_opened') as attempts,
         max((p.facts ->> 'cost_used')::integer) filter (where p.event_type <> 'scope_opened') as cost
    from recovery.provenance p where starts_with(p.event_type, 'scope_') group by p.scope_id),
-- Times in a simulated clock say nothing about workers.
ran as (
  select max(t.last_run_at) as at from recoup.duty_tally t cross join recoup.clock k
   where t.duty = 'scope-expiry' and t.last_run_at > coalesce(t.last_failed_at, '-infinity')
     and k.status <> 'simulated')
select b.breaks, x.scope_id, x.status, x.attempts_used, x.attempts, x.cost_used, x.cost, x.expires_at, x.ended_at
  from (select s.*, p.attempts, p.cost, array_remove(array[
          case when s.status = 'active' and (t.ends > 0 or s.attempts_used >= s.max_attempts
                      or s.cost_used + s.least_cost > s.cost_limit or s.ended_at is not null)
                 or s.status <> 'active'
                    and ((t.ended_as, t.ends, t.ended_at) is distinct from ('scope_' || s.status, 1::bigint, s.ended_at)
                         or s.status = 'expired' and s.ended_at < s.expires_at)
                 or s.expires_at is distinct from s.opened_at + make_interval(secs => s.ttl_seconds)
                 or s.status = 'active' and s.expires_at < ran.at - interval '7 days'
                    and not exists (select from recoup.pause h
                                     where (h.scope = 'global' or h.scope = 'duty' and h.scope_id = 'scope-expiry')
                                       and (h.status = 'PAUSED' or h.changed_at > ran.at - interval '7 days'))
               then 'recovery/EC-4' end,
          case when (s.attempts_used, s.cost_used) is distinct from (coalesce(p.attempts, 0)::integer,
                                                                     coalesce(p.cost, 0)::integer)
                 or s.attempts_used < t.attempts or s.cost_used < t.cost
               then 'recovery/RI-4' end], null) as broken
          from recovery.scope s
          left join spent p on p.scope_id = s.scope_id
          left join told t on t.scope_id = s.scope_id
         cross join ran) x
 cross join unnest(x.broken) b (breaks)
 where x.broken <> '{}'

-- name: matches
-- The rows compared with their events, their incident and their candidates.
with events as (
  select p.failure_match_id, count(*) filter (where p.event_type = 'match_ended') as ends,
         max(p.reason) filter (where p.event_type = 'match_ended') as reason,
         max(p.to_status) filter (where p.event_type = 'match_ended') as ended_as,
         max(p.logged_at) filter (where p.event_type = 'match_ended') as ended_at,
         min(p.seq) filter (where p.event_type = 'match_ended') as end_seq,
         max(p.seq) as last_seq, max(p.seq) filter (where p.event_type = 'created') as last_born,
         (array_agg(p.outcome order by p.seq desc) filter (where p.outcome is not null))[1] as last_outcome,
         (array_agg(p.reason order by p.seq desc) filter (where p.outcome is not null))[1] as last_reason,
         (array_agg(p.token order by p.seq desc) filter (where p.outcome is not null))[1] as last_token,
         count(*) filter (where p.outcome = 'FAILED') as failures, max(p.logged_at) filter (
           where starts_with(p.event_type, 'match_')) as last_at,
         array_agg(p.actor_id) filter (where p.event_type = 'match_resumed') as people,
         count(distinct p.number) filter (where p.outcome is not null) as evaluations,
         max(p.number) filter (where p.outcome is not null) as last_number
    from recovery.provenance p where p.failure_match_id is not null group by p.failure_match_id),
evaluations as (
  select e.failure_match_id, max(e.evaluation_no) as last_no, min(e.evaluation_no) as first_no
    from recovery.evaluation e group by e.failure_match_id),
candidates as (
  select c.failure_match_id,
         count(*) filter (where c.status in ('pending', 'approved', 'executing')) as open_ones,
         -- Also of those that ended: what woke the match may not have been followed yet.
         max(greatest(c.decide_by, c.execute_by, c.lease_until, c.outcome_by)) as deadline,
         bool_or((c.incident_id, c.error_signature, c.subject_kind)
                 is distinct from (m.incident_id, m.error_signature, m.subject_kind)) as strange
    from recovery.candidate c
    left join recovery.failure_match m on m.failure_match_id = c.failure_match_id group by c.failure_match_id),
-- Times in a simulated clock say nothing about workers.
ran as (
  select max(t.last_run_at) as at from recoup.duty_tally t cross join recoup.clock k
   where t.duty = 'recovery-evaluate' and t.last_run_at > coalesce(t.last_failed_at, '-infinity')
     and k.status <> 'simulated')
select b.breaks, x.failure_match_id, x.status, x.incident_id, x.incident, x.evaluation_no, x.evaluations, x.evaluate_at,
       x.match_until, x.deadline, x.ended_at, x.end_reason
  from (select m.failure_match_id, m.status, m.incident_id, i.status as incident, m.evaluation_no, e.evaluations,
               m.evaluate_at, m.match_until, c.deadline, m.ended_at, m.end_reason, array_remove(array[
          case when m.ended_at is not null and c.open_ones > 0
                 -- Evaluated again within its time, or when its candidate has to end.
                 or m.ended_at is null
                    and (m.evaluate_at <= greatest(m.match_until, c.deadline + interval '1 minute',
                                                   m.updated_at + interval '1 hour'))
                        is not true
                 or m.ended_at is null and m.evaluate_at < ran.at - interval '7 days'
                    and not exists (select from recoup.pause h
                                     where (h.scope = 'global' or h.scope = 'duty' and h.scope_id = 'recovery-evaluate'
                                            or h.scope = 'table' and h.scope_id = 'recovery.failure_match')
                                       and (h.status = 'PAUSED' or h.changed_at > ran.at - interval '7 days'))
               then 'recovery/EC-1' end,
          case when (m.ended_at is not null) <> (m.status in ('recovered', 'accepted', 'unrecovered'))
                 or coalesce(e.ends, 0) <> num_nonnulls(m.ended_at)
                 or m.ended_at is not null
                    and ((e.ended_as, e.reason) is distinct from (m.status, m.end_reason)
                         or e.ended_at not between m.ended_at and m.ended_at + interval '1 minute'
                         or e.last_born > e.end_seq
                         or m.recovered_at is distinct from case when m.status = 'recovered' then m.ended_at end
                         or case m.status
                              when 'unrecovered' then m.end_reason in (
                                'LIMIT_REACHED', 'NOTHING_APPLICABLE', 'TIME_OVER', 'SUBJECT_GONE', 'DECISION_OVERDUE',
                                'EVALUATION_FAILED')
                              when 'recovered' then starts_with(m.end_reason, 'recovered by ')
                              else starts_with(m.end_reason, 'accepted by ') end is not true)
               then 'recovery/match/ends' end,
          case when m.token is distinct from e.last_token
                 -- The event of an end has the reason of the end in its place.
                 or m.last_failure is distinct from case when e.last_outcome = 'FAILED' then e.last_reason end
                    and m.end_reason is distinct from 'EVALUATION_FAILED'
                 or m.evaluation_failures > case when e.last_outcome = 'FAILED' then e.failures else 0 end
                 or m.ended_at is not null and m.evaluate_at is distinct from recoup.never()
                 or m.reported_end <> 'recovered' or num_nulls(m.reported_end, m.reported_by) = 1
                 or m.reported_by is not null and (m.reported_by = any(e.people)) is not true
                 or case when m.ended_at is null then m.updated_at < e.last_at else m.updated_at <> e.last_at end
               then 'recovery/match/as-told' end,
          case when coalesce(e.evaluations, 0) <> m.evaluation_no or coalesce(e.last_number, 0) <> m.evaluation_no
                 or n.last_no > m.evaluation_no or n.first_no < 1
               then 'recovery/guarantee/evaluation' end,
          case when i.incident_id is null or m.ended_at is null and i.status <> 'open' or c.strange
               then 'recovery/match/incident' end], null) as broken
          from recovery.failure_match m
          left join events e on e.failure_match_id = m.failure_match_id
          left join evaluations n on n.failure_match_id = m.failure_match_id
          left join candidates c on c.failure_match_id = m.failure_match_id
          left join recovery.incident i on i.incident_id = m.incident_id
         cross join ran) x
 cross join unnest(x.broken) b (breaks)
 where x.broken <> '{}'
union all
select 'recovery/match/incident', c.failure_match_id, null, null, null, null, null, null, null, c.deadline, null, null
  from candidates c left join recovery.failure_match m on m.failure_match_id = c.failure_match_id
 where m.failure_match_id is null

-- name: subjects
-- What is ours is recovered by one open match at a time, and each match is of something that is there.
select 'recovery/match/one-open' as breaks, m.subject_kind, m.subject_ref, count(*) as matches,
       array_agg(m.failure_match_id) as ids
  from recovery.failure_match m
 where m.status in ('new', 'evaluated', 'stuck') and m.subject_kind in ('error', 'intake', 'run', 'partition')
 group by m.subject_kind, m.subject_ref having count(*) > 1
union all
select 'recovery/match/one-open', null, m.idempotency_key, count(*), array_agg(m.failure_match_id)
  from recovery.failure_match m group by m.source, m.idempotency_key having count(*) > 1
union all
select 'recovery/match/one-open', i.source, i.error_signature, count(*), array_agg(i.incident_id)
  from recovery.incident i where i.status = 'open' group by i.source, i.error_signature having count(*) > 1
union all
select 'recovery/match/subject', m.subject_kind, m.subject_ref, 1, array[m.failure_match_id]
  from recovery.failure_match m
  left join cl.gate_zero_intake i on m.subject_kind = 'intake' and i.intake_id::text = m.subject_ref
  left join recovery.run r on m.subject_kind = 'run' and r.run_id::text = m.subject_ref
  left join partitions.schedule p on m.subject_kind = 'partition' and p.partition_id::text = m.subject_ref
 where (m.subject_kind = 'intake' and i.intake_id is null or m.subject_kind = 'run' and r.run_id is null
        or m.subject_kind = 'partition' and p.partition_id is null
        or m.subject_kind = 'error' and m.subject_ref !~ '^[^/]+/[0-9]+$')
   -- Of what was reported as something else than it is, every evaluation fails.
   and m.evaluation_failures = 0

-- name: times
-- What has its own time in its row: when an incident was opened and closed, and a task ended.
select 'recovery/times' as breaks, 'incident' as what, i.incident_id::text as id, i.opened_at as begun,
       i.closed_at as over
  from recovery.incident i
  left join (select p.incident_id, max(p.logged_at) filter (where p.event_type = 'incident_opened') as opened_at,
                    max(p.logged_at) filter (where p.event_type = 'incident_closed') as closed_at
               from recovery.provenance p where starts_with(p.event_type, 'incident_') group by p.incident_id) e
    on e.incident_id = i.incident_id
 where (i.opened_at, i.closed_at) is distinct from (e.opened_at, e.closed_at)
union all
select 'recovery/times', 'task', t.task_id::text, t.created_at, t.ended_at
  from recovery.task t
  left join (select l.key, max(l.logged_at) as at from recoup.control_log l
              where l.subject = 'recovery.task' and l.from_status is not null group by l.key) e
    on e.key = t.task_id::text
 where num_nulls(t.ended_at, e.at) = 1
    or t.ended_at not between e.at - interval '1 minute' and e.at + interval '1 minute'

-- name: lineage
-- What follows another one came after it had ended, for the same failure.
select 'recovery/lineage' as breaks, 'match' as what, m.failure_match_id as id, m.follows, b.ended_at, m.created_at
  from recovery.failure_match m
  left join recovery.failure_match b on b.failure_match_id = m.follows and b.failure_match_id <> m.failure_match_id
 where m.follows is not null
   and ((b.subject_kind, b.subject_ref) = (m.subject_kind, m.subject_ref) and b.ended_at <= m.created_at) is not true
union all
select 'recovery/lineage', 'candidate', c.candidate_id, c.follows, b.finished_at, c.created_at
  from recovery.candidate c
  left join recovery.candidate b on b.candidate_id = c.follows and b.candidate_id <> c.candidate_id
 where c.follows is not null
   and (b.failure_match_id = c.failure_match_id and b.finished_at <= c.created_at) is not true
union all
select 'recovery/lineage', 'incident', i.incident_id, i.follows, b.closed_at, i.opened_at
  from recovery.incident i
  left join recovery.incident b on b.incident_id = i.follows and b.incident_id <> i.incident_id
 where i.follows is not null
   and ((b.source, b.error_signature) = (i.source, i.error_signature) and b.closed_at <= i.opened_at) is not true

-- name: stamped
-- Within a minute, because a policy may be applied while others work.
with versions as (
  select p.version, p.applied_at, lead(p.applied_at) over (order by p.version) as replaced_at from recoup.policy p)
select 'laws/L8/recovery-stamped' as breaks, x.what, x.id, x.policy_version, x.at, v.applied_at, v.replaced_at
  from (select 'match' as what, m.failure_match_id as id, m.policy_version, m.created_at as at
          from recovery.failure_match m
        union all
        select 'candidate', c.candidate_id, c.policy_version, c.created_at from recovery.candidate c
        union all
        select 'scope', s.scope_id, s.policy_version, s.opened_at from recovery.scope s
        union all
        select 'evaluation', e.failure_match_id, e.policy_version, e.evaluated_at from recovery.evaluation e) x
  left join versions v on v.version = x.policy_version
 where v.version is null or x.at < v.applied_at - interval '1 minute' or x.at > v.replaced_at + interval '1 minute'
