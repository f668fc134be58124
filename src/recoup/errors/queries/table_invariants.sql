-- Invariants of the error tables, archives, operations and the promotion gate. How these queries are written:
-- invariants.sql.

-- name: error_tables
-- Error tables and archives of the policy exist, each with all its guards.
with wanted as (
  select t.key as name, t.value ->> 'ttl' as ttl
    from recoup.policy p cross join jsonb_each(p.figures -> 'errors' -> 'tables') t
   where p.version = (select max(l.version) from recoup.policy l)),
parts as (
  select i.inhparent::regclass::text as parent, i.inhrelid as relation, n.nspname || '.' || c.relname as name,
         pg_get_expr(c.relpartbound, c.oid) as bound
    from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_namespace n on n.oid = c.relnamespace
   where i.inhparent in (to_regclass('recoup.error'), to_regclass('recoup.error_archive'))),
-- By the catalogue and not by pg_partition_tree: that also shows tables created after the audit began.
archives as (
  select to_regclass('recoup.error_archive')::oid as relation
  union all
  select p.relation from parts p where p.parent = 'recoup.error_archive'
  union all
  select i.inhrelid from parts p join pg_inherits i on i.inhparent = p.relation
   where p.parent = 'recoup.error_archive')
select 'errors/3/tables' as breaks, w.name as relation, 'no partition of recoup.error' as found
  from wanted w
 where not exists (
   select from parts p
    where p.parent = 'recoup.error' and p.name = w.name and p.bound = format('FOR VALUES IN (%L)', w.name))
union all
select 'errors/7/destination', w.name || '_archive', 'no partition of recoup.error_archive'
  from wanted w
 where not exists (
   select from parts p
    where p.parent = 'recoup.error_archive' and p.name = w.name || '_archive'
      and p.bound = format('FOR VALUES IN (%L)', w.name))
union all
select 'errors/3/insert-only', w.name, 'not append-only'
  from wanted w
 where w.ttl = 'INFINITE'
   and not exists (select from pg_trigger g where g.tgrelid = to_regclass(w.name) and g.tgname = 'a_append_only'
                      and g.tgenabled = 'A' and g.tgfoid = to_regproc('recoup.append_only'))
union all
select 'errors/3/dead-tables', p.name, p.bound
  from parts p
 where p.name in ('outreach.bit_errors', 'outreach.blog_errors', 'outreach.people_errors', 'outreach.outreach_errors',
                  'cl.cl_errors_archive', 'company.pipeline_errors')
   and (select l.figures -> 'errors' ->> 'profile' from recoup.policy l order by l.version desc limit 1)
       is distinct from 'none'
union all
-- A statement that names a partition fires the triggers of that partition alone.
select 'errors/3/guards', p.name, g.tgname
  from parts p
  join pg_trigger g on g.tgrelid = to_regclass('recoup.error') and not g.tgisinternal and g.tgtype & 1 = 0
 where p.parent = 'recoup.error'
   and not exists (
     select from pg_trigger c
      where c.tgrelid = p.relation and c.tgfoid = g.tgfoid and c.tgtype = g.tgtype and c.tgenabled = g.tgenabled)
union all
select 'errors/7/archive-guards', t.relation::regclass::text, g.name
  from archives t
 cross join (values ('recoup.append_only', 27), ('recoup.append_only', 34), ('recoup.only_recorders', 6)) g (name, kind)
 where not exists (
   select from pg_trigger c
    where c.tgrelid = t.relation and c.tgfoid = to_regproc(g.name) and c.tgtype = g.kind
      and c.tgenabled = 'A' and c.tgqual is null)
union all
-- Rows are written through the parent only, and archives by the recorder only.
select 'errors/7/archive-guards', t.relation::regclass::text,
       format('%s holds %s', a.grantee::regrole, a.privilege_type)
  from archives t join pg_class c on c.oid = t.relation
 cross join lateral aclexplode(c.relacl) a
 where a.grantee <> c.relowner and a.privilege_type in ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER')
union all
select 'errors/3/guards', p.name, format('%s holds %s', a.grantee::regrole, a.privilege_type)
  from parts p join pg_class c on c.oid = p.relation
 cross join lateral aclexplode(c.relacl) a
 where p.parent = 'recoup.error' and a.grantee <> c.relowner
   and a.privilege_type in ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER')

-- name: months
-- The months of the archives: kept ones exist, dropped ones do not, and their count and digest are known.
with parts as (
  select quote_ident(n.nspname) || '.' || quote_ident(c.relname) as name
    from pg_inherits t
    join pg_inherits m on m.inhparent = t.inhrelid
    join pg_class c on c.oid = m.inhrelid
    join pg_namespace n on n.oid = c.relnamespace
   where t.inhparent = to_regclass('recoup.error_archive') and c.relkind = 'r'),
retention as (
  select t.key as error_table, (t.value ->> 'archive_years')::integer as years, v.since, v.until
    from (select p.figures -> 'errors' -> 'tables' as tables, p.applied_at as since,
                 lead(p.applied_at) over (order by p.version) as until
            from recoup.policy p) v
   cross join jsonb_each(v.tables) t),
beside as (
  select m.error_table, m.month, m.status, m.made_at, m.dropped_at, m.rows, m.digest, p.name as partition,
         (m.month + interval '1 month') at time zone 'UTC' + make_interval(years => (
           select min(r.years) from retention r
            where r.error_table = m.error_table and r.since <= m.dropped_at + interval '1 minute'
              and (r.until is null or r.until >= m.dropped_at - interval '1 minute'))) as droppable_at
    from recoup.error_archive_month m
    full join parts p on p.name = recoup.archive_month_name(m.error_table, m.month)),
