-- Errors by hand: the same predicates in the same order, the rows, the events; no guards.

-- name: record
-- The decision for each is given, and nothing that it might supersede is searched for.
with recorded as (
  insert into raw.error (error_table, outreach_id, error_code, error_message, error_signature, severity, category,
    disposition, status, ttl_tier, expires_at, max_retries, next_retry_at, retry_until, parked_at, parked_by,
    park_reason, parked_since, escalation_level, escalated_at, escalated_to, escalation_reason, sla_due_at, payload,
    decided_by, clamped_from, policy_version, created_at, updated_at)
  select g.error_table, g.outreach_id, g.code, g.message, g.signature, g.severity, g.category, g.disposition, g.status,
         g.ttl_tier, t.now_ + make_interval(days => g.days), g.max_retries, t.now_ + g.retry_after,
         t.now_ + make_interval(hours => g.hours), case when g.status = 'PARKED' then t.now_ end,
         case when g.status = 'PARKED' then 'system' end, g.park_reason, case when g.status = 'PARKED' then t.now_ end,
         case when g.status = 'PARKED' then 1 else 0 end, case when g.status = 'PARKED' then t.now_ end,
         case when g.status = 'PARKED' then 'bench' end, case when g.status = 'PARKED' then g.park_reason end,
         case when g.status = 'PARKED' then t.now_ + interval '24 hours' end, g.payload::jsonb, g.decided_by,
         g.clamped_from, 1, t.now_, t.now_
    from unnest(%(table)s::text[], %(outreach_id)s::uuid[], %(code)s::text[], %(message)s::text[],
                %(signature)s::text[], %(severity)s::text[], %(category)s::text[], %(disposition)s::text[],
                %(status)s::text[], %(ttl_tier)s::text[], %(days)s::integer[], %(max_retries)s::integer[],
                %(retry_after)s::interval[], %(hours)s::integer[], %(park_reason)s::text[], %(payload)s::text[],
                %(decided_by)s::text[], %(clamped_from)s::text[])
         as g (error_table, outreach_id, code, message, signature, severity, category, disposition, status, ttl_tier,
               days, max_retries, retry_after, hours, park_reason, payload, decided_by, clamped_from),
         (select clock_timestamp() as now_) t
  returning error_table, error_id, status, disposition, park_reason, decided_by, clamped_from, created_at),
logged as (
  insert into raw.error_event (incarnation, logged_at, error_table, error_id, event_type, to_status, disposition,
                               retry_count, reason, facts, actor, actor_id, authority)
  select 1, r.created_at, r.error_table, r.error_id, 'RECORDED', r.status, r.disposition, 0, r.park_reason,
         case when r.clamped_from is not null
              then jsonb_build_object('decided_by', r.decided_by, 'clamped_from', r.clamped_from) end,
         'system', 'bench', 'recoup_hub'
    from recorded r)
select error_id from recorded;

-- name: claim
-- Time and token are a row of their own: as a subquery they would be drawn for every error.
with t as materialized (select clock_timestamp() as now_, gen_random_uuid() as token),
picked as materialized (
  select e.error_table, e.error_id from raw.error e
   where e.error_table = any(%(tables)s::text[]) and e.status = 'RETRY_PENDING' and e.token is null
     and e.archived_at is null and e.next_retry_at <= statement_timestamp()
     and (e.retry_until is null or e.retry_until > statement_timestamp())
   order by e.next_retry_at
   limit %(limit)s
     for no key update skip locked),
claimed as (
  update raw.error e
     set token = t.token, leased_by = 'bench', lease_until = t.now_ + interval '5 minutes', last_retry_at = t.now_,
         updated_at = t.now_
    from picked p, t
   where e.error_table = p.error_table and e.error_id = p.error_id
  returning e.*),
logged as (
  insert into raw.error_event (incarnation, logged_at, error_table, error_id, event_type, from_status, to_status,
                               disposition, retry_count, reason, actor, actor_id, authority)
  select 1, c.updated_at, c.error_table, c.error_id, 'CLAIMED', 'RETRY_PENDING', c.status, c.disposition,
         c.retry_count, c.leased_by, 'system', 'bench', 'recoup_error_worker'
    from claimed c)
