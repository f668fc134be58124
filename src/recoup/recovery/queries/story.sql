-- One match in full.

-- name: place
-- The match that an id means: its own, or that of a candidate.
select m.failure_match_id, null::uuid as candidate_id from recovery.failure_match m
 where m.failure_match_id = %(id)s
union all
select c.failure_match_id, c.candidate_id from recovery.candidate c where c.candidate_id = %(id)s
limit 1;

-- name: match
select m.*, (select recoup.now()) as read_at from recovery.failure_match m where m.failure_match_id = %(match)s;

-- name: standings
select s.kind, s.ref, s.standing, s.unit, s.status from recovery.standings(%(kinds)s::text[], %(refs)s::text[]) s;

-- name: evaluations
-- The newest ones, oldest first.
select e.* from (
  select e.evaluation_no, e.rules, e.fired, e.recommended_action, e.weight, e.facts, e.errors, e.policy_version,
         e.evaluated_at
    from recovery.evaluation e where e.failure_match_id = %(match)s order by e.evaluation_no desc limit %(limit)s) e
 order by e.evaluation_no;

-- name: scopes
select s.scope_id from recovery.scope s
 where s.scope_id = any(%(scopes)s::uuid[]) or s.incident_id = %(incident)s and s.status = 'active'
 order by s.scope_id limit %(limit)s;

-- name: followers
-- A match that follows another one is about the same subject.
select m.failure_match_id, m.status, m.created_at from recovery.failure_match m
 where m.subject_ref = %(ref)s and m.subject_kind = %(kind)s and m.follows = %(match)s
 order by m.created_at limit %(limit)s;

-- name: follows
select m.failure_match_id, m.status, m.created_at from recovery.failure_match m
 where m.failure_match_id = %(follows)s;

-- name: similar
-- The latest outcomes that teach about the same, without its own.
select o.candidate_id, o.failure_match_id, m.source, o.status, o.error, o.confidence, o.finished_at
  from recovery.candidate c
 cross join lateral (
   select o.* from recovery.candidate o
    where o.action_name = c.action_name and o.cell = c.cell and o.executed_at is not null
      and o.finished_at is not null and o.teaches and o.candidate_id <> c.candidate_id
    order by o.finished_at desc limit %(limit)s) o
 cross join lateral (select m.source from recovery.failure_match m
                      where m.failure_match_id = o.failure_match_id limit 1) m
 where c.candidate_id = %(candidate)s
 order by o.finished_at desc;

-- name: events
-- Its own, and those of its incident and its scopes: the newest ones, oldest first.
select e.* from (
  select p.seq, p.logged_at, p.event_type, p.candidate_id, p.scope_id, p.number, p.from_status, p.to_status,
         p.action_name, p.confidence, p.evidence, p.outcome, p.reason, p.facts, p.policy_version, p.actor,
         p.actor_id, p.authority
    from ((select p.* from recovery.provenance p
            where p.failure_match_id = %(match)s order by p.seq desc limit %(limit)s)
          union all
          (select p.* from recovery.provenance p
            where p.incident_id = %(incident)s and p.failure_match_id is null
              and (p.scope_id is null or p.scope_id = any(%(scopes)s::uuid[]))
            order by p.seq desc limit %(limit)s)) p
   order by p.seq desc limit %(limit)s) e
 order by e.seq;
