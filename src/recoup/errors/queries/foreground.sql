-- name: claim_one
-- One error, by its id, under the rules of every claim: due, within its window, unclaimed and not paused.
with t as materialized (
  select recoup.now() as now_, gen_random_uuid() as token_, recoup.now() + coalesce(%(lease)s::interval,
         make_interval(secs => (recoup.error_policy() ->> 'retry_lease_s')::integer)) as until_),
claimed as (
  update recoup.error_queue q
     set token = t.token_, worker = %(worker)s, claimed_at = t.now_, wake_at = t.until_
    from t
   where q.unit = %(error_id)s and q.part = %(error_table)s and q.token is null and q.wake_at <= t.now_
     and (q.until is null or q.until > t.now_)
     and (recoup.paused('table:recoup.error', 'table:' || %(error_table)s)).scope is null
     and (recovery.breaker_of('table:recoup.error', 'table:' || %(error_table)s)).name is null
  returning q.unit, q.part, q.token, q.wake_at)
select e.error_table, e.error_id, e.outreach_id, e.work_key, e.error_code, e.error_message, e.error_signature,
       e.severity, e.category, e.retry_count, e.max_retries, e.payload, e.retry_with, e.created_at, c.token, c.wake_at
  from claimed c join recoup.error e on e.error_table = c.part and e.error_id = c.unit;

-- name: why_not
select e.status, e.archived_at, e.parked_at, e.park_reason, e.disposition, q.worker, q.wake_at, q.until,
       recoup.now() as now_, b.name as breaker, b.open_until
  from recoup.error e left join recoup.error_queue q on q.unit = e.error_id
  left join lateral recovery.breaker_of('table:recoup.error', 'table:' || e.error_table) b on true
 where e.error_table = %(error_table)s and e.error_id = %(error_id)s;
