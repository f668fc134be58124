-- name: due_routes
-- Routes that have something due, longest due first; one probe of the index for each route that has anything.
with recursive waiting (route) as (
  (select q.part from recoup.delivery_queue q where q.token is null order by q.part limit 1)
  union all
  select (select q.part from recoup.delivery_queue q where q.token is null and q.part > w.route order by q.part limit 1)
    from waiting w where w.route is not null)
select w.route, d.wake_at
  from waiting w
 cross join lateral (
   select q.wake_at from recoup.delivery_queue q
    where q.part = w.route and q.token is null and q.wake_at <= recoup.now() order by q.wake_at limit 1) d
 where w.route is not null
 order by d.wake_at;

-- name: send
-- As operator. What a person sends twice by mistake is refused by its dedup key, if it has one.
insert into recoup.delivery (delivery_id, route, subject, body, about, dedup_key, origin)
select i.id, %(route)s, %(subject)s, %(body)s, %(about)s, coalesce(%(dedup_key)s, i.id::text), 'operator'
  from (select recoup.new_id() as id offset 0) i
returning delivery_id;

-- name: cancel
select c.delivery_id, c.was from recoup.cancel_deliveries(%(ids)s) c;

-- name: list_deliveries
-- Newest first, along the primary key: ids rise with time.
select d.delivery_id, d.route, d.subject, d.about, d.origin, d.candidate_id, d.status, d.attempts, d.next_try_at,
       d.outcome, d.last_failure, d.dedup_key, d.created_at, d.updated_at, d.ended_at, d.policy_version,
       (select q.worker from recoup.delivery_queue q where q.unit = d.delivery_id) as claimed_by
  from recoup.delivery d
 where (%(statuses)s::text[] is null or d.status = any(%(statuses)s::text[]))
   and (%(route)s::text is null or d.route = %(route)s)
   and (%(about)s::text is null or d.about = %(about)s)
   and (%(after)s::uuid is null or d.delivery_id < %(after)s)
 order by d.delivery_id desc limit %(limit)s;

-- name: show_delivery
select d.delivery_id, d.route, d.subject, d.about, d.origin, d.candidate_id, d.status, d.attempts, d.next_try_at,
       d.outcome, d.last_failure, d.dedup_key, d.created_at, d.updated_at, d.ended_at, d.policy_version,
       (select q.worker from recoup.delivery_queue q where q.unit = d.delivery_id) as claimed_by, d.body
  from recoup.delivery d where d.delivery_id = %(delivery_id)s;

-- name: events
select e.logged_at, e.from_status, e.to_status, e.attempts, e.outcome, e.reason, e.actor_id
  from recoup.delivery_event e where e.delivery_id = %(delivery_id)s order by e.seq;

-- name: health
-- Dead ones of the last days that nobody cancelled, and since when the longest due one waits.
select (select count(*) from recoup.delivery d
         where d.status = 'dead' and d.ended_at > recoup.now() - make_interval(days => %(days)s)
           and d.outcome <> 'CANCELLED') as dead,
       (select extract(epoch from recoup.now() - min(q.wake_at)) from recoup.delivery_queue q
         where q.token is null and q.wake_at <= recoup.now()) as waits_s;

-- name: dead_by_route
-- Given up in 24 hours and not by a person. Heartbeats are not counted: their receiver misses them.
select d.route, count(*)
  from (select d.route from recoup.delivery d
         where d.status = 'dead' and d.ended_at > (select recoup.now()) - interval '24 hours'
           and d.outcome <> 'CANCELLED' and d.origin <> 'heartbeat'
         limit %(most)s) d
 group by d.route;

-- name: waiting_by_route
-- Due for some time, and claimed by no worker: none runs, or none has what the route needs. Not where people paused it;
-- not heartbeats, and not notices that wait for an earlier one of their alert. Counted up to a number for each route.
with recursive waiting (route) as (
  (select q.part from recoup.delivery_queue q where q.token is null order by q.part limit 1)
  union all
  select (select q.part from recoup.delivery_queue q where q.token is null and q.part > w.route order by q.part limit 1)
    from waiting w where w.route is not null)
select w.route, n.deliveries, n.since
  from waiting w
 cross join lateral (
   select count(*) as deliveries, min(d.wake_at) as since
     from (select q.wake_at
             from recoup.delivery_queue q
            cross join lateral (select d.origin from recoup.delivery d where d.delivery_id = q.unit limit 1) d
            where q.part = w.route and q.token is null
              and q.wake_at < (select recoup.now()) - make_interval(secs => %(after_s)s)
              and d.origin <> 'heartbeat' and not recoup.delivery_is_behind(q.unit)
            order by q.wake_at limit %(most)s) d) n
 where w.route is not null and n.deliveries > 0
   and not exists (
     select from recoup.pause p
      where p.status = 'PAUSED'
        and (p.scope = 'global' or p.scope = 'duty' and p.scope_id = 'deliver'
             or p.scope = 'table' and p.scope_id = 'recoup.delivery'));
