-- What pages of partitions read: each in bounded steps along an index, however many partitions there are.

-- name: limited_to
-- The sources of the hub that the transaction is limited to; null: it is not.
select case when coalesce(current_setting('recoup.hub', true), '') <> '' then recoup.hub_names('sources') end;

-- name: customers
-- The next customers of a query: those that have partitions, found by leaping along the key, and those that the policy
-- names. The leap ends after a number of steps: cut_at is the customer at which it did.
with recursive found (customer_id, step) as (
  (select p.customer_id, 1 from partitions.partition_state p
    where p.source = %(source)s and p.customer_id > %(after)s order by p.customer_id limit 1)
  union all
  select n.customer_id, f.step + 1
    from found f
   cross join lateral (select p.customer_id from partitions.partition_state p
                        where p.source = %(source)s and p.customer_id > f.customer_id
                        order by p.customer_id limit 1) n
   where f.step < %(steps)s),
walked as materialized (
  select f.customer_id, f.step, exists (select from partitions.partition_state p
                                         where p.source = %(source)s and p.customer_id = f.customer_id
                                           and p.query_name = %(query)s) as is_known
    from found f),
cut as materialized (select max(w.customer_id) as at from walked w having max(w.step) >= %(steps)s)
select c.customer_id, x.cut_at
  from (select (select at from cut) as cut_at) x
  left join (select w.customer_id from walked w where w.is_known
             union
             select r.name from unnest(%(registered)s::text[]) r (name)
              where r.name > %(after)s and r.name <= coalesce((select at from cut), r.name)) c on true
 order by c.customer_id limit %(limit)s;

-- name: cells
-- The partitions of some days and customers of one query.
select p.customer_id, p.logical_date, p.partition_id, p.status, s.status as schedule, s.hold, s.terminal_causes,
       p.attempt_count
  from unnest(%(customers)s::text[]) c (customer_id)
 cross join lateral (select * from partitions.partition_state p
                      where p.source = %(source)s and p.customer_id = c.customer_id and p.query_name = %(query)s
                        and p.logical_date between %(first)s and %(last)s
                      order by p.logical_date limit %(days)s) p
 cross join lateral (select * from partitions.schedule s where s.partition_id = p.partition_id limit 1) s;

-- name: last_day
select p.logical_date from partitions.partition_state p
 where p.source = %(source)s and p.query_name = %(query)s order by p.logical_date desc limit 1;

-- name: key
select p.source, p.customer_id, p.query_name, p.logical_date
  from partitions.partition_state p where p.partition_id = %(partition_id)s;

-- name: scan
-- In a window of partitions, in the order of their keys: where few match, a page ends before it is full.
select p.partition_id, p.source, p.customer_id, p.query_name, p.logical_date, p.status, p.attempt_count,
       p.current_run_id, p.error_message, p.created_at, p.updated_at, s.status as schedule, s.lane, s.next_run_at,
       s.hold, s.terminal_causes, s.terminal_at, s.backfill_id, s.dispatches, a.reason, a.rule, a.category,
       a.error_signature, a.validator_version, c.rows
  from (select * from partitions.partition_state p
         where {keys}
         order by p.source, p.customer_id, p.query_name, p.logical_date limit %(window)s) p
 cross join lateral (select * from partitions.schedule s where s.partition_id = p.partition_id limit 1) s
  left join lateral (select * from partitions.attempt a
                      where a.partition_id = p.partition_id and a.number = p.attempt_count limit 1) a on true
  left join lateral (select c.rows from partitions.attempt c
                      where c.partition_id = p.partition_id and c.accepted_run_id = p.current_run_id limit 1) c on true
 where {matching}
 order by p.source, p.customer_id, p.query_name, p.logical_date
 limit %(limit)s;

-- name: scanned_to
-- The last of the partitions that were searched; none: all were.
select p.source, p.customer_id, p.query_name, p.logical_date
  from partitions.partition_state p
 where {keys}
 order by p.source, p.customer_id, p.query_name, p.logical_date offset %(window)s - 1 limit 1;

-- name: keys
-- What a search may take from the index of keys: where it begins, a source, and customers of it.
(%(after_source)s::text is null
        or (p.source, p.customer_id, p.query_name, p.logical_date)
           > (%(after_source)s, %(after_customer)s, %(after_query)s, %(after_day)s))
   and (%(source)s::text is null or p.source = %(source)s::text)
   and (%(customer)s::text is null or p.customer_id = %(customer)s::text)
   and (not %(failed)s or p.status = 'failed')

-- name: overrides_of
-- What somebody asked for of one partition: its events and the request are of one transaction.
select o.seq, o.logged_at, o.command, o.selection, cardinality(o.partitions) as partitions, o.before, o.after, o.reason,
       o.actor, o.actor_id, o.login
  from (select distinct e.xid, e.incarnation
          from (select e.xid, e.incarnation from partitions.partition_event e
                 where e.partition_id = %(partition_id)s order by e.seq desc limit 1000) e) e
 cross join lateral (select * from partitions.override_log o
                      where o.xid = e.xid and o.incarnation = e.incarnation
                        and %(partition_id)s::bigint = any(o.partitions) limit 10) o
 order by o.seq desc limit %(limit)s;
