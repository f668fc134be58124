-- What rules are evaluated on, and what they are tested with.

-- name: policy_digest
select md5((recovery.policy())::text);

-- name: failures
-- Failures as rules see them at a time, with how many their incidents had by then: counted once for each incident.
with asked as materialized (
  select g.place, g.at, m.*
    from unnest(%(ids)s::uuid[], %(at)s::timestamptz[]) with ordinality g (id, at, place)
   cross join lateral (select m.* from recovery.failure_match m where m.failure_match_id = g.id limit 1) m),
sizes as materialized (
  select d.incident_id, d.at, c.incident_size
    from (select distinct a.incident_id, a.at from asked a) d
   cross join lateral (
     select count(*)::integer as incident_size
       from (select from recovery.failure_match m
              where m.incident_id = d.incident_id and m.created_at <= d.at limit %(most)s) m) c)
select a.failure_match_id, a.subject_kind, a.source, a.subject_ref, a.error_signature, a.category, a.error_code,
       left(a.error_message, %(most_message)s) as message, a.created_at, s.incident_size,
       case when a.context is null then '{}'
            when octet_length(a.context::text) <= %(most_context)s then a.context::text end as context
  from asked a join sizes s on s.incident_id = a.incident_id and s.at = a.at
 order by a.place;

-- name: recorded
-- The latest failures, with each evaluation of theirs; those without one as they came.
select m.failure_match_id, coalesce(e.evaluated_at, m.created_at) as at,
       coalesce((e.facts ->> 'candidates')::integer, 0) as candidates, left(m.error_message, 200) as error_message
  from (select m.* from recovery.failure_match m
         where (%(source)s::text is null or m.source = %(source)s)
           and (%(since)s::timestamptz is null or m.created_at >= %(since)s)
         order by m.failure_match_id desc limit %(limit)s) m
  left join recovery.evaluation e on e.failure_match_id = m.failure_match_id
 order by m.failure_match_id desc, e.evaluation_no;

-- name: rules
-- The rules of the active policy, with how often they were true, and failed, in the latest evaluations.
with latest as materialized (
  select e.fired, e.errors, e.policy_version from recovery.evaluation e
   order by e.failure_match_id desc, e.evaluation_no desc limit %(most)s)
select f.name, count(*) filter (where f.is_fired), count(*) filter (where not f.is_fired)
  from latest l
 cross join lateral (
   select x.name, true as is_fired from unnest(l.fired) x (name)
   union all select k.key, false from jsonb_each(coalesce(l.errors, '{}')) k) f
 where l.policy_version = (select recoup.policy_version())
 group by f.name;
