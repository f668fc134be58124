-- Matches and candidates on a time line: what belongs to them, statuses at a time, and events. From the provenance.

-- name: of_subjects
-- The matches of subjects, and of what candidates await.
select m.failure_match_id::text
  from unnest(%(kinds)s::text[], %(refs)s::text[]) g (kind, ref)
 cross join lateral (
   select m.failure_match_id from recovery.failure_match m
    where m.subject_ref = g.ref and m.subject_kind = g.kind order by m.created_at desc limit %(most)s) m;

-- name: of_matches
-- Their candidates, and their subjects.
select 'candidate', c.candidate_id::text
  from unnest(%(matches)s::uuid[]) g (id)
 cross join lateral (
   select c.candidate_id from recovery.candidate c
    where c.failure_match_id = g.id order by c.candidate_id desc limit %(most)s) c
 union all
select m.subject_kind, m.subject_ref
  from unnest(%(matches)s::uuid[]) g (id)
 cross join lateral (
   select m.subject_kind, m.subject_ref from recovery.failure_match m where m.failure_match_id = g.id limit 1) m;

-- name: of_candidates
-- Their matches, and what they await or started.
select 'match', c.failure_match_id::text from recovery.candidate c where c.candidate_id = any(%(candidates)s::uuid[])
 union all
select c.awaits ->> 'kind', c.awaits ->> 'key' from recovery.candidate c
 where c.candidate_id = any(%(candidates)s::uuid[]) and c.awaits is not null;

-- name: matches
-- With the last evaluation by then.
select m.failure_match_id, m.source, m.subject_kind, m.subject_ref, left(m.error_message, %(text)s) as message,
       m.policy_version, given.event_type, given.to_status, given.logged_at as since, given.outcome,
       left(given.reason, %(text)s) as reason, given.actor_id, e.evaluation_no, e.fired, e.recommended_action,
       e.policy_version as evaluation_policy, c.status as open_candidate, c.candidate_id, c.action_name
  from unnest(%(matches)s::uuid[]) g (id)
 cross join lateral (select m.* from recovery.failure_match m where m.failure_match_id = g.id limit 1) m
 cross join lateral (
   select p.* from recovery.provenance p
    where p.failure_match_id = g.id and p.logged_at <= %(until)s and starts_with(p.event_type, 'match_')
      and p.to_status is distinct from p.from_status
    order by p.seq desc limit 1) given
  left join lateral (
    select e.* from recovery.evaluation e
     where e.failure_match_id = g.id and e.evaluated_at <= %(until)s order by e.evaluation_no desc limit 1) e on true
  left join lateral (
    select p.candidate_id, p.to_status as status, p.action_name from recovery.provenance p
     where p.failure_match_id = g.id and p.candidate_id is not null and p.logged_at <= %(until)s
     order by p.seq desc limit 1) c on true;

-- name: candidates
-- With the evaluation that recommended it, its confidence, and the selection of its action by then.
select c.candidate_id, c.failure_match_id, c.policy_version, c.recommended_action, c.proposed_by, c.decide_by,
       last.to_status, last.action_name, given.event_type, given.logged_at as since,
       left(given.reason, %(text)s) as reason, given.actor_id, s.facts as selected, s.scope_id, k.confidence,
       k.evidence, e.evaluation_no, e.fired, e.policy_version as evaluation_policy, a.facts as awaits, scope.status
         as scope_status
  from unnest(%(candidates)s::uuid[]) g (id)
 cross join lateral (select c.* from recovery.candidate c where c.candidate_id = g.id limit 1) c
 cross join lateral (
   select p.* from recovery.provenance p
    where p.failure_match_id = c.failure_match_id and p.candidate_id = g.id and p.logged_at <= %(until)s
    order by p.seq desc limit 1) last
 cross join lateral (
   select p.* from recovery.provenance p
    where p.failure_match_id = c.failure_match_id and p.candidate_id = g.id and p.seq <= last.seq
      and p.to_status is distinct from p.from_status and p.event_type not in ('manual_override', 'crashed')
    order by p.seq desc limit 1) given
  left join lateral (
    select p.facts, p.scope_id from recovery.provenance p
     where p.failure_match_id = c.failure_match_id and p.candidate_id = g.id and p.seq <= last.seq
       and p.event_type = 'action_selected' order by p.seq desc limit 1) s on true
  left join lateral (
    select p.confidence, p.evidence from recovery.provenance p
     where p.failure_match_id = c.failure_match_id and p.candidate_id = g.id and p.seq <= last.seq
       and p.event_type = 'confidence_updated' order by p.seq desc limit 1) k on true
  left join lateral (
    select p.facts from recovery.provenance p
     where p.failure_match_id = c.failure_match_id and p.candidate_id = g.id and p.seq <= last.seq
       and p.event_type = 'effect_made' order by p.seq desc limit 1) a on true
  left join lateral (
    select e.* from recovery.evaluation e
     where e.failure_match_id = c.failure_match_id and e.evaluated_at <= c.created_at
     order by e.evaluation_no desc limit 1) e on true
  left join lateral (
    select case when o.ended_at <= %(until)s then o.status else 'active' end as status
      from recovery.scope o where o.scope_id = s.scope_id limit 1) scope on true;

-- name: events
-- Of matches with their evaluations and candidates. Candidates have no events of their own: their matches have them.
select t.failure_match_id::text, t.candidate_id::text, t.seq, t.logged_at, t.event_type, t.number, t.from_status,
       t.to_status, t.action_name, t.confidence, t.outcome, t.reason, t.fired, t.policy_version, t.actor, t.actor_id,
       t.authority
  from unnest(%(matches)s::uuid[]) g (id)
 cross join lateral (select m.failure_match_id from recovery.failure_match m where m.failure_match_id = g.id limit 1) m
 cross join lateral (
   select p.failure_match_id, p.candidate_id, p.seq, p.logged_at, p.event_type, p.number, p.from_status, p.to_status,
          p.action_name, p.confidence, p.outcome, left(p.reason, %(text)s) as reason,
          case when p.event_type = 'rule_evaluated' then (
            select e.fired from recovery.evaluation e
             where e.failure_match_id = p.failure_match_id and e.evaluation_no = p.number) end as fired,
          p.policy_version, p.actor, p.actor_id, p.authority
     from recovery.provenance p
    where p.failure_match_id = g.id and p.logged_at <= %(until)s
      and (p.logged_at, p.seq) <= (%(before_at)s::timestamptz, %(before_seq)s::bigint)
    order by p.seq desc limit %(limit)s) t
 order by t.logged_at desc, t.seq desc limit %(limit)s;
