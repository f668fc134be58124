-- Candidates by hand: the same predicates in the same order, the rows, the events; no guards.

-- name: last_incident
select coalesce((select i.incident_id from recovery.incident i order by i.incident_id desc limit 1),
                '00000000-0000-0000-0000-000000000000');

-- name: fill_incidents
-- Each with a scope that is large enough for all its candidates.
with t as materialized (select recoup.now() as now_),
opened as (
  insert into recovery.incident (source, error_signature, opened_at)
  select 'bench-' || gen_random_uuid(), 's2-0123456789abcdef01234567', t.now_ from t, generate_series(1, %(scopes)s)
  returning incident_id)
insert into recovery.scope (incident_id, allowed_actions, max_attempts, cost_limit, least_cost, ttl_seconds, expires_at,
                            opened_by, reason, policy_version, opened_at)
select o.incident_id, '{retry_exponential}', 10000000, 10000000, 1, 86400, t.now_ + interval '86400 seconds', 'bench',
       'bench', 1, t.now_
  from opened o, t;

-- name: fill_matches
with of as materialized (
  select i.incident_id, i.source, i.error_signature, row_number() over (order by i.incident_id) - 1 as place
    from recovery.incident i where i.incident_id > %(after)s)
insert into recovery.failure_match (incident_id, source, idempotency_key, subject_kind, subject_ref, error_message,
                                    error_signature, category, digest, status, evaluate_at, match_until, policy_version,
                                    created_at, updated_at)
select o.incident_id, o.source, 'k' || g, 'outside', 'ref-' || g, 'request ' || g || ' timed out', o.error_signature,
       'TRANSIENT', '\x00', 'evaluated', t.now_ + interval '3 days', t.now_ + interval '30 days', 1, t.now_, t.now_
  from (select recoup.now() as now_) t, generate_series(1, %(rows)s) g
  join of o on o.place = g %% (select count(*) from of);

-- name: fill_candidates
insert into recovery.candidate (failure_match_id, incident_id, error_signature, subject_kind, recommended_action,
                                action_name, action_type, parameters, cost, timeout_s, is_automated, requires_approval,
                                scope_id, confidence, confidence_of, evidence, status, decide_by, decided_by,
                                  decided_at,
                                execute_by, policy_version, created_at, updated_at)
select m.failure_match_id, m.incident_id, m.error_signature, m.subject_kind, 'retry_exponential', 'retry_exponential',
       'retry', '{}', 1, 300, true, false, s.scope_id, 0.5, 'retry_exponential', 10, %(status)s,
       m.created_at + interval '3 days', case when %(status)s = 'approved' then 'ann' end,
       case when %(status)s = 'approved' then m.created_at end, s.expires_at, 1, m.created_at, m.created_at
  from recovery.failure_match m join recovery.scope s on s.incident_id = m.incident_id
 where m.incident_id > %(after)s
 order by m.failure_match_id;

-- name: claim
-- The scopes are locked in the order of their ids, and what is left of each is read after the wait.
with t as materialized (select clock_timestamp() as now_, gen_random_uuid() as token),
picked as materialized (
  select c.candidate_id, c.scope_id, c.cost, c.decided_at is null as by_itself
    from raw.candidate c
    join raw.scope s on s.scope_id = c.scope_id
   where c.is_ready and c.executed_at is null and c.execute_by > statement_timestamp() and s.status = 'active'
     and s.expires_at > statement_timestamp() and s.attempts_used < s.max_attempts
     and s.cost_used + c.cost <= s.cost_limit
   order by c.decided_at is null, c.candidate_id
   limit %(limit)s
     for no key update of c skip locked),
held as materialized (
  select s.scope_id, s.max_attempts - s.attempts_used as attempts, s.cost_limit - s.cost_used as units
    from raw.scope s
   where s.scope_id in (select p.scope_id from picked p) and s.status = 'active'
   order by s.scope_id for no key update),
fitting as (
  select f.candidate_id, f.scope_id, f.cost
    from (select p.*, h.attempts, h.units, row_number() over w as place, sum(p.cost) over w as total
            from picked p join held h on h.scope_id = p.scope_id
          window w as (partition by p.scope_id order by p.by_itself, p.candidate_id)) f
   where f.place <= f.attempts and f.total <= f.units),
