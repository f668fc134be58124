-- What the policy on error TTL and parking promises of errors and their log, as queries for what breaks it. Tables,
-- archives and the gate: table_invariants.sql.
--
-- Every query gives rows whose first column, breaks, is the id of an invariant of invariants.py; the others say what
-- was found. One query serves all invariants that need the same pass. No trailing semicolons: the audit counts the rows
-- around these. Nothing here trusts an index or a constraint.
--
-- An error is judged by the policy that it carries; a later move by one that was in force within a minute of it,
-- because two transactions may have met. A second is allowed where a wait is measured, for a clock that was set back.
-- What an archive's dropped month held is known from the log alone, and not judged any more.

-- name: error_rows
-- What an error must be by itself, live or archived.
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
      -- A table that keeps its errors for ever is a log; elsewhere a person may still end one that never expires.
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
      -- What expired while it waited for its retry is kept as it was.
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
-- Every error beside the policy that decided it, its birth in the log, and the one it superseded: the decision, made
-- anew.
with kept as (
  select e.error_table, e.error_id, e.outreach_id, e.error_signature, e.error_code, e.severity, e.category,
         e.disposition, e.ttl_tier, e.expires_at, e.retry_count, e.max_retries, e.retry_until, e.parked_at,
         e.parked_by, e.park_reason, e.decided_by, e.clamped_from, e.policy_version, e.created_at, e.superseded_by
    from recoup.error e
  union all
  select a.error_table, a.error_id, a.outreach_id, a.error_signature, a.error_code, a.severity, a.category,
         a.disposition, a.ttl_tier, a.expires_at, a.retry_count, a.max_retries, a.retry_until, a.parked_at,
         a.parked_by, a.park_reason, a.decided_by, a.clamped_from, a.policy_version, a.created_at, a.superseded_by
    from recoup.error_archive a),
recorded as (
  select e.error_table, e.error_id, e.logged_at, e.disposition, e.retry_count, e.reason,
         coalesce(e.facts ? 'superseded_by', false) as superseded_at_birth
    from recoup.error_event e where e.event_type = 'RECORDED'),
unparked as (
  select e.error_table, e.error_id, max(e.retry_count) as retry_count
    from recoup.error_event e where e.event_type = 'UNPARKED' group by 1, 2),
-- One that was superseded in the call that recorded it was never there to inherit from.
before as (
  select k.error_table, k.superseded_by as error_id, max(k.expires_at) as expires_at, min(k.created_at) as created_at,
         max(k.retry_count) as retry_count, max(k.max_retries) as max_retries, max(k.retry_until) as retry_until,
         bool_or(k.disposition = 'PARKED') as parked, bool_or(k.disposition = 'RETRY') as retried,
         max(k.park_reason) as park_reason
    from kept k join recorded e on e.error_table = k.error_table and e.error_id = k.error_id
   where k.superseded_by is not null and not e.superseded_at_birth
   group by 1, 2),
