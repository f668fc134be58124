-- name: now
select recoup.now(), recoup.blocking_tables();

-- name: happened
-- What happened in a window of time, by table and by flags of recoup.event_flags, in one pass over its events. It
-- begins after %(since)s, and %(until)s is in it.
select e.error_table, recoup.event_flags(e) as flags, count(*) as events,
       max(e.logged_at) filter (where e.logged_at <= %(hour_ago)s) as last_old
  from recoup.error_event e
 where e.logged_at > %(since)s and e.logged_at <= %(until)s
 group by 1, 2;

-- name: tally
select recoup.tally_errors();

-- name: tally_lag
-- A worker counts every 15 seconds; what is later than a minute is late.
select extract(epoch from recoup.now() - m.counted_at)::float8 - 60
  from recoup.error_tally_mark m where m.counted_at < (select recoup.now()) - interval '60 seconds';

-- name: mark
-- What is counted in recoup.error_tally, if that is complete for the window. The cluster's own transactions only: after
-- a restore others have the same numbers.
select m.counted_before::text, m.incarnation, m.first_slot
  from (select m.*, recoup.tally_slot(%(since)s) + interval '5 minutes' as first_slot
          from recoup.error_tally_mark m) m
 where m.since <= m.first_slot and m.incarnation = (select max(i.incarnation) from recoup.incarnation i);

-- name: tallied
-- The same as happened, in one snapshot: from counts where these are complete, and else from events. That are those in
-- the window of the slot in which it begins, and those that were not counted yet. %(counted_before)s is an earlier
-- mark, by which the plan can be chosen.
select k.error_table, k.flags, sum(k.events)::bigint as events, max(k.last_old) as last_old
  from (select t.error_table, t.flags, t.events,
               case when t.slot < recoup.tally_slot(%(hour_ago)s) then t.last_at end as last_old
          from recoup.error_tally t where t.slot >= %(first_slot)s
        union all
        -- The slot in which the window begins.
        select e.error_table, recoup.event_flags(e), 1, case when e.logged_at <= %(hour_ago)s then e.logged_at end
          from recoup.error_event e
         where e.logged_at > %(since)s and e.logged_at < %(first_slot)s
           and (e.incarnation, e.xid) < (select m.incarnation, m.counted_before from recoup.error_tally_mark m)
        union all
        -- Not counted yet.
        select e.error_table, recoup.event_flags(e), 1, case when e.logged_at <= %(hour_ago)s then e.logged_at end
          from recoup.error_event e
         where e.xid >= %(counted_before)s::xid8 and e.incarnation = %(incarnation)s
           and (e.incarnation, e.xid) >= (select m.incarnation, m.counted_before from recoup.error_tally_mark m)
           and e.logged_at > %(since)s and e.logged_at <= %(until)s
        union all
        -- Counted already, and not older than an hour as a whole: when the last one before that was.
        select e.error_table, recoup.event_flags(e), 0, e.logged_at
          from recoup.error_event e
         where e.logged_at >= recoup.tally_slot(%(hour_ago)s) and e.logged_at <= %(hour_ago)s) k
 group by 1, 2;

-- name: again
-- What of this was counted too often, as numbers below 0. Only to an error that is unparked things can happen again, so
-- only those are read: each counts once; and those that are parked now are counted by gauges.
select u.error_table, sum(least(u.parked, 1) - u.parked)::bigint as parked,
       sum(least(u.ended, 1) - u.ended)::bigint as ended, sum(least(u.exhausted, 1) - u.exhausted)::bigint as exhausted,
       sum(case when n.is_raised is null then least(u.left_parking, 1) else 0 end - u.left_parking)::bigint
         as left_parking,
       sum(case when coalesce(n.is_raised, false) then 0 else least(u.left_raised, 1) end - u.left_raised)::bigint
         as left_raised
  from (select distinct e.error_table, e.error_id from recoup.error_event e
         where e.event_type = 'UNPARKED' and e.logged_at > %(since)s and e.logged_at <= %(until)s) d
 cross join lateral (
   select d.error_table, count(*) filter (where f.flags & 4 > 0)::integer as parked,
          count(*) filter (where f.flags & 8 > 0)::integer as ended,
          count(*) filter (where f.flags & 16 > 0)::integer as exhausted,
          count(*) filter (where f.flags & 32 > 0)::integer as left_parking,
          count(*) filter (where f.flags & 64 > 0)::integer as left_raised
     from (select recoup.event_flags(e) as flags from recoup.error_event e
            where e.error_id = d.error_id and e.logged_at > %(since)s and e.logged_at <= %(until)s
           offset 0) f) u
  left join lateral (
    select e.status = 'ESCALATED' or e.escalation_level >= 2 as is_raised from recoup.error e
     where e.error_id = d.error_id and e.error_table = d.error_table and e.status in ('PARKED', 'ESCALATED')
       and e.archived_at is null
     limit 1) n on true
 group by u.error_table;

