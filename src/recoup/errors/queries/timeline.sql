-- Errors on a time line: their lineages, their statuses at a time, and their events. From the log, by error.

-- name: of_entities
-- The newest errors of each entity, open, closed and archived.
select x.error_table, x.error_id
  from unnest(%(entities)s::uuid[]) g (entity)
 cross join lateral (
   (select e.error_table, e.error_id from recoup.error e
     where e.outreach_id = g.entity and e.archived_at is null limit %(most)s)
   union all
   (select e.error_table, e.error_id from recoup.error e
     where e.outreach_id = g.entity and e.archived_at is not null limit %(most)s)
   union all
   (select a.error_table, a.error_id from recoup.error_archive a where a.outreach_id = g.entity limit %(most)s)) x
 order by x.error_id desc limit %(most)s;

-- name: lineages
-- The errors that superseded these ones, and those that they superseded.
select x.error_table, x.error_id
  from unnest(%(tables)s::text[], %(ids)s::bigint[]) g (error_table, error_id)
 cross join lateral (
   (select e.outreach_id, e.error_signature, e.work_key, coalesce(e.lineage_id, e.error_id) as lineage
      from recoup.error e where e.error_table = g.error_table and e.error_id = g.error_id limit 1)
   union all
   (select a.outreach_id, a.error_signature, a.work_key, coalesce(a.lineage_id, a.error_id)
      from recoup.error_archive a where a.error_table = g.error_table and a.error_id = g.error_id limit 1)
   limit 1) o
 cross join lateral (
   (select e.error_table, e.error_id from recoup.error e
     where e.error_table = g.error_table and e.outreach_id = o.outreach_id and e.error_signature = o.error_signature
       and coalesce(e.work_key, '') = coalesce(o.work_key, '') and e.archived_at is null
       and coalesce(e.lineage_id, e.error_id) = o.lineage limit 1)
   union all
   (select e.error_table, e.error_id from recoup.error e
     where e.error_table = g.error_table and e.outreach_id = o.outreach_id and e.error_signature = o.error_signature
       and coalesce(e.work_key, '') = coalesce(o.work_key, '') and e.archived_at is not null
       and coalesce(e.lineage_id, e.error_id) = o.lineage limit %(most)s)
   union all
   (select a.error_table, a.error_id from recoup.error_archive a
     where a.error_table = g.error_table and a.outreach_id = o.outreach_id and a.error_signature = o.error_signature
       and coalesce(a.work_key, '') = coalesce(o.work_key, '')
       and coalesce(a.lineage_id, a.error_id) = o.lineage limit %(most)s)) x
 order by x.error_id desc limit %(most)s;

