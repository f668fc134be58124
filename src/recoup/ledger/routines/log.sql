-- What every log shares: no direct inserts, append-only, and a number for the cluster that wrote a row.

create or replace function recoup.append_only() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  -- A consequence may replace what is in a log that is not sealed: that is how a secret in an archive is erased.
  if tg_op = 'UPDATE' and recoup.by_follower() and exists (
       select from recoup.log l
        where to_regclass(l.log) = coalesce(pg_partition_root(tg_relid), tg_relid) and l.canon = 0
          and l.recorders <> '{}') then
    return new;
  end if;
  raise exception using errcode = 'RC009',
    message = format('%I.%I is append-only: %s may not %s.', tg_table_schema, tg_table_name, current_user,
                     lower(tg_op)),
    hint = 'Log rows are never changed. Make a move; its recorder writes a new event.',
    detail = jsonb_build_object('log', format('%I.%I', tg_table_schema, tg_table_name), 'operation', tg_op,
                                'authority', current_user);
  return null;
end $$;
comment on function recoup.append_only() is
'Refuses UPDATE, DELETE and TRUNCATE, except changes by a consequence in a log that is not sealed.';

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
  -- A trigger function can be put on any table that a login owns, with invented rows.
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
comment on function recoup.require_table(oid, text) is 'Refuses a recorder that was put on a table of another kind.';

create or replace procedure recoup.append_only_table(relation regclass)
language plpgsql as $$
begin
  -- Row level: cloned to partitions, free for inserts, and also fires for ON CONFLICT DO UPDATE, MERGE and cascades.
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
  else  -- a partition: it inherits row triggers from its parent, and no statement triggers
    call recoup.put_trigger(relation, 'a_append_only_truncate', 'before', 'truncate', 'statement',
                            'recoup.append_only');
  end if;
  if declared.recorders <> '{}' then
    call recoup.put_trigger(relation, 'a_only_recorders', 'before', 'insert', 'statement', 'recoup.only_recorders');
  end if;
end $$;
comment on procedure recoup.close_log(regclass, text) is
'Closes a declared log, or a partition of it: append-only, and written only by its recorders if it has any.';

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
'The incarnation that new log rows carry; begins a new one when the cluster has changed.';
revoke execute on function recoup.present_incarnation() from public;
grant execute on function recoup.present_incarnation() to recoup_reader;

create or replace function recoup.acting_kind() returns text
language sql stable as $$ select coalesce(nullif(current_setting('recoup.actor_kind', true), ''), 'system') $$;
comment on function recoup.acting_kind() is
'Kind of the actor: system, ai or human. Set by the transaction; system by default.';

create or replace function recoup.acting_id() returns text
language sql stable as $$ select coalesce(nullif(current_setting('recoup.actor_id', true), ''), session_user::text) $$;
comment on function recoup.acting_id() is 'The actor. Set by the transaction; the login by default.';

create or replace function recoup.acting_role() returns text
language sql stable as $$
  -- Set by the guard of the same statement, which runs as the caller; a recorder runs as the owner.
  select coalesce(nullif(current_setting('recoup.acting_role', true), ''), session_user::text)
$$;
comment on function recoup.acting_role() is 'The acting role, for a recorder after a guard.';

alter table recoup.late_result alter column incarnation set default recoup.present_incarnation();
alter table recoup.late_result alter column actor_id set default recoup.acting_id();
