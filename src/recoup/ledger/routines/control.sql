-- The recorder of tables that have no log of their own: batches, clocks, workers. Arguments: columns that the event
-- repeats. Recorded are births, exits, changes of status, and changes of such a column; a heartbeat is none of these.

create or replace function recoup.record_control() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  subject_ constant text := tg_table_schema || '.' || tg_table_name;
  life     recoup.lifecycle;
  keyed    text;
  facts    text;
  changed  text;
begin
  select * into life from recoup.lifecycle l where l.subject = subject_;
  perform recoup.require_table(tg_relid, life.subject);
  keyed := (select 'concat_ws('', ''' || string_agg(format(', x.%I', k), '') || ')' from unnest(life.key) k);
  facts := 'jsonb_build_object('
    || coalesce((select string_agg(format('%L, x.%I', c, c), ', ') from unnest(tg_argv) c), '') || ')';
  changed := (select string_agg(format('o.%1$I is distinct from x.%1$I', c), ' or ')
                from unnest(array_append(tg_argv, life.status_column)) c);
  execute format(
    'insert into recoup.control_log (incarnation, logged_at, subject, key, event_type, from_status, to_status, facts,
                                     reason, actor, actor_id, authority)
     select (select recoup.present_incarnation()), (select recoup.now()), %L, %s, %L, %s, %s, %s,
            coalesce(nullif(current_setting(''recoup.reason'', true), ''''), ''none given''),
            (select recoup.acting_kind()), (select recoup.acting_id()), (select recoup.acting_role())
       from %s',
    subject_, keyed,
    case tg_op when 'INSERT' then 'BIRTH' when 'UPDATE' then 'MOVE' else 'EXIT' end,
    case tg_op when 'INSERT' then 'null' when 'UPDATE' then format('o.%I', life.status_column)
      else format('x.%I', life.status_column) end,
    case tg_op when 'DELETE' then 'null' else format('x.%I', life.status_column) end,
    facts,
    case tg_op when 'INSERT' then 'new_rows x' when 'DELETE' then 'old_rows x'
      else format('new_rows x join old_rows o on %s where %s',
                  (select string_agg(format('o.%1$I = x.%1$I', k), ' and ') from unnest(life.key) k), changed) end);
  return null;
end $$;
revoke execute on function recoup.record_control() from public;
comment on function recoup.record_control() is 'Writes births, exits and changes of status to the control log.';
