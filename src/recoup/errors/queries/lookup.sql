-- name: tables
select n.nspname || '.' || c.relname
  from pg_inherits i
  join pg_class c on c.oid = i.inhrelid
  join pg_namespace n on n.oid = c.relnamespace
 where i.inhparent = 'recoup.error'::regclass
 order by 1;

-- name: visible_tables
-- A name is no row that a policy of row-level security could hide.
select t.name
  from (select n.nspname || '.' || c.relname as name
          from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_namespace n on n.oid = c.relnamespace
         where i.inhparent = 'recoup.error'::regclass) t
 where coalesce(current_setting('recoup.hub', true), '') = ''
    or t.name = any ((select recoup.hub_names('tables'))::text[])
 order by 1;

-- name: places
-- Table by table, because their primary keys begin with the table.
select f.error_table, f.error_id, f.is_archived
  from (select n.nspname || '.' || c.relname as name
          from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_namespace n on n.oid = c.relnamespace
         where i.inhparent = 'recoup.error'::regclass) t
 cross join lateral (
   select e.error_table, e.error_id, false as is_archived from recoup.error e
    where e.error_table = t.name and e.error_id = any(%(ids)s::bigint[])
   union all
   select a.error_table, a.error_id, true from recoup.error_archive a
    where a.error_table = t.name and a.error_id = any(%(ids)s::bigint[])) f;
