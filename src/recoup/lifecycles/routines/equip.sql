-- Installing guards and followers on tables, from the declaration.

create or replace procedure recoup.put_trigger(relation regclass, name_ text, timing text, event text, level text,
  function_ text, variadic arguments text[] default '{}')
language plpgsql as $$
declare
  events  constant text[] := string_to_array(event, ' or ');
  -- ALWAYS: also under session_replication_role = replica. Triggers for replicated rows fire only there.
  fires   constant text := case level when 'replicated row' then 'replica' else 'always' end;
  kind    constant integer := case level when 'statement' then 0 else 1 end
    + case timing when 'before' then 2 else 0 end
    + (select sum(case e when 'insert' then 4 when 'delete' then 8 when 'update' then 16 else 32 end)
         from unnest(events) e);
  -- A rule, a recorder or a consequence sees what its statement did, as two tables.
  sees    constant text := case when timing = 'before' or event = 'truncate' then '' else 'referencing'
    || case when event <> 'insert' then ' old table as old_rows' else '' end
    || case when event <> 'delete' then ' new table as new_rows' else '' end end;
  given   constant bytea := (select string_agg(convert_to(a, 'UTF8') || decode('00', 'hex'), '' order by place)
                               from unnest(arguments) with ordinality u (a, place));
begin
  -- An existing one is kept: to create it again would lock its table against its users.
  if exists (select from pg_trigger t
              where t.tgrelid = relation and t.tgname = name_ and t.tgfoid = to_regproc(function_) and t.tgtype = kind
                and t.tgenabled = upper(left(fires, 1))::"char" and t.tgargs = coalesce(given, '') and t.tgqual is null
                and (t.tgoldtable is not null) = (sees like '%old_rows%')
                and (t.tgnewtable is not null) = (sees like '%new_rows%')) then
    return;
  end if;
  execute format('create or replace trigger %I %s %s on %s %s for each %s execute function %s(%s)',
    name_, timing, event, relation, sees, replace(level, 'replicated ', ''), function_,
    (select string_agg(quote_literal(a), ', ') from unnest(arguments) a));
  execute format('alter table %s enable %s trigger %I', relation, fires, name_);
end $$;
comment on procedure recoup.put_trigger(regclass, text, text, text, text, text, text[]) is
'Puts a trigger on a table, always enabled, unless the same one exists.';

-- Replicated rows: a worker that applies them fires triggers for rows and none for statements.

create or replace function recoup.refuse_replicated() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  -- Only there, also after all triggers of a table were disabled and enabled again.
  if current_setting('session_replication_role') <> 'replica' then
    return case tg_op when 'DELETE' then old else new end;
  end if;
  raise exception using errcode = 'RC070',
    message = format('%I.%I: a replicated %s is not applied: guards and recorders would not see it.', tg_table_schema,
                     tg_table_name, lower(tg_op)),
    hint = 'Take the table out of the subscription, or out of session_replication_role = replica. '
           'To copy a database, use recoup db backup or physical replication.',
    detail = jsonb_build_object('table', format('%I.%I', tg_table_schema, tg_table_name), 'operation', tg_op,
                                'authority', current_user);
end $$;
comment on function recoup.refuse_replicated() is 'Refuses rows of logical replication.';

create or replace procedure recoup.refuse_replication()
language plpgsql as $$
declare
  relation regclass;
begin
  -- Partitions inherit it, also later ones.
  for relation in select c.oid from pg_class c
                   where c.relowner = to_regrole('recoup_owner') and c.relkind in ('r', 'p')
                     and not c.relispartition order by c.oid loop
    call recoup.put_trigger(relation, 'a_refuse_replicated', 'before', 'insert or update or delete', 'replicated row',
                            'recoup.refuse_replicated');
  end loop;
end $$;
comment on procedure recoup.refuse_replication() is 'Closes every table to logical replication.';

create or replace function recoup.written(life recoup.lifecycle)
returns table (function text, arguments text, results text, settings text[], definer boolean, body text, says text,
               is_there boolean)
language sql stable
set quote_all_identifiers = off  -- the same text for every caller; inlined, it fails some planners
as $$
  select f.*, exists (
           select from pg_proc p
            where p.oid = to_regproc(f.function) and pg_get_function_arguments(p.oid) = f.arguments
              and p.prosrc = f.body and p.proconfig = f.settings and p.prosecdef = f.definer)
    from (
      -- A hash join is right for one row and for a hundred thousand, so its plan may be cached.
      select recoup.guard_of(life.subject, k.kind), '', 'trigger',
             '{"search_path=pg_catalog, pg_temp",plan_cache_mode=force_generic_plan,enable_nestloop=off,'
             'enable_hashjoin=on,enable_mergejoin=off}'::text[], false, recoup.guard_text(life, k.kind),
             format('The guard of %ss of %s, generated from the declaration.', k.kind, life.subject)
        from (select distinct s.kind from recoup.lifecycle_step s where s.subject = life.subject) k
      union all
      select * from recoup.content_function(life)
      union all
      select * from recoup.queue_functions(life)) f (function, arguments, results, settings, definer, body, says)
