-- name: customers
-- Found by leaping along the key: customers are few compared with partitions.
with recursive found (customer_id) as (
  (select p.customer_id from partitions.partition_state p where p.source = %(source)s order by p.customer_id limit 1)
  union all
  select (select p.customer_id from partitions.partition_state p
           where p.source = %(source)s and p.customer_id > f.customer_id order by p.customer_id limit 1)
    from found f where f.customer_id is not null)
select f.customer_id from found f
 where f.customer_id is not null
   and (%(query)s::text is null or exists (
     select from partitions.partition_state p where p.source = %(source)s and p.customer_id = f.customer_id
        and p.query_name = %(query)s));

-- name: preview
select f.found, f.partitions_ as partitions, f.example, f.other
  from partitions.preview_backfill(%(selection)s) f order by f.found;

-- name: start
insert into partitions.backfill (selection, reason, requested_by, priority, reprocess, with_terminal, only_failed,
                                 expected, policy_version, created_at, updated_at)
select %(selection)s, %(reason)s, recoup.acting_id(), %(priority)s, %(reprocess)s, %(with_terminal)s, %(only_failed)s,
       %(expected)s, recoup.policy_version(), t.now_, t.now_
  from (select recoup.now() as now_ offset 0) t
returning backfill_id;

-- name: plan
select planned_, status_ from partitions.plan_backfill(%(backfill)s, %(most)s);

-- name: move
select was, became from partitions.move_backfill(%(backfill)s, %(to)s);

-- name: settle_holds
select partitions.settle_holds(%(backfill)s, %(most)s);

-- name: settle
select partitions.settle_backfill(%(backfill)s, %(most)s);

-- name: unsettled
select u from partitions.unsettled_backfills() u;

-- name: list
select b.backfill_id, b.status, b.selection ->> 'source' as source,
       array(select jsonb_array_elements_text(b.selection -> 'queries')) as queries,
       jsonb_array_length(b.selection -> 'customers') as customers, (b.selection ->> 'from')::date as first,
       (b.selection ->> 'to')::date as last, b.expected, b.planned, c.waiting, c.held, c.succeeded, c.failed,
       c.terminal, c.cancelled, c.left, b.reason, b.requested_by, b.created_at, b.updated_at, b.ended_at
  from (select b.* from partitions.backfill b
         where (%(only)s::uuid is null or b.backfill_id = %(only)s) and (not %(open_only)s or b.ended_at is null)
           and (%(after)s::uuid is null
                or (b.created_at, b.backfill_id) < (select l.created_at, l.backfill_id from partitions.backfill l
                                                     where l.backfill_id = %(after)s::uuid))
         order by b.created_at desc, b.backfill_id desc limit %(limit)s) b
 cross join lateral (
   select count(*) filter (where i.status = 'waiting') as waiting,
          count(*) filter (where i.status = 'waiting' and s.status = 'held') as held,
          count(*) filter (where i.status = 'succeeded') as succeeded,
          count(*) filter (where i.status = 'failed') as failed,
          count(*) filter (where i.status = 'terminal') as terminal,
          count(*) filter (where i.status = 'cancelled') as cancelled,
          count(*) filter (where i.status = 'left') as left
     from partitions.backfill_item i
     left join partitions.schedule s on i.status = 'waiting' and s.partition_id = i.partition_id
    where i.backfill_id = b.backfill_id) c
 order by b.created_at desc, b.backfill_id desc;

-- name: progress
-- The same for a page: of a large backfill the members at evenly spread places, so that a page reads no more of it.
select b.backfill_id, b.status, b.selection ->> 'source' as source,
       array(select jsonb_array_elements_text(b.selection -> 'queries')) as queries,
       jsonb_array_length(b.selection -> 'customers') as customers, (b.selection ->> 'from')::date as first,
       (b.selection ->> 'to')::date as last, b.expected, b.planned, c.waiting, c.held, c.succeeded, c.failed,
       c.terminal, c.cancelled, c.left, b.reason, b.requested_by, b.created_at, b.updated_at, b.ended_at
  from (select b.*, least(b.planned, %(sample)s) as read from partitions.backfill b
         where (%(only)s::uuid is null or b.backfill_id = %(only)s) and (not %(open_only)s or b.ended_at is null)
         order by b.created_at desc, b.backfill_id desc limit %(limit)s) b
 cross join lateral (
   select count(*) filter (where i.status = 'waiting') as waiting,
          count(*) filter (where i.status = 'waiting' and s.held) as held,
          count(*) filter (where i.status = 'succeeded') as succeeded,
          count(*) filter (where i.status = 'failed') as failed,
          count(*) filter (where i.status = 'terminal') as terminal,
          count(*) filter (where i.status = 'cancelled') as cancelled,
          count(*) filter (where i.status = 'left') as left
     from generate_series(1, b.read) n
    cross join lateral (select i.status, i.partition_id from partitions.backfill_item i
                         where i.backfill_id = b.backfill_id
                           and i.place = (1 + (n - 1)::bigint * b.planned / b.read)::integer limit 1) i
     left join lateral (select true as held from partitions.schedule s
                         where i.status = 'waiting' and s.partition_id = i.partition_id and s.status = 'held'
                         limit 1) s on true) c
 order by b.created_at desc, b.backfill_id desc;

-- name: members
-- The next members in a status, in a window of places.
select i.place, i.found, i.status, i.other, i.ended_at, i.partition_id, p.source, p.customer_id, p.query_name,
       p.logical_date, p.error_message
  from (select i.* from partitions.backfill_item i
         where i.backfill_id = %(backfill)s and i.place > %(after)s and i.place <= %(after)s + %(window)s
         order by i.place) i
  left join lateral (select * from partitions.partition_state p where p.partition_id = i.partition_id limit 1) p on true
 where %(status)s::text is null or i.status = %(status)s::text
 order by i.place limit %(limit)s;

-- name: left_out
select i.found, i.other, count(*) from partitions.backfill_item i
 where i.backfill_id = %(backfill)s and i.status = 'left' group by 1, 2 order by 3 desc limit %(limit)s;

-- name: lag
select extract(epoch from recoup.now() - min(b.updated_at))::float8
  from partitions.unsettled_backfills() u join partitions.backfill b on b.backfill_id = u;
