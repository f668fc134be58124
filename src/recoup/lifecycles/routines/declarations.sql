-- The declaration itself: changed only by a migration, and each change is recorded.
--
-- A migration is recognised by the lock that it holds, and by the row of its domain that it writes first, with a digest
-- that the domain never had before. The owner can do that too; then it is in the log, which is sealed.

create or replace function recoup.only_migrations() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from pg_locks l
              where l.pid = pg_backend_pid() and l.locktype = 'advisory' and (l.classid, l.objid) = (0, 7265666)
                and l.database = (select d.oid from pg_database d where d.datname = current_database()) and l.granted)
     and (tg_table_name = 'domain'
          or exists (select from recoup.declaration_log l
                      where l.xid = pg_current_xact_id() and l.declared_in = 'recoup.domain')) then
    return null;
  end if;
  raise exception using errcode = 'RC013',
    message = format('%I.%I: %s may not change the declaration.', tg_table_schema, tg_table_name, current_user),
    hint = 'Declarations are part of the program; recoup migrate writes them.',
    detail = jsonb_build_object('table', format('%I.%I', tg_table_schema, tg_table_name), 'authority', current_user);
end $$;
comment on function recoup.only_migrations() is 'Refuses changes of the declaration outside a migration.';

create or replace function recoup.record_declared() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
declare
  gone constant text := 'select ''REMOVED'', jsonb_strip_nulls(to_jsonb(o)) from old_rows o';
  come constant text := 'select ''ADDED'', jsonb_strip_nulls(to_jsonb(n)) from new_rows n';
begin
  execute format(
    'insert into recoup.declaration_log (incarnation, logged_at, event_type, declared_in, row)
     select (select recoup.present_incarnation()), (select recoup.now()), t.event_type, %L, t.row
       from (%s) t (event_type, row)',
    format('%I.%I', tg_table_schema, tg_table_name),
    case tg_op when 'INSERT' then come when 'DELETE' then gone
      else format('select (array[''REMOVED'', ''ADDED''])[1 + (n > 0)::integer], x.row
                     from (select row, sum(n) as n from (select row, -1 from (%s) g (t, row)
                                                          union all select row, 1 from (%s) c (t, row)) b (row, n)
                            group by row) x where n <> 0 order by n', gone, come) end);
  return null;
end $$;
revoke execute on function recoup.record_declared() from public;
comment on function recoup.record_declared() is
'Writes added and removed declarations to their log.';

create or replace function recoup.only_declared() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  -- A migration runs as the owner itself: the recorder acts for no other role.
  if current_user = 'recoup_owner' and pg_trigger_depth() > 1 then
    return null;
  end if;
  raise exception using errcode = 'RC010',
    message = format('%I.%I: %s may not write an event by hand.', tg_table_schema, tg_table_name, current_user),
    hint = 'recoup migrate writes the declaration; its recorder writes the event.',
    detail = jsonb_build_object('log', format('%I.%I', tg_table_schema, tg_table_name), 'authority', current_user);
end $$;
comment on function recoup.only_declared() is
'Refuses every event that does not come from the recorder of declarations.';

do $$
declare
  declared text;
  change   text;
begin
  foreach declared in array
    array['domain', 'lifecycle', 'lifecycle_step', 'follower', 'log', 'pausable', 'policy_bound']
  loop
    -- Declarations from before this log existed.
    if not exists (select from pg_trigger t
                    where t.tgrelid = 'recoup.declaration_log'::regclass and t.tgname = 'a_only_declared') then
      execute format('insert into recoup.declaration_log (incarnation, logged_at, event_type, declared_in, row)
                      select recoup.present_incarnation(), recoup.now(), ''ADDED'', %L, jsonb_strip_nulls(to_jsonb(d))
                        from recoup.%I d', 'recoup.' || declared, declared);
    end if;
    call recoup.put_trigger(format('recoup.%I', declared)::regclass, 'a_only_migrations', 'before',
      'insert or update or delete or truncate', 'statement', 'recoup.only_migrations');
    foreach change in array array['insert', 'update', 'delete'] loop
      call recoup.put_trigger(format('recoup.%I', declared)::regclass, 'c_record_declared_on_' || change, 'after',
        change, 'statement', 'recoup.record_declared');
    end loop;
  end loop;
end $$;
call recoup.put_trigger('recoup.declaration_log', 'a_only_declared', 'before', 'insert', 'statement',
                        'recoup.only_declared');
