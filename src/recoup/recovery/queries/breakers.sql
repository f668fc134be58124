-- Breakers: their list, opening and closing them by hand, and what a duty does.

-- name: list
select b.name, b.status, b.parts, b.opened_at, b.opened_by, b.reason, b.candidate_id,
       case b.status when 'open' then b.open_until end as next_probe_at, b.wait_s, b.max_wait_s, b.probes,
       b.probe_subject, b.probe_unit, b.probe_until, b.closed_at, b.closed_by,
       case when b.status <> 'closed' then recovery.waiting_behind(b.parts, %(most)s) end as waiting
  from recovery.breaker b
 where (%(all)s or b.status <> 'closed')
   -- Open ones before closed ones, the latest first, those of one moment by name.
   and (%(name)s::text is null
        or case when (b.status = 'closed') <> %(closed)s then b.status = 'closed'
                when b.opened_at <> %(opened_at)s then b.opened_at < %(opened_at)s
                else b.name > %(name)s end)
 order by b.status = 'closed', b.opened_at desc, b.name
 limit %(limit)s;

-- name: one
select b.status, b.opened_at, b.opened_by, b.reason from recovery.breaker b where b.name = %(name)s;

-- name: open
select recovery.open_breakers(array[%(name)s::text], %(reason)s, array[null::uuid], recoup.now());

-- name: close
select recovery.close_breaker(%(name)s);

-- name: settle
select recovery.settle_probes();

-- name: lag
select extract(epoch from recoup.now() - b.probe_until) from recovery.breaker b
 where b.status = 'half_open' and b.probe_until < (select recoup.now()) order by b.probe_until limit 1;

-- name: times
-- When each breaker was last open: this time does not count towards the deadlines of what waited behind it.
select b.parts, b.opened_at, b.closed_at from recovery.breaker b
 where b.status <> 'closed' or b.closed_at > (select recoup.now()) - interval '60 days';

-- name: earlier_times
-- The same of their earlier openings: each end is an event, which has all columns of the row.
select l.facts -> 'parts', (l.facts ->> 'opened_at')::timestamptz, (l.facts ->> 'closed_at')::timestamptz
  from recovery.breaker b
 cross join lateral (
   select l.facts from recoup.control_log l
    where l.subject = 'recovery.breaker' and l.key = b.name and l.seq > %(since)s and l.to_status = 'closed') l;

-- name: paused_times
-- The same of pauses: of everything, of tables, of batches, and of sources of partitions. Each lasts until the
-- next event of its own.
select l.scope || ':' || l.scope_id, l.logged_at, n.logged_at
  from recoup.pause_log l
  left join lateral (select n.logged_at from recoup.pause_log n
                      where n.scope = l.scope and n.scope_id = l.scope_id and n.seq > l.seq
                      order by n.seq limit 1) n on true
 where l.event_type = 'PAUSE' and l.scope in ('global', 'table', 'batch', 'partition-source')
   and coalesce(n.logged_at > %(since)s, true);