select error_table, error_id, token, retry_count, outreach_id, error_code, error_message, error_signature, severity,
       category, max_retries, payload, created_at, lease_until
  from claimed;

-- name: finish
-- Succeeded and failed alike. All are OPERATIONAL, in tables where an error may be parked: other rules are left out.
-- A plain comparison of tokens lets the planner look for each error among all that are leased, which were few when it
-- planned: then a set of 1,000 takes twice the time.
with ended as (
  update raw.error e
     set status = s.status,
         disposition = case s.status when 'PARKED' then 'PARKED' else e.disposition end,
         retry_count = e.retry_count + 1,
         last_outcome = s.outcome,
         last_failure = coalesce(s.failure, e.last_failure),
         next_retry_at = case when s.status = 'RETRY_PENDING'
                              then s.now_ + %(step)s::interval * (e.retry_count + 2) end,
         parked_at = case when s.status = 'PARKED' then s.now_ end,
         parked_by = case when s.status = 'PARKED' then 'system' end,
         park_reason = case when s.status = 'PARKED' then 'MAX_RETRIES_EXCEEDED' end,
         parked_since = case when s.status = 'PARKED' then s.now_ end,
         escalation_level = case when s.status = 'PARKED' then 1 else 0 end,
         escalated_at = case when s.status = 'PARKED' then s.now_ end,
         escalated_to = case when s.status = 'PARKED' then 'bench' end,
         escalation_reason = case when s.status = 'PARKED' then 'MAX_RETRIES_EXCEEDED' end,
         sla_due_at = case when s.status = 'PARKED' then s.now_ + interval '24 hours' end,
         token = null, leased_by = null, lease_until = null,
         updated_at = s.now_,
         archived_at = case when s.status = 'RESOLVED' then s.now_ end,
         archive_reason = case when s.status = 'RESOLVED' then 'RESOLVED' end
    from (select g.*, t.now_,
                 case when g.outcome = 'SUCCEEDED' then 'RESOLVED'
                      when o.retry_count + 1 < o.max_retries then 'RETRY_PENDING' else 'PARKED' end as status
            from unnest(%(tables)s::text[], %(ids)s::bigint[], %(tokens)s::uuid[], %(outcomes)s::text[],
                        %(failures)s::text[]) as g (error_table, error_id, token, outcome, failure)
            join raw.error o on o.error_table = g.error_table and o.error_id = g.error_id
             and coalesce(o.token = g.token, false),
                 (select clock_timestamp() as now_) t) s
   where e.error_table = s.error_table and e.error_id = s.error_id and coalesce(e.token = s.token, false)
  returning e.error_table, e.error_id, e.status, e.disposition, e.retry_count, e.updated_at, s.outcome, s.failure),
logged as (
  insert into raw.error_event (incarnation, logged_at, error_table, error_id, event_type, from_status, to_status,
                               disposition, retry_count, reason, facts, actor, actor_id, authority)
  select 1, e.updated_at, e.error_table, e.error_id, e.outcome, 'RETRY_PENDING', e.status, e.disposition,
         e.retry_count, e.failure, case when e.status = 'PARKED' then '{"ended_by": "MAX_RETRIES_EXCEEDED"}'::jsonb end,
         'system', 'bench', 'recoup_error_worker'
    from ended e)
select error_id, status from ended;

-- name: archive
-- Closed errors, then expired ones.
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
   where e.error_table = %(table)s
     and e.error_id = any(array(select error_id from over union all select error_id from expired))
  returning e.*),
