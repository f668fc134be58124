-- name: begin
-- The set is stored in the order in which its rows are locked; its digest identifies them.
with chosen as materialized (
  {chosen}
  limit %(most)s + 1),
numbered as (
  select c.unit, row_number() over () as place from chosen c),
asked as (
  insert into recoup.operation (subject, verb, arguments, filter, items, digest, requested_at, requested_by, canary,
                                step, step_start, step_end, next_at, why, continued_as)
  select %(subject)s, %(verb)s, %(arguments)s, %(filter)s, count(*),
         sha256(coalesce(string_agg(convert_to(n.unit || E'\n', 'UTF8'), '' order by n.place), '')),
         (select recoup.now()), (select recoup.acting_id()), %(canary)s,
         case when %(first)s::integer is not null then 1 end, case when %(first)s::integer is not null then 0 end,
         %(first)s, case when %(first)s::integer is not null then (select recoup.now()) end, %(why)s,
         -- Whose act it is, where a worker may have to continue it.
         case when %(authority)s::text is not null
              then jsonb_build_object('actor', recoup.acting_kind(), 'authority', %(authority)s::text) end
    from numbered n
  -- A canary with nothing behind it holds nothing back.
  having %(first)s::integer is null or count(*) > %(first)s
  returning operation_id, items),
frozen as (
  insert into recoup.operation_item (operation_id, place, unit)
  select a.operation_id, n.place, n.unit from numbered n cross join asked a)
select (select a.operation_id from asked a), count(*) from numbered;

-- name: take
-- Items that no other process works on, in the order in which rows are locked. Nothing while the operation is paused.
-- Its row is shared until they have their results: somebody who cancels it waits for these.
select i.place, i.unit
  from recoup.operation o
  join recoup.operation_item i on i.operation_id = o.operation_id
 where o.operation_id = %(operation)s and o.status = 'OPEN' and i.status = 'PENDING'
   and (o.step_end is null or i.place <= o.step_end)
   and not exists (select from recoup.pause p
                    where p.status = 'PAUSED' and p.scope = 'operation' and p.scope_id = %(operation)s::text)
 order by i.place limit %(limit)s
   for share of o for update of i skip locked;

-- name: write_results
with t as materialized (select recoup.now() as now_)
update recoup.operation_item i
   set status = case when r.refusal is null then 'DONE' else 'REFUSED' end, refusal = r.refusal, ended_at = t.now_
  from t, unnest(%(places)s::integer[], %(refusals)s::text[]) r (place, refusal)
 where i.operation_id = %(operation)s and i.place = r.place and i.place = any(%(places)s::integer[]);

-- name: close
update recoup.operation o
   set status = 'DONE', done_at = recoup.now()
 where o.operation_id = %(operation)s and o.status = 'OPEN'
   and not exists (select from recoup.operation_item i
                    where i.operation_id = o.operation_id and i.status = 'PENDING');

-- name: columns
o.operation_id, o.subject, o.verb, o.arguments, o.filter, o.items, o.digest, o.status, o.requested_at, o.requested_by,
       o.done_at, o.canary, o.step, o.step_start, o.step_end, o.watch_until, o.why, o.taken_up_at,
       (select p.changed_by || ': ' || p.reason from recoup.pause p
                    where p.status = 'PAUSED' and p.scope = 'operation'
                      and p.scope_id = o.operation_id::text) as paused,
       c.pending, c.done, c.refused, c.refusals
  from recoup.operation o
 cross join lateral (
   select coalesce(sum(g.items) filter (where g.status = 'PENDING'), 0)::integer as pending,
          coalesce(sum(g.items) filter (where g.status = 'DONE'), 0)::integer as done,
          coalesce(sum(g.items) filter (where g.status = 'REFUSED'), 0)::integer as refused,
          coalesce(jsonb_object_agg(g.refusal, g.items) filter (where g.refusal is not null), '{}'::jsonb) as refusals
     from (select i.status, i.refusal, count(*) as items from recoup.operation_item i
            where i.operation_id = o.operation_id group by 1, 2) g) c

-- name: find
select {columns}
 where o.operation_id = %(operation)s;

-- name: between
select {columns}
 where o.operation_id between %(first)s and %(last)s
 order by o.operation_id desc limit %(limit)s;

-- name: list
select {columns}
 where (%(subject)s::text is null or o.subject = %(subject)s)
   and o.requested_at <= coalesce(%(at)s::timestamptz, 'infinity')
   and (o.requested_at < coalesce(%(at)s::timestamptz, 'infinity') or o.operation_id < %(after)s::uuid)
 order by o.requested_at desc, o.operation_id desc
 limit %(limit)s;

-- name: invariants
-- An operation has the items of its digest, numbered from 1, is DONE when each has its result, and has let none go
-- beyond its step.
with items as (
  select i.operation_id, count(*) as items, max(i.place) as last, min(i.place) as first,
         count(*) filter (where i.status = 'PENDING') as pending,
         max(i.place) filter (where i.status <> 'PENDING') as ended,
         sha256(coalesce(string_agg(convert_to(i.unit || E'\n', 'UTF8'), '' order by i.place), '')) as digest
    from recoup.operation_item i group by i.operation_id)
select b.breaks, x.operation_id, x.subject, x.verb, x.status, x.items, x.found, x.pending
  from (select coalesce(o.operation_id, i.operation_id) as operation_id, o.subject, o.verb, o.status, o.items,
               i.items as found, i.pending, array_remove(array[
            case when o.operation_id is null or o.items <> coalesce(i.items, 0)
                      or i.items > 0 and (i.first <> 1 or i.last <> i.items) then 'operations/items' end,
            case when o.digest is distinct from coalesce(i.digest, sha256('')) then 'operations/digest' end,
            case when o.status = 'DONE' and i.pending > 0 then 'operations/done' end,
            case when i.ended > o.step_end then 'operations/steps' end
          ], null) as broken
          from recoup.operation o full join items i on i.operation_id = o.operation_id) x
 cross join unnest(x.broken) b (breaks)
 where x.broken <> '{}'
union all
select 'rebuild/recoup.operation_item', i.operation_id, null, i.refusal, i.status, i.place, null, null
  from recoup.operation_item i
 where (i.status = 'REFUSED') <> (i.refusal is not null) or (i.status = 'PENDING') <> (i.ended_at is null)
