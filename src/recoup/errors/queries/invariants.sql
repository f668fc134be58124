-- Invariants of the error TTL and parking policy: queries for the rows that break them. The log by itself:
-- log_invariants.sql. Errors compared with their log: history_invariants.sql. Tables, archives and the promotion gate:
-- table_invariants.sql.
--
-- Every query returns rows whose first column, breaks, is the id of an invariant of invariants.py; the other columns
-- show what was found. One query serves all invariants that need the same pass. No trailing semicolons: the audit wraps
-- these queries. Nothing here relies on an index or a constraint.
--
-- An error is checked against the policy whose version it has. Errors of dropped months are known from the log only,
-- and not checked any more.

-- name: error_rows
-- What holds for a single error, live or archived.
with kept as (
  select true as live, e.error_table, e.error_id, e.policy_version, e.disposition, e.status, e.ttl_tier, e.expires_at,
         e.retry_count, e.max_retries, e.retry_exhausted, e.next_retry_at, e.retry_until,
         e.parked_at, e.parked_by, e.park_reason, e.assigned_to,
         e.escalation_level, e.escalated_at, e.escalated_to, e.superseded_by, e.archived_at, e.archive_reason,
         null::text as archived_by, null::text as final_disposition, null::boolean as was_blocking
    from recoup.error e
  union all
  select false, a.error_table, a.error_id, a.policy_version, a.disposition, a.status, a.ttl_tier, a.expires_at,
         a.retry_count, a.max_retries, a.retry_exhausted, a.next_retry_at, a.retry_until,
         a.parked_at, a.parked_by, a.park_reason, a.assigned_to,
         a.escalation_level, a.escalated_at, a.escalated_to, a.superseded_by, a.archived_at, a.archive_reason,
         a.archived_by, a.final_disposition, a.was_blocking
    from recoup.error_archive a),
tables as (
  select p.version, t.key as error_table, t.value ->> 'ttl' as ttl, t.value ->> 'owner' as owner
    from recoup.policy p cross join jsonb_each(p.figures -> 'errors' -> 'tables') t),
beside as (
  select k.*, t.ttl as table_ttl, coalesce(t.owner, o.owner) as owner
    from kept k
    left join tables t on t.version = k.policy_version and t.error_table = k.error_table
    left join tables o on o.version = (select max(p.version) from recoup.policy p) and o.error_table = k.error_table)
