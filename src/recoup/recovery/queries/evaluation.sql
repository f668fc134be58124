-- What an evaluation reads, and what it writes: each for all matches of a batch.

-- name: matches
select m.failure_match_id, m.status, m.subject_kind, m.subject_ref, m.incident_id, m.match_until, m.reported_by,
       m.evaluation_no, m.policy_version, m.source, m.follows, m.context ->> 'kind' as run_kind,
       m.context ->> 'batch_id' as batch
  from unnest(%(ids)s::uuid[]) i (id)
 cross join lateral (select m.* from recovery.failure_match m where m.failure_match_id = i.id limit 1) m;

-- name: candidates
select c.failure_match_id, c.candidate_id, c.status, c.action_name, c.action_type, c.proposed_by, c.confidence,
       c.confidence_of, c.evidence, c.decide_by, c.execute_by, c.lease_until, c.effect_made_at, c.reported, c.awaits,
       c.outcome_by, c.skip_reason, c.error, c.overridden_by, c.scope_id, c.created_at,
       c.parameters, c.idempotency_key
  from unnest(%(ids)s::uuid[]) i (id)
 cross join lateral (select c.* from recovery.candidate c where c.failure_match_id = i.id order by c.candidate_id) c;

-- name: earlier
-- What was executed outside for the same failure, in matches that ended before a person proposed something again:
-- nobody may know whether its effect was made. One that was reported as a new failure is another one.
with recursive chain as (
  select i.id as failure_match_id, m.follows
    from unnest(%(ids)s::uuid[]) i (id)
   cross join lateral (select m.* from recovery.failure_match m where m.failure_match_id = i.id limit 1) m
   where m.idempotency_key = 'follows/' || m.follows
  union
  select h.failure_match_id, m.follows
    from chain h
   cross join lateral (select m.* from recovery.failure_match m where m.failure_match_id = h.follows limit 1) m
   where m.idempotency_key = 'follows/' || m.follows)
select h.failure_match_id, c.candidate_id, c.status, c.action_name, c.action_type, c.decide_by, c.error, c.parameters,
       c.idempotency_key
  from chain h
 cross join lateral (
   select c.* from recovery.candidate c
    where c.failure_match_id = h.follows and c.executed_at is not null and c.finished_at is not null) c
 where recovery.makes(c.action_type, c.subject_kind, c.parameters) is null
 order by c.candidate_id;

-- name: lock_open
-- Before the match, as everybody does who locks both; in the order of their own ids, as everybody who locks several.
with open_ as materialized (
  select c.candidate_id
    from unnest(%(ids)s::uuid[]) i (id)
   cross join lateral (
     select c.candidate_id from recovery.candidate c where c.failure_match_id = i.id and c.finished_at is null
      limit 1) c)
select count(*) from (
  select c.candidate_id
    from (select o.candidate_id from open_ o order by o.candidate_id) o
   cross join lateral (
     select c.candidate_id from recovery.candidate c where c.candidate_id = o.candidate_id
      limit 1 for no key update) c) held;

-- name: locked_matches
-- Then the matches, before anything else is read: what a person proposes at this moment is there, or waits. In the
-- order in which they are woken.
select m.failure_match_id, m.status, m.subject_kind, m.subject_ref, m.incident_id, m.match_until, m.reported_by,
       m.evaluation_no, m.policy_version, m.source, m.follows, m.context ->> 'kind' as run_kind,
       m.context ->> 'batch_id' as batch
  from (select i.id from unnest(%(ids)s::uuid[]) i (id) order by i.id) i
 cross join lateral (select m.* from recovery.failure_match m where m.failure_match_id = i.id
                      limit 1 for no key update) m;

-- name: scopes
select s.scope_id, s.incident_id, s.status = 'active' and s.expires_at > (select recoup.now()) as is_active,
       s.allowed_actions, s.expires_at
  from recovery.scope s
 where s.scope_id = any(%(scopes)s::uuid[])
    or s.incident_id = any(%(incidents)s::uuid[]) and s.status = 'active' and s.expires_at > (select recoup.now());

-- name: standings
select s.kind, s.ref, s.standing, s.unit from recovery.standings(%(kinds)s::text[], %(refs)s::text[]) s;

-- name: people_on_errors
-- Who acted last on an error, since a time, of those who are people; or on one that it superseded since.
select g.ref, v.actor_id
  from (select g.*, split_part(g.unit, '/', 1) as error_table, split_part(g.unit, '/', 2)::bigint as error_id
          from unnest(%(refs)s::text[], %(units)s::text[], %(since)s::timestamptz[]) g (ref, unit, since)) g
 cross join lateral (
   select v.actor_id
     from (select g.error_id as id
           union all
           select recovery.errors_before(g.error_table, split_part(g.ref, '/', 2)::bigint) where g.ref <> g.unit) c
    cross join lateral (
      select v.actor_id, v.seq from recoup.error_event v
       where v.error_id = c.id and v.error_table = g.error_table
         and v.authority = 'recoup_operator' and v.logged_at >= g.since
       order by v.seq desc limit 1) v
    order by v.seq desc limit 1) v;

-- name: people_on_intakes
select g.ref, l.actor_id
  from unnest(%(refs)s::text[], %(units)s::text[]) g (ref, unit)
 cross join lateral (
   select l.actor_id from recoup.control_log l
    where l.subject = 'cl.gate_zero_intake' and l.key = g.unit and l.authority = 'recoup_operator'
    order by l.seq desc limit 1) l;

