-- Candidates and what they start; in the form of invariants.sql, which has matches and scopes.

-- name: candidates
-- The rows compared with their events in the provenance. An event of the same move as another one has its transaction.
with numbered as (
  select p.*, count(*) filter (where p.event_type in ('rejected', 'success', 'failure', 'rolled_back', 'skipped'))
                over so_far as ends_before,
         first_value(p.xid) over (partition by p.candidate_id
           order by p.event_type in ('rejected', 'success', 'failure', 'rolled_back', 'skipped') desc, p.seq) as end_xid
    from recovery.provenance p where p.candidate_id is not null
  window so_far as (partition by p.candidate_id order by p.seq rows between unbounded preceding and 1 preceding)),
events as (
  select e.candidate_id,
         (array_agg(e.event_type order by e.seq))[1] as first_event,
         (array_agg(e.logged_at order by e.seq))[1] as first_at,
         max(e.logged_at) as last_at, count(*) as events,
         count(*) filter (where e.event_type = 'created') as born,
         count(*) filter (where e.event_type = 'executed') as executions,
         count(*) filter (where e.event_type = 'effect_made') as effects,
         count(*) filter (where e.event_type in ('approved', 'rejected')) as decisions,
         count(*) filter (where e.event_type = 'crashed') as crashes,
         count(*) filter (where e.ends_before > 0 and e.xid <> e.end_xid
                             or e.ends_before > 0 and e.event_type not in ('crashed', 'manual_override')) as after_end,
         array_agg(e.event_type) filter (
           where e.event_type in ('rejected', 'success', 'failure', 'rolled_back', 'skipped')) as ends,
         max(e.logged_at) filter (
           where e.event_type in ('rejected', 'success', 'failure', 'rolled_back', 'skipped')) as ended_at,
         max(e.reason) filter (where e.event_type in ('failure', 'rolled_back', 'skipped')) as said,
         max(e.facts ->> 'result') filter (where e.event_type in ('success', 'failure', 'rolled_back')) as result,
         bool_and(coalesce((e.facts ->> 'teaches')::boolean, true)) filter (
           where e.event_type in ('success', 'failure', 'rolled_back')) as teaches,
         max(e.logged_at) filter (where e.event_type = 'executed') as executed_at,
         max(e.from_status) filter (where e.event_type = 'executed') as started_from,
         max(e.token::text) filter (where e.event_type = 'executed') as token,
         max(e.reason) filter (where e.event_type = 'executed') as worker,
         max(e.action_name) filter (where e.event_type = 'executed') as executed_action,
         max(e.scope_id::text) filter (where e.event_type = 'executed') as executed_scope,
         max(e.confidence) filter (where e.event_type = 'executed') as executed_confidence,
         max(e.evidence) filter (where e.event_type = 'executed') as executed_evidence,
         max(e.logged_at) filter (where e.event_type = 'effect_made') as effect_at,
         (array_agg(e.facts) filter (where e.event_type = 'effect_made'))[1] as effect,
         max(e.event_type) filter (where e.event_type in ('approved', 'rejected')) as decision,
         max(e.logged_at) filter (where e.event_type in ('approved', 'rejected')) as decided_at,
         max(e.actor_id) filter (where e.event_type in ('approved', 'rejected')) as decided_by,
         max(e.reason) filter (where e.event_type in ('approved', 'rejected')) as decision_note,
         bool_and(e.actor = 'human') filter (where e.event_type in ('approved', 'rejected')) as by_people,
         (array_agg(e.facts order by e.seq desc) filter (where e.event_type = 'action_selected'))[1] as selected,
         (array_agg(e.action_name order by e.seq desc) filter (where e.event_type = 'action_selected'))[1]
           as action_name,
         (array_agg(e.scope_id order by e.seq desc) filter (where e.event_type = 'action_selected'))[1] as scope_id,
         (array_agg(e.confidence order by e.seq desc) filter (where e.event_type = 'confidence_updated'))[1]
           as confidence,
         (array_agg(e.evidence order by e.seq desc) filter (where e.event_type = 'confidence_updated'))[1] as evidence,
         (array_agg(nullif(e.facts -> 'basis', 'null') order by e.seq desc)
            filter (where e.event_type = 'confidence_updated'))[1] as basis,
         array_agg(e.facts ->> 'by') filter (where e.event_type = 'manual_override') as overriders
    from numbered e group by e.candidate_id),
