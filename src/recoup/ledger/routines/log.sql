-- What every log shares: closed to hands, append-only, and a number for the cluster that wrote a row.

create or replace function recoup.append_only() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  -- A consequence may replace what is in a log that is not sealed: a secret that came into an archive is erased so.
  if tg_op = 'UPDATE' and recoup.by_follower() and exists (
       select from recoup.log l
        where to_regclass(l.log) = coalesce(pg_partition_root(tg_relid), tg_relid) and l.canon = 0
          and l.recorders <> '{}') then
    return new;
  end if;
  raise exception using errcode = 'RC009',
    message = format('%I.%I is append-only: %s may not %s.', tg_table_schema, tg_table_name, current_user,
                     lower(tg_op)),
    hint = 'What is written stays. Record a new event through a move instead.',
    detail = jsonb_build_object('log', format('%I.%I', tg_table_schema, tg_table_name), 'operation', tg_op,
                                'authority', current_user);
  return null;
end $$;
comment on function recoup.append_only() is
'Refuses UPDATE, DELETE and TRUNCATE; but for what a consequence changes in a log that is not sealed.';

create or replace function recoup.only_recorders() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if recoup.by_follower() then
    return null;
  end if;
  raise exception using errcode = 'RC010',
    message = format('%I.%I: %s may not write an event by hand.', tg_table_schema, tg_table_name, current_user),
    hint = 'Make the move; its recorder writes the event.',
    detail = jsonb_build_object('log', format('%I.%I', tg_table_schema, tg_table_name), 'authority', current_user);
end $$;
comment on function recoup.only_recorders() is
'Refuses every insert that does not come from a recorder.';

create or replace function recoup.require_table(fired_on oid, subject_ text) returns void
language plpgsql as $$
begin
  -- A trigger function can be put on any table that somebody owns, with rows of their own making.
  if fired_on = to_regclass(subject_) then
    return;
  end if;
  if subject_ is null
     or not exists (select from pg_partition_tree(to_regclass(subject_)) t where t.relid = fired_on) then
    raise exception using errcode = 'RC010',
      message = format('%s is not %s: nothing is recorded for it.', fired_on::regclass,
                       coalesce(subject_, 'a guarded table')),
      hint = 'Make the move; its recorder writes the event.',
      detail = jsonb_build_object('table', fired_on::regclass, 'subject', subject_);
  end if;
end $$;
comment on function recoup.require_table(oid, text) is 'Refuses a recorder that was put on another table than its own.';

create or replace procedure recoup.append_only_table(relation regclass)
language plpgsql as $$
begin
  -- Row level: cloned to partitions, costs inserts nothing, and also meets ON CONFLICT DO UPDATE, MERGE and cascades.
  call recoup.put_trigger(relation, 'a_append_only', 'before', 'update or delete', 'row', 'recoup.append_only');
  call recoup.put_trigger(relation, 'a_append_only_truncate', 'before', 'truncate', 'statement', 'recoup.append_only');
end $$;
comment on procedure recoup.append_only_table(regclass) is 'Makes a table append-only.';

create or replace procedure recoup.close_log(relation regclass, log_ text)
language plpgsql as $$
declare
  declared recoup.log;
begin
  select * into strict declared from recoup.log l where l.log = log_;
  if relation = to_regclass(log_) then
    call recoup.append_only_table(relation);
  else  -- a part: it has its parent's trigger for each row, and none of those for statements
    call recoup.put_trigger(relation, 'a_append_only_truncate', 'before', 'truncate', 'statement',
                            'recoup.append_only');
  end if;
  if declared.recorders <> '{}' then
    call recoup.put_trigger(relation, 'a_only_recorders', 'before', 'insert', 'statement', 'recoup.only_recorders');
  end if;
end $$;
comment on procedure recoup.close_log(regclass, text) is
'Closes a declared log, or a partition of it: append-only, and written by its recorders alone if it has any.';

create or replace procedure recoup.close_all(log_ text)
language plpgsql as $$
declare
  part regclass;
begin
  for part in select t.relid from pg_partition_tree(to_regclass(log_)) t union select to_regclass(log_) order by 1 loop
    call recoup.close_log(part, log_);
  end loop;
end $$;
comment on procedure recoup.close_all(text) is 'Closes a declared log and all its partitions.';

create or replace function recoup.present_incarnation() returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  cluster constant bigint := (select system_identifier from pg_control_system());  -- some microseconds
  newest  recoup.incarnation;
begin
  select * into newest from recoup.incarnation order by incarnation desc limit 1;
  if newest.system_identifier is distinct from cluster then
    -- First use after a restore into another cluster, whose transaction ids may be lower than the stored ones.
    lock table recoup.incarnation in share row exclusive mode;
    select * into newest from recoup.incarnation order by incarnation desc limit 1;
    if newest.system_identifier is distinct from cluster then
      insert into recoup.incarnation (incarnation, system_identifier, began_at)
      values (coalesce(newest.incarnation, 0) + 1, cluster, clock_timestamp()) returning * into newest;
    end if;
  end if;
  return newest.incarnation;
end $$;
comment on function recoup.present_incarnation() is
'The incarnation that new log rows carry; begins a new one when the cluster is another.';
revoke execute on function recoup.present_incarnation() from public;
grant execute on function recoup.present_incarnation() to recoup_reader;

create or replace function recoup.acting_kind() returns text
language sql stable as $$ select coalesce(nullif(current_setting('recoup.actor_kind', true), ''), 'system') $$;
comment on function recoup.acting_kind() is
'Kind of the actor: system, ai or human. Told by the transaction; system when untold.';

create or replace function recoup.acting_id() returns text
language sql stable as $$ select coalesce(nullif(current_setting('recoup.actor_id', true), ''), session_user::text) $$;
comment on function recoup.acting_id() is 'Who acts. Told by the transaction; the login when untold.';

create or replace function recoup.acting_role() returns text
language sql stable as $$
  -- Told by the guard of the same statement, which runs as whoever acts; a recorder runs as the owner.
  select coalesce(nullif(current_setting('recoup.acting_role', true), ''), session_user::text)
$$;
comment on function recoup.acting_role() is 'The role that acts, for a recorder behind a guard.';

alter table recoup.late_result alter column incarnation set default recoup.present_incarnation();
alter table recoup.late_result alter column actor_id set default recoup.acting_id();
