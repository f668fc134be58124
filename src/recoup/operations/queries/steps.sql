-- Operations that go in steps.

-- name: open
-- Those that a worker continues, oldest first.
select o.operation_id from recoup.operation o
 where o.status = 'OPEN' and o.subject = %(subject)s and o.canary is not null
 order by o.requested_at limit %(limit)s;

-- name: hold
-- One process at a time continues an operation. What its items are is read by the next statement, which sees what
-- the process before has committed.
select o.operation_id, o.subject, o.verb, o.arguments, o.items, o.requested_by, o.canary, o.step, o.step_start,
       o.step_end
  from recoup.operation o
 where o.operation_id = %(operation)s and o.status = 'OPEN' and o.canary is not null
   and not exists (select from recoup.pause p
                    where p.status = 'PAUSED' and p.scope = 'operation' and p.scope_id = %(operation)s::text)
   for no key update of o skip locked;

-- name: progress
-- Whether items of the step wait for their turn, how many may go now, and whether its outcomes are overdue.
select exists (select from recoup.operation_item i
                where i.operation_id = o.operation_id and i.place <= o.step_end and i.status = 'PENDING') as waiting,
       case when r.rate = 0 then %(most)s
            when o.next_at > n.now_ then 0
            else least(floor(extract(epoch from n.now_ - o.next_at) * r.rate / 60) + 1, r.rate, %(most)s)
            end::integer as may_go,
       coalesce(o.watch_until <= n.now_, false) as overdue
  from recoup.operation o, (select recoup.now() as now_) n,
       lateral (select (o.canary ->> 'rate_per_minute')::integer as rate) r
 where o.operation_id = %(operation)s;

-- name: went
-- N items went: the next one in its turn; of turns that nobody took, those of the last minute are left. Outcomes
-- are waited for once all items of the step have their results.
update recoup.operation o
   set next_at = greatest(o.next_at, n.now_ - interval '1 minute') + make_interval(
         secs => coalesce(%(items)s * 60.0 / nullif((o.canary ->> 'rate_per_minute')::integer, 0), 0)),
       watch_until = case when not exists (
           select from recoup.operation_item i
            where i.operation_id = o.operation_id and i.place <= o.step_end and i.status = 'PENDING')
         then n.now_ + make_interval(secs => (o.canary ->> 'wait_s')::integer) end
  from (select recoup.now() as now_) n
 where o.operation_id = %(operation)s;

-- name: next
-- The rate counts from here. Of the turns that passed while outcomes were awaited those of six seconds are left: a
-- worker comes every five, so steps alone do not slow it; and no minute has more than a tenth above its rate.
update recoup.operation o
   set status = 'OPEN', step = o.step + 1, step_start = %(start)s, step_end = least(%(start)s + %(size)s, o.items),
       next_at = greatest(o.next_at, recoup.now() - interval '6 seconds'), watch_until = null, why = %(why)s
 where o.operation_id = %(operation)s;

-- name: end
update recoup.operation o
   set status = %(status)s, why = %(why)s, done_at = case when %(status)s = 'CANCELLED' then recoup.now() end
 where o.operation_id = %(operation)s
returning o.operation_id;

-- name: decide
-- For a person who resumes or cancels it.
select o.status, o.canary is not null as has_steps, o.step_start, o.step_end from recoup.operation o
 where o.operation_id = %(operation)s for no key update;

-- name: ended
-- The last place up to which every item has its result, and how many have none.
select coalesce(min(i.place) - 1, 0), count(*) from recoup.operation_item i
 where i.operation_id = %(operation)s and i.status = 'PENDING';

-- name: lag
-- How long the next items of a step have been able to go.
select extract(epoch from recoup.now() - min(o.next_at))
  from recoup.operation o
 where o.status = 'OPEN' and o.subject = %(subject)s and o.canary is not null and o.next_at <= (select recoup.now())
   and exists (select from recoup.operation_item i
                where i.operation_id = o.operation_id and i.place <= o.step_end and i.status = 'PENDING')
   and not exists (select from recoup.pause p
                    where p.status = 'PAUSED' and p.scope = 'operation' and p.scope_id = o.operation_id::text);

-- name: story
select c.logged_at, c.from_status, c.to_status, (c.facts ->> 'step')::integer as step,
       (c.facts ->> 'step_end')::integer - (c.facts ->> 'step_start')::integer as items, c.facts ->> 'why' as why,
       c.actor_id
  from recoup.control_log c
 where c.subject = 'recoup.operation' and c.key = %(operation)s::text
 order by c.seq;
