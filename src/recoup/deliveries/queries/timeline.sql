-- Deliveries on a time line: those of candidates, statuses at a time, and events.

-- name: of_candidates
select d.delivery_id::text from recoup.delivery d where d.candidate_id = any(%(candidates)s::uuid[]) limit %(most)s;

-- name: fallbacks
-- What replaced those that died.
select d.delivery_id::text from recoup.delivery d where d.instead_of = any(%(deliveries)s::uuid[]);

-- name: statuses
select d.delivery_id::text, d.route, d.subject, d.policy_version, e.to_status, e.logged_at, e.outcome,
       left(e.reason, %(text)s), e.attempts, e.next_try_at
  from unnest(%(deliveries)s::uuid[]) g (id)
 cross join lateral (select d.* from recoup.delivery d where d.delivery_id = g.id limit 1) d
 cross join lateral (
   select e.* from recoup.delivery_event e
    where e.delivery_id = g.id and e.logged_at <= %(until)s order by e.seq desc limit 1) e;

-- name: events
select t.delivery_id::text, t.seq, t.logged_at, t.to_status, t.outcome, t.attempts, t.route, t.reason, t.actor,
       t.actor_id, t.authority
  from unnest(%(deliveries)s::uuid[]) g (id)
 cross join lateral (
   select e.delivery_id, e.seq, e.logged_at, e.to_status, e.outcome, e.attempts, e.route,
          left(e.reason, %(text)s) as reason, e.actor, e.actor_id, e.authority
     from recoup.delivery_event e
    where e.delivery_id = g.id and e.logged_at <= %(until)s
      and (e.logged_at, e.seq) <= (%(before_at)s::timestamptz, %(before_seq)s::bigint)
    order by e.seq desc limit %(limit)s) t
 order by t.logged_at desc, t.seq desc limit %(limit)s;