tried as (
  select c.failure_match_id, array_agg(c.candidate_id::text) as ids from recovery.candidate c group by 1),
rules as (
  select e.failure_match_id, array_agg(e.recommended_action) as recommended
    from recovery.evaluation e group by e.failure_match_id),
-- The lowest floors of the policies that were active then, within a minute.
floors as (
  select x.candidate_id, min((p.figures -> 'recovery' ->> 'confidence_floor')::float8) as confidence,
         min((p.figures -> 'recovery' ->> 'evidence_min')::integer) as evidence
    from (select n.candidate_id, n.logged_at from numbered n
           where n.event_type = 'executed' and n.from_status = 'pending') x
   cross join (select p.figures, p.applied_at, lead(p.applied_at) over (order by p.version) as replaced_at
                 from recoup.policy p) p
   where (p.applied_at <= x.logged_at + interval '1 minute')
     and (p.replaced_at is null or p.replaced_at >= x.logged_at - interval '1 minute')
   group by x.candidate_id),
beside as (
  select c.candidate_id, c.status, c.failure_match_id, c.action_name, c.executed_at, c.finished_at, c.error,
         c.skip_reason, e.ends, e.executions, array_remove(array[
    case when e.candidate_id is null or e.first_event <> 'created' or e.born <> 1 or e.first_at <> c.created_at
           or c.proposed_by is null and (c.recommended_action = any(r.recommended)) is not true
           or c.action_name is not null and e.action_name is distinct from c.action_name
           or e.decisions <> num_nonnulls(c.decided_at)
           or c.decided_at is not null
              and (e.decided_by is distinct from c.decided_by or e.decision_note is distinct from c.decision_note
                   or e.decided_at not between c.decided_at and c.decided_at + interval '1 minute'
                   or c.status in ('approved', 'rejected') and e.decision is distinct from c.status
                   or c.status not in ('approved', 'rejected') and e.decision is distinct from 'approved')
           or (e.executions > 0) <> (c.executed_at is not null)
           or e.ends is distinct from case c.status
                when 'succeeded' then array['success'] when 'failed' then array['failure']
                when 'rejected' then array['rejected'] when 'rolled_back' then array['rolled_back']
                when 'skipped' then array['skipped'] end
           or c.finished_at is not null and e.ended_at not between c.finished_at and c.finished_at + interval '1 minute'
           or e.crashes <> case when c.status = 'failed' and c.error = 'CRASHED' then 1 else 0 end
           -- An effect has its event, or its end tells it.
           or c.effect_made_at is not null and e.effects = 0
              and (c.reported is null or c.effect_made_at is distinct from c.finished_at)
           or e.effects > num_nonnulls(c.effect_made_at)
           or c.overridden_by is not null and (c.overridden_by = any(e.overriders)) is not true
         then 'recovery/EC-3' end,
    case when e.executions > 1
           or c.executed_at is not null
              and e.executed_at not between c.executed_at and c.executed_at + interval '1 minute'
           -- Its own key, or that of a candidate of the same match that it repeats.
           or c.idempotency_key <> all(t.ids) or c.executed_at is not null and c.idempotency_key is null
         then 'recovery/P4' end,
    case when c.executed_at is not null
              and ((c.token::text, c.worker, c.action_name, c.scope_id::text, c.confidence, c.evidence)
                     is distinct from (e.token, e.worker, e.executed_action, e.executed_scope, e.executed_confidence,
                                       e.executed_evidence))
           or c.action_name is not null
              and (e.selected ->> 'type', e.selected ->> 'cost', e.selected ->> 'is_automated',
                   e.selected ->> 'requires_approval', e.selected ->> 'timeout_s', e.selected ->> 'held_for_review',
                   (e.selected ->> 'execute_by')::timestamptz, e.selected ->> 'parameters')
                  is distinct from (c.action_type, c.cost::text, c.is_automated::text, c.requires_approval::text,
                                    c.timeout_s::text, c.held_for_review::text, c.execute_by,
                                    encode(sha256(convert_to(c.parameters::text, 'UTF8')), 'hex'))
           or e.scope_id is distinct from c.scope_id or (c.scope_id is null) <> (c.execute_by is null)
           or c.execute_by > s.expires_at or c.updated_at is distinct from e.last_at
           or c.teaches is distinct from (c.status <> 'skipped' and coalesce(e.teaches, true))
           or e.effects > 0 and (e.effect_at not between c.effect_made_at and c.effect_made_at + interval '1 minute'
                or e.effect - 'outcome_by'
                   is distinct from coalesce(c.awaits, jsonb_build_object('reported', c.reported))
                or (e.effect ->> 'outcome_by')::timestamptz is distinct from c.outcome_by)
           or e.effects = 0 and (num_nonnulls(c.awaits, c.outcome_by) > 0 or c.reported is distinct from
                case when c.effect_made_at is not null then c.status end)
           or c.status in ('succeeded', 'failed', 'rolled_back')
              and e.result is distinct from encode(sha256(convert_to(c.result::text, 'UTF8')), 'hex')
           or c.status in ('failed', 'rolled_back', 'skipped')
              and e.said is distinct from coalesce(c.skip_reason, c.error)
         then 'recovery/P2/candidate' end,
    case when (c.confidence, c.evidence, c.confidence_basis)
              is distinct from (coalesce(e.confidence, 0), coalesce(e.evidence, 0), e.basis)
           or c.confidence_of is not null and c.confidence_of is distinct from c.action_name
         then 'recovery/confidence' end,
    case when e.executions > 0
              and (e.started_from = 'approved' and e.decision is distinct from 'approved'
                   or e.started_from is distinct from 'approved' and e.decisions = 0
                      and (e.executed_confidence >= greatest(0.8, f.confidence)
                           and e.executed_evidence >= greatest(5, f.evidence)
                           and c.is_automated and not c.requires_approval and c.proposed_by is null
                           and not c.held_for_review) is not true)
         then 'recovery/P5' end,
    case when e.executions > 0 and e.decisions = 0
              and (c.action_type in ('escalate', 'notify', 'manual')
                   or c.subject_kind in ('run', 'partition', 'outside') and c.action_type not in ('skip', 'rollback'))
                  is not true
         then 'recovery/R6a' end,
    case when e.after_end > 0 then 'recovery/RI-2' end,
    case when c.decided_by = c.proposed_by or e.by_people is false then 'recovery/another-person' end,
    case when c.status = 'skipped' and (c.skip_reason in (
                'LOW_CONFIDENCE', 'SCOPE_ENDED', 'EXECUTE_OVERDUE', 'DECISION_OVERDUE', 'SUBJECT_RECOVERED',
                'SUBJECT_GONE', 'SUBJECT_CHANGED', 'OVERTAKEN', 'ACTION_RETIRED')) is not true
           or c.skip_reason = 'DECISION_OVERDUE' and (c.decided_at is not null or c.finished_at < c.decide_by)
           or c.skip_reason = 'EXECUTE_OVERDUE' and (c.finished_at >= c.execute_by) is not true
           or c.status = 'failed' and c.error is null
           or c.error = 'CRASHED' and (c.effect_made_at is not null or (c.finished_at > c.lease_until) is not true)
           or c.reported is null and c.error in ('SCOPE_REVOKED', 'SUBJECT_CHANGED') and c.effect_made_at is not null
           or c.reported is null and c.error = 'UNIT_FAILED' and c.awaits is null
           or c.reported is null and c.error = 'OUTCOME_OVERDUE' and (c.finished_at >= c.outcome_by) is not true
         then 'recovery/reasons' end], null) as broken
    from recovery.candidate c
    left join events e on e.candidate_id = c.candidate_id
    left join tried t on t.failure_match_id = c.failure_match_id
    left join rules r on r.failure_match_id = c.failure_match_id
    left join recovery.scope s on s.scope_id = c.scope_id
    left join floors f on f.candidate_id = c.candidate_id)