-- What it superseded was over when it was recorded, and that month of the archive has been dropped.
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
         b.error_id is not null as supersedes, b.parked and coalesce(t.allowed ? 'PARK', false) as was_parked,
         b.retried as was_retried, b.expires_at as old_expires_at, b.created_at as old_created_at,
         b.retry_count as old_count, b.retry_until as old_until, b.park_reason as old_reason,
         u.retry_count as unparked_at,
         d.error_table is not null and b.error_id is null and k.created_at <= e.logged_at as forgotten,
         case when t.hub_codes ? k.error_code then 'hub rule' when t.codes ? k.error_code then 'code rule'
              when k.severity is not null then 'severity' else 'table' end as rule,
         coalesce(t.hub_codes ->> k.error_code, t.codes ->> k.error_code) as rule_reason,
         coalesce(s.disposition, t.usual) as plain_want,
         case when t.ttl = 'INFINITE' then t.ttl else coalesce(t.hub_ttl, s.ttl, t.ttl) end as told_tier,
         make_interval(hours => 24 * (t.tier_days ->> k.ttl_tier)::integer) as told_ttl,
         greatest(b.max_retries, least(m.usual, (t.max_by_code ->> k.error_code)::integer)) as told_max,
         coalesce(b.created_at, k.created_at) + r.time_window as own_until,
         case when r.backoff <> 'none' then
           interval '1 second' * least(r.cap_s, case r.backoff
             when 'exponential' then power(r.base_s::float8, least(e.retry_count + 1, 60))
             else r.base_s::float8 * (e.retry_count + 1) end) end as wait,
         r.jitter_percent
    from kept k
    left join recorded e on e.error_table = k.error_table and e.error_id = k.error_id
    left join unparked u on u.error_table = k.error_table and u.error_id = k.error_id
    left join before b on b.error_table = k.error_table and b.error_id = k.error_id
    left join dropped d on d.error_table = k.error_table and d.error_id = k.error_id
    left join tables t on t.version = k.policy_version and t.error_table = k.error_table
    left join severities s on s.version = k.policy_version and s.severity = k.severity
    left join retries r on r.version = k.policy_version and r.category = k.category
   cross join lateral (
     select case when k.category = 'OPERATIONAL' then coalesce(t.operational_max, r.max_retries)
                 else r.max_retries end as usual) m),
-- What was wanted, what of it the table allows, and until when it may be retried by itself.
wanted as (
  select x.*, case when x.was_retried then x.old_until else x.own_until end as told_until,
         case when x.decided_by = 'person' then x.clamped_from
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
              -- A person's word that was allowed.
              when x.want is null then case x.born_as when 'PARKED' then 'PARK' else x.born_as end
              else x.usual end as got,
         -- Jitter lengthens a wait: between the two a window may have been missed, or not.
         -- A person may start what is not retried by itself.
         x.born_count >= x.told_max
           or x.wait is null and not (x.decided_by = 'person' and x.clamped_from is null)
           or x.logged_at + x.wait > x.told_until as must_end,
         x.born_count >= x.told_max
           or x.wait is null
           or x.logged_at + x.wait * (1 + x.jitter_percent / 100.0) > x.told_until as may_end
    from wanted x),
judged as (
  select x.*,
         case when x.was_parked then array['PARKED']
              when x.got <> 'RETRY' then array[case x.got when 'PARK' then 'PARKED' else x.got end]
              else array_remove(array[
                case when not coalesce(x.must_end, false) then 'RETRY' end,
                case when x.may_end or x.want is null and x.decided_by = 'person'
                     then case when x.allowed ? 'PARK' then 'PARKED' else 'ARCHIVE' end end], null) end as told_as
    from held x)
