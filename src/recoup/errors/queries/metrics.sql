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
-- A period that is only partly in the window counts in proportion.
select p.error_table, max(p.period_to) as last_to,
       sum(p.count * case when p.period_from >= %(since)s then 1
                          else date_part('epoch', p.period_to - %(since)s)
                               / date_part('epoch', p.period_to - p.period_from) end) as processed
  from recoup.processed p
 where p.period_to > %(since)s and p.period_to <= %(until)s
 group by p.error_table;

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