select b.breaks, x.candidate_id, x.failure_match_id, x.status, x.action_name, x.executed_at, x.finished_at,
       x.error as failure, x.skip_reason, x.ends, x.executions
  from beside x cross join unnest(x.broken) b (breaks)
 where x.broken <> '{}'
union all
select 'recovery/EC-3', e.candidate_id, null, null, e.action_name, e.executed_at, e.ended_at, null, null, e.ends,
       e.executions
  from events e left join recovery.candidate c on c.candidate_id = e.candidate_id
 where c.candidate_id is null

-- name: executions
-- Every start of a candidate, with the scope that it names.
select 'recovery/P1' as breaks, p.candidate_id, p.scope_id, p.logged_at, p.action_name, s.status, s.opened_at,
       s.expires_at, s.ended_at
  from recovery.provenance p
  left join recovery.scope s on s.scope_id = p.scope_id
 where p.event_type = 'executed'
   and (s.incident_id = p.incident_id and p.action_name = any(s.allowed_actions)
        and p.logged_at >= s.opened_at and p.logged_at < s.expires_at
        and p.logged_at <= coalesce(s.ended_at, p.logged_at)) is not true

-- name: confidences
select 'recovery/RI-3' as breaks, x.place, x.key, x.confidence
  from (select 'candidate' as place, c.candidate_id::text as key, c.confidence from recovery.candidate c
        union all
        select 'evaluation', e.failure_match_id || '/' || e.evaluation_no, e.weight from recovery.evaluation e
        union all
        select 'provenance', p.seq::text, p.confidence from recovery.provenance p where p.confidence is not null) x
 where (x.confidence between 0 and 1) is not true