select b.breaks, r.error_table, r.error_id, r.severity, r.category, r.error_code, r.decided_by, r.rule, r.clamped_from,
       r.born_as, r.told_as, r.born_reason, r.ttl_tier, r.told_tier, r.created_at, r.expires_at, r.max_retries,
       r.told_max, r.retry_until, r.told_until, r.policy_version, r.logged_at
  from (
    select r.*, array_remove(array[
      case when r.expires_at is distinct from greatest(r.created_at + r.told_ttl, r.old_expires_at)
                and not (r.forgotten and r.expires_at >= r.created_at + r.told_ttl)
           then 'errors/1/ttl' end,
      case when r.created_at is distinct from coalesce(r.old_created_at, r.logged_at) and not r.forgotten
           then 'errors/1/created-at' end,
      case when not r.in_policy
           then 'errors/3/policy-mapping' end,
      case when r.in_policy and not r.allowed ? case r.born_as when 'PARKED' then 'PARK' else r.born_as end
           then 'errors/3/allowed-at-birth' end,
      case when r.born_as = 'PARKED'
                and r.born_reason not in ('MAX_RETRIES_EXCEEDED', 'NON_RETRYABLE_ERROR', 'ESCALATION_REQUIRED',
                                          'EXTERNAL_DEPENDENCY', 'DATA_QUALITY')
                and r.born_reason is distinct from r.old_reason
           then 'errors/4/park-reasons' end,
      -- Structural, or a code that says so, or a severity that does; or no retry was left, or in time.
      case when not r.forgotten and r.born_as = 'PARKED' and not coalesce(r.was_parked, false)
                and r.born_reason is distinct from case
                      when r.got = 'RETRY' or r.want is null and r.born_reason = 'MAX_RETRIES_EXCEEDED'
                        then 'MAX_RETRIES_EXCEEDED'
                      else r.told_reason end
           then 'errors/4/parking-triggers' end,
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
      case when r.ttl_tier is distinct from r.told_tier
           then 'errors/8/ttl-override' end,
      case when not r.forgotten and not r.born_as = any(r.told_as)
           then 'errors/8/disposition' end,
      case when r.clamped_from is distinct from case when r.want is not null and not r.allowed ? r.want then r.want end
           then 'errors/8/clamps' end,
      case when r.severity = 'LOW' and r.decided_by = 'severity' and r.plain_want in ('IGNORE', 'ARCHIVE')
                and r.allowed ?| array['IGNORE', 'ARCHIVE'] and r.born_as in ('RETRY', 'PARKED')
                and not r.forgotten and not coalesce(r.was_parked, false)
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

-- name: neighbours
-- Each event beside the one before it, within its error and in the order of the log.
-- What each event may say; where from and to are the same, any status may be meant.
with lawful (event_type, from_status, to_status) as (values
  ('RECORDED', '', 'ACTIVE'), ('RECORDED', '', 'RETRY_PENDING'), ('RECORDED', '', 'PARKED'),
  ('CLAIMED', 'RETRY_PENDING', 'RETRY_PENDING'),
  ('SUCCEEDED', 'RETRY_PENDING', 'RESOLVED'),
  ('FAILED', 'RETRY_PENDING', 'RETRY_PENDING'), ('FAILED', 'RETRY_PENDING', 'PARKED'),
  ('FAILED', 'RETRY_PENDING', 'ACTIVE'),
  ('LAPSED', 'RETRY_PENDING', 'RETRY_PENDING'), ('LAPSED', 'RETRY_PENDING', 'PARKED'),
  ('LAPSED', 'RETRY_PENDING', 'ACTIVE'),
  ('WINDOW_CLOSED', 'RETRY_PENDING', 'PARKED'), ('WINDOW_CLOSED', 'RETRY_PENDING', 'ACTIVE'),
  ('PARKED', 'ACTIVE', 'PARKED'), ('PARKED', 'RETRY_PENDING', 'PARKED'),
  ('UNPARKED', 'ACTIVE', 'RETRY_PENDING'), ('UNPARKED', 'PARKED', 'RETRY_PENDING'),
  ('UNPARKED', 'ESCALATED', 'RETRY_PENDING'),
  ('RESOLVED', 'ACTIVE', 'RESOLVED'), ('RESOLVED', 'RETRY_PENDING', 'RESOLVED'), ('RESOLVED', 'PARKED', 'RESOLVED'),
  ('RESOLVED', 'ESCALATED', 'RESOLVED'),
  ('ESCALATED', 'PARKED', 'ESCALATED'), ('ESCALATED', 'PARKED', 'PARKED'), ('ESCALATED', 'ESCALATED', 'ESCALATED'),
  ('ARCHIVED', 'ACTIVE', 'ARCHIVED'), ('ARCHIVED', 'RETRY_PENDING', 'ARCHIVED'), ('ARCHIVED', 'PARKED', 'ARCHIVED'),
  ('ARCHIVED', 'ESCALATED', 'ARCHIVED'), ('ARCHIVED', 'RESOLVED', 'ARCHIVED')),
events as (
  select e.error_table, e.error_id, e.seq, e.event_type, e.from_status, e.to_status, e.disposition, e.retry_count,
         e.logged_at, e.authority,
         lag(e.to_status) over of_error as before_status, lag(e.retry_count) over of_error as before_count,
         lag(e.logged_at) over of_error as before_at, lag(e.event_type) over of_error as before_type,
         lag(e.disposition) over of_error as before_disposition, row_number() over of_error as place,
         -- Retries that began less those that ended: 0, or 1 while one is under way.
         count(*) filter (where e.event_type = 'CLAIMED') over of_error
           - (e.retry_count - first_value(e.retry_count) over of_error) as under_way
    from recoup.error_story e
  window of_error as (partition by e.error_table, e.error_id order by e.seq))
select b.breaks, e.error_table, e.error_id, e.seq, e.event_type, e.from_status, e.to_status, e.disposition,
       e.retry_count, e.logged_at, e.authority, e.before_type, e.before_status, e.before_count, e.before_at
  from (
    select e.*, array_remove(array[
      case when l.event_type is null
                and not (e.event_type in ('ASSIGNED', 'REVIEWED', 'SUPERSEDED', 'EXPIRED', 'RETIRED')
                         and e.from_status = e.to_status) is true
             or e.before_type = 'ARCHIVED'
             or e.before_type in ('SUPERSEDED', 'EXPIRED', 'RETIRED', 'SUCCEEDED', 'RESOLVED')
                and e.event_type <> 'ARCHIVED'
           then 'errors/2/state-machine' end,
      case when not case e.to_status
                      when 'RETRY_PENDING' then e.disposition = 'RETRY'
                      when 'PARKED' then e.disposition = 'PARKED'
                      when 'ESCALATED' then e.disposition = 'PARKED'
                      when 'ACTIVE' then e.disposition in ('ARCHIVE', 'IGNORE')
                      when 'ARCHIVED' then e.disposition = e.before_disposition
                      else true end
           then 'errors/2/told-disposition' end,
      case when e.from_status in ('PARKED', 'ESCALATED') and e.to_status <> e.from_status
                and not case e.event_type
                          when 'UNPARKED' then e.to_status = 'RETRY_PENDING'
                          when 'RESOLVED' then e.to_status = 'RESOLVED'
                          when 'ESCALATED' then e.to_status = 'ESCALATED'
                          when 'ARCHIVED' then e.to_status = 'ARCHIVED'
                          else false end
           then 'errors/4/exits' end,
      -- It rises by one when a retry ends, however it ends, and at no other time; and so it never falls.
      case when e.retry_count - e.before_count not in (0, 1)
             or e.event_type in ('SUCCEEDED', 'FAILED', 'LAPSED') and e.retry_count <> e.before_count + 1
             or e.event_type in ('CLAIMED', 'WINDOW_CLOSED', 'UNPARKED', 'ASSIGNED', 'REVIEWED', 'ESCALATED',
                                 'ARCHIVED') and e.retry_count <> e.before_count
           then 'errors/5/retry-count' end,
      case when e.under_way not in (0, 1)
             or e.event_type = 'CLAIMED' and e.under_way <> 1
             or e.under_way = 1 and e.to_status <> 'RETRY_PENDING'
           then 'errors/5/one-retry-at-a-time' end,
      case when e.event_type in ('PARKED', 'UNPARKED', 'RESOLVED', 'ESCALATED', 'ASSIGNED', 'REVIEWED', 'RETIRED')
                and e.authority <> 'recoup_operator'
             or e.event_type in ('CLAIMED', 'SUCCEEDED', 'FAILED', 'LAPSED', 'WINDOW_CLOSED')
                and e.authority not in ('recoup_error_worker', 'recoup_hub')
           then 'laws/L1/error-authority' end
    ], null) as broken
      from events e
      left join lawful l on l.event_type = e.event_type and l.from_status = coalesce(e.from_status, '')
                            and l.to_status = e.to_status) e
 cross join unnest(e.broken) b (breaks)
 where e.broken <> '{}'

-- name: moves
-- A disposition that changed is one that the table allowed then; and where nothing is left to retry, one that says so.
with versions as (
  select p.version, p.figures -> 'errors' -> 'tables' as tables, p.applied_at as since,
         lead(p.applied_at) over (order by p.version) as until
    from recoup.policy p),
tables as (
  select t.key as error_table, t.value -> 'allowed' as allowed, v.since, v.until
    from versions v cross join jsonb_each(v.tables) t),
changed as (
  select e.* from (
    select e.error_table, e.error_id, e.seq, e.event_type, e.from_status, e.to_status, e.disposition, e.logged_at,
           lag(e.disposition) over (partition by e.error_table, e.error_id order by e.seq) as before_disposition
      from recoup.error_event e) e
   where e.disposition <> e.before_disposition and e.to_status <> 'RESOLVED'),
beside as (
  select c.error_table, c.error_id, c.seq, c.event_type, c.from_status, c.to_status, c.disposition,
         c.before_disposition, c.logged_at,
         bool_or(t.allowed ? case c.disposition when 'PARKED' then 'PARK' else c.disposition end) as allowed,
         bool_and(t.allowed ? 'PARK') as could_park
    from changed c
    left join tables t on t.error_table = c.error_table and t.since <= c.logged_at + interval '1 minute'
                          and (t.until is null or t.until >= c.logged_at - interval '1 minute')
   group by 1, 2, 3, 4, 5, 6, 7, 8, 9)
select b.breaks, e.*
  from (
    select e.*, array_remove(array[
      case when e.allowed is not true
           then 'errors/3/allowed-dispositions' end,
      case when e.event_type in ('FAILED', 'LAPSED', 'WINDOW_CLOSED') and e.disposition <> 'PARKED' and e.could_park
           then 'errors/4/max-retries-parks' end
    ], null) as broken
      from beside e) e
 cross join unnest(e.broken) b (breaks)
 where e.broken <> '{}'

-- name: schedule
-- A retry comes a wait after what went before it: those that were claimed, and those that are still to come.
with rules as (
  select v.since, v.until, r.category, r.backoff, r.base_s, r.cap_s, r.jitter_percent
    from (select p.figures -> 'errors' as figures, p.applied_at as since,
                 lead(p.applied_at) over (order by p.version) as until
            from recoup.policy p) v
   cross join recoup.retry_rules(v.figures) r),
events as (
  select e.error_table, e.error_id, e.seq, e.event_type, e.logged_at, e.retry_count,
         lag(e.event_type) over of_error as before_type, lag(e.logged_at) over of_error as before_at,
         lead(e.seq) over of_error as next_seq
    from recoup.error_story e where e.event_type in ('RECORDED', 'FAILED', 'LAPSED', 'UNPARKED', 'CLAIMED')
  window of_error as (partition by e.error_table, e.error_id order by e.seq)),
kept as (
  select error_table, error_id, category from recoup.error
  union all
  select error_table, error_id, category from recoup.error_archive),
retries as (
  select e.error_table, e.error_id, e.seq, k.category, e.before_at as since, e.logged_at as at,
         e.retry_count + 1 as number, true as claimed
    from events e
    join kept k on k.error_table = e.error_table and k.error_id = e.error_id
   where e.event_type = 'CLAIMED' and e.before_type <> 'UNPARKED'
  union all
  select e.error_table, e.error_id, e.seq, k.category,
         case when e.event_type = 'CLAIMED' then e.before_at else e.logged_at end, k.next_retry_at,
         e.retry_count + 1, false
    from events e
    join recoup.error k on k.error_table = e.error_table and k.error_id = e.error_id and k.next_retry_at is not null
   where e.next_seq is null and e.event_type <> 'UNPARKED'
     and not (e.event_type = 'CLAIMED' and e.before_type = 'UNPARKED')),
beside as (
  select r.error_table, r.error_id, r.seq, r.category, r.since, r.at, r.number, r.claimed,
         bool_or(r.at >= r.since + w.wait - interval '1 second'
                 and (r.claimed
                      or r.at <= r.since + w.wait * (1 + k.jitter_percent / 100.0) + interval '1 second')) as in_time
    from retries r
    left join rules k on k.category = r.category and k.since <= r.since + interval '1 minute'
                         and (k.until is null or k.until >= r.since - interval '1 minute')
    -- What is not retried by itself was started by a person, at once.
   cross join lateral (
     select case when k.backoff = 'none' then interval '0'
                 else interval '1 second' * least(k.cap_s, case k.backoff
                   when 'exponential' then power(k.base_s::float8, least(r.number, 60))
                   when 'linear' then k.base_s::float8 * r.number end) end as wait) w
   group by 1, 2, 3, 4, 5, 6, 7, 8)
select case when r.claimed then 'errors/5/no-retry-before-its-time' else 'errors/5/backoff' end as breaks,
       r.error_table, r.error_id, r.category, r.number, r.since, r.at as due_or_claimed_at
  from beside r
 where r.in_time is not true

-- name: histories
-- What the log says of each error, beside the error itself, wherever it is.
with events as (
  select e.error_table, e.error_id, e.seq, e.event_type, e.from_status, e.to_status, e.disposition, e.retry_count,
         e.reason, e.facts, e.logged_at, e.actor_id,
         -- A claim leaves the error as it is.
         row_number() over (partition by e.error_table, e.error_id
                            order by e.event_type = 'CLAIMED' and e.token is not null, e.seq desc) as from_end,
         e.event_type in ('SUCCEEDED', 'RESOLVED', 'SUPERSEDED', 'RETIRED', 'EXPIRED')
           or e.event_type = 'RECORDED' and coalesce(e.facts ? 'superseded_by', false) as closes,
         e.event_type in ('FAILED', 'LAPSED', 'WINDOW_CLOSED') and e.to_status <> 'RETRY_PENDING' as spends
    from recoup.error_story e),
told as (
  select e.error_table, e.error_id,
         count(*) filter (where e.event_type = 'RECORDED') as births,
         count(*) filter (where e.event_type = 'ARCHIVED') as exits,
         max(e.to_status) filter (where e.from_end = 1) as told_status,
         max(e.disposition) filter (where e.from_end = 1) as told_disposition,
         max(e.retry_count) filter (where e.from_end = 1) as told_count,
         max(e.logged_at) filter (where e.from_end = 1) as last_at,
         max(e.logged_at) filter (where e.event_type = 'ARCHIVED') as left_at,
         max(e.reason) filter (where e.event_type = 'ARCHIVED') as left_why,
         coalesce(max(e.actor_id) filter (where e.closes),
                  max(e.actor_id) filter (where e.event_type = 'ARCHIVED')) as left_by,
         bool_or(e.facts @> '{"was_blocking": true}') filter (where e.event_type = 'ARCHIVED') as left_blocking,
         -- How it was over before it left, and when; superseded in the call that recorded it, with its birth.
         max(case e.event_type when 'SUCCEEDED' then 'RESOLVED' when 'RETIRED' then 'MANUAL'
                               when 'EXPIRED' then 'TTL_EXPIRED' when 'RECORDED' then 'SUPERSEDED'
                               else e.event_type end) filter (where e.closes) as over_why,
         max(e.logged_at) filter (where e.closes) as over_at,
         count(*) filter (where e.event_type = 'CLAIMED') as claims,
         max(e.logged_at) filter (where e.event_type = 'CLAIMED') as claimed_at,
         count(*) filter (where e.event_type = 'UNPARKED') as unparkings,
         min(e.retry_count) as born_count,
         max(e.retry_count) filter (where e.event_type in ('FAILED', 'LAPSED') and e.to_status = 'RETRY_PENDING')
           as failed_with_others_left,
         max(e.seq) filter (where e.spends) as spent_seq,
         max(e.logged_at) filter (where e.spends) as spent_at,
         max(e.seq) filter (where e.event_type in ('PARKED', 'UNPARKED')) as handled_seq
    from events e
   group by 1, 2),
kept as (
  select k.error_table, k.error_id,
         count(*) filter (where k.live) as live_rows, count(*) filter (where not k.live) as archived_rows,
         max(k.status) as status, max(k.disposition) as disposition, max(k.retry_count) as retry_count,
         max(k.max_retries) as max_retries, max(k.updated_at) as updated_at, bool_or(k.leased) as leased,
         max(k.last_retry_at) as last_retry_at, max(k.retry_until) as retry_until, max(k.parked_at) as parked_at,
         max(k.parked_by) as parked_by, max(k.park_reason) as park_reason, max(k.archived_at) as archived_at,
         max(k.archive_reason) as archive_reason, max(k.archived_by) as archived_by,
         bool_or(k.was_blocking) as was_blocking
    from (
      select true as live, e.error_table, e.error_id, e.status, e.disposition, e.retry_count, e.max_retries,
             e.updated_at, q.token is not null as leased, e.last_retry_at, e.retry_until, e.parked_at, e.parked_by,
             e.park_reason,
             e.archived_at, e.archive_reason, null::text as archived_by, null::boolean as was_blocking
        from recoup.error e left join recoup.error_queue q on q.unit = e.error_id
      union all
      select false, a.error_table, a.error_id, a.status, a.disposition, a.retry_count, a.max_retries,
             a.updated_at, false, a.last_retry_at, a.retry_until, a.parked_at, a.parked_by, a.park_reason,
             a.archived_at, a.archive_reason, a.archived_by, a.was_blocking
        from recoup.error_archive a) k
   group by 1, 2),
dropped as (
  select m.error_table, m.month::timestamp at time zone 'UTC' as since,
         (m.month + interval '1 month') at time zone 'UTC' as until
    from recoup.error_archive_month m where m.status = 'DROPPED'),
blocking as (
  select t.key as error_table, (t.value ->> 'blocks')::boolean as blocks, v.since, v.until
    from (select p.figures -> 'errors' -> 'tables' as tables, p.applied_at as since,
                 lead(p.applied_at) over (order by p.version) as until
            from recoup.policy p) v
   cross join jsonb_each(v.tables) t),
-- Whether its table was a blocking one when it left: yes, no, or both within that minute.
blocked as (
  select k.error_table, k.error_id, bool_or(b.blocks) as some, bool_and(b.blocks) as each
    from kept k
    join told t on t.error_table = k.error_table and t.error_id = k.error_id
    join blocking b on b.error_table = k.error_table and b.since <= t.left_at + interval '1 minute'
                       and (b.until is null or b.until >= t.left_at - interval '1 minute')
   where k.archive_reason = 'TTL_EXPIRED'
   group by 1, 2),
gone as (
  select distinct t.error_table, t.error_id, true as dropped
    from told t
    join dropped d on d.error_table = t.error_table
                      and coalesce(t.over_at, t.left_at) >= d.since
                      and coalesce(t.over_at, t.left_at) < d.until + interval '1 minute'
   where t.exits > 0),
beside as (
  select *, coalesce(live_rows, 0) as live, coalesce(archived_rows, 0) as archived,
         spent_seq > coalesce(handled_seq, 0) as spent, dropped is true as is_dropped
    from kept
    full join told using (error_table, error_id)
    left join gone using (error_table, error_id)
    left join blocked using (error_table, error_id))
select b.breaks, r.error_table, r.error_id, r.live, r.archived, r.status, r.told_status, r.disposition,
       r.told_disposition, r.retry_count, r.told_count, r.max_retries, r.updated_at, r.last_at, r.archived_at,
       r.archive_reason, r.over_why, r.over_at, r.left_why, r.left_at, r.archived_by, r.left_by, r.was_blocking,
       r.parked_at, r.parked_by, r.park_reason, r.spent_at
  from (
    select r.*, array_remove(array[
      case when r.births is null or r.births <> 1 or r.live + r.archived <> 1 and not r.is_dropped
             or r.live = 1 and (r.told_status, r.last_at) is distinct from (r.status, r.updated_at)
             or r.live + r.archived = 1
                and ((r.told_disposition, r.told_count) is distinct from (r.disposition, r.retry_count)
                     or r.leased is distinct from (r.claims > r.told_count - r.born_count)
                     or r.archived_at is null and r.over_at is not null
                     or r.live = 1 and r.archived_at is not null and r.over_at is null)
           then 'rebuild/recoup.error' end,
      case when r.births > 0 and r.live + r.archived = 0 and not r.is_dropped
           then 'errors/7/nothing-lost' end,
      case when r.live > 0 and r.archived > 0 or r.archived > 1 or r.exits > 1
             or r.live + r.archived > 0 and coalesce(r.exits, 0) <> r.archived
           then 'errors/7/moved-once' end,
      case when r.archive_reason is not null and r.archive_reason is distinct from coalesce(r.over_why, 'TTL_EXPIRED')
             or r.archived > 0 and r.left_why is distinct from r.archive_reason
           then 'errors/7/archive-reason' end,
      -- By the clock of the statement, which a lock may have kept waiting.
      case when r.archived_at > coalesce(r.over_at, r.left_at)
             or r.archived_at < coalesce(r.over_at, r.left_at) - interval '1 minute'
           then 'errors/7/archived-at' end,
      case when r.archived > 0 and r.archived_by is distinct from r.left_by
           then 'errors/7/archived-by' end,
      case when r.archived > 0
                and (r.was_blocking is distinct from coalesce(r.left_blocking, false)
                     or r.was_blocking
                        and not coalesce(r.archive_reason = 'TTL_EXPIRED' and r.disposition in ('RETRY', 'PARKED')
                                         and r.some, false)
                     or not r.was_blocking and r.archive_reason = 'TTL_EXPIRED'
                        and r.disposition in ('RETRY', 'PARKED') and r.each)
           then 'errors/7/was-blocking' end,
      case when r.failed_with_others_left >= r.max_retries
           then 'errors/5/retries-end' end,
      case when r.spent
                and (r.disposition = 'PARKED'
                     and ((r.park_reason, r.parked_by) is distinct from ('MAX_RETRIES_EXCEEDED', 'system')
                          or r.parked_at > r.spent_at or r.parked_at < r.spent_at - interval '1 minute'
                          or r.parked_at is null)
                     or r.disposition <> 'PARKED' and r.park_reason is distinct from 'MAX_RETRIES_EXCEEDED')
           then 'errors/5/retry-to-park' end,
      case when r.claims > 0 and r.live + r.archived > 0 and not r.leased
                and (r.last_retry_at > r.claimed_at or r.last_retry_at < r.claimed_at - interval '1 minute'
                     or r.last_retry_at is null)
           then 'errors/5/last-retry-at' end,
      case when r.unparkings = 0 and r.claimed_at > r.retry_until + interval '1 second'
           then 'errors/5/no-retry-after-window' end
    ], null) as broken
      from beside r) r
 cross join unnest(r.broken) b (breaks)
 where r.broken <> '{}'

-- name: superseding
-- Whatever was superseded names what superseded it, and of one failure of one entity one error is open.
with kept as (
  select error_table, error_id, outreach_id, error_signature, retry_count, created_at, superseded_by
    from recoup.error
  union all
  select error_table, error_id, outreach_id, error_signature, retry_count, created_at, superseded_by
    from recoup.error_archive)
select 'errors/7/superseded-by' as breaks, k.error_table, k.outreach_id, k.error_signature, k.error_id, k.superseded_by
  from kept k
  left join kept n on n.error_table = k.error_table and n.error_id = k.superseded_by
 where k.superseded_by is not null
   and (n.error_id is null or n.error_id <= k.error_id
        or (n.outreach_id, n.error_signature) is distinct from (k.outreach_id, k.error_signature)
        or n.retry_count < k.retry_count or n.created_at > k.created_at)
union all
select 'errors/7/one-open', e.error_table, e.outreach_id, e.error_signature, min(e.error_id), count(*)
  from recoup.error e
 where e.archived_at is null and e.outreach_id is not null and e.ttl_tier <> 'INFINITE'
 group by e.error_table, e.outreach_id, e.error_signature having count(*) > 1