select b.breaks, r.error_table, r.error_id, r.live, r.status, r.disposition, r.ttl_tier, r.expires_at, r.retry_count,
       r.max_retries, r.next_retry_at, r.retry_until, r.parked_at, r.parked_by, r.park_reason, r.escalation_level,
       r.superseded_by, r.archived_at, r.archive_reason, r.archived_by, r.final_disposition
  from (
    select r.*, array_remove(array[
      case when r.ttl_tier is null or r.ttl_tier not in ('SHORT', 'MEDIUM', 'LONG', 'INFINITE')
             or (r.ttl_tier = 'INFINITE') <> (r.expires_at is null)
           then 'errors/1/tiers' end,
      -- A table that keeps its errors for ever is a log; elsewhere a person may still close one that never expires.
      case when r.table_ttl = 'INFINITE' and (r.archived_at is not null or r.status <> 'ACTIVE')
             or r.ttl_tier = 'INFINITE' and r.archive_reason = 'TTL_EXPIRED'
           then 'errors/1/infinite-stays' end,
      case when r.disposition is null or r.disposition not in ('RETRY', 'PARKED', 'ARCHIVE', 'IGNORE')
           then 'errors/2/dispositions' end,
      case when not case
                  when not r.live then r.status = 'ARCHIVED'
                  when r.disposition = 'RETRY' then r.status in ('RESOLVED', 'RETRY_PENDING')
                  when r.disposition = 'PARKED' then r.status in ('RESOLVED', 'PARKED', 'ESCALATED')
                  else r.status in ('RESOLVED', 'ACTIVE') end
           then 'errors/2/status-of-disposition' end,
      case when r.disposition = 'PARKED' and num_nulls(r.parked_at, r.parked_by, r.park_reason) > 0
           then 'errors/4/parked-fields' end,
      case when r.escalation_level not between 0 and 3
             or r.status = 'ESCALATED' and (r.escalation_level = 0 or num_nulls(r.escalated_at, r.escalated_to) > 0)
           then 'errors/4/escalation-level' end,
      case when r.status in ('PARKED', 'ESCALATED') and r.archived_at is null
                and r.assigned_to is null and r.owner is null
           then 'errors/4/owner' end,
      case when r.retry_exhausted is distinct from (r.retry_count >= r.max_retries)
           then 'errors/5/retry-exhausted' end,
      case when r.status = 'RETRY_PENDING' and r.archived_at is null
                and not (r.retry_count < r.max_retries and r.next_retry_at is not null) is true
           then 'errors/5/pending-has-a-retry-left' end,
      -- An error that expired while it waited for its retry is kept as it was.
      case when r.next_retry_at is not null
                and (case when r.live then r.status <> 'RETRY_PENDING' else r.disposition <> 'RETRY' end
                     or r.next_retry_at > r.retry_until)
           then 'errors/5/next-retry-at' end,
      case when (r.archived_at is null) <> (r.archive_reason is null)
             or not r.live
                and num_nulls(r.archived_at, r.archived_by, r.final_disposition, r.was_blocking) > 0
             or r.archive_reason not in ('TTL_EXPIRED', 'MANUAL', 'RESOLVED', 'SUPERSEDED')
             or (r.superseded_by is not null) <> (r.archive_reason is not distinct from 'SUPERSEDED')
           then 'errors/7/archive-fields' end,
      case when not r.live and r.final_disposition is distinct from r.disposition
           then 'errors/7/final-disposition' end,
      case when r.archive_reason = 'TTL_EXPIRED' and not r.expires_at < r.archived_at
           then 'errors/7/ttl-expired' end
    ], null) as broken
      from beside r) r
 cross join unnest(r.broken) b (breaks)
 where r.broken <> '{}'

-- name: births
-- Every error with the policy that decided it, its birth in the log, and the error it superseded: the decision is made
-- again, and compared.
with kept as (
  select e.error_table, e.error_id, e.outreach_id, e.error_signature, e.error_code, e.severity, e.category,
         e.disposition, e.ttl_tier, e.expires_at, e.retry_count, e.max_retries, e.retry_until, e.parked_at,
         e.parked_by, e.park_reason, e.decided_by, e.clamped_from, e.overruled, e.policy_version, e.created_at,
         e.superseded_by
    from recoup.error e
  union all
  select a.error_table, a.error_id, a.outreach_id, a.error_signature, a.error_code, a.severity, a.category,
         a.disposition, a.ttl_tier, a.expires_at, a.retry_count, a.max_retries, a.retry_until, a.parked_at,
         a.parked_by, a.park_reason, a.decided_by, a.clamped_from, a.overruled, a.policy_version, a.created_at,
         a.superseded_by
    from recoup.error_archive a),
recorded as (
  select e.error_table, e.error_id, e.logged_at, e.disposition, e.retry_count, e.reason,
         coalesce(e.facts ? 'superseded_by', false) as superseded_at_birth
    from recoup.error_event e where e.event_type = 'RECORDED'),
unparked as (
  select e.error_table, e.error_id, max(e.retry_count) as retry_count
    from recoup.error_event e where e.event_type = 'UNPARKED' group by 1, 2),
-- Superseded errors; and whether by the present rules, under which a newer error never weakens an open one, also one of
-- its own call, and inherits nothing from one that was never to be retried.
superseded as (
  select k.*, e.superseded_at_birth,
         exists (select from recoup.error_event v
                  where v.error_id = k.error_id and v.error_table = k.error_table and v.facts ? 'at_least') as today
    from kept k join recorded e on e.error_table = k.error_table and e.error_id = k.error_id
   where k.superseded_by is not null),
open_before as (
  select s.error_table, s.superseded_by as error_id, max(s.park_reason) as park_reason,
         bool_or(s.disposition = 'PARKED' and (s.today or not s.superseded_at_birth)) as parked,
         bool_or(s.disposition = 'RETRY' and s.today) as retried, bool_or(s.today) as today
    from superseded s
   group by 1, 2),
