-- What holds of alerts. The first column of each query is the invariant that a row breaks.

-- name: rows
-- Each alert compared with its events, in one pass over both.
select b.breaks, a.alert_id, a.rule, a.key, a.status, l.to_status as logged_status, l.logged_at
  from recoup.alert a
  left join (
    select e.alert_id, min(e.logged_at) as fired_at,
           (array_agg(e.to_status order by e.seq desc))[1] as to_status,
           (array_agg(e.value order by e.seq desc))[1] as value,
           (array_agg(e.value order by e.seq))[1] as first_value,
           (array_agg(e.worst order by e.seq desc))[1] as worst,
           (array_agg(e.notices order by e.seq desc))[1] as notices,
           (array_agg(e.routes::text order by e.seq desc))[1] as routes,
           (array_agg(e.unsent order by e.seq desc))[1] as unsent,
           (array_agg(e.logged_at order by e.seq desc))[1] as logged_at,
           (array_agg(e.logged_at order by e.seq desc)
              filter (where e.to_status = 'firing' and e.notices > 0))[1] as notified_at
      from recoup.alert_event e group by e.alert_id) l on l.alert_id = a.alert_id
 cross join lateral unnest(array_remove(array[
   case when (a.status, a.last_value, a.worst_value, a.notices, a.routes::text, a.unsent, a.updated_at, a.notified_at,
              a.fired_at, a.value)
             is distinct from
             (l.to_status, l.value, l.worst, l.notices, l.routes, l.unsent, l.logged_at, l.notified_at, l.fired_at,
              l.first_value)
          or a.ended_at is distinct from case when a.status <> 'firing' then l.logged_at end
        then 'alerts/as-logged' end,
   case when a.value <= a.threshold
          or (select (p.figures #>> array['alerts', 'rules', a.rule, 'above'])::numeric
                from recoup.policy p where p.version = a.policy_version) is distinct from a.threshold
        then 'alerts/threshold' end],
   null)) b (breaks)

-- name: notices
-- The routes of each event with a notice, and the deliveries of its alert: as many of each.
select 'alerts/notices' as breaks, coalesce(e.alert_id, d.alert_id) as alert_id, e.queued, d.deliveries
  from (select e.alert_id, sum(cardinality(e.routes)) as queued from recoup.alert_event e
         where e.notices > 0 group by 1) e
  full join (select d.alert_id, count(*) as deliveries from recoup.delivery d where d.alert_id is not null group by 1) d
    on d.alert_id = e.alert_id
 where coalesce(e.queued, 0) <> coalesce(d.deliveries, 0)

-- name: firing
select 'alerts/one-firing' as breaks, a.rule, a.key, count(*) as firing
  from recoup.alert a where a.status = 'firing' group by a.rule, a.key having count(*) > 1
