-- What holds of deliveries. The first column of each query is the invariant that a row breaks.

-- name: rows
-- Each delivery compared with its events, in one pass over both.
select b.breaks, d.delivery_id, d.route, d.status, d.attempts, l.to_status as logged_status, l.tries, l.logged_at
  from recoup.delivery d
  left join (
    select e.delivery_id, count(*) filter (where e.token is not null) as tries,
           (array_agg(e.to_status order by e.seq desc))[1] as to_status,
           (array_agg(e.attempts order by e.seq desc))[1] as attempts,
           (array_agg(e.next_try_at order by e.seq desc))[1] as next_try_at,
           (array_agg(e.outcome order by e.seq desc))[1] as outcome,
           (array_agg(e.token order by e.seq desc) filter (where e.token is not null))[1] as token,
           (array_agg(e.reason order by e.seq desc) filter (where e.outcome in ('FAILED', 'LAPSED')))[1] as failure,
           (array_agg(e.logged_at order by e.seq desc))[1] as logged_at
      from recoup.delivery_event e group by e.delivery_id) l on l.delivery_id = d.delivery_id
 cross join lateral unnest(array_remove(array[
   case when (d.status, d.attempts, d.attempts, d.next_try_at, d.outcome, d.token, d.last_failure, d.updated_at)
             is distinct from
             (l.to_status, l.attempts, l.tries, l.next_try_at, l.outcome, l.token, l.failure, l.logged_at)
          or d.ended_at is distinct from case when d.status <> 'queued' then l.logged_at end
        then 'deliveries/as-logged' end,
   case when d.attempts > recoup.delivery_tries(d.policy_version, d.route)
          or l.tries > recoup.delivery_tries(d.policy_version, d.route)
          or d.status = 'queued' and d.attempts >= recoup.delivery_tries(d.policy_version, d.route)
        then 'deliveries/tries' end,
   case when recoup.delivery_tries(d.policy_version, d.route) is null then 'deliveries/routes' end],
   null)) b (breaks)

-- name: events
-- A route is gone if a policy that was active within a minute of the event has it not: two transactions may have met.
select 'deliveries/given-up' as breaks, e.delivery_id, e.seq, e.attempts, e.outcome, e.authority, e.logged_at
  from recoup.delivery_event e
  left join recoup.delivery d on d.delivery_id = e.delivery_id
 where e.to_status = 'dead'
   and case when e.outcome = 'CANCELLED' then e.authority <> 'recoup_operator'
            when e.outcome in ('FAILED', 'LAPSED')
              then not coalesce(e.attempts >= recoup.delivery_tries(d.policy_version, e.route), false)
                   and not exists (
                     select from (
                       select p.figures, p.applied_at, lead(p.applied_at) over (order by p.version) as until
                         from recoup.policy p) p
                      where p.applied_at <= e.logged_at + interval '1 minute'
                        and coalesce(p.until >= e.logged_at - interval '1 minute', true)
                        and not p.figures -> 'deliveries' -> 'routes' ? e.route)
            else true end

-- name: open
select 'deliveries/one-open' as breaks, d.dedup_key, count(*) as queued, min(d.delivery_id::text) as first
  from recoup.delivery d where d.status = 'queued' group by d.dedup_key having count(*) > 1