before as (
  select s.error_table, s.superseded_by as error_id,
         max(s.expires_at) filter (where not s.superseded_at_birth) as expires_at,
         max(s.ttl_tier) filter (where not s.superseded_at_birth and s.today) as ttl_tier,
         -- Of its own call: a duration, not a time.
         max(s.expires_at - s.created_at) filter (where s.superseded_at_birth) as ttl_of_call,
         (array_agg(s.ttl_tier order by s.expires_at - s.created_at desc) filter (where s.superseded_at_birth))[1]
           as tier_of_call,
         min(s.created_at) as created_at, max(s.retry_count) as retry_count, max(s.max_retries) as max_retries,
         max(s.retry_until) filter (where not s.superseded_at_birth) as retry_until,
         bool_or(s.disposition = 'RETRY' and not s.superseded_at_birth) as retried
    from superseded s
   where (s.today or not s.superseded_at_birth)
     and (not s.today or s.disposition in ('RETRY', 'PARKED') or s.retry_count > 0
          or s.park_reason in ('MAX_RETRIES_EXCEEDED', 'RETRY_WINDOW_CLOSED'))
   group by 1, 2),
-- The error that it superseded was closed when it was recorded, and that month of the archive has been dropped.
dropped as (
  select distinct e.error_table, e.error_id
    from recorded e
    join recoup.error_archive_month m
      on m.error_table = e.error_table and m.status = 'DROPPED'
         and e.logged_at >= m.month::timestamp at time zone 'UTC'
         and e.logged_at < (m.month + interval '1 month') at time zone 'UTC' + interval '1 minute'),
versions as (
  select p.version, p.figures -> 'errors' as figures, p.applied_at as since,
         lead(p.applied_at) over (order by p.version) as until
    from recoup.policy p),
tables as (
  select v.version, v.since, v.until, t.key as error_table, t.value ->> 'ttl' as ttl, t.value ->> 'hub_ttl' as hub_ttl,
         t.value ->> 'default' as usual, t.value -> 'allowed' as allowed, t.value -> 'park_codes' as hub_codes,
         v.figures -> 'park_codes' as codes, (t.value ->> 'operational_max_retries')::integer as operational_max,
         t.value -> 'max_retries_by_code' as max_by_code, v.figures -> 'tier_days' as tier_days
    from versions v cross join jsonb_each(v.figures -> 'tables') t),
severities as (
  select v.version, s.key as severity, s.value ->> 'disposition' as disposition, s.value ->> 'ttl' as ttl
    from versions v cross join jsonb_each(v.figures -> 'severity') s),
retries as (
  select v.version, r.category, (v.figures -> 'retry' -> r.category ->> 'max_retries')::integer as max_retries,
         r.backoff, r.base_s, r.cap_s, r.jitter_percent, r.time_window
    from versions v cross join recoup.retry_rules(v.figures) r),