-- name: open_candidates
select 'recovery/RI-5' as breaks, c.failure_match_id, c.error_signature, count(*) as candidates,
       array_agg(c.candidate_id) as ids
  from recovery.candidate c where c.status in ('pending', 'approved', 'executing')
 group by c.failure_match_id, c.error_signature having count(*) > 1

-- name: awaited
-- What an effect made in this database is there.
select 'recovery/awaits' as breaks, c.candidate_id, c.action_type, c.subject_kind, c.awaits
  from recovery.candidate c
  left join recovery.failure_match m on m.failure_match_id = c.failure_match_id
  left join cl.gate_zero_intake i on c.awaits ->> 'kind' = 'intake' and i.intake_id::text = c.awaits ->> 'key'
  left join recovery.run r on c.awaits ->> 'kind' = 'run' and r.run_id::text = c.awaits ->> 'key'
  left join partitions.requeue_request q on c.awaits ->> 'kind' = 'partition' and q.candidate_id = c.candidate_id
  left join recoup.delivery d on c.awaits ->> 'kind' = 'delivery' and d.delivery_id::text = c.awaits ->> 'key'
  left join recovery.task t on c.awaits ->> 'kind' = 'task' and t.task_id::text = c.awaits ->> 'key'
  left join recovery.breaker b on c.awaits ->> 'kind' = 'breaker' and b.name = c.awaits ->> 'key'
 where c.awaits is not null
   and case c.awaits ->> 'kind'
         when 'error' then c.awaits ->> 'key' = m.subject_ref
         when 'intake' then i.retry_of::text = m.subject_ref
         when 'run' then r.candidate_id = c.candidate_id
         when 'partition' then q.partition_id::text = c.awaits ->> 'key' and c.awaits ->> 'key' = m.subject_ref
           and q.verb = 'retry' and q.approver is not distinct from c.decided_by
         when 'delivery' then d.about = c.incident_id::text
         when 'task' then t.incident_id = c.incident_id and t.action_name = c.action_name
         when 'breaker' then b.name = recovery.breaker_named(c.parameters, m.source) end is not true

-- name: leases
-- A lease is of one claim, and what is executed without an effect yet is under its lease.
with held as (
  select l.token, l.worker, l.lease_until, u.candidate_id
    from recovery.lease l cross join lateral unnest(l.candidates) u (candidate_id))
select 'recovery/leases' as breaks, coalesce(c.candidate_id, h.candidate_id) as candidate_id, c.status, c.token,
       c.worker, c.lease_until, h.token as held_token, h.worker as held_by, h.lease_until as held_until
  from recovery.candidate c
  full join held h on h.candidate_id = c.candidate_id
 where h.candidate_id is null and c.status = 'executing' and c.effect_made_at is null
    or h.candidate_id is not null
       and (c.token, c.worker, c.lease_until) is distinct from (h.token, h.worker, h.lease_until)
union all
select 'recovery/leases', null, null, l.token, null, null, l.token, null, null
  from recovery.lease l group by l.token having count(*) > 1

-- name: late_results
-- A late result belongs to a candidate that had ended, or whose effect was made, or whose lease had expired; or it
-- carries another token: else it was to be applied.
select 'laws/L5/late-candidates' as breaks, l.late_result_id, l.unit_id, l.received_at, c.status, c.lease_until,
       c.finished_at
  from recoup.late_result l
  left join recovery.candidate c on c.candidate_id::text = l.unit_id
 where l.subject = 'recovery.candidate'
   and (c.candidate_id is null
        or c.token = l.token and l.received_at < c.lease_until
           and (least(c.effect_made_at, c.finished_at) <= l.received_at + interval '1 second') is not true)
