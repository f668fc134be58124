-- Whether everything that enforces the laws is installed, and what follows from each declaration. Every query gives
-- rows whose first column, breaks, is the id of an invariant of laws.py.

-- name: append_only
select 'laws/L3/append-only' as breaks, l.log, t.name as trigger
  from recoup.log l
 -- before: row, update or delete; statement, truncate
 cross join (values ('a_append_only', 27), ('a_append_only_truncate', 34)) t (name, kind)
 where not exists (select from pg_trigger g
                    where g.tgrelid = to_regclass(l.log) and g.tgname = t.name and g.tgenabled = 'A'
                      and g.tgtype = t.kind and g.tgfoid = to_regproc('recoup.append_only') and g.tgqual is null)

-- name: recorders
select 'laws/L2/recorders' as breaks, l.log, l.keeper as found
  from recoup.log l
 where l.keeper is not null
   and not exists (select from pg_trigger g
                    where g.tgrelid = to_regclass(l.log) and g.tgenabled = 'A' and g.tgtype & 4 > 0
                      and g.tgfoid = to_regproc(l.keeper) and g.tgqual is null)
union all
-- No role may write a log that only functions write.
select 'laws/L2/recorders', l.log, format('%s holds %s', a.grantee::regrole, a.privilege_type)
  from recoup.log l
  join pg_class c on c.oid = to_regclass(l.log)
 cross join lateral aclexplode(c.relacl) a
 where l.keeper in ('recoup.only_recorders', 'recoup.only_sealers') and a.grantee <> c.relowner
   and a.privilege_type in ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER')

-- name: followers
-- Followers must be enabled in every session.
select 'laws/L2/followers' as breaks, l.subject, g.tgname as trigger, g.tgenabled::text as enabled
  from recoup.lifecycle l
  join pg_trigger g on g.tgrelid = to_regclass(l.subject) and not g.tgisinternal
 where g.tgname ~ '^[b-d]_' and g.tgenabled <> 'A'
union all
-- By function and event, because a dropped one does not appear above: 4 is an insert, 8 a delete, 16 an update.
select 'laws/L2/followers', f.subject, f.function, 'missing'
  from recoup.follower f
 where not exists (select from pg_trigger g
                    where g.tgrelid = to_regclass(f.subject) and g.tgfoid = to_regproc(f.function)
                      and g.tgtype & case f.event when 'insert' then 4 when 'delete' then 8 else 16 end > 0)

-- name: logs
-- Cluster by cluster; no future transaction id and no future time.
with logged (log, seq, xid, incarnation, logged_at) as ({events}),
summed as (
  select t.log, t.incarnation, min(t.seq) as first_seq, max(t.seq) as last_seq, max(t.xid) as last_xid,
         max(t.logged_at) as last_at
    from logged t group by t.log, t.incarnation),
compared as (
  select s.*, lag(s.last_seq) over (partition by s.log order by s.incarnation) as before_seq, i.incarnation as known,
         s.incarnation = (select max(p.incarnation) from recoup.incarnation p) as present
    from summed s left join recoup.incarnation i on i.incarnation = s.incarnation)
select b.breaks, s.log, s.incarnation, s.first_seq, s.last_seq, s.last_xid, s.last_at
  from (select s.*, array_remove(array[
            case when s.known is null or s.first_seq <= s.before_seq then 'laws/L3/incarnations' end,
            -- Of this cluster: a restored one continues with lower ids. And a transaction's own id may be beyond its
            -- snapshot.
            case when s.present and s.last_xid >= pg_snapshot_xmax(pg_current_snapshot())
                      and s.last_xid is distinct from pg_current_xact_id_if_assigned() then 'laws/L3/transactions' end,
            -- Read after the rows, outside their snapshot: it only increases.
            case when s.last_seq > (select q.last_value from recoup.event_seq q) then 'laws/L3/sequence' end,
            case when s.last_at > (select recoup.now()) + interval '1 second' then 'laws/L7/nothing-to-come' end
          ], null) as broken
          from compared s) s
 cross join unnest(s.broken) b (breaks)
 where s.broken <> '{{}}'

