-- Errors compared with the log; in the form of invariants.sql. The log by itself: log_invariants.sql.
--
-- A minute is allowed where times of a row and of its event are compared, because a lock may have delayed a statement.

-- name: histories
-- The events of each error, with the error itself, live or archived.
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
         -- How it was closed before it left, and when; at birth, if it was superseded in the call that recorded it.
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
      -- By the clock of the statement, which may have waited for a lock.
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
-- An archived error is as it was when it left, or when a secret in it was erased.
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
-- What people did with an error, compared with their events. An error that superseded another may have inherited it,
-- and so may one that is older than its record; that is checked with the births.
with kept as (
  select e.error_table, e.error_id, e.status, e.parked_by, e.assigned_to, e.last_reviewed_at, e.created_at, e.decided_by
    from recoup.error e
   where e.assigned_to is not null or e.last_reviewed_at is not null or e.status = 'ESCALATED'
      or e.parked_by <> 'system'
  union all
  select a.error_table, a.error_id, a.status, a.parked_by, a.assigned_to, a.last_reviewed_at, a.created_at, a.decided_by
    from recoup.error_archive a
   where a.assigned_to is not null or a.last_reviewed_at is not null or a.parked_by <> 'system'),
replaced as (
  select e.error_table, e.superseded_by as error_id from recoup.error e where e.superseded_by is not null
  union
  select a.error_table, a.superseded_by from recoup.error_archive a where a.superseded_by is not null),
told as (
  select e.error_table, e.error_id, min(e.logged_at) filter (where e.event_type = 'RECORDED') as recorded_at,
         max(e.actor_id) filter (where e.event_type = 'RECORDED') as recorded_by,
         bool_or(e.event_type = 'PARKED') as parked, bool_or(e.event_type = 'ASSIGNED') as assigned,
         -- Whatever a person decides is a review.
         bool_or(e.event_type = 'REVIEWED'
                 or e.event_type in ('ASSIGNED', 'ESCALATED', 'UNPARKED', 'RESOLVED', 'RETIRED')
                    and e.authority = 'recoup_operator') as reviewed,
         bool_or(e.event_type = 'ESCALATED') as escalated
    from recoup.error_event e
   where (e.error_table, e.error_id) in (select k.error_table, k.error_id from kept k)
   group by 1, 2)
select 'errors/4/by-people' as breaks, k.error_table, k.error_id, k.status, k.parked_by, k.assigned_to,
       k.last_reviewed_at
  from kept k
  join told t on t.error_table = k.error_table and t.error_id = k.error_id
  left join replaced r on r.error_table = k.error_table and r.error_id = k.error_id
 where r.error_id is null and k.created_at >= t.recorded_at
   -- The reporter of an error may ask for it to be parked.
   and (k.parked_by <> 'system' and not t.parked
          and not (k.decided_by = 'person' and k.parked_by = t.recorded_by)
        or k.assigned_to is not null and not t.assigned
        or k.last_reviewed_at is not null and not t.reviewed or k.status = 'ESCALATED' and not t.escalated)

-- name: repeated
-- The columns on the last retry, the parking, the owner, the escalation and the last review, compared with their
-- events. Inherited values have no event of their own; erased texts are gone.
with said as (
  select distinct on (e.error_id, e.error_table, k.kind) e.error_id, e.error_table, k.kind, e.token, e.facts,
         e.logged_at,
         -- A retry that was under way ends.
         case e.event_type when 'SUPERSEDED' then 'FAILED' else e.event_type end as event_type,
         case e.event_type when 'SUPERSEDED' then 'superseded by error ' || (e.facts ->> 'superseded_by')
                           else e.reason end as reason
    from recoup.error_event e
   cross join lateral (values
     -- A decision of a person ends the retry that is under way, and has its token.
     (case when e.token is not null or e.event_type in ('SUCCEEDED', 'FAILED', 'LAPSED') then 'retry' end),
     (case e.event_type when 'ASSIGNED' then 'owner' when 'ESCALATED' then 'level' when 'UNPARKED' then 'level'
                        when 'REVIEWED' then 'review' end),
     (case when e.to_status = 'PARKED' and e.from_status in ('ACTIVE', 'RETRY_PENDING') then 'level' end),
     (case when e.event_type = 'REVIEWED'
             or e.event_type in ('ASSIGNED', 'ESCALATED', 'UNPARKED', 'RESOLVED', 'RETIRED')
                and e.authority = 'recoup_operator' then 'last review' end),
     (case when e.event_type in ('RECORDED', 'PARKED') and e.to_status in ('PARKED', 'ESCALATED')
             or e.event_type in ('FAILED', 'LAPSED', 'WINDOW_CLOSED') and e.to_status = 'PARKED' then 'parking' end)
     ) k (kind)
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
         -- Decisions of older releases were no reviews.
         when 'review' then (e.last_reviewed_at > s.logged_at - interval '1 minute') is not true
         when 'last review' then e.last_reviewed_at > s.logged_at + interval '1 minute'
         -- At birth it may be inherited, and then the age is, too.
         when 'parking' then e.parked_at is not null
                             and (s.event_type in ('RECORDED', 'PARKED') and e.park_reason is distinct from s.reason
                                  or e.parked_at > s.logged_at + interval '1 minute'
                                  or e.parked_at < s.logged_at - interval '1 minute'
                                     and not (s.event_type = 'RECORDED' and e.created_at < s.logged_at)) end
union all
-- The alternative of a retry is that of the last unparking.
select 'errors/2/repeated', e.error_table, e.error_id, u.event_type, u.logged_at, e.last_outcome, e.token,
       e.assigned_to, e.escalation_level, e.escalated_to, e.escalated_at, e.last_reviewed_at
  from recoup.error e
  left join (select distinct on (v.error_id, v.error_table) v.error_id, v.error_table, v.event_type, v.logged_at,
                    v.facts
               from recoup.error_event v where v.event_type = 'UNPARKED'
              order by v.error_id, v.error_table, v.seq desc) u
    on u.error_id = e.error_id and u.error_table = e.error_table
 where recoup.retry_with_digest(e.retry_with) is distinct from u.facts ->> 'retry_with'

-- name: erasures
-- The digest of an error changes only where an operator erased something, in one transaction.
select 'errors/2/erased-by-people' as breaks, l.seq, l.subject, l.keys, l.actor_id, l.login
  from recoup.content_log l
  left join recoup.control_log c
    on c.subject = 'recoup.error_redaction' and c.event_type = 'BIRTH' and c.xid = l.xid
       and c.incarnation = l.incarnation
       and c.facts ->> 'error_table' || ', ' || (c.facts ->> 'error_id') = any(l.keys)
 where l.event_type = 'REDACTED' and c.seq is null
union all
-- Texts are not kept: what one erasure leaves may contain what the next one erases.
select 'errors/2/erased-by-people', null, 'recoup.error_redaction', array[r.redaction_id::text], null, null
  from recoup.error_redaction r where num_nonnulls(r.error_message, r.payload, r.last_failure) > 0
