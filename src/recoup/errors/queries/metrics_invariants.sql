-- The counts for metrics, compared with the log; in the form of invariants.sql.

-- name: tally
with mark as materialized (select m.* from recoup.error_tally_mark m where m.incarnation is not null)
select 'errors/11/tally' as breaks, slot, error_table, flags, t.events, e.events as logged
  from (select t.* from recoup.error_tally t) t
  full join (
    select recoup.tally_slot(e.logged_at) as slot, e.error_table, recoup.event_flags(e) as flags, count(*) as events,
           max(e.logged_at) as last_at
      from recoup.error_event e join mark m on e.logged_at >= m.since
       and (e.incarnation, e.xid) < (m.incarnation, m.counted_before)
     group by 1, 2, 3) e using (slot, error_table, flags)
 where (t.events, t.last_at) is distinct from (e.events, e.last_at)