-- name: gauges
-- Of one table, by its own name: then the counts are read from indexes alone, and so are the ages of all its errors, or
-- of a sample of them.
select {name} as error_table,
       (select count(*) from {table} e
         where e.status in ('PARKED', 'ESCALATED') and e.archived_at is null) as parked_now,
       (select count(*) from {table} e
         where e.status in ('PARKED', 'ESCALATED') and (e.escalation_level >= 2 or e.status = 'ESCALATED')
           and e.archived_at is null) as raised_now,
       round(a.aged / {share})::bigint as aged, a.used / {share} as used
  from (select count(*) as aged,
               sum(date_part('epoch', %(until)s - e.created_at)
                   / date_part('epoch', e.expires_at - e.created_at)) as used
          from {table} e {sample}
         where e.archived_at is null and e.expires_at is not null) a

-- name: sample
tablesample system ({percent}) repeatable (1)

-- name: pages
select t.name, pg_relation_size(to_regclass(t.name)) / 8192 as pages from unnest(%(tables)s::text[]) t (name);

-- name: closed
-- Errors that were closed in the window, as far as they expire, and how much of their time they had used.
select c.error_table, count(*) as aged,
       sum(date_part('epoch', c.archived_at - c.created_at) / date_part('epoch', c.expires_at - c.created_at)) as used
  from (select e.error_table, e.created_at, e.expires_at, e.archived_at from recoup.error e
         where e.archived_at > %(since)s and e.archived_at <= %(until)s
        union all
        select a.error_table, a.created_at, a.expires_at, a.archived_at from recoup.error_archive a
         where a.archived_at > %(since)s and a.archived_at <= %(until)s) c
 where c.expires_at is not null
 group by c.error_table;

-- name: pending
-- To be retried, of some tables, in their order. Few comparisons take less time than grouping.
select array[{counts}]::bigint[] from recoup.error_queue q;

-- name: pending_of
count(*) filter (where q.part = {name})

-- name: processed
-- A period that is only partly in the window counts in proportion. first_from: since when the hub reports, if that was
-- in the window and its reports say from when.
select p.error_table, max(p.period_to) as last_to,
       sum(p.count * case when p.period_from >= %(since)s then 1
                          else date_part('epoch', p.period_to - %(since)s)
                               / date_part('epoch', p.period_to - p.period_from) end) as processed,
       case when bool_and(p.period_from < p.period_to) and min(p.period_from) > %(since)s
                 and not exists (select from recoup.processed b
                                  where b.error_table = p.error_table and b.period_to <= %(since)s)
            then min(p.period_from) end as first_from
  from recoup.processed p
 where p.period_to > %(since)s and p.period_to <= %(until)s
 group by p.error_table;

-- name: unrated
-- Errors of the window that were recorded before their hub began to report.
select g.error_table, count(*) as unrated
  from unnest(%(tables)s::text[], %(firsts)s::timestamptz[]) g (error_table, first_from)
  join recoup.error_event e on e.error_table = g.error_table and e.event_type = 'RECORDED'
 where e.logged_at > %(since)s and e.logged_at < g.first_from
 group by g.error_table;

-- name: trend
-- Events by table and by how many steps of time before the end they happened.
select e.error_table, c.place,
       count(*) filter (where e.event_type = 'RECORDED') as recorded,
       count(*) filter (where recoup.event_parks(e)) as parked,
       count(*) filter (where e.to_status = 'RESOLVED' and e.from_status <> 'RESOLVED') as resolved
  from recoup.error_event e
 cross join lateral (
   select floor(date_part('epoch', %(until)s - e.logged_at) / %(step_s)s)::integer as place) c
 where e.logged_at > %(since)s and e.logged_at <= %(until)s and e.error_table = any(%(tables)s::text[])
   and (e.event_type = 'RECORDED' or e.to_status in ('PARKED', 'RESOLVED') and e.from_status <> e.to_status)
 group by 1, 2;

-- name: counted
-- What the background task has counted, by table and by how many steps before the end: a few thousand rows, however
-- many events there were.
select t.error_table, floor(date_part('epoch', %(until)s - t.slot) / %(step_s)s)::integer as place,
       coalesce(sum(t.events) filter (where t.flags & 1 > 0), 0)::bigint as recorded,
       coalesce(sum(t.events) filter (where t.flags & 4 > 0), 0)::bigint as parked,
       coalesce(sum(t.events) filter (where t.flags & 16 > 0), 0)::bigint as exhausted
  from recoup.error_tally t
 where t.slot > %(since)s and t.slot <= %(until)s and t.error_table = any(%(tables)s::text[])
 group by 1, 2;

-- name: counted_at
select m.counted_at from recoup.error_tally_mark m;