beside as (
  select k.*, e.logged_at, e.disposition as born_as, e.retry_count as born_count, e.reason as born_reason,
         t.version is not null as in_policy, t.since, t.until, t.allowed, t.usual,
         b.error_id is not null as supersedes,
         coalesce(o.parked and t.allowed ? 'PARK', false) as was_parked, coalesce(o.retried, false) as was_open,
         coalesce(o.today, false) as today,
         b.retried as was_retried, b.expires_at as old_expires_at, b.ttl_tier as old_tier,
         b.created_at as old_created_at,
         b.retry_count as old_count, b.retry_until as old_until, o.park_reason as old_reason,
         u.retry_count as unparked_at,
         d.error_table is not null and o.error_id is null and k.created_at <= e.logged_at as forgotten,
         case when t.hub_codes ? k.error_code then 'hub rule' when t.codes ? k.error_code then 'code rule'
              when k.severity is not null then 'severity' else 'table' end as rule,
         coalesce(t.hub_codes ->> k.error_code, t.codes ->> k.error_code) as rule_reason,
         coalesce(s.disposition, t.usual) as plain_want,
         case when b.ttl_of_call > p.ttl then b.tier_of_call else p.tier end as told_tier,
         k.created_at + greatest(p.ttl, b.ttl_of_call) as own_expiry,
         greatest(b.max_retries, least(m.usual, (t.max_by_code ->> k.error_code)::integer)) as told_max,
         k.created_at + r.time_window as own_until,
         case when r.backoff <> 'none' then
           interval '1 second' * least(r.cap_s, case r.backoff
             when 'exponential' then power(r.base_s::float8, least(e.retry_count + 1, 60))
             else r.base_s::float8 * (e.retry_count + 1) end) end as wait,
         r.jitter_percent
    from kept k
    left join recorded e on e.error_table = k.error_table and e.error_id = k.error_id
    left join unparked u on u.error_table = k.error_table and u.error_id = k.error_id
    left join before b on b.error_table = k.error_table and b.error_id = k.error_id
    left join open_before o on o.error_table = k.error_table and o.error_id = k.error_id
    left join dropped d on d.error_table = k.error_table and d.error_id = k.error_id
    left join tables t on t.version = k.policy_version and t.error_table = k.error_table
    left join severities s on s.version = k.policy_version and s.severity = k.severity
    left join retries r on r.version = k.policy_version and r.category = k.category
   cross join lateral (
     select o.tier, make_interval(hours => 24 * (t.tier_days ->> o.tier)::integer) as ttl
       from (select case when t.ttl = 'INFINITE' then t.ttl else coalesce(t.hub_ttl, s.ttl, t.ttl) end) o (tier)) p
   cross join lateral (
     select case when k.category = 'OPERATIONAL' then coalesce(t.operational_max, r.max_retries)
                 else r.max_retries end as usual) m),
-- What was wanted, what of it the table allows, and until when it is retried automatically.
wanted as (
  select x.*, case when x.was_retried then x.old_until else x.own_until end as told_until,
         case when x.decided_by = 'person' then coalesce(x.clamped_from, x.overruled)
              when x.rule in ('hub rule', 'code rule') or x.would_retry and x.category = 'STRUCTURAL' then 'PARK'
              else x.plain_want end as want,
         case when x.decided_by = 'person' then 'ESCALATION_REQUIRED'
              when x.rule in ('hub rule', 'code rule') then x.rule_reason
              when x.would_retry and x.category = 'STRUCTURAL' then 'NON_RETRYABLE_ERROR'
              else 'ESCALATION_REQUIRED' end as told_reason
    from (
      select b.*, b.plain_want = 'RETRY'
                  or b.usual = 'RETRY' and not b.allowed ? b.plain_want
                     and not (b.plain_want in ('IGNORE', 'ARCHIVE') and (b.allowed ? 'IGNORE' or b.allowed ? 'ARCHIVE'))
                  as would_retry
        from beside b) x),
held as (
  select x.*,
         case when x.allowed ? x.want then x.want
              when x.want = 'IGNORE' and x.allowed ? 'ARCHIVE' then 'ARCHIVE'
              when x.want = 'ARCHIVE' and x.allowed ? 'IGNORE' then 'IGNORE'
              -- A person's request that was allowed.
              when x.want is null then case x.born_as when 'PARKED' then 'PARK' else x.born_as end
              else x.usual end as got,
         -- Jitter lengthens a wait: between the two a window may have been missed, or not.
         -- A person may start a retry that is not automatic.
         x.born_count >= x.told_max
           or x.wait is null and not (x.decided_by = 'person' and x.clamped_from is null)
           or x.logged_at + x.wait > x.told_until as must_end,
         x.born_count >= x.told_max
           or x.wait is null
           or x.logged_at + x.wait * (1 + x.jitter_percent / 100.0) > x.told_until as may_end
    from wanted x),
weighed as (
  select x.*, x.was_open and x.got in ('ARCHIVE', 'IGNORE') as stays_open from held x),
judged as (
  select x.*, case when x.today and (x.was_parked and x.got <> 'PARK' or x.stays_open) then x.got end as told_overruled,
         case when x.was_parked then array['PARKED']
              when x.got <> 'RETRY' and not x.stays_open
                then array[case x.got when 'PARK' then 'PARKED' else x.got end]
              when not x.allowed ? 'RETRY' then array[case when x.allowed ? 'PARK' then 'PARKED' else 'ARCHIVE' end]
              else array_remove(array[
                case when not coalesce(x.must_end, false) then 'RETRY' end,
                case when x.may_end or x.want is null and x.decided_by = 'person'
                     then case when x.allowed ? 'PARK' then 'PARKED' else 'ARCHIVE' end end], null) end as told_as
    from weighed x)
