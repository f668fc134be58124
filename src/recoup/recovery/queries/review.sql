-- Decisions of people: what may be decided, and the decision itself, for sets.

-- name: lock
-- With a digest of what is decided on: a change since changes this.
select c.candidate_id, c.status, c.action_name, c.proposed_by, c.scope_id,
       c.decide_by <= (select recoup.now()) as overdue,
       s.status as scope_status, s.expires_at <= (select recoup.now()) as scope_expired,
       recovery.decision_digest(c) as digest
  from (select i.id from unnest(%(ids)s::uuid[]) i (id) order by i.id) i
 cross join lateral (select c.* from recovery.candidate c where c.candidate_id = i.id limit 1 for no key update) c
  left join lateral (select s.* from recovery.scope s where s.scope_id = c.scope_id limit 1) s on true;

-- name: hold_scopes
-- A statement of its own: the next one sees what others approved while this one waited.
select recovery.hold_scopes(%(scopes)s::uuid[]);

-- name: rest
-- What is left of scopes, less what was approved and not started yet: the first part of the index of the claim, however
-- many start by themselves.
select s.scope_id, s.max_attempts - s.attempts_used - a.approved as attempts,
       s.cost_limit - s.cost_used - a.cost as units
  from unnest(%(scopes)s::uuid[]) i (id)
 cross join lateral (select s.* from recovery.scope s where s.scope_id = i.id limit 1) s
 cross join lateral (
   select count(*) as approved, coalesce(sum(c.cost), 0) as cost from recovery.candidate c
    where c.scope_id = s.scope_id and c.is_ready and c.executed_at is null and c.status = 'approved'
      and (c.decided_at is null) = any(array[false])) a;

-- name: costs
select c.candidate_id, c.cost from recovery.candidate c where c.candidate_id = any(%(ids)s::uuid[]);

-- name: approve
with t as materialized (select recoup.now() as now_)
update recovery.candidate c
   set status = 'approved', decided_by = recoup.acting_id(), decided_at = t.now_, decision_note = %(note)s,
       updated_at = greatest(c.updated_at, t.now_)
  from t where c.candidate_id = any(%(ids)s::uuid[]) and c.status = 'pending'
returning c.candidate_id;

-- name: reject
with t as materialized (select recoup.now() as now_)
update recovery.candidate c
   set status = 'rejected', decided_by = recoup.acting_id(), decided_at = t.now_, decision_note = %(note)s,
       finished_at = t.now_, updated_at = greatest(c.updated_at, t.now_)
  from t where c.candidate_id = any(%(ids)s::uuid[]) and c.status = 'pending'
returning c.candidate_id;

-- name: standings
select c.action_name, c.scope_id, c.proposed_by = %(who)s as is_own,
       case when s.expires_at <= (select recoup.now()) then 'expired' else s.status end as scope_status,
       c.decide_by <= (select recoup.now()) as overdue, c.action_name is null as unselected, count(*) as candidates
  from recovery.candidate c left join recovery.scope s on s.scope_id = c.scope_id
 where c.finished_at is null and c.status = 'pending' and {matching}
 group by 1, 2, 3, 4, 5, 6 order by 1, 2;

-- name: fitting
-- What could be approved, by scope.
select c.scope_id, count(*), coalesce(sum(c.cost), 0)::bigint
  from recovery.candidate c join recovery.scope s on s.scope_id = c.scope_id
 where c.finished_at is null and c.status = 'pending' and c.decide_by > (select recoup.now())
   and s.status = 'active' and s.expires_at > (select recoup.now()) and c.proposed_by is distinct from %(who)s
   and {matching}
 group by 1;

-- name: chosen
select c.candidate_id || ':' || recovery.decision_digest(c) as unit from recovery.candidate c
 where c.finished_at is null and c.status = 'pending' and {matching}
 order by c.candidate_id

-- name: kept
select c.candidate_id, c.scope_id, recovery.decision_digest(c) as digest from recovery.candidate c
 where c.candidate_id = any(%(ids)s::uuid[]) and c.status = 'pending';

-- name: outcomes
select count(*) filter (where c.status = 'succeeded'), count(*) filter (where c.status in ('failed', 'rolled_back')),
       count(*) filter (where c.finished_at is null)
  from recoup.operation_item i
 cross join lateral (
   select c.* from recovery.candidate c where c.candidate_id = split_part(i.unit, ':', 1)::uuid limit 1) c
 where i.operation_id = %(operation_id)s and i.place > %(start)s and i.place <= %(end)s and i.status = 'DONE';

-- name: match
select m.failure_match_id, m.status, m.subject_kind, m.subject_ref, m.incident_id, m.ended_at, m.source, m.error_code,
       m.error_message, m.error_signature, m.category, i.status as incident_status
  from recovery.failure_match m join recovery.incident i on i.incident_id = m.incident_id
 where m.failure_match_id = %(match)s;

-- name: open_match
select m.failure_match_id from recovery.failure_match m
 where m.subject_ref = %(ref)s and m.subject_kind = %(kind)s and m.ended_at is null order by m.created_at limit 1;

-- name: repeated
-- As recoup.recovery.decision.repeats says: also what was executed outside for the same failure, in matches before it.
with recursive chain as (
  select m.failure_match_id, m.follows, m.idempotency_key from recovery.failure_match m
   where m.failure_match_id = %(match)s
  union
  select m.failure_match_id, m.follows, m.idempotency_key
    from chain h join recovery.failure_match m on m.failure_match_id = h.follows
   where h.idempotency_key = 'follows/' || h.follows)
select x.idempotency_key
  from (select c.idempotency_key, c.error from chain h
          join recovery.candidate c on c.failure_match_id = h.failure_match_id
         where c.action_name = %(action)s and c.parameters = %(parameters)s::jsonb
           and c.executed_at is not null and c.finished_at is not null
           and (c.failure_match_id = %(match)s
                or recovery.makes(c.action_type, c.subject_kind, c.parameters) is null)
         order by c.candidate_id desc limit 1) x
 where x.error in ('CRASHED', 'OUTCOME_OVERDUE');

-- name: open_candidate
select c.candidate_id, c.status, c.proposed_by, c.action_name from recovery.candidate c
 where c.failure_match_id = %(match)s and c.finished_at is null for no key update;

-- name: overtake
with t as materialized (select recoup.now() as now_)
update recovery.candidate c
   set status = 'skipped', skip_reason = 'OVERTAKEN', finished_at = t.now_, teaches = false, overridden_by = %(who)s,
       updated_at = greatest(c.updated_at, t.now_)
  from t where c.candidate_id = %(candidate)s and c.status = 'pending'
returning c.candidate_id;

-- name: latest
select c.candidate_id from recovery.candidate c
 where c.failure_match_id = %(match)s order by c.candidate_id desc limit 1;

-- name: active_scope
select s.scope_id, s.allowed_actions, s.expires_at from recovery.scope s
 where s.incident_id = %(incident)s and s.status = 'active' and s.expires_at > (select recoup.now())
   and %(action)s = any(s.allowed_actions) limit 1;