archived as (
  insert into raw.error_archive (error_table, error_id, outreach_id, error_code, error_message, error_signature,
    severity, category, disposition, status, ttl_tier, expires_at, retry_count, max_retries, last_retry_at,
    next_retry_at, retry_until, last_outcome, last_failure, parked_at, parked_by, park_reason, assigned_to,
    escalation_level, last_reviewed_at, escalated_at, escalated_to, escalation_reason, parked_since, sla_due_at,
    sla_met_at, sla_breached_at, payload, decided_by, clamped_from, policy_version, created_at, updated_at,
    superseded_by, archived_at,
    archive_reason, archived_by, final_disposition, was_blocking)
  select g.error_table, g.error_id, g.outreach_id, g.error_code, g.error_message, g.error_signature, g.severity,
    g.category, g.disposition, 'ARCHIVED', g.ttl_tier, g.expires_at, g.retry_count, g.max_retries, g.last_retry_at,
    g.next_retry_at, g.retry_until, g.last_outcome, g.last_failure, g.parked_at, g.parked_by, g.park_reason,
    g.assigned_to, g.escalation_level, g.last_reviewed_at, g.escalated_at, g.escalated_to, g.escalation_reason,
    g.parked_since, g.sla_due_at, g.sla_met_at, g.sla_breached_at, g.payload, g.decided_by, g.clamped_from,
    g.policy_version, g.created_at,
    g.updated_at, g.superseded_by, coalesce(g.archived_at, now()), coalesce(g.archive_reason, 'TTL_EXPIRED'),
    'bench', g.disposition, g.archive_reason is null and g.disposition in ('RETRY', 'PARKED')
    from gone g),
logged as (
  insert into raw.error_event (incarnation, logged_at, error_table, error_id, event_type, from_status, to_status,
                               disposition, retry_count, reason, facts, actor, actor_id, authority)
  select 1, now(), g.error_table, g.error_id, 'ARCHIVED', g.status, 'ARCHIVED', g.disposition, g.retry_count,
         coalesce(g.archive_reason, 'TTL_EXPIRED'),
         case when g.archive_reason is null and g.disposition in ('RETRY', 'PARKED')
              then '{"was_blocking": true}'::jsonb end, 'system', 'bench', 'recoup_archiver'
    from gone g)
select count(*)::integer from gone;

-- name: blocked
-- The promotion gate: the statement has one of these for each table that blocks.
exists (select from {table} e where e.outreach_id = %(entity)s
           and e.disposition in ('RETRY', 'PARKED') and e.archived_at is null)

-- name: fill_due
-- The first ones have been due for an hour, the others in a day. Of every ten, some had all retries but the last.
insert into recoup.error (error_table, outreach_id, error_code, error_message, error_signature, category, disposition,
  status, ttl_tier, expires_at, retry_count, max_retries, next_retry_at, retry_until, decided_by, policy_version,
  created_at, updated_at)
select (%(tables)s::text[])[1 + n %% 3], gen_random_uuid(), 'NOT_FOUND', 'Nothing found for company ' || n, 'bench',
       'OPERATIONAL', 'RETRY', 'RETRY_PENDING', 'MEDIUM', t.now_ + interval '30 days',
       case when n %% 10 < %(last)s then 2 else 0 end, 3, n * interval '1 millisecond'
         + case when n <= %(due)s then t.now_ - interval '1 hour' else t.now_ + interval '1 day' end,
       t.now_ + interval '8 days', 'table', 1, t.now_ - interval '2 hours', t.now_ - interval '2 hours'
  from generate_series(1, %(rows)s::integer) n, (select clock_timestamp() as now_) t order by n;

-- name: fill_leaving
-- One half was resolved a moment ago. The other expired yesterday: of two one still blocks, one was to be kept only.
-- A person started the retry, so no window has to be closed before.
insert into recoup.error (error_table, outreach_id, error_code, error_message, error_signature, category, disposition,
  status, ttl_tier, expires_at, retry_count, max_retries, next_retry_at, retry_until, last_outcome, payload, decided_by,
  policy_version, created_at, updated_at, archived_at, archive_reason)
select %(table)s, gen_random_uuid(), 'NOT_FOUND', 'Nothing found for company ' || n, 'bench', 'OPERATIONAL',
       case n %% 4 when 3 then 'ARCHIVE' else 'RETRY' end,
       case n %% 4 when 1 then 'RETRY_PENDING' when 3 then 'ACTIVE' else 'RESOLVED' end, 'MEDIUM',
       t.now_ - interval '1 day' + n * interval '1 millisecond', 1 - n %% 2, 5, case n %% 4 when 1 then t.now_ end,
       null, case when n %% 2 = 0 then 'SUCCEEDED' end, jsonb_build_object('page', n), 'table', 1,
       t.now_ - interval '31 days', t.now_ - interval '30 days', case when n %% 2 = 0 then t.now_ end,
       case when n %% 2 = 0 then 'RESOLVED' end
  from generate_series(1, %(rows)s::integer) n, (select clock_timestamp() as now_) t order by n;

