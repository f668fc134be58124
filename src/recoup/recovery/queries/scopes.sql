-- name: open
with t as materialized (select recoup.now() as now_, recoup.policy_version() as version)
insert into recovery.scope (incident_id, allowed_actions, max_attempts, cost_limit, least_cost, ttl_seconds, expires_at,
                            opened_by, reason, policy_version, opened_at)
select %(incident)s::uuid, %(actions)s::text[], %(max_attempts)s, %(cost_limit)s, %(least_cost)s, %(ttl_seconds)s,
       t.now_ + make_interval(secs => %(ttl_seconds)s), recoup.acting_id(), %(reason)s, t.version, t.now_
  from t
returning scope_id;

-- name: attach
-- Pending candidates of its incident whose action it allows.
with t as materialized (select recoup.now() as now_)
update recovery.candidate c
   set scope_id = s.scope_id, execute_by = s.expires_at, updated_at = greatest(c.updated_at, t.now_)
  from t, recovery.scope s
 where s.scope_id = %(scope)s
   and c.candidate_id = any(array(
         select c.candidate_id from recovery.failure_match m
           join recovery.candidate c on c.failure_match_id = m.failure_match_id and c.finished_at is null
          where m.incident_id = s.incident_id and m.ended_at is null
          order by c.candidate_id limit 10000))
   and c.status = 'pending' and c.scope_id is null and c.action_name = any(s.allowed_actions)
returning c.candidate_id;

-- name: revoke
with t as materialized (select recoup.now() as now_)
update recovery.scope s set status = 'revoked', ended_at = t.now_
  from t where s.scope_id = %(scope)s and s.status = 'active'
returning s.scope_id;

-- name: scope
select s.scope_id, s.incident_id, i.source, i.error_signature, s.allowed_actions, s.max_attempts, s.attempts_used,
       s.cost_limit, s.cost_used, s.expires_at,
       case when s.status = 'active' and s.expires_at <= (select recoup.now()) then 'expired' else s.status end
         as status,
       s.opened_by, s.reason, s.opened_at, s.ended_at
  from recovery.scope s join recovery.incident i on i.incident_id = s.incident_id
 where s.scope_id = %(scope)s;

-- name: scopes
select s.scope_id, s.incident_id, i.source, i.error_signature, s.allowed_actions, s.max_attempts, s.attempts_used,
       s.cost_limit, s.cost_used, s.expires_at,
       case when s.status = 'active' and s.expires_at <= (select recoup.now()) then 'expired' else s.status end
         as status,
       s.opened_by, s.reason, s.opened_at, s.ended_at
  from recovery.scope s join recovery.incident i on i.incident_id = s.incident_id
 where (%(incident)s::uuid is null or s.incident_id = %(incident)s) and (not %(active)s or s.status = 'active')
   and (%(after)s::uuid is null or s.scope_id < %(after)s)
 order by s.scope_id desc limit %(limit)s;

-- name: awaiting
-- What was started within a scope and is not over: it continues when the scope is revoked.
select c.candidate_id, c.failure_match_id, c.action_name, c.status, c.effect_made_at is not null as effect_made,
       c.executed_at
  from recovery.failure_match m
  join recovery.candidate c on c.failure_match_id = m.failure_match_id and c.finished_at is null
 where m.incident_id = %(incident)s and c.scope_id = %(scope)s and c.executed_at is not null
 order by c.candidate_id limit %(limit)s;
