-- name: superuser
select rolsuper from pg_roles where rolname = current_user;

-- name: raw_made
select count(*) from pg_namespace where nspname = 'raw';

-- name: make_twins
-- Statements that make raw's tables, parents first: columns, defaults, checks, indexes, partitions and fill factor.
with recursive tree (depth, parent, oid) as (
  select 0, null::oid, t::regclass::oid from unnest(%(tables)s::text[]) t
  union all
  select t.depth + 1, i.inhparent, i.inhrelid from tree t join pg_inherits i on i.inhparent = t.oid)
select format('create table raw.%%I (like %%s including all)', c.relname, c.oid::regclass)
         || coalesce(' partition by ' || pg_get_partkeydef(c.oid), '')
         || coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', '')
         || coalesce('; alter table raw.' || quote_ident(p.relname) || ' attach partition raw.'
                     || quote_ident(c.relname) || ' ' || pg_get_expr(c.relpartbound, c.oid), '')
  from tree t join pg_class c on c.oid = t.oid left join pg_class p on p.oid = t.parent
 order by t.depth;

-- name: copy
-- Statements that give raw the rows of ours; which rows, and in which order, is left to add.
select format('insert into raw.%%1$I (%%2$s) select %%2$s from %%3$s where ', c.relname,
              string_agg(quote_ident(a.attname), ', ' order by a.attnum), c.oid::regclass)
  from pg_class c join pg_attribute a on a.attrelid = c.oid
 where c.oid = any(%(tables)s::text[]::regclass[]) and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
 group by c.oid;

-- name: triggers
-- Ours are ENABLE ALWAYS or, against replication, ENABLE REPLICA; anything else would not come back as it was.
select n.nspname, c.relname, t.tgname, case t.tgenabled when 'A' then 'always' else 'replica' end
  from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
 where t.tgrelid = any(%(tables)s::text[]::regclass[]) and not t.tgisinternal and t.tgenabled in ('A', 'R')
 order by 1, 2, 3;

-- name: hold_wal
-- Until the session ends.
select pg_create_physical_replication_slot(current_database(), true, true);

-- name: wal_position
-- What is older is held no longer.
select end_lsn::text from pg_replication_slot_advance(current_database(), pg_current_wal_flush_lsn());

-- name: wal_since
-- All commits are durable, so what they wrote is flushed.
select coalesce(sum(s.record_size), 0), coalesce(sum(s.fpi_size), 0),
       coalesce(sum(s.count) filter (where s."resource_manager/record_type" like 'Transaction/COMMIT%%'), 0)
  from pg_get_wal_stats(%(since)s::pg_lsn, pg_current_wal_flush_lsn(), true) s;

-- name: backends
select pid from pg_stat_activity
 where datname = current_database() and backend_type = 'client backend' and pid <> all(%(but)s::integer[]);
