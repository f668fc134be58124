-- name: made_later
-- Tables that no shipped policy lists, and schemas that were made for them; and the months of all archives.
with later as (
  select n.nspname, c.relname, t.level, n.nspowner = c.relowner as ours
    -- By the catalogue and not by name, which would need a right to the schema.
    from (select case p.relname when 'error' then 'live' else 'archive' end as part, t.*
            from pg_class p, pg_partition_tree(p.oid) t
           where p.relname in ('error', 'error_archive')
             and p.relnamespace = (select oid from pg_namespace where nspname = 'recoup')) t
    join pg_class c on c.oid = t.relid
    join pg_namespace n on n.oid = c.relnamespace
   where t.level > 1
      or t.level = 1
         and n.nspname || '.' || case t.part when 'live' then c.relname
                                             else regexp_replace(c.relname, '_archive$', '') end
             <> all(%(shipped)s::text[]))
select nspname, 2, relname from later
union
select nspname, 0, '' from later
 where level = 1 and ours and nspname not in ('cl', 'recoup')
   and nspname <> all(select split_part(s, '.', 1) from unnest(%(shipped)s::text[]) s);
