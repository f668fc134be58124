-- The move to the archive by hand: what is over, then what has expired; the events; no guards.

-- name: archive
with over as materialized (
  select e.error_id from raw.error e
   where e.error_table = %(table)s and e.archived_at is not null
   order by e.archived_at limit %(limit)s
     for update skip locked),
expired as materialized (
  select e.error_id from raw.error e
   where e.error_table = %(table)s and e.archived_at is null and e.expires_at < now() and e.token is null
     and (e.status not in ('PARKED', 'ESCALATED') or e.parked_at < now() - interval '7 days')
   order by e.expires_at limit %(limit)s - (select count(*) from over)
     for update skip locked),
gone as (
  delete from raw.error e
   where e.error_table = %(table)s and e.error_id = any(array(select error_id from over union all select error_id from expired))
  returning e.*),
archived as (
  insert into raw.error_archive (error_table, error_id, outreach_id, error_code, error_message, error_signature, severity, category, disposition,
    status, ttl_tier, expires_at, retry_count, max_retries, last_retry_at, next_retry_at, retry_until, last_outcome, last_failure, parked_at, parked_by,
    park_reason, assigned_to, escalation_level, last_reviewed_at, escalated_at, escalated_to, escalation_reason, token, leased_by, lease_until,
    payload, decided_by, clamped_from, policy_version, created_at, updated_at, superseded_by, archived_at, archive_reason, archived_by,
    final_disposition, was_blocking)
  select g.error_table, g.error_id, g.outreach_id, g.error_code, g.error_message, g.error_signature, g.severity, g.category, g.disposition,
    'ARCHIVED', g.ttl_tier, g.expires_at, g.retry_count, g.max_retries, g.last_retry_at, g.next_retry_at, g.retry_until, g.last_outcome, g.last_failure,
    g.parked_at, g.parked_by, g.park_reason, g.assigned_to, g.escalation_level, g.last_reviewed_at, g.escalated_at, g.escalated_to,
    g.escalation_reason, g.token, g.leased_by, g.lease_until, g.payload, g.decided_by, g.clamped_from, g.policy_version, g.created_at, g.updated_at,
    g.superseded_by, coalesce(g.archived_at, now()), coalesce(g.archive_reason, 'TTL_EXPIRED'), %(actor)s, g.disposition,
    g.archive_reason is null and g.disposition in ('RETRY', 'PARKED')
    from gone g),
told as (
  insert into raw.error_event (incarnation, logged_at, error_table, error_id, event_type, from_status, to_status, disposition, retry_count, reason, facts, actor, actor_id, authority)
  select 1, now(), g.error_table, g.error_id, 'ARCHIVED', g.status, 'ARCHIVED', g.disposition, g.retry_count, coalesce(g.archive_reason, 'TTL_EXPIRED'),
         case when g.archive_reason is null and g.disposition in ('RETRY', 'PARKED') then '{"was_blocking": true}'::jsonb end,
         'system', %(actor)s, 'recoup_archiver'
    from gone g)
select count(*)::integer from gone;

-- name: fill
-- One half was resolved a moment ago. The other expired yesterday: of every two one still blocks, one was to be kept only.
insert into recoup.error (error_table, outreach_id, error_code, error_message, error_signature, category, disposition, status, ttl_tier,
  expires_at, retry_count, max_retries, next_retry_at, retry_until, last_outcome, payload, decided_by, policy_version, created_at, updated_at,
  archived_at, archive_reason)
select %(table)s, gen_random_uuid(), 'NOT_FOUND', 'Nothing found for company ' || n, 'bench', 'OPERATIONAL',
       case n %% 4 when 3 then 'ARCHIVE' else 'RETRY' end, case n %% 4 when 1 then 'RETRY_PENDING' when 3 then 'ACTIVE' else 'RESOLVED' end, 'MEDIUM',
       t.now_ - interval '1 day' + n * interval '1 millisecond', 1 - n %% 2, 5, case n %% 4 when 1 then t.now_ end, t.now_,
       case when n %% 2 = 0 then 'SUCCEEDED' end, jsonb_build_object('page', n), 'table', 1, t.now_ - interval '31 days', t.now_ - interval '30 days',
       case when n %% 2 = 0 then t.now_ end, case when n %% 2 = 0 then 'RESOLVED' end
  from generate_series(1, %(rows)s::integer) n, (select clock_timestamp() as now_) t order by n;