select b.breaks, r.error_table, r.error_id, r.severity, r.category, r.error_code, r.decided_by, r.rule, r.clamped_from,
       r.born_as, r.told_as, r.born_reason, r.ttl_tier, r.told_tier, r.created_at, r.expires_at, r.max_retries,
       r.told_max, r.retry_until, r.told_until, r.policy_version, r.logged_at
  from (
    select r.*, array_remove(array[
      -- Unparking moves it.
      case when r.expires_at is distinct from greatest(r.own_expiry, r.old_expires_at)
                and not ((r.forgotten or r.unparked_at is not null)
                         and r.expires_at >= greatest(r.own_expiry, r.old_expires_at))
           then 'errors/1/ttl' end,
      -- Older is an error that was adopted; its birth's digest holds the time.
      case when not coalesce(r.created_at <= coalesce(r.old_created_at, r.logged_at), false) and not r.forgotten
           then 'errors/1/created-at' end,
      case when not r.in_policy
           then 'errors/3/policy-mapping' end,
      case when r.in_policy and not r.allowed ? case r.born_as when 'PARKED' then 'PARK' else r.born_as end
           then 'errors/3/allowed-at-birth' end,
      case when r.born_as = 'PARKED'
                and r.born_reason not in ('MAX_RETRIES_EXCEEDED', 'RETRY_WINDOW_CLOSED', 'NON_RETRYABLE_ERROR',
                                          'ESCALATION_REQUIRED', 'EXTERNAL_DEPENDENCY', 'DATA_QUALITY')
                and r.born_reason is distinct from r.old_reason and not r.forgotten
           then 'errors/4/park-reasons' end,
      -- STRUCTURAL, or a code or a severity that parks; or no retry was left, or none in time.
      case when not r.forgotten and r.born_as = 'PARKED' and not r.was_parked
                and not case
                      when r.stays_open and not r.allowed ? 'RETRY' then r.born_reason = 'ESCALATION_REQUIRED'
                      when r.got = 'RETRY' or r.stays_open
                           or r.want is null and r.born_reason in ('MAX_RETRIES_EXCEEDED', 'RETRY_WINDOW_CLOSED')
                        then r.born_reason in ('MAX_RETRIES_EXCEEDED', 'RETRY_WINDOW_CLOSED')
                      else r.born_reason is not distinct from r.told_reason end
           then 'errors/4/parking-triggers' end,
      -- Where parking was asked for and is not allowed, the reason stays until a retry or a person ends that.
      case when not r.forgotten and r.clamped_from = 'PARK' and r.born_as <> 'PARKED'
                and (r.born_reason is not null
                     and r.born_reason not in ('MAX_RETRIES_EXCEEDED', 'RETRY_WINDOW_CLOSED', r.told_reason)
                     or r.disposition = r.born_as and r.unparked_at is null
                        and r.park_reason is distinct from r.born_reason)
           then 'errors/4/kept-reason' end,
      case when not r.forgotten and r.category = 'STRUCTURAL' and r.born_as = 'RETRY' and r.decided_by <> 'person'
           then 'errors/5/structural-is-parked' end,
      case when not r.forgotten and r.max_retries is distinct from greatest(r.told_max, r.unparked_at + 1)
           then 'errors/5/max-retries' end,
      case when not r.forgotten and r.retry_until is distinct from case when r.unparked_at is null then r.told_until end
           then 'errors/5/window' end,
      case when r.supersedes
                and (r.born_count is distinct from r.old_count or r.was_parked and r.born_as is distinct from 'PARKED')
           then 'errors/7/superseded-inherits' end,
      case when not r.supersedes and not r.forgotten and r.born_count <> 0
           then 'errors/5/born-without-retries' end,
      case when r.decided_by <> 'person' and r.decided_by is distinct from r.rule
           then 'errors/9/hub-rules-first' end,
      case when r.ttl_tier is distinct from case when r.old_expires_at > r.own_expiry
                                                 then coalesce(r.old_tier, r.told_tier) else r.told_tier end
                and not (r.forgotten and r.expires_at > r.own_expiry)
           then 'errors/8/ttl-override' end,
      case when not r.forgotten and not r.born_as = any(r.told_as)
           then 'errors/8/disposition' end,
      case when not r.forgotten and r.overruled is distinct from r.told_overruled
           then 'errors/7/never-weakened' end,
      case when r.clamped_from is distinct from case when r.want is not null and not r.allowed ? r.want then r.want end
           then 'errors/8/clamps' end,
      case when r.severity = 'LOW' and r.decided_by = 'severity' and r.plain_want in ('IGNORE', 'ARCHIVE')
                and r.allowed ?| array['IGNORE', 'ARCHIVE'] and r.born_as in ('RETRY', 'PARKED')
                and not r.forgotten and not r.was_parked and not r.was_open
           then 'errors/8/low-never-blocks' end,
      case when r.severity = 'CRITICAL' and r.decided_by = 'severity' and r.plain_want = 'PARK'
                and r.allowed ? 'PARK' and r.born_as is distinct from 'PARKED'
           then 'errors/8/critical-parks' end,
      case when r.logged_at < r.since - interval '1 minute' or r.logged_at > r.until + interval '1 minute'
             or not r.in_policy
           then 'laws/L8/error-stamped' end
    ], null) as broken
      from judged r where r.logged_at is not null) r
 cross join unnest(r.broken) b (breaks)
 where r.broken <> '{}'

