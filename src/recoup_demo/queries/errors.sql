-- name: recorded
select count(*) from recoup.error_event where event_type = 'RECORDED';

-- name: most_eventful
-- Of what is open and keeps an entity from moving on.
select e.error_table, e.outreach_id, e.error_signature from recoup.error e
 cross join lateral (
   select count(distinct v.event_type) as kinds, count(*) as events
     from recoup.error_event v where v.error_id = e.error_id) v
 where e.archived_at is null and e.outreach_id is not null and e.disposition in ('RETRY', 'PARKED')
 order by v.kinds desc, v.events desc, e.error_id limit 1;