spent as (
  update raw.scope s
     set attempts_used = s.attempts_used + x.attempts, cost_used = s.cost_used + x.cost
    from (select f.scope_id, count(*)::integer as attempts, sum(f.cost)::integer as cost from fitting f group by 1) x
   where s.scope_id = x.scope_id),
claimed as (
  update raw.candidate c
     set status = 'executing', executed_at = t.now_, worker = 'bench', token = t.token,
         lease_until = t.now_ + interval '5 minutes', idempotency_key = c.candidate_id::text, updated_at = t.now_
    from fitting f, t
   where c.candidate_id = f.candidate_id and c.executed_at is null
  returning c.*),
leased as (
  insert into raw.lease (token, worker, lease_until, candidates)
  select c.token, c.worker, c.lease_until, array_agg(c.candidate_id) from claimed c group by 1, 2, 3),
logged as (
  insert into raw.provenance (incarnation, logged_at, event_type, candidate_id, failure_match_id, incident_id, scope_id,
                              from_status, to_status, action_name, confidence, evidence, token, reason, actor, actor_id,
                              authority)
  select 1, c.updated_at, 'executed', c.candidate_id, c.failure_match_id, c.incident_id, c.scope_id, 'approved',
         'executing', c.action_name, c.confidence, c.evidence, c.token, c.worker, 'system', 'bench',
         'recoup_claim_worker'
    from claimed c)
select c.candidate_id, c.token, c.failure_match_id, c.action_name, c.action_type, c.subject_kind, c.parameters,
       c.idempotency_key, c.timeout_s, c.lease_until
  from claimed c;

-- name: finish
with ended as (
  update raw.candidate c
     set status = g.outcome, reported = g.outcome, effect_made_at = t.now_, finished_at = t.now_, error = g.error,
         updated_at = t.now_
    from (select clock_timestamp() as now_) t,
         unnest(%(ids)s::uuid[], %(tokens)s::uuid[], %(outcomes)s::text[], %(errors)s::text[])
           g (id, token, outcome, error)
   where c.candidate_id = g.id and coalesce(c.token = g.token, false) and c.status = 'executing'
     and c.lease_until >= statement_timestamp()
  returning c.*),
logged as (
  insert into raw.provenance (incarnation, logged_at, event_type, candidate_id, failure_match_id, incident_id, scope_id,
                              from_status, to_status, action_name, reason, actor, actor_id, authority)
  select 1, e.updated_at, case e.status when 'succeeded' then 'success' else 'failure' end, e.candidate_id,
         e.failure_match_id, e.incident_id, e.scope_id, 'executing', e.status, e.action_name, e.error, 'system',
           'bench',
         'recoup_evaluator'
    from ended e)
select e.candidate_id, e.status from ended e;

-- name: tally
select 'candidate ' || c.status, count(*) from {schema}.candidate c group by 1
union all
select 'event ' || p.event_type, count(*) from {schema}.provenance p where p.event_type in ('executed', 'success',
  'failure')
 group by 1
union all
select 'attempts', sum(s.attempts_used) from {schema}.scope s
union all
select 'cost', sum(s.cost_used) from {schema}.scope s;

-- name: new_matches
-- Ingested by hand, and evaluated by hand: the rows and events that are left, each written once.
with t as materialized (select clock_timestamp() as now_, gen_random_uuid() as token),
given as materialized (
  select g.*, recoup.new_id() as id from unnest(%(keys)s::text[], %(messages)s::text[]) g (key, message)),
opened as (
  insert into raw.incident (source, error_signature, opened_at)
  select %(source)s, %(signature)s, t.now_ from t
  where not exists (select from raw.incident i where i.source = %(source)s and i.status = 'open')
  returning incident_id),
incident as (
  select incident_id from opened
  union all
  select i.incident_id from raw.incident i where i.source = %(source)s and i.status = 'open'),
matched as (
  insert into raw.failure_match (failure_match_id, incident_id, source, idempotency_key, subject_kind, subject_ref,
                                 error_message, error_signature, category, digest, status, evaluate_at, match_until,
                                 evaluation_no, token, policy_version, created_at, updated_at)
  select g.id, i.incident_id, %(source)s, g.key, 'outside', g.key, g.message, %(signature)s, 'TRANSIENT',
         sha256(convert_to(g.message, 'UTF8')), 'evaluated', t.now_ + interval '72 hours',
           t.now_ + interval '30 days', 1, t.token,
         1, t.now_, t.now_
    from given g, incident i, t
  on conflict do nothing
  returning failure_match_id, incident_id, evaluate_at),