-- name: superseding
-- A superseded error names the one that superseded it, of one failure of one entity one error is open, and what
-- supersedes each other is one lineage.
with kept as (
  select error_table, error_id, outreach_id, work_key, error_signature, disposition, retry_count, created_at,
         superseded_by, lineage_id
    from recoup.error
  union all
  select error_table, error_id, outreach_id, work_key, error_signature, disposition, retry_count, created_at,
         superseded_by, lineage_id
    from recoup.error_archive),
-- Which errors superseded one, by the log: the archive of the older one may have been dropped.
heirs as (
  select distinct e.error_table, (e.facts ->> 'superseded_by')::bigint as error_id
    from recoup.error_event e where e.facts ? 'superseded_by')
select 'errors/7/superseded-by' as breaks, k.error_table, k.outreach_id, k.error_signature, k.error_id, k.superseded_by
  from kept k
  left join kept n on n.error_table = k.error_table and n.error_id = k.superseded_by
 where k.superseded_by is not null
   and (n.error_id is null or n.error_id <= k.error_id
        or (n.outreach_id, n.work_key, n.error_signature)
           is distinct from (k.outreach_id, k.work_key, k.error_signature)
        -- An error that was never to be retried passes on no age.
        or n.retry_count < k.retry_count or n.created_at > k.created_at and k.disposition in ('RETRY', 'PARKED'))
union all
select 'errors/7/one-open', e.error_table, e.outreach_id, e.error_signature, min(e.error_id), count(*)
  from recoup.error e
 where e.archived_at is null and e.outreach_id is not null and e.ttl_tier <> 'INFINITE'
 group by e.error_table, e.outreach_id, e.work_key, e.error_signature having count(*) > 1
union all
-- The first form of birth digests is from the time before lineages.
select 'errors/7/lineage', k.error_table, k.outreach_id, k.error_signature, k.error_id, k.lineage_id
  from kept k
  join recoup.error_event e
    on e.error_id = k.error_id and e.error_table = k.error_table and e.event_type = 'RECORDED'
  left join kept o on o.error_table = k.error_table and o.superseded_by = k.error_id
  left join heirs h on h.error_table = k.error_table and h.error_id = k.error_id
 cross join lateral (select coalesce(k.lineage_id, k.error_id) as own, coalesce(o.lineage_id, o.error_id) as before) l
 where case when coalesce(e.form, 1) = 1 then k.lineage_id is not null
            when o.error_id is not null then l.own <> l.before
            when h.error_id is not null then l.own >= k.error_id
            -- The first of a failure in a call has the lineage of the error that the last of them superseded.
            when e.facts ? 'superseded_by' then l.own > k.error_id
            else l.own <> k.error_id end
