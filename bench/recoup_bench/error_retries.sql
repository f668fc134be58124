-- Retries of errors by hand: the same predicate in the same order, the rows, the events; no guards.

-- name: claim
with picked as materialized (
  select e.error_table, e.error_id from raw.error e
   where e.error_table = any(%(tables)s::text[]) and e.status = 'RETRY_PENDING' and e.token is null and e.archived_at is null
     and e.next_retry_at <= now() and (e.retry_until is null or e.retry_until > now())
   order by e.next_retry_at
   limit %(limit)s
     for no key update skip locked),
claimed as (
  update raw.error e
     set token = t.token, leased_by = %(worker)s, lease_until = t.now_ + interval '5 minutes', last_retry_at = t.now_, updated_at = t.now_
    from picked p, (select clock_timestamp() as now_, gen_random_uuid() as token) t
   where e.error_table = p.error_table and e.error_id = p.error_id
  returning e.*),
told as (
  insert into raw.error_event (incarnation, logged_at, error_table, error_id, event_type, from_status, to_status, disposition, retry_count, reason, actor, actor_id, authority)
  select 1, c.updated_at, c.error_table, c.error_id, 'CLAIMED', 'RETRY_PENDING', c.status, c.disposition, c.retry_count, c.leased_by,
         'system', %(actor)s, 'recoup_error_worker'
    from claimed c)
select error_table, error_id, token, outreach_id, error_code, error_message, error_signature, severity, category, retry_count, max_retries,
       payload, created_at, lease_until
  from claimed;

-- name: finish
-- Succeeded and failed alike. All of them are OPERATIONAL, in tables where an error may be parked: the rules of others are left out.
with ended as (
  update raw.error e
     set status = s.status,
         disposition = case s.status when 'PARKED' then 'PARKED' else e.disposition end,
         retry_count = e.retry_count + 1,
         last_outcome = s.outcome,
         last_failure = coalesce(s.failure, e.last_failure),
         next_retry_at = case when s.status = 'RETRY_PENDING' then s.now_ + interval '5 minutes' * (e.retry_count + 2) end,
         parked_at = case when s.status = 'PARKED' then s.now_ end,
         parked_by = case when s.status = 'PARKED' then 'system' end,
         park_reason = case when s.status = 'PARKED' then 'MAX_RETRIES_EXCEEDED' end,
         token = null, leased_by = null, lease_until = null,
         updated_at = s.now_,
         archived_at = case when s.status = 'RESOLVED' then s.now_ end,
         archive_reason = case when s.status = 'RESOLVED' then 'RESOLVED' end
    from (select g.*, t.now_, case when g.outcome = 'SUCCEEDED' then 'RESOLVED' when o.retry_count + 1 < o.max_retries then 'RETRY_PENDING' else 'PARKED' end as status
            from unnest(%(tables)s::text[], %(ids)s::bigint[], %(tokens)s::uuid[], %(outcomes)s::text[], %(failures)s::text[])
                   as g (error_table, error_id, token, outcome, failure)
            join raw.error o on o.error_table = g.error_table and o.error_id = g.error_id and o.token = g.token,
                 (select clock_timestamp() as now_) t) s
   where e.error_table = s.error_table and e.error_id = s.error_id and e.token = s.token
  returning e.error_table, e.error_id, e.status, e.disposition, e.retry_count, e.updated_at, s.outcome, s.failure),
told as (
  insert into raw.error_event (incarnation, logged_at, error_table, error_id, event_type, from_status, to_status, disposition, retry_count, reason, actor, actor_id, authority)
  select 1, e.updated_at, e.error_table, e.error_id, e.outcome, 'RETRY_PENDING', e.status, e.disposition, e.retry_count, e.failure,
         'system', %(actor)s, 'recoup_error_worker'
    from ended e)
select error_id, status from ended;

-- name: fill_due
-- Recorded an hour ago, due since. A fifth had all retries but the last.
insert into recoup.error (error_table, outreach_id, error_code, error_message, error_signature, category, disposition, status, ttl_tier,
  expires_at, retry_count, max_retries, next_retry_at, retry_until, decided_by, policy_version, created_at, updated_at)
select (array['outreach.dol_errors', 'outreach.company_target_errors', 'people.people_errors'])[1 + n %% 3], gen_random_uuid(), 'NOT_FOUND',
       'Nothing found for company ' || n, 'bench', 'OPERATIONAL', 'RETRY', 'RETRY_PENDING', 'MEDIUM',
       t.now_ + interval '30 days', case when n %% 10 < 2 then 2 else 0 end, 3, t.now_ - interval '30 minutes' + n * interval '1 millisecond',
       t.now_ + interval '6 days', 'table', 1, t.now_ - interval '1 hour', t.now_ - interval '1 hour'
  from generate_series(1, %(rows)s::integer) n, (select clock_timestamp() as now_) t order by n;

-- name: fill_waiting
-- The first ones are due, the others within a day; spread over the tables.
insert into recoup.error (error_table, outreach_id, error_code, error_message, error_signature, category, disposition, status, ttl_tier,
  expires_at, retry_count, max_retries, next_retry_at, retry_until, decided_by, policy_version, created_at, updated_at)
select (array['outreach.dol_errors', 'outreach.company_target_errors', 'people.people_errors'])[1 + n %% 3], gen_random_uuid(), 'NOT_FOUND',
       'Nothing found for company ' || n, 'bench', 'OPERATIONAL', 'RETRY', 'RETRY_PENDING', 'MEDIUM', t.now_ + interval '30 days', 0, 3,
       case when n <= %(due)s then t.now_ - interval '1 hour' else t.now_ + interval '1 day' end + n * interval '1 millisecond',
       t.now_ + interval '6 days', 'table', 1, t.now_ - interval '2 hours', t.now_ - interval '2 hours'
  from generate_series(1, %(rows)s::integer) n, (select clock_timestamp() as now_) t order by n;