-- name: one_order
-- In the order of all events: an event whose time differs from its neighbours was not written then. A minute is
-- allowed: a statement that waits for a lock took its time before it waited.
with logged (log, seq, logged_at) as ({events}),
ordered as (
  select t.log, t.seq, t.logged_at, count(*) over (partition by t.seq) as events,
         max(t.logged_at) over (order by t.seq rows between unbounded preceding and 1 preceding) as before_at
    from logged t)
select b.breaks, o.log, o.seq, o.logged_at, o.before_at
  from ordered o
 cross join lateral (select 'laws/L3/one-order' where o.events > 1
                     union all
                     select 'laws/L7/in-order' where o.logged_at < o.before_at - interval '1 minute') b (breaks)
 where o.events > 1 or o.logged_at < o.before_at - interval '1 minute'

-- name: declarations
-- The declarations match their log; and each migration of a domain had something new.
with logged (declared_in, row, n) as (
  select l.declared_in, l.row, case l.event_type when 'ADDED' then 1 else -1 end from recoup.declaration_log l
  union all
{tables})
select 'laws/L1/declarations' as breaks, t.declared_in, t.row, sum(t.n) as logged_more_often
  from logged t group by t.declared_in, t.row having sum(t.n) <> 0
union all
select 'laws/L1/declarations', l.declared_in, l.row, count(*)
  from (select l.declared_in, l.row - 'applied_at' - 'applied_by' - 'recoup_version' as row
          from recoup.declaration_log l where l.declared_in = 'recoup.domain' and l.event_type = 'ADDED') l
 group by l.declared_in, l.row having count(*) > 1
union all
-- Rows change within a migration, and nowhere else.
select 'laws/L1/declarations', l.declared_in, l.row, l.seq
  from recoup.declaration_log l
  left join (select distinct d.incarnation, d.xid from recoup.declaration_log d where d.declared_in = 'recoup.domain') m
    on m.incarnation = l.incarnation and m.xid = l.xid
 where m.xid is null

-- name: story
-- The steps of a table's rows in the log, compared with the rows themselves.
with events as (
  select {key} as key, l.seq, l.from_status, {to_status} as to_status, l.authority, l.logged_at, {facts} as facts,
         lag({to_status}) over of_row as before_status, lag(l.logged_at) over of_row as before_at,
         row_number() over of_row as place, row_number() over (partition by {key} order by l.seq desc) as from_end
    from {log} l
   where {about}
  window of_row as (partition by {key} order by l.seq)),
steps as (
  select e.key, e.seq, e.from_status, e.to_status, e.authority, e.before_status,
         s.subject is not null as listed,
         case when e.place = 1 then e.from_status is null or {unborn}
              else e.from_status = e.before_status and e.logged_at >= e.before_at end as follows
    from events e
    left join {table} r on {row_key} = e.key
    left join recoup.lifecycle_step s
      on s.subject = {subject} and s.from_status is not distinct from e.from_status
         and s.to_status is not distinct from e.to_status and e.authority = 'recoup_' || s.authority),
facts as (
  select e.key, jsonb_object_agg(f.key, f.value order by e.seq) as facts
    from events e cross join lateral jsonb_each(e.facts) f group by e.key),
logged as (
  select e.key as logged_key_, e.to_status as logged_status_, x.*
    from events e
    left join facts f on f.key = e.key
   cross join lateral jsonb_populate_record(null::{table}, coalesce(f.facts, '{{}}')) x
   where e.from_end = 1)
select {steps} as breaks, s.key, s.seq, s.from_status, s.to_status, s.authority, s.before_status
  from steps s where not s.listed
union all
select {chain}, s.key, s.seq, s.from_status, s.to_status, s.authority, s.before_status
  from steps s where s.follows is not true
{rebuilt}