-- name: people_on_partitions
-- Who asked the control plane last for something, a retry or to mark it, since the candidate was made, or its effect.
select g.ref, e.actor_id
  from unnest(%(ids)s::uuid[], %(refs)s::text[]) g (id, ref)
 cross join lateral (
   select p.seq from recovery.provenance p
    where p.failure_match_id = g.id and p.event_type in ('created', 'effect_made') order by p.seq desc limit 1) p
 cross join lateral (
   select e.actor_id from partitions.partition_event e
    where e.partition_id = g.ref::bigint and e.seq > p.seq and e.subject = 'schedule' and e.actor = 'human'
      and e.authority = 'recoup_control_plane'
    order by e.seq desc limit 1) e;

-- name: people_on_breakers
select b.name as ref, b.closed_by as actor_id from recovery.breaker b
 where b.name = any(%(refs)s::text[]) and b.status = 'closed' and b.closed_by <> 'probe';

-- name: people_on_deliveries
select r.ref, e.actor_id
  from unnest(%(refs)s::text[]) r (ref)
 cross join lateral (
   select e.actor_id
     from (select r.ref::uuid as delivery_id
            union all
           select f.delivery_id from recoup.delivery f where f.instead_of = r.ref::uuid) d
    cross join lateral (
      select e.actor_id from recoup.delivery_event e
       where e.delivery_id = d.delivery_id and e.outcome = 'CANCELLED' limit 1) e
    limit 1) e;

-- name: restarted
-- Intakes that were restarted, or are a restart: they are not restarted again.
select i.intake_id::text
  from unnest(%(refs)s::text[]) r (ref)
 cross join lateral (select i.* from cl.gate_zero_intake i where i.intake_id = r.ref::uuid limit 1) i
 where i.retry_of is not null
    or exists (select from cl.gate_zero_intake n where n.retry_of = i.intake_id);

-- name: unretryable
-- Errors whose table does not allow RETRY.
select r.ref from unnest(%(refs)s::text[]) r (ref)
 where not recoup.allows(recoup.error_policy() -> 'tables' -> split_part(r.ref, '/', 1) -> 'allowed', 'RETRY');

-- name: evaluated
with t as materialized (select recoup.now() as now_, recoup.policy_version() as version)
insert into recovery.evaluation (failure_match_id, evaluation_no, rules, fired, recommended_action, weight, facts,
                                 errors, policy_version, evaluated_at)
select g.id, g.number, g.rules, string_to_array(g.fired, ','), g.action, g.weight, g.facts, g.errors, t.version, t.now_
  from t, unnest(%(ids)s::uuid[], %(numbers)s::integer[], %(rules)s::text[], %(fired)s::text[], %(actions)s::text[],
                 %(weights)s::float4[], %(facts)s::jsonb[], %(errors)s::jsonb[])
            g (id, number, rules, fired, action, weight, facts, errors)
on conflict do nothing;

-- name: created
with t as materialized (select recoup.now() as now_, recoup.policy_version() as version)
insert into recovery.candidate (failure_match_id, incident_id, error_signature, subject_kind, follows, proposed_by,
                                recommended_action, decide_by, policy_version, created_at, updated_at)
select m.failure_match_id, m.incident_id, m.error_signature, m.subject_kind, g.follows, g.proposer, g.action,
       t.now_ + make_interval(hours => %(decide_hours)s), t.version, t.now_, t.now_
  from t, (select g.*, row_number() over () as place
             from unnest(%(ids)s::uuid[], %(follows)s::uuid[], %(proposers)s::text[], %(actions)s::text[])
                    g (id, follows, proposer, action)) g
 cross join lateral (select m.* from recovery.failure_match m where m.failure_match_id = g.id limit 1) m
 order by g.place
returning failure_match_id, candidate_id;

-- name: selected
select c from recovery.select_actions(
  %(ids)s::uuid[], %(actions)s::text[], %(types)s::text[], %(parameters)s::jsonb[], %(costs)s::integer[],
  %(timeouts)s::integer[], %(automated)s::boolean[], %(approvals)s::boolean[], %(scopes)s::uuid[],
  %(execute_by)s::timestamptz[], %(keys)s::text[], %(held)s::boolean[]) c;

-- name: attached
select c from recovery.attach_scopes(%(ids)s::uuid[], %(scopes)s::uuid[], %(execute_by)s::timestamptz[]) c;

-- name: skipped
select c from recovery.skip_candidates(%(ids)s::uuid[], %(reasons)s::text[], %(people)s::text[], %(was)s::text[]) c;

-- name: end_candidates
select c.ended from recovery.end_candidates(%(ids)s::uuid[], %(targets)s::text[], %(errors)s::text[],
  %(teach)s::boolean[],
                                            %(people)s::text[]) c;

-- name: open_scopes
-- For incidents without one, with a maximum per day.
with t as materialized (select recoup.now() as now_, recoup.policy_version() as version)
insert into recovery.scope (incident_id, allowed_actions, max_attempts, cost_limit, least_cost, ttl_seconds, expires_at,
                            opened_by, reason, policy_version, opened_at)
select g.id, %(actions)s::text[], %(max_attempts)s, %(cost_limit)s, %(least_cost)s, %(ttl_seconds)s,
       t.now_ + make_interval(secs => %(ttl_seconds)s), recoup.acting_id(), 'opened by policy', t.version, t.now_
  from t, unnest(%(incidents)s::uuid[]) g (id)
 where not exists (select from recovery.scope s
                    where s.incident_id = g.id and s.status = 'active' and s.expires_at > t.now_
                      and s.allowed_actions && %(actions)s::text[])
   and exists (select from recovery.incident i where i.incident_id = g.id and i.status = 'open')
   and (select count(*) from recovery.scope s where s.incident_id = g.id and s.opened_at > t.now_ - interval '1 day')
       < %(per_day)s
returning scope_id, incident_id, true, allowed_actions, expires_at;
