-- name: is_blocked
select recoup.is_blocked(%(entity)s::uuid);

-- name: blocking
with p as materialized (select recoup.error_policy() -> 'tables' as tables)
select e.outreach_id, e.error_table, e.error_id, e.error_code, e.error_message, e.status, e.created_at, e.park_reason,
       e.next_retry_at, coalesce(e.assigned_to, e.escalated_to, p.tables -> e.error_table ->> 'owner')
  from recoup.blocking_errors(%(entities)s::uuid[]) e
 cross join p
 order by e.outreach_id, e.created_at, e.error_id limit %(limit)s;

-- name: blocking_owners
select o.outreach_id, o.owners from recoup.blocking_owners(%(entities)s::uuid[]) o;

-- name: count_blocking
select count(*) from recoup.blocking_errors(%(entities)s::uuid[]);

-- name: blocked_locking
select recoup.blocked_locking(%(entities)s::uuid[]), pg_backend_pid();

-- name: who_promotes
select l.pid from recoup.entity_locks() l
 where l.exclusive and (l.class = 7703 or l.class = 7701 and l.key = recoup.entity_key(%(entity)s::uuid));
