-- name: texts
-- Live ones are locked, in the order of tables and ids, as in every transaction that locks several.
select l.* from (
  select e.error_table, e.error_id, e.error_message, e.payload, e.last_failure
    from recoup.error e
   where (e.error_table, e.error_id) in (select * from unnest(%(tables)s::text[], %(ids)s::bigint[]))
     and e.error_table = any(%(tables)s::text[]) and e.error_id = any(%(ids)s::bigint[])
   order by e.error_table, e.error_id for no key update) l
union all
select a.error_table, a.error_id, a.error_message, a.payload, a.last_failure
  from recoup.error_archive a
 where (a.error_table, a.error_id) in (select * from unnest(%(tables)s::text[], %(ids)s::bigint[]))
   and a.error_table = any(%(tables)s::text[]) and a.error_id = any(%(ids)s::bigint[]);

-- name: redact
insert into recoup.error_redaction (error_table, error_id, error_message, payload, last_failure, digest, redacted_at)
select u.error_table, u.error_id, u.message, u.payload, u.failure,
       recoup.redaction_digest(u.message, u.payload, u.failure), recoup.now()
  from unnest(%(tables)s::text[], %(ids)s::bigint[], %(messages)s::text[], %(payloads)s::jsonb[], %(failures)s::text[])
    u (error_table, error_id, message, payload, failure);

-- name: logged_texts
-- The texts in its log, on retries and from people; the log is sealed, and keeps them.
select v.error_id, v.reason from recoup.error_event v
 where v.error_id = any(%(ids)s::bigint[]) and v.reason is not null;
