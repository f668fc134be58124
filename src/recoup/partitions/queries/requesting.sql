-- name: answers
-- What would be answered for each partition of a selection, or of named ids.
select p.partition_id, p.source, p.customer_id, p.query_name, p.logical_date, s.next_run_at, s.hold, s.terminal_causes,
       x.answer
  from partitions.partition_state p
  join partitions.schedule s on s.partition_id = p.partition_id
  left join partitions.attempt a on a.partition_id = p.partition_id and a.number = p.attempt_count
 cross join lateral (
   select partitions.answer_to(%(asks)s, s.status, p.status, s.terminal_causes, %(overrides)s) as answer) w
 cross join lateral (
   select case when w.answer = 'asked' and %(extracted)s
                    and not exists (select from partitions.run r
                                     where r.partition_id = p.partition_id and r.published_at is not null)
               then 'never_extracted' else w.answer end as answer) x
 where (%(ids)s::bigint[] is null or p.partition_id = any(%(ids)s::bigint[])) and {matching}
 order by p.source, p.query_name, p.customer_id, p.logical_date
 limit %(limit)s;

-- name: groups
-- The same in groups, for a preview.
select p.source, p.query_name, x.answer, count(*)
  from partitions.partition_state p
  join partitions.schedule s on s.partition_id = p.partition_id
  left join partitions.attempt a on a.partition_id = p.partition_id and a.number = p.attempt_count
 cross join lateral (
   select partitions.answer_to(%(asks)s, s.status, p.status, s.terminal_causes, %(overrides)s) as answer) w
 cross join lateral (
   select case when w.answer = 'asked' and %(extracted)s
                    and not exists (select from partitions.run r
                                     where r.partition_id = p.partition_id and r.published_at is not null)
               then 'never_extracted' else w.answer end as answer) x
 where {matching}
 group by 1, 2, 3 order by 1, 2, 3;

-- name: chosen
-- In the order in which they are locked. Only those that the request is for: the answer to others is no.
select p.partition_id::text as unit
    from partitions.partition_state p
    join partitions.schedule s on s.partition_id = p.partition_id
    left join partitions.attempt a on a.partition_id = p.partition_id and a.number = p.attempt_count
   where partitions.answer_to(%(asks)s, s.status, p.status, s.terminal_causes, %(overrides)s) = 'asked'
     and {matching}
   order by p.partition_id

-- name: names
-- How the control plane logs what was asked for.
select set_config('recoup.command', %(command)s, true), set_config('recoup.selection', %(selection)s, true);