$$;
comment on function recoup.written(recoup.lifecycle) is
'The functions generated for a lifecycle, and whether each exists with the right text.';

create or replace procedure recoup.write_functions(subject_ text)
language plpgsql
set quote_all_identifiers = off
as $$
declare
  written record;
  other   regprocedure;
begin
  for written in select w.* from recoup.lifecycle l cross join lateral recoup.written(l) w
                  where l.subject = subject_
                    and (not w.is_there or obj_description(to_regproc(w.function), 'pg_proc') is distinct from w.says)
  loop
    -- A function with other arguments would exist in addition.
    for other in select p.oid from pg_proc p join pg_namespace s on s.oid = p.pronamespace
                  where format('%I.%I', s.nspname, p.proname) = written.function
                    and pg_get_function_arguments(p.oid) <> written.arguments loop
      execute format('drop function %s', other);
    end loop;
    execute format('create or replace function %s(%s) %s language plpgsql %s %s as %L', written.function,
                   written.arguments, 'returns ' || written.results,
                   case when written.definer then 'security definer' end,
                   (select string_agg('set ' || replace(s, '=', ' = '), ' ') from unnest(written.settings) s),
                   written.body);
    execute format('comment on function %s is %L', written.function, written.says);
    if written.definer then
      execute format('revoke execute on function %s from public', written.function);
    end if;
  end loop;
end $$;
comment on procedure recoup.write_functions(text) is
'Generates the functions of a lifecycle, unless they exist with the right text.';

create or replace procedure recoup.equip(relation regclass, subject_ text)
language plpgsql as $$
declare
  follower recoup.follower;
  old_name name;
begin
  call recoup.write_functions(subject_);
  -- Named a_…: triggers of one event fire in the order of their names, and the guard comes before what follows a move.
  call recoup.put_trigger(relation, 'a_guard_births', 'after', 'insert', 'statement',
                          recoup.guard_of(subject_, 'birth'), subject_);
  call recoup.put_trigger(relation, 'a_guard_moves', 'after', 'update', 'statement',
                          recoup.guard_of(subject_, 'move'), subject_);
  call recoup.put_trigger(relation, 'a_guard_exits', 'after', 'delete', 'statement',
                          recoup.guard_of(subject_, 'exit'), subject_);
  call recoup.put_trigger(relation, 'a_guard_truncate', 'before', 'truncate', 'statement', 'recoup.guard_truncate',
                          subject_);
  for follower in select * from recoup.follower f where f.subject = subject_ loop
    call recoup.put_trigger(relation, recoup.follower_name(follower), 'after', follower.event, 'statement',
                            follower.function, variadic follower.arguments);
  end loop;
  -- What is no longer declared.
  for old_name in
    select t.tgname from pg_trigger t
     where t.tgrelid = relation and not t.tgisinternal and t.tgname ~ '^[b-d]_'
       and not exists (select from recoup.follower f where f.subject = subject_ and recoup.follower_name(f) = t.tgname)
  loop
    execute format('drop trigger %I on %s', old_name, relation);
  end loop;
end $$;
comment on procedure recoup.equip(regclass, text) is
'Installs the guard of a lifecycle and its followers on its table or on a partition.';

create or replace function recoup.follower_name(f recoup.follower) returns text
language sql immutable as $$
  -- Function and event: two triggers of one name would silently replace each other.
  select f.place || '_' || split_part(f.function, '.', 2) || '_on_' || f.event
$$;
comment on function recoup.follower_name(recoup.follower) is
'The name of a follower''s trigger: ordered by letter, after the guard.';

create or replace procedure recoup.equip_all(subject_ text)
language plpgsql as $$
declare
  part regclass;
begin
  -- Statement triggers are not inherited: each partition has its own.
  for part in select t.relid from pg_partition_tree(to_regclass(subject_)) t
              union select to_regclass(subject_) order by 1 loop
    call recoup.equip(part, subject_);
  end loop;
  call recoup.equip_queue(subject_);
end $$;
comment on procedure recoup.equip_all(text) is
'Equips the table of a lifecycle, all its partitions and its queue.';

create or replace procedure recoup.equip_declared()
language plpgsql as $$
declare
  subject_ text;
  unused   regprocedure;
begin
  for subject_ in select l.subject from recoup.lifecycle l where to_regclass(l.subject) is not null order by 1 loop
    call recoup.equip_all(subject_);
  end loop;
  for unused in
    select p.oid from pg_proc p
     where obj_description(p.oid, 'pg_proc') like any (array['%, generated from the declaration.',
                                                             '%, written out from the declaration.'])
       and p.proowner = to_regrole(quote_ident(current_user))
       and p.oid <> all(array(select to_regproc(w.function)::oid
                                from recoup.lifecycle l cross join lateral recoup.written(l) w
                               where to_regproc(w.function) is not null))
  loop
    execute format('drop function %s', unused);
  end loop;
  call recoup.refuse_replication();
end $$;
comment on procedure recoup.equip_declared() is
'Equips every declared table, drops functions of removed ones, and closes all to replication.';