queued as (
  insert into raw.match_queue (unit, round, wake_at) select m.failure_match_id, 1, m.evaluate_at from matched m),
evaluated as (
  insert into raw.evaluation (failure_match_id, evaluation_no, rules, fired, recommended_action, weight, facts,
                              policy_version, evaluated_at)
  select m.failure_match_id, 1, 'plan', '{plan.outside}', 'retry_exponential', 1,
         '{"kind": "outside", "subject": "failed", "candidates": 0, "scopes": 0}', 1, t.now_ from matched m, t),
created as (
  insert into raw.candidate (failure_match_id, incident_id, error_signature, subject_kind, recommended_action,
                             action_name, action_type, parameters, cost, timeout_s, is_automated, requires_approval,
                             confidence, confidence_of, evidence, confidence_basis, decide_by, policy_version,
                             created_at, updated_at)
  select m.failure_match_id, m.incident_id, %(signature)s, 'outside', 'retry_exponential', 'retry_exponential', 'retry',
         '{}', 1, 300, true, false, 0.5, 'retry_exponential', 0,
         '{"of": 0, "good": 0, "mean": 0.5, "action": [0.0, 0.0], "source": [0.0, 0.0], "awaiting": 0,
           "category": [0.0, 0.0], "expected": 0.5}',
         t.now_ + interval '72 hours', 1, t.now_, t.now_
    from matched m, t
  returning candidate_id, failure_match_id, incident_id),
logged as (
  insert into raw.provenance (incarnation, logged_at, event_type, candidate_id, failure_match_id, incident_id, number,
                              from_status, to_status, action_name, confidence, evidence, token, outcome, reason, facts,
                              policy_version, actor, actor_id, authority)
  select 1, t.now_, e.event_type, case when e.of_candidate then c.candidate_id end, c.failure_match_id, c.incident_id,
         e.number, e.from_status, e.to_status, e.action, e.confidence, e.evidence,
         case when e.outcome is not null then t.token end, e.outcome, e.reason, e.facts, e.version, 'system', 'bench',
         e.authority
    from created c, t, (values
      ('match_created', false, null::integer, null, 'new', null, null::float8, null::integer, null, null,
       null::jsonb, 1, 'recoup_matcher'),
      ('rule_evaluated', false, 1, null, 'done', 'retry_exponential', 1, null, null, 'plan', null, 1,
       'recoup_rule_engine'),
      ('created', true, null, null, 'pending', 'retry_exponential', null, null, null, null, null, 1, 'recoup_matcher'),
      ('action_selected', true, null, 'pending', 'pending', 'retry_exponential', null, null, null, null,
       '{"cost": 1, "type": "retry", "timeout_s": 300, "execute_by": null, "is_automated": true,
         "parameters": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
         "held_for_review": false, "requires_approval": false}', null, 'recoup_evaluator'),
      ('confidence_updated', true, null, 'pending', 'pending', 'retry_exponential', 0.5, 0, null, null,
       '{"before": 0, "basis": {"of": 0, "good": 0, "mean": 0.5, "action": [0.0, 0.0], "source": [0.0, 0.0],
         "awaiting": 0, "category": [0.0, 0.0], "expected": 0.5}}', null, 'recoup_matcher'),
      ('match_evaluated', false, 1, 'new', 'evaluated', null, null, null, 'SUCCEEDED', null, null, 1,
       'recoup_evaluator'))
      e (event_type, of_candidate, number, from_status, to_status, action, confidence, evidence, outcome, reason, facts,
         version, authority))
select candidate_id from created;

-- name: tally_ingested
select 'match ' || m.status, count(*) from {schema}.failure_match m group by 1
union all
select 'candidate ' || c.status || ' ' || c.action_name, count(*) from {schema}.candidate c group by 1
union all
select 'event ' || p.event_type, count(*) from {schema}.provenance p where p.event_type <> 'incident_opened' group by 1
union all
select 'evaluations', count(*) from {schema}.evaluation
union all
select 'queued', count(*) from {schema}.match_queue;
