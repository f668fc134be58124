-- name: preview
select e.error_table, e.status, count(*)
  from recoup.error e
 where e.error_table = any(%(tables)s::text[]) and e.archived_at is null
   and {matching}
 group by 1, 2 order by 1, 2;

-- name: begin
-- The set is frozen in the order of the ids, which is the order in which errors are locked.
with chosen as materialized (
  select e.error_table, e.error_id from recoup.error e
   where e.error_table = any(%(tables)s::text[]) and e.archived_at is null
     and {matching}
   order by e.error_id limit %(most)s + 1),
asked as (
  insert into recoup.error_operation (verb, arguments, filter, items, requested_at, requested_by)
  select %(verb)s, %(arguments)s, %(filter)s, (select count(*) from chosen), recoup.now(), recoup.acting_id()
  returning operation_id, items),
frozen as (
  insert into recoup.error_operation_item (operation_id, place, error_table, error_id)
  select a.operation_id, row_number() over (order by c.error_id), c.error_table, c.error_id from chosen c cross join asked a)
select a.operation_id, a.items from asked a;

-- name: take
-- What nobody else is at. In the order of the ids: what follows locks the errors in the same order.
select i.place, i.error_table, i.error_id
  from recoup.error_operation_item i
 where i.operation_id = %(operation)s and i.status = 'PENDING'
 order by i.place limit %(limit)s
   for update skip locked;

-- name: write_results
with t as materialized (select recoup.now() as now_)
update recoup.error_operation_item i
   set status = case when r.refusal is null then 'DONE' else 'REFUSED' end, refusal = r.refusal, ended_at = t.now_
  from t, unnest(%(places)s::integer[], %(refusals)s::text[]) r (place, refusal)
 where i.operation_id = %(operation)s and i.place = r.place and i.place = any(%(places)s::integer[]);

-- name: close
update recoup.error_operation o
   set status = 'DONE', done_at = recoup.now()
 where o.operation_id = %(operation)s and o.status = 'OPEN'
   and not exists (select from recoup.error_operation_item i where i.operation_id = o.operation_id and i.status = 'PENDING');

-- name: columns
o.operation_id, o.verb, o.arguments, o.filter, o.items, o.status, o.requested_at, o.requested_by, o.done_at,
       c.pending, c.done, c.refused, c.refusals
  from recoup.error_operation o
 cross join lateral (
   select coalesce(sum(g.items) filter (where g.status = 'PENDING'), 0)::integer as pending,
          coalesce(sum(g.items) filter (where g.status = 'DONE'), 0)::integer as done,
          coalesce(sum(g.items) filter (where g.status = 'REFUSED'), 0)::integer as refused,
          coalesce(jsonb_object_agg(g.refusal, g.items) filter (where g.refusal is not null), '{}'::jsonb) as refusals
     from (select i.status, i.refusal, count(*) as items from recoup.error_operation_item i
            where i.operation_id = o.operation_id group by 1, 2) g) c

-- name: find
select {columns}
 where o.operation_id = %(operation)s;

-- name: operations
select {columns}
 order by o.requested_at desc, o.operation_id desc
 limit %(limit)s;