-- When each error was closed, by the log. A minute to either side of a month's end may belong to either.
exits as (
  select e.error_table,
         coalesce(max(e.logged_at) filter (
                    where e.event_type in ('SUCCEEDED', 'RESOLVED', 'CLEARED', 'SUPERSEDED', 'RETIRED', 'EXPIRED')
                       or e.event_type = 'RECORDED' and coalesce(e.facts ? 'superseded_by', false)),
                  max(e.logged_at) filter (where e.event_type = 'ARCHIVED')) as at
    from recoup.error_event e
   group by e.error_table, e.error_id having count(*) filter (where e.event_type = 'ARCHIVED') > 0),
counted as (
  select m.error_table, m.month,
         count(e.at) filter (where e.at >= (m.month::timestamp at time zone 'UTC') + interval '1 minute'
                               and e.at < (m.month + interval '1 month') at time zone 'UTC') as least,
         count(e.at) as most
    from recoup.error_archive_month m
    left join exits e
      on e.error_table = m.error_table and e.at >= m.month::timestamp at time zone 'UTC'
         and e.at < (m.month + interval '1 month') at time zone 'UTC' + interval '1 minute'
   where m.status = 'DROPPED'
   group by 1, 2)
select b.breaks, r.error_table, r.month, r.status, r.partition, r.dropped_at, r.droppable_at, r.rows, r.least, r.most
  from (
    select r.*, c.least, c.most, array_remove(array[
      case when r.error_table is null or (r.status = 'KEPT') <> (r.partition is not null)
           then 'errors/7/months' end,
      case when r.status = 'DROPPED' and not (r.dropped_at >= r.droppable_at) is true
           then 'errors/7/retention' end,
      case when r.status = 'DROPPED' and (num_nulls(r.rows, r.digest) > 0 or r.rows not between c.least and c.most)
           then 'errors/7/dropped-is-counted' end
    ], null) as broken
      from beside r left join counted c on c.error_table = r.error_table and c.month = r.month) r
 cross join unnest(r.broken) b (breaks)
 where r.broken <> '{}'

-- name: archived_in_their_month
select 'errors/7/in-its-month' as breaks, a.error_table, a.error_id, a.archived_at, c.relname as partition
  from recoup.error_archive a join pg_class c on c.oid = a.tableoid
 where c.relname is distinct from
         split_part(a.error_table, '.', 2) || '_archive_' || to_char(a.archived_at at time zone 'UTC', 'YYYYMM')

-- name: blocking_tables
-- Tables of the active policy whose open errors block their entity.
select t.key from recoup.policy p cross join jsonb_each(p.figures -> 'errors' -> 'tables') t
 where p.version = (select max(l.version) from recoup.policy l) and (t.value ->> 'blocks')::boolean
 order by 1

-- name: printed_promotion_check
-- Check if entity has blocking errors
SELECT COUNT(*) > 0 AS is_blocked
FROM {error_table}
WHERE outreach_id = {entity}
  AND disposition IN ('RETRY', 'PARKED')
  AND archived_at IS NULL

-- name: gate_by_tables
-- The printed condition over whole tables, compared with the gate for the same entities.
with printed as ({printed}),
gate as (
  select b.outreach_id, b.error_table, b.error_id
    from recoup.blocking_errors((
           select coalesce(array_agg(distinct e.outreach_id), '{{}}') from recoup.error e
            where e.archived_at is null and e.outreach_id is not null)) b)
select coalesce(p.outreach_id, g.outreach_id) as outreach_id, coalesce(p.error_table, g.error_table) as error_table,
       coalesce(p.error_id, g.error_id) as error_id, p.error_id is not null as blocks_as_printed,
       g.error_id is not null as blocks_at_the_gate
  from printed p full join gate g on g.error_table = p.error_table and g.error_id = p.error_id
 where p.error_id is null or g.error_id is null

-- name: gate_by_entity
-- Some entities one by one: the printed query on each blocking table, as printed, and the gate.
with asked as (
  (select e.outreach_id from recoup.error e
    where e.outreach_id is not null and e.archived_at is null and e.disposition in ('RETRY', 'PARKED') limit {most})
  union
  (select e.outreach_id from recoup.error e where e.outreach_id is not null limit {most}))
select a.outreach_id, p.is_blocked as blocked_as_printed, recoup.is_blocked(a.outreach_id) as blocked_at_the_gate
  from asked a
 cross join lateral (select {printed} as is_blocked) p
 where p.is_blocked is distinct from recoup.is_blocked(a.outreach_id)

-- name: operations
-- Each item of an operation that is done has its event in the log.
with verbs (verb, event_type) as (values ('park', 'PARKED'), ('unpark', 'UNPARKED'), ('resolve', 'RESOLVED'),
  ('escalate', 'ESCALATED'), ('assign', 'ASSIGNED'), ('assign', 'REVIEWED'), ('review', 'REVIEWED'),
  ('archive', 'RETIRED')),
told as (
  select e.error_table || '/' || e.error_id as unit, v.verb, max(e.logged_at) as at
    from recoup.error_event e join verbs v on v.event_type = e.event_type
   where e.authority = 'recoup_operator' group by 1, 2)
select 'errors/operations-recorded' as breaks, i.operation_id, i.place, i.unit, o.verb, o.requested_at, t.at
  from recoup.operation_item i
  join recoup.operation o on o.operation_id = i.operation_id and o.subject = 'recoup.error'
  left join told t on t.unit = i.unit and t.verb = o.verb
 where i.status = 'DONE' and not (t.at >= o.requested_at - interval '1 minute') is true
