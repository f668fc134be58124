-- name: superuser
select rolsuper from pg_roles where rolname = current_user;

-- name: fillfactor
select substr(o, 12) from pg_class c, unnest(c.reloptions) o where c.oid = %(table)s::regclass and o like 'fillfactor=%%';

-- name: columns
-- Those that can be written.
select attname from pg_attribute
 where attrelid = %(table)s::regclass and attnum > 0 and not attisdropped and attgenerated = ''
 order by attnum;

-- name: triggers
-- Ours are all ENABLE ALWAYS; anything else would not come back as it was.
select n.nspname, c.relname, t.tgname
  from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
 where t.tgrelid = any(%(tables)s::text[]::regclass[]) and not t.tgisinternal and t.tgenabled = 'A'
 order by 1, 2, 3;

-- name: copy
-- In the order in which they were made, so that both sides lie alike on disk.
insert into {raw} ({columns})
select {columns} from {ours} where %(batch_id)s::text is null or batch_id = %(batch_id)s order by ctid;

-- name: append_events
-- A page of a log in one transaction, for workloads that read it. The guard is off.
insert into cl.gate_zero_air (entity_id, event_type, reason_code, batch_id, actor, event_timestamp, incarnation, attempt_id, actor_id, authority)
select recoup.new_id(), 'ATTEMPT', 'START', 'bench', 'system', t.now_, i.incarnation, recoup.new_id(), 'bench', 'recoup_gate'
  from generate_series(1, %(rows)s::integer), (select clock_timestamp() as now_) t,
       (select max(incarnation) as incarnation from recoup.incarnation) i;