-- name: rebuilt
union all
select {rebuild}, coalesce(x.logged_key_, {row_key}), null, r.{status}, x.logged_status_, null, null
  from {table} r
  full join logged x on x.logged_key_ = {row_key}
 where (r.{status} is distinct from x.logged_status_ and not (x.logged_key_ is null and {unborn})
        or x.logged_status_ is not null and ({differs}))

-- name: queue
-- What waits is queued once, with the values of its row; and its holder is the worker of its claim.
select b.breaks, coalesce(r.{unit}, q.unit) as unit, r.{status} as status, r.{round} as ended, r.{due} as due, q.round,
       q.wake_at, q.until, q.token, q.worker, q.claimed_at, q.claim_worker
  from (select * from {table} r where {waits}) r
  full join (
    select q.*, coalesce(c.worker, v.worker) as claim_worker,
           case when c.token is null then q.wake_at else c.lease_until end as lease_until,
           case when c.token is null then q.claimed_at else c.logged_at end as logged_at
      from {queue} q
      left join (
        select c.token, c.worker, c.lease_until, c.logged_at, u.name
          from recoup.claim_log c cross join unnest(c.units) u (name) where c.subject = {subject}) c
        on c.token = q.token
           and c.name = case when q.part = '' then '' else q.part || '/' end || q.unit || '/' || q.round + 1
      left join ({earlier}) v (part, unit, round, worker)
        on c.token is null and v.part = q.part and v.unit::text = q.unit::text and v.round = q.round) q
    on q.unit = r.{unit}
 cross join lateral unnest(array_remove(array[
   case when r.{unit} is null or q.unit is null or {differs} or q.token is null and q.wake_at is distinct from r.{due}
        then {queued} end,
   case when num_nulls(q.token, q.worker, q.claimed_at) not in (0, 3)
          or q.token is not null
             and (q.claim_worker, q.lease_until, q.logged_at) is distinct from (q.worker, q.wake_at, q.claimed_at)
        then {leased} end], null)) b (breaks)

-- name: late
-- A unit is claimed once for each attempt: the result of the current token is not late within its lease.
select {late} as breaks, l.late_result_id, l.unit_id, l.received_at, q.worker, q.wake_at
  from recoup.late_result l
  left join {queue} q on case when q.part = '' then '' else q.part || '/' end || q.unit = l.unit_id
  left join (select distinct {logged_unit} as unit_id from {log} e) logged on logged.unit_id = l.unit_id
 where l.subject = {subject} and (logged.unit_id is null or q.token = l.token and l.received_at <= q.wake_at)

-- name: content
-- The values of each row at birth, or after a secret was erased, compared with its current values. The
-- texts are those of recoup.content_function, under the same settings.
with logged (key, digest, form, seq, redacted) as (
  select u.key, u.digest, l.form, l.seq, l.event_type = 'REDACTED'
    from recoup.content_log l cross join lateral unnest(l.keys, l.digests) u (key, digest)
   where l.subject = any({adopted})
  union all
  {logged}),
given as (
  select b.key, coalesce(e.digest, b.digest) as digest, coalesce(e.form, b.form) as form, coalesce(e.seq, b.seq) as seq
    from logged b
    left join (select distinct on (t.key) t.* from logged t where t.redacted order by t.key, t.seq desc) e
      on e.key = b.key
   where not b.redacted),
gone (key) as ({gone})
select {content} as breaks, coalesce(r.key_, t.key) as key, t.seq, t.form,
       case when t.key is null then 'its birth digest is missing' when r.key_ is null then 'it is gone'
            else 'it differs from its birth digest' end as found
  from given t
  full join ({rows}) r on r.key_ = t.key
  left join gone g on g.key = t.key
 where t.key is null or r.key_ is null and g.key is null
    or r.key_ is not null and t.digest is distinct from {digest}
