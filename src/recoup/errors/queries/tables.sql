-- name: made
-- Insert-only: tables that refuse every change of a row.
select n.nspname || '.' || c.relname,
       exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgname = 'a_append_only')
  from pg_inherits i
  join pg_class c on c.oid = i.inhrelid
  join pg_namespace n on n.oid = c.relnamespace
 where i.inhparent = 'recoup.error'::regclass;

-- name: make
call recoup.make_error_table(%(name)s, %(insert_only)s, %(entity)s);

-- name: freed_and_blocked
-- Reads every error that could block: used when a policy changes which tables block.
select count(*) filter (where o.was and not o.will), count(*) filter (where o.will and not o.was)
  from (select bool_or(e.error_table = any(%(before)s::text[])) as was,
               bool_or(e.error_table = any(%(after)s::text[])) as will
          from recoup.error e
         where e.disposition in ('RETRY', 'PARKED') and e.archived_at is null and e.outreach_id is not null
         group by e.outreach_id) o;
