-- What the log of errors must say, event by event and beside the errors themselves; in the form of invariants.sql.
--
-- A move is judged by a policy that was in force within a minute of it, because two transactions may have met. A second
-- is allowed where a wait is measured, for a clock that was set back.

-- name: neighbours
-- Each event beside the one before it, within its error and in the order of the log.
-- What each event may say; where from and to are the same, any status may be meant.
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
                                 'ARCHIVED') and e.retry_count <> e.before_count
           then 'errors/5/retry-count' end,
      case when e.under_way not in (0, 1)
             or e.event_type = 'CLAIMED' and e.under_way <> 1
             or e.under_way = 1 and e.to_status <> 'RETRY_PENDING'
           then 'errors/5/one-retry-at-a-time' end,
      case when e.event_type in ('PARKED', 'UNPARKED', 'RESOLVED', 'ESCALATED', 'ASSIGNED', 'REVIEWED', 'RETIRED')
                and e.authority <> 'recoup_operator'
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
         e.event_type in ('SUCCEEDED', 'RESOLVED', 'CLEARED', 'SUPERSEDED', 'RETIRED', 'EXPIRED')
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
         max(case e.event_type when 'SUCCEEDED' then 'RESOLVED' when 'CLEARED' then 'RESOLVED'
                               when 'RETIRED' then 'MANUAL' when 'EXPIRED' then 'TTL_EXPIRED'
                               when 'RECORDED' then 'SUPERSEDED'
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
                     and (r.parked_by is distinct from 'system'
                          or coalesce(r.park_reason, '') not in ('MAX_RETRIES_EXCEEDED', 'RETRY_WINDOW_CLOSED')
                          or r.parked_at > r.spent_at or r.parked_at < r.spent_at - interval '1 minute'
                          or r.parked_at is null)
                     or r.disposition <> 'PARKED'
                        and coalesce(r.park_reason, '') not in ('MAX_RETRIES_EXCEEDED', 'RETRY_WINDOW_CLOSED'))
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

-- name: archived
-- An archived error is what it was when it left, or what was left of it when a secret in it was erased.
select 'errors/7/archived-as-it-was' as breaks, a.error_table, a.error_id, a.archived_at, e.seq
  from recoup.error_archive a
  join recoup.error_event e on e.error_id = a.error_id and e.error_table = a.error_table and e.event_type = 'ARCHIVED'
  left join (
    select distinct on (u.key) u.key, encode(u.digest, 'hex') as digest
      from recoup.content_log l cross join lateral unnest(l.keys, l.digests) u (key, digest)
     where l.subject = 'recoup.error_archive' order by u.key, l.seq desc) r
    on r.key = concat_ws(', ', a.error_table, a.error_id)
 where encode(sha256(convert_to(jsonb_strip_nulls(to_jsonb(a))::text, 'UTF8')), 'hex')
       <> coalesce(r.digest, e.facts ->> 'digest')

-- name: by_people
-- What an error has from people, beside their events. One that superseded another may have inherited it, and so may one
-- that is older than its record; whether that is true the births tell.
with kept as (
  select e.error_table, e.error_id, e.parked_by, e.assigned_to, e.last_reviewed_at, e.escalation_level, e.created_at
    from recoup.error e
   where e.assigned_to is not null or e.last_reviewed_at is not null or e.escalation_level > 0
      or e.parked_by <> 'system'
  union all
  select a.error_table, a.error_id, a.parked_by, a.assigned_to, a.last_reviewed_at, a.escalation_level, a.created_at
    from recoup.error_archive a
   where a.assigned_to is not null or a.last_reviewed_at is not null or a.escalation_level > 0
      or a.parked_by <> 'system'),
replaced as (
  select e.error_table, e.superseded_by as error_id from recoup.error e where e.superseded_by is not null
  union
  select a.error_table, a.superseded_by from recoup.error_archive a where a.superseded_by is not null),
told as (
  select e.error_table, e.error_id, min(e.logged_at) filter (where e.event_type = 'RECORDED') as recorded_at,
         bool_or(e.event_type = 'PARKED') as parked, bool_or(e.event_type = 'ASSIGNED') as assigned,
         bool_or(e.event_type = 'REVIEWED') as reviewed, bool_or(e.event_type = 'ESCALATED') as escalated
    from recoup.error_event e
   where (e.error_table, e.error_id) in (select k.error_table, k.error_id from kept k)
   group by 1, 2)
