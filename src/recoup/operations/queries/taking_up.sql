-- Operations that nobody works on any more.

-- name: progress
-- When the last items before the next one had their results; when it was requested, if that is the first. Items go in
-- the order of their places, so nobody has to read all of them.
coalesce((select l.ended_at from recoup.operation_item l
           where l.operation_id = o.operation_id
             and l.place = coalesce((select i.place from recoup.operation_item i
                                      where i.operation_id = o.operation_id and i.status = 'PENDING'
                                      order by i.place limit 1) - 1, o.items)),
         o.requested_at)

-- name: left_alone
-- Those that a worker continues, the one that was left alone first of all first.
select o.operation_id
  from (select o.operation_id, o.taken_up_at, {progress} as progress
          from recoup.operation o
         where o.status = 'OPEN' and o.subject = %(subject)s and o.continued_as is not null
           and not exists (select from recoup.pause p
                            where p.status = 'PAUSED' and p.scope = 'operation'
                              and p.scope_id = o.operation_id::text)) o
 where o.taken_up_at is not null or o.progress <= (select recoup.now()) - make_interval(secs => %(silent_s)s)
 order by o.progress, o.operation_id limit %(limit)s;

-- name: hold
-- One worker at a time. A process that works on a batch shares the row until its end: while anybody does, there is no
-- row here, however long the batch takes.
select o.operation_id, o.subject, o.verb, o.arguments, o.requested_by, o.continued_as ->> 'actor' as actor,
       o.continued_as ->> 'authority' as authority, o.taken_up_at is not null as taken_up
  from recoup.operation o
 where o.operation_id = %(operation)s and o.status = 'OPEN' and o.continued_as is not null
   and not exists (select from recoup.pause p
                    where p.status = 'PAUSED' and p.scope = 'operation' and p.scope_id = %(operation)s::text)
   for no key update of o skip locked;

-- name: is_silent
-- Asked once the row is held: what others committed before is seen.
select {progress} <= (select recoup.now()) - make_interval(secs => %(silent_s)s)
  from recoup.operation o where o.operation_id = %(operation)s;

-- name: take_up
update recoup.operation set taken_up_at = recoup.now() where operation_id = %(operation)s and taken_up_at is null;

-- name: lag
-- How long ago the last batch of one ended that a worker continues.
select extract(epoch from (select recoup.now()) - min(o.progress))
  from (select o.taken_up_at, {progress} as progress
          from recoup.operation o
         where o.status = 'OPEN' and o.subject = %(subject)s and o.continued_as is not null
           and not exists (select from recoup.pause p
                            where p.status = 'PAUSED' and p.scope = 'operation'
                              and p.scope_id = o.operation_id::text)) o
 where o.taken_up_at is not null or o.progress <= (select recoup.now()) - make_interval(secs => %(silent_s)s);
