-- name: sealed_logs
select l.log, l.canon, l.at from recoup.log l where l.canon > 0 order by l.log;

-- name: seal_next
select {columns} from recoup.seal_next(%(log)s, %(canon)s, %(block_rows)s, %(quiet_for)s);

-- name: list_seals
select {columns} from recoup.seal
 where %(log)s::text is null or log = %(log)s
 order by number desc limit %(limit)s;

-- name: standings
-- The blocks of each log, and its last one.
select l.log, coalesce(b.blocks, 0) as blocks, coalesce(b.rows, 0)::bigint as rows, s.number, s.sealed_at, s.digest
  from unnest(%(logs)s::text[]) l (log)
  left join (select s.log, count(*) as blocks, sum(s.rows) as rows, max(s.number) as number
               from recoup.seal s group by s.log) b on b.log = l.log
  left join recoup.seal s on s.number = b.number
 order by l.log;

-- name: seals_from
-- Seals with a time that no program can read count as missing.
select {columns} from recoup.seal
 where number >= %(number)s and sealed_at between '0001-01-02' and '9999-12-30' order by number limit %(limit)s;

-- name: newest_number
select coalesce(max(number), 0) from recoup.seal;

-- name: lag
-- The oldest unsealed row in the order of transactions; found by two indexes, whatever the backlog.
select recoup.now() - l.{at} from {log} l where l.seq = recoup.first_unsealed(%(log)s);

-- name: head
select s.number, encode(s.digest, 'hex'), s.sealed_at, s.incarnation, s.system_identifier,
       (select jsonb_object_agg(t.log, t.rows) from (select log, sum(rows) as rows from recoup.seal group by log) t)
  from recoup.seal s
 order by s.number desc limit 1;

-- name: check_seals
select s.number, recoup.check_seal(s) from recoup.seal s where s.number = any(%(numbers)s) order by s.number;

-- name: incarnations
-- Which incarnation writes here: none when this cluster is not the newest one and that was not noticed yet.
select i.incarnation, i.system_identifier, i.system_identifier = (select system_identifier from pg_control_system())
  from recoup.incarnation i order by i.incarnation;

-- name: routines
-- With settings and language: another search path would change the meaning of the same text.
select n.nspname || '.' || p.proname, (select s.nspname || '.' || t.typname from pg_type t
          join pg_namespace s on s.oid = t.typnamespace where t.oid = p.proargtypes[0]),
       p.prosrc || case when p.prosecdef then 'definer' else '' end || coalesce(array_to_string(p.proconfig, ','), '')
       || (select l.lanname from pg_language l where l.oid = p.prolang)
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
 where n.nspname = 'recoup' and p.proname = any(%(names)s);

-- name: count_rows
-- A page of a log along seq: its last seq, how many rows, and how many can be in no block and not unsealed. An existing
-- row was written by a finished transaction, or by ours.
select max(p.seq), count(*),
       count(*) filter (where p.possible is not true), min(p.seq) filter (where p.possible is not true)
  from (select l.seq, l.seq > 0 and l.xid >= '1' and l.incarnation between %(first)s and %(present)s
               and (l.incarnation is distinct from %(here)s::integer or l.xid = pg_current_xact_id_if_assigned()
                    or pg_visible_in_snapshot(l.xid, (select pg_current_snapshot()))) as possible
          from {log} l
         where l.seq >= %(from_seq)s order by l.seq limit %(limit)s) p;
