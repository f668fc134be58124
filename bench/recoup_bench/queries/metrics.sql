-- name: fill
-- Live errors of some hours in the order of time. Of fifty, two are to be retried and two are parked, one of them by
-- its last retry; the others are kept only.
insert into recoup.error (error_table, outreach_id, error_code, error_message, error_signature, category, disposition,
  status, ttl_tier, expires_at, retry_count, max_retries, next_retry_at, retry_until, parked_at, parked_by, park_reason,
  escalation_level, escalated_at, escalated_to, payload, decided_by, policy_version, created_at, updated_at)
select (%(tables)s::text[])[1 + n %% 3], gen_random_uuid(), 'NOT_FOUND',
       'GET https://filings.example/v1/ein/' || lpad(n::text, 9, '0') || ' timed out after ' || n || ' ms', 'bench',
       'OPERATIONAL', k.disposition, recoup.status_of(k.disposition), 'MEDIUM', c.at + interval '720 hours',
       case n %% 50 when 0 then 3 else 0 end, 3, case when k.disposition = 'RETRY' then t.now_ + interval '1 hour' end,
       c.at + interval '168 hours', case when k.disposition = 'PARKED' then c.at end,
       case when k.disposition = 'PARKED' then 'system' end,
       case n %% 50 when 0 then 'MAX_RETRIES_EXCEEDED' when 25 then 'DATA_QUALITY' end,
       case when k.disposition <> 'PARKED' then 0 when c.at < t.now_ - interval '168 hours' then 3
            when c.at < t.now_ - interval '48 hours' then 2 else 1 end,
       case when k.disposition = 'PARKED' then c.at end, case when k.disposition = 'PARKED' then 'hub' end,
       case when n %% 4 = 0 then jsonb_build_object('ein', n, 'page', 2) end, 'table', 1, c.at, c.at
  from generate_series(1, %(rows)s::integer) n
 cross join (select clock_timestamp() as now_) t
 cross join lateral (
   select t.now_ - make_interval(hours => %(hours)s) * (1 - n::float8 / %(rows)s) as at) c
 cross join lateral (
   select case n %% 25 when 0 then 'PARKED' when 1 then 'RETRY' else 'ARCHIVE' end as disposition) k
 order by n;

-- name: make_months
insert into recoup.error_archive_month (error_table, month, made_at)
select t, m::date, recoup.now()
  from unnest(%(tables)s::text[]) t,
       generate_series(date_trunc('month', now() - interval '720 hours'), now(), interval '1 month') m;

-- name: fill_archive
-- For each live error one that a retry resolved, an hour later.
insert into recoup.error_archive (error_id, error_table, outreach_id, error_code, error_message, error_signature,
  category, disposition, status, ttl_tier, expires_at, retry_count, max_retries, escalation_level, decided_by,
  policy_version, created_at, updated_at, archived_at, archive_reason, archived_by, final_disposition, was_blocking)
select nextval('recoup.error_seq'), e.error_table, e.outreach_id, e.error_code, e.error_message, e.error_signature,
       e.category, 'RETRY', 'ARCHIVED', e.ttl_tier, e.expires_at - interval '1 hour', 1, 3, 0, e.decided_by,
       1, e.created_at - interval '1 hour', e.created_at, e.created_at, 'RESOLVED', 'bench', 'RETRY', false
  from recoup.error e order by e.created_at;

-- name: fill_events
-- In the order of time: births, last retries, and how the others were resolved and left.
insert into recoup.error_event (incarnation, logged_at, error_table, error_id, event_type, from_status, to_status,
  disposition, retry_count, reason, facts, token, actor, actor_id, authority, form, digest)
select 1, k.at, k.error_table, k.error_id, k.event_type, k.from_status, k.to_status, k.disposition, 0, k.reason,
       k.facts,
       case when k.event_type in ('FAILED', 'SUCCEEDED') then gen_random_uuid() end, 'system', 'bench', 'recoup_hub',
       case k.event_type when 'RECORDED' then 2 end, case k.event_type when 'RECORDED' then sha256('bench') end
  from (
    select e.created_at as at, 1 as place, e.error_table, e.error_id, 'RECORDED' as event_type, null as from_status,
           case e.retry_count when 3 then 'RETRY_PENDING' else e.status end as to_status,
           case e.retry_count when 3 then 'RETRY' else e.disposition end as disposition, null as reason,
           null::jsonb as facts
      from recoup.error e
    union all
    select e.created_at, 2, e.error_table, e.error_id, 'FAILED', 'RETRY_PENDING', 'PARKED', 'PARKED', 'timed out',
           '{"ended_by": "MAX_RETRIES_EXCEEDED"}'
      from recoup.error e where e.retry_count = 3
    union all
    select a.created_at, 1, a.error_table, a.error_id, 'RECORDED', null, 'RETRY_PENDING', 'RETRY', null, null
      from recoup.error_archive a
    union all
    select a.archived_at, 2, a.error_table, a.error_id, 'SUCCEEDED', 'RETRY_PENDING', 'RESOLVED', 'RETRY', null, null
      from recoup.error_archive a
    union all
    select a.archived_at, 3, a.error_table, a.error_id, 'ARCHIVED', 'RESOLVED', 'ARCHIVED', 'RETRY', 'RESOLVED',
           '{"digest": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}'
      from recoup.error_archive a) k
 order by k.at, k.error_id, k.place;

-- name: fill_processed
insert into recoup.processed (error_table, period_from, period_to, count)
select t, h, h + interval '1 hour', 5000
  from unnest(%(tables)s::text[]) t,
       generate_series(now() - interval '48 hours', now() - interval '2 hours', interval '1 hour') h;

-- name: one_scan
set local enable_indexscan = off; set local enable_indexonlyscan = off; set local enable_bitmapscan = off

-- name: count
select count(*) from recoup.error;