-- name: statuses
-- Of each error that was recorded by then: its last event, the one that gave it its status, and who was retrying it.
select x.error_table, x.error_id, x.outreach_id, x.work_key, x.error_code, x.error_message, x.severity, x.category,
       x.decided_by, x.clamped_from, x.overruled, x.policy_version, x.next_retry_at, last.event_type, last.to_status,
       last.disposition, last.retry_count, last.seq as last_seq, given.logged_at as since,
       given.event_type as given_by, given.from_status, given.reason, given.facts, given.retry_count as given_retry,
       given.disposition as given_disposition, given.to_status as given_status, given.actor, given.actor_id,
       given.authority, recoup.closes_error(last.event_type) as is_closed, claimed.worker, claimed.lease_until
  from unnest(%(tables)s::text[], %(ids)s::bigint[]) g (error_table, error_id)
 cross join lateral (
   (select e.error_table, e.error_id, e.outreach_id, left(e.work_key, %(text)s) as work_key, e.error_code,
           left(e.error_message, %(text)s) as error_message, e.severity, e.category, e.decided_by, e.clamped_from,
           e.overruled, e.policy_version, e.next_retry_at
      from recoup.error e where e.error_table = g.error_table and e.error_id = g.error_id limit 1)
   union all
   (select a.error_table, a.error_id, a.outreach_id, left(a.work_key, %(text)s), a.error_code,
           left(a.error_message, %(text)s), a.severity, a.category, a.decided_by, a.clamped_from, a.overruled,
           a.policy_version, null
      from recoup.error_archive a where a.error_table = g.error_table and a.error_id = g.error_id limit 1)
   limit 1) x
 cross join lateral (
   select v.* from recoup.error_event v
    where v.error_id = g.error_id and v.error_table = g.error_table and v.logged_at <= %(until)s
    order by v.seq desc limit 1) last
 cross join lateral (
   select v.seq, v.logged_at, v.event_type, v.from_status, v.to_status, left(v.reason, %(text)s) as reason, v.facts,
          v.retry_count, v.disposition, v.actor, v.actor_id, v.authority
     from recoup.error_event v
    where v.error_id = g.error_id and v.error_table = g.error_table and v.seq <= last.seq
      and (v.event_type = 'RECORDED' or v.to_status is distinct from v.from_status
           or recoup.closes_error(v.event_type))
    order by v.seq desc limit 1) given
  left join lateral (
    select c.worker, c.lease_until
      from ((select v.token, v.seq from recoup.error_event v
              where v.error_id = g.error_id and v.error_table = g.error_table and v.seq > last.seq
                and v.token is not null order by v.seq limit 1)
            union all
            (select q.token, null from recoup.error_queue q where q.unit = g.error_id and q.token is not null)
            order by seq nulls last limit 1) h
     cross join lateral (
       select c.worker, c.lease_until from recoup.claim_log c
        where c.token = h.token and c.logged_at <= %(until)s limit 1) c
     where last.to_status = 'RETRY_PENDING' and not recoup.closes_error(last.event_type)) claimed on true;

-- name: events
-- The newest ones of each error, with its claims: the event that ended a retry has the token of its claim, or else the
-- queue.
select t.error_table, t.error_id, t.seq, t.logged_at, t.event_type, t.from_status, t.to_status, t.disposition,
       t.retry_count, t.reason, t.facts, t.actor, t.actor_id, t.authority
  from unnest(%(tables)s::text[], %(ids)s::bigint[]) g (error_table, error_id)
 cross join lateral (
   (select v.error_table, v.error_id, v.seq, v.logged_at, v.event_type, v.from_status, v.to_status, v.disposition,
           v.retry_count, left(v.reason, %(text)s) as reason, v.facts, v.actor, v.actor_id, v.authority
      from recoup.error_event v
     where v.error_id = g.error_id and v.error_table = g.error_table and v.logged_at <= %(until)s
       and (v.logged_at, v.seq) <= (%(before_at)s::timestamptz, %(before_seq)s::bigint)
     order by v.seq desc limit %(limit)s)
   union all
   (select g.error_table, g.error_id, c.seq, c.logged_at, 'CLAIMED', 'RETRY_PENDING', 'RETRY_PENDING', 'RETRY',
           h.round, c.worker, null, c.actor, c.actor_id, c.authority
      from ((select v.token, v.retry_count - 1 as round from recoup.error_event v
              where v.error_id = g.error_id and v.error_table = g.error_table and v.token is not null
              order by v.seq desc limit 1000)
            union all
            (select q.token, q.round from recoup.error_queue q where q.unit = g.error_id and q.token is not null)) h
     cross join lateral (
       select c.* from recoup.claim_log c
        where c.token = h.token and c.logged_at <= %(until)s
          and (c.logged_at, c.seq) <= (%(before_at)s::timestamptz, %(before_seq)s::bigint) limit 1) c
     order by c.seq desc limit %(limit)s)) t
 order by t.logged_at desc, t.seq desc limit %(limit)s;

-- name: tables_at
-- What the policy of a time has of each error table.
select coalesce(p.figures #> '{errors,tables}', '{}')
  from recoup.policy p where p.applied_at <= %(until)s order by p.version desc limit 1;

-- name: blocked_at
select e.outreach_id, e.error_table, e.error_id, e.status, e.since, e.owner
  from recoup.blocking_errors_at(%(entities)s::uuid[], %(until)s) e limit %(most)s;

-- name: owners_at
select o.outreach_id, o.owners from recoup.blocking_owners_at(%(entities)s::uuid[], %(until)s) o;