select 'errors/4/by-people' as breaks, k.error_table, k.error_id, k.parked_by, k.assigned_to, k.last_reviewed_at,
       k.escalation_level
  from kept k
  join told t on t.error_table = k.error_table and t.error_id = k.error_id
  left join replaced r on r.error_table = k.error_table and r.error_id = k.error_id
 where r.error_id is null and k.created_at >= t.recorded_at
   and (k.parked_by <> 'system' and not t.parked or k.assigned_to is not null and not t.assigned
        or k.last_reviewed_at is not null and not t.reviewed or k.escalation_level > 0 and not t.escalated)

-- name: repeated
-- What an error repeats of its last retry, of who answers for it, of its escalation and of its last review, beside the
-- events that said it. What it has from the error that it superseded has none of its own; what was erased is gone.
with said as (
  select distinct on (e.error_id, e.error_table, k.kind) e.error_id, e.error_table, k.kind, e.token, e.facts,
         e.logged_at,
         -- A retry that was under way is cut off.
         case e.event_type when 'SUPERSEDED' then 'FAILED' else e.event_type end as event_type,
         case e.event_type when 'SUPERSEDED' then 'superseded by error ' || (e.facts ->> 'superseded_by')
                           else e.reason end as reason
    from recoup.error_event e
   cross join lateral (values
     -- Whoever decides over an error while it is retried cuts the retry off, and takes its token.
     (case when e.token is not null or e.event_type in ('SUCCEEDED', 'FAILED', 'LAPSED') then 'retry' end),
     (case e.event_type when 'ASSIGNED' then 'owner' when 'ESCALATED' then 'level' when 'UNPARKED' then 'level'
                        when 'REVIEWED' then 'review' end)) k (kind)
   where k.kind is not null
   order by e.error_id, e.error_table, k.kind, e.seq desc),
erased as (
  select distinct on (r.error_id, r.error_table) r.error_table, r.error_id, r.digest from recoup.error_redaction r
   order by r.error_id, r.error_table, r.redaction_id desc)
select 'errors/2/repeated' as breaks, e.error_table, e.error_id, s.event_type, s.logged_at, e.last_outcome, e.token,
       e.assigned_to, e.escalation_level, e.escalated_to, e.escalated_at, e.last_reviewed_at
  from recoup.error e
  join said s on s.error_id = e.error_id and s.error_table = e.error_table
  left join erased r on r.error_id = e.error_id and r.error_table = e.error_table
 where case s.kind
         when 'retry' then e.token is distinct from coalesce(s.token, e.token)
                           or s.event_type in ('SUCCEEDED', 'FAILED', 'LAPSED')
                              and e.last_outcome is distinct from s.event_type
                           or s.event_type in ('FAILED', 'LAPSED') and e.last_failure is distinct from s.reason
                              and (r.error_id is null
                                   or r.digest <> sha256(convert_to(jsonb_build_array(e.error_message, e.payload,
                                                                                      e.last_failure)::text, 'UTF8')))
         when 'owner' then e.assigned_to is distinct from s.facts ->> 'to'
         when 'level' then s.event_type = 'ESCALATED'
                           and ((e.escalated_to, e.escalation_level, e.escalation_reason)
                                  is distinct from (s.facts ->> 'to', (s.facts ->> 'level')::integer, s.reason)
                                or (abs(extract(epoch from e.escalated_at - s.logged_at)) < 60) is not true)
         when 'review' then (abs(extract(epoch from e.last_reviewed_at - s.logged_at)) < 60) is not true end

-- name: erasures
-- What an error was given is another thing from then on only where an operator erased something, in one transaction.
select 'errors/2/erased-by-people' as breaks, l.seq, l.subject, l.keys, l.actor_id, l.login
  from recoup.content_log l
  left join recoup.control_log c
    on c.subject = 'recoup.error_redaction' and c.event_type = 'BIRTH' and c.xid = l.xid
       and c.incarnation = l.incarnation
       and c.facts ->> 'error_table' || ', ' || (c.facts ->> 'error_id') = any(l.keys)
 where l.event_type = 'REDACTED' and c.seq is null
union all
-- What one erasure leaves may hold what the next one erases: texts are not kept.
select 'errors/2/erased-by-people', null, 'recoup.error_redaction', array[r.redaction_id::text], null, null
  from recoup.error_redaction r where num_nonnulls(r.error_message, r.payload, r.last_failure) > 0
