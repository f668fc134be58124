-- name: find
-- By the key as it is printed, by a customer (the latest days), or by the id of a run.
with ids as (
  (select p.partition_id from partitions.partition_state p
    where cardinality(string_to_array(%(text)s, '/')) = 4 and p.source = split_part(%(text)s, '/', 1)
      and p.customer_id = split_part(%(text)s, '/', 2) and p.query_name = split_part(%(text)s, '/', 3)
      and p.logical_date::text = split_part(%(text)s, '/', 4))
  union
  (select p.partition_id from partitions.partition_state p
    where p.customer_id = %(text)s order by p.logical_date desc limit %(limit)s)
  union
  (select r.partition_id from partitions.run r
    where %(low)s::uuid is not null and r.run_id between %(low)s::uuid and %(high)s::uuid
    order by r.run_id limit %(limit)s))
select p.source, p.customer_id, p.query_name, p.logical_date, p.status, s.status, s.hold, s.terminal_causes,
       p.error_message
  from ids i
  join partitions.partition_state p on p.partition_id = i.partition_id
  join partitions.schedule s on s.partition_id = p.partition_id
 order by p.logical_date desc, p.source, p.query_name, p.customer_id
 limit %(limit)s;
