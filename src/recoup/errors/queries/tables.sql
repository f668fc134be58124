-- name: made
-- Insert-only is what refuses every change of a row.
select n.nspname || '.' || c.relname,
       exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgname = 'a_append_only')
  from pg_inherits i
  join pg_class c on c.oid = i.inhrelid
  join pg_namespace n on n.oid = c.relnamespace
 where i.inhparent = 'recoup.error'::regclass;

-- name: make
call recoup.make_error_table(%(name)s, %(insert_only)s, %(entity)s);
