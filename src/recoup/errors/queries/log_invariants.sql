-- The log of errors by itself; in the form of invariants.sql. Errors compared with it: history_invariants.sql.
--
-- A move is checked against a policy that was active within a minute of it, because two transactions may have met. A
-- second is allowed where a wait is measured, because a clock may have been set back.

-- name: neighbours
-- Each event with the one before it, within its error and in the order of the log; and the moves that it may be.
with lawful (event_type, from_status, to_status) as (values
  ('RECORDED', '', 'ACTIVE'), ('RECORDED', '', 'RETRY_PENDING'), ('RECORDED', '', 'PARKED'),
  ('RECORDED', '', 'ESCALATED'),
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
  ('CLEARED', 'ACTIVE', 'RESOLVED'), ('CLEARED', 'RETRY_PENDING', 'RESOLVED'),
  ('ESCALATED', 'PARKED', 'ESCALATED'), ('ESCALATED', 'PARKED', 'PARKED'), ('ESCALATED', 'ESCALATED', 'ESCALATED'),
  ('SLA_BREACHED', 'PARKED', 'PARKED'), ('SLA_BREACHED', 'ESCALATED', 'ESCALATED'),
  ('ARCHIVED', 'ACTIVE', 'ARCHIVED'), ('ARCHIVED', 'RETRY_PENDING', 'ARCHIVED'), ('ARCHIVED', 'PARKED', 'ARCHIVED'),
  ('ARCHIVED', 'ESCALATED', 'ARCHIVED'), ('ARCHIVED', 'RESOLVED', 'ARCHIVED')),
events as (
  select e.error_table, e.error_id, e.seq, e.event_type, e.from_status, e.to_status, e.disposition, e.retry_count,
         e.logged_at, e.authority,
         lag(e.to_status) over of_error as before_status, lag(e.retry_count) over of_error as before_count,
         lag(e.logged_at) over of_error as before_at, lag(e.event_type) over of_error as before_type,
         lag(e.disposition) over of_error as before_disposition, row_number() over of_error as place,
         -- Retries that began minus those that ended: 0, or 1 while one is under way.
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
             or e.before_type in ('SUPERSEDED', 'EXPIRED', 'RETIRED', 'SUCCEEDED', 'RESOLVED', 'CLEARED')
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
                                 'SLA_BREACHED', 'ARCHIVED') and e.retry_count <> e.before_count
           then 'errors/5/retry-count' end,
      case when e.under_way not in (0, 1)
             or e.event_type = 'CLAIMED' and e.under_way <> 1
             or e.under_way = 1 and e.to_status <> 'RETRY_PENDING'
           then 'errors/5/one-retry-at-a-time' end,
      -- For a recovery candidate the executor unparks, escalates and archives, and its reviewer reviews.
      case when e.event_type in ('PARKED', 'UNPARKED', 'RESOLVED', 'ESCALATED', 'ASSIGNED', 'REVIEWED', 'RETIRED')
                and e.authority <> 'recoup_operator'
                and not (e.from_status in ('PARKED', 'ESCALATED') and case e.authority
                           when 'recoup_executor' then e.event_type in ('UNPARKED', 'RETIRED', 'ESCALATED')
                           when 'recoup_reviewer' then e.event_type = 'REVIEWED'
                           -- With time, a tier rises, and the status stays.
                           when 'recoup_error_worker'
                             then e.event_type = 'ESCALATED' and e.from_status = e.to_status
                           else false end)
             or e.event_type = 'SLA_BREACHED' and e.authority <> 'recoup_error_worker'
             or e.event_type = 'CLEARED' and e.authority <> 'recoup_hub'
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
-- A new disposition is one that the table allowed then; and when retries end, PARKED where that was allowed.
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
-- A retry comes one wait after the previous event: claimed retries, and the next ones.
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
    -- A retry that is not automatic was started by a person, at once.
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

-- name: tracebacks
select 'laws/L5/tracebacks' as breaks, t.traceback_id, t.error_table, t.error_id, t.retry, t.token
  from recoup.retry_traceback t
  left join recoup.error_event v
    on v.error_id = t.error_id and v.error_table = t.error_table and v.token = t.token and v.retry_count = t.retry
       and v.event_type = 'FAILED'
 where v.seq is null