-- name: fill_open
-- As lean as a row can be. Two of three are to be retried, one is parked; each is of an entity of its own.
insert into recoup.error (error_table, outreach_id, error_message, error_signature, category, disposition, status,
  ttl_tier, expires_at, max_retries, next_retry_at, parked_at, parked_by, park_reason, decided_by, policy_version,
  created_at, updated_at)
select (%(tables)s::text[])[1 + n %% 3], md5(n::text)::uuid, 'x', 'v1', 'OPERATIONAL',
       case when n %% 9 < 6 then 'RETRY' else 'PARKED' end, case when n %% 9 < 6 then 'RETRY_PENDING' else 'PARKED' end,
       'MEDIUM', t.now_ + interval '30 days', 3, case when n %% 9 < 6 then t.now_ + interval '1 hour' end,
       case when n %% 9 >= 6 then t.now_ end, case when n %% 9 >= 6 then 'system' end,
       case when n %% 9 >= 6 then 'NON_RETRYABLE_ERROR' end, 'table', 1, t.now_, t.now_
  from generate_series(1, %(rows)s::integer) n, (select clock_timestamp() as now_) t;

-- name: make_archive
-- Raw's only partition in the place of months: a run may cross into the next month.
create table raw.dol_errors_archive_all partition of raw.dol_errors_archive for values from (minvalue) to (maxvalue);

-- name: partitions
select n.nspname, c.relname
  from pg_partition_tree('recoup.error') t
  join pg_class c on c.oid = t.relid join pg_namespace n on n.oid = c.relnamespace
 where t.isleaf order by 1, 2;

-- name: rest_indexes
update pg_index set indisready = false where indrelid = %(table)s::regclass;

-- name: last_error
-- By the sequence: what it was drawn for may have left the table.
select nextval('recoup.error_seq');

-- name: fill_births
insert into recoup.error_event (incarnation, logged_at, error_table, error_id, event_type, to_status, disposition,
                                retry_count, actor, actor_id, authority)
select 1, e.created_at, e.error_table, e.error_id, 'RECORDED', 'RETRY_PENDING', 'RETRY', 0, 'system', 'bench',
       'recoup_hub'
  from recoup.error e where e.error_id > %(after)s order by e.error_id;

-- name: tally
select 'error ' || concat_ws(' ', error_table, error_code, severity, category, disposition, status, ttl_tier,
         retry_count, max_retries, last_outcome, park_reason, escalation_level, sla_due_at is not null, archive_reason,
         next_retry_at is not null, payload is not null), count(*)
  from {schema}.error group by 1
union all
select 'archived ' || concat_ws(' ', error_table, final_disposition, status, retry_count, archive_reason,
         was_blocking), count(*)
  from {schema}.error_archive group by 1
union all
select 'event ' || concat_ws(' ', error_table, event_type, from_status, '>', to_status, disposition, retry_count,
         reason, nullif(facts - 'digest', '{{}}'), authority), count(*)
  from {schema}.error_story group by 1
order by 1;

-- name: fill_queue
insert into recoup.error_queue (unit, part, round, wake_at, until, category, max_retries)
select e.error_id, e.error_table, e.retry_count, e.next_retry_at, e.retry_until, e.category, e.max_retries
  from recoup.error e
 where e.error_id > %(after)s and e.status = 'RETRY_PENDING' and e.archived_at is null order by e.error_id;

-- name: raw_more
-- By hand one table holds it all: who retries an error, until when, and the indexes for what is due.
alter table raw.error add column leased_by text, add column lease_until timestamptz;
create index on raw.error (next_retry_at) where status = 'RETRY_PENDING' and token is null and archived_at is null;
create index on raw.error (lease_until) where token is not null;
create index on raw.error (retry_until)
 where status = 'RETRY_PENDING' and token is null and archived_at is null and retry_until is not null;
create view raw.error_story as select * from raw.error_event;
