-- The promotion gate by hand: one statement over the three tables that block.

-- name: exists
select exists (select from outreach.dol_errors e where e.outreach_id = %(entity)s and e.disposition in ('RETRY', 'PARKED') and e.archived_at is null)
    or exists (select from outreach.company_target_errors e where e.outreach_id = %(entity)s and e.disposition in ('RETRY', 'PARKED') and e.archived_at is null)
    or exists (select from people.people_errors e where e.outreach_id = %(entity)s and e.disposition in ('RETRY', 'PARKED') and e.archived_at is null);

-- name: fill
-- As lean as a row can be. Two of three are to be retried, one is parked; each is of an entity of its own.
insert into recoup.error (error_table, outreach_id, error_message, error_signature, category, disposition, status, ttl_tier, expires_at,
  max_retries, next_retry_at, parked_at, parked_by, park_reason, decided_by, policy_version, created_at, updated_at)
select (%(tables)s::text[])[1 + n %% 3], md5(n::text)::uuid, 'x', 'v1', 'OPERATIONAL',
       case when n %% 9 < 6 then 'RETRY' else 'PARKED' end, case when n %% 9 < 6 then 'RETRY_PENDING' else 'PARKED' end, 'MEDIUM',
       t.now_ + interval '30 days', 3, case when n %% 9 < 6 then t.now_ + interval '1 hour' end, case when n %% 9 >= 6 then t.now_ end,
       case when n %% 9 >= 6 then 'system' end, case when n %% 9 >= 6 then 'NON_RETRYABLE_ERROR' end, 'table', 1, t.now_, t.now_
  from generate_series(1, %(rows)s::integer) n, (select clock_timestamp() as now_) t;
